/**
 * A program that follows actors beside the processes that serve them (docs/architecture.md, "Followers"): it takes an
 * actor's facts or states as they come, and when its stream ends or the process dies, it continues with another
 * process, with facts behind the last one that it has processed. It also lists keys. Needs no service.
 */
import { Cause, Effect, Exit, Stream } from "effect"
import { beginning, type FactPosition, FactsPurged } from "../../engine/followTypes.ts"
import type { FactRecord } from "../../engine/records.ts"
import type { Step } from "./Scenario.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"
import { jsonOf } from "./Truth.ts"

/** A step of a follower. See {@link engineCheckers}. */
export type FollowStep = Extract<Step, { readonly _tag: "Follow" }>

/** Followers of one scenario, at most. */
const maximumFollowers = 6

/**
 * How long until a follower whose stream has ended begins another one, and how often it checks whether its process
 * lives, milliseconds.
 */
const againMillis = 400

/** Keys in a page of a list. */
const pageKeys = 2

/** Begins the follower of a step, unless there are too many already. */
export const follow = (simulation: Simulation, step: FollowStep, on: SimulatedEngine | undefined): void => {
  if (step.what === "keys") list(simulation, step, on)
  else if (simulation.followers.length < maximumFollowers) {
    const follower = new Follower(simulation, step, simulation.followers.length + 1)
    simulation.followers.push(follower)
    follower.begin(on)
  }
}

/** A program that follows an actor during a scenario. See {@link engineCheckers}. */
export class Follower {
  readonly name: string
  readonly organization: string
  readonly kind: string
  /** Undefined for all actors of the kind. */
  readonly key: string | undefined
  readonly what: FollowStep["what"]
  /** The last fact that it has processed. */
  position: FactPosition = beginning
  /** Counts its streams. */
  life = 0
  private readonly simulation: Simulation
  private engine: SimulatedEngine | undefined = undefined

  constructor(simulation: Simulation, { actor, key, organization, what }: FollowStep, number: number) {
    this.simulation = simulation
    this.name = `f${number}`
    this.organization = organization
    this.kind = actor
    this.key = what === "facts of all" ? undefined : key
    this.what = what
    this.look()
  }

  /** Begins a stream in a process, by default the newest. */
  begin(given?: SimulatedEngine): void {
    const engine = given ?? this.simulation.newest()
    if (engine?.engine === undefined || !engine.process.alive) {
      this.later()
      return
    }
    const actor = engine.actors.get(this.kind)!
    const target = { organization: this.organization, key: this.key ?? "" }
    const life = ++this.life
    this.engine = engine
    this.simulation.trace(() => `${this.name} follows ${this.what} of ${this.kind} in ${engine.name}`)
    if (life > 1) this.simulation.marks.reach("follower, went on")
    const told = (tell: () => void) =>
      Effect.sync(() => {
        if (engine.process.alive && life === this.life) tell()
      })
    const followed =
      this.what === "states"
        ? Stream.runForEach(engine.engine.watch(actor, target), (state) => told(() => this.show(jsonOf(actor, state))))
        : Stream.runForEach(
            engine.engine.facts(actor, target, { after: this.position, allKeys: this.key === undefined }),
            (record) => told(() => this.give(record, actor.encodeFact(record.fact)))
          )
    engine.fork(followed, (exit) => {
      if (life === this.life) this.ended(exit)
    })
  }

  private give(record: FactRecord, fact: unknown): void {
    const { sequence, index, key } = record
    this.simulation.trace(() => `${this.name} is given ${sequence}/${index} of ${key}: ${JSON.stringify(fact)}`)
    this.simulation.marks.reach("follower, given a fact")
    for (const observer of this.simulation.observers) observer.given?.(this, record, JSON.stringify(fact))
    this.position = { sequence, index }
  }

  private show(json: string): void {
    this.simulation.trace(() => `${this.name} is shown ${json}`)
    this.simulation.marks.reach("follower, shown a state")
    for (const observer of this.simulation.observers) observer.shown?.(this, json)
  }

  private ended(exit: Exit.Exit<unknown, unknown>): void {
    const { marks } = this.simulation
    if (Exit.isSuccess(exit)) marks.reach("follower, its engine stopped")
    else {
      const error = Cause.squash(exit.cause)
      this.simulation.trace(() => `${this.name} ends: ${String(error)}`)
      if (Cause.hasDies(exit.cause)) this.simulation.violate("followers", `${this.name} dies: ${String(error)}`)
      if (error instanceof FactsPurged) {
        marks.reach("follower, purged past its place")
        for (const observer of this.simulation.observers) observer.purgedPast?.(this, error)
        // The error says where to continue.
        this.position = { sequence: error.firstSequence, index: -1 }
      } else marks.reach(`follower, failed with ${(error as { readonly _tag?: string })._tag ?? "something else"}`)
    }
    this.later()
  }

  private later(): void {
    this.engine = undefined
    this.simulation.world.after(againMillis, undefined, () => {
      if (this.engine === undefined) this.begin()
    })
  }

  /** Notices that its process is dead, as a closed connection would show. */
  private look(): void {
    this.simulation.world.after(againMillis, undefined, () => {
      if (this.engine !== undefined && !this.engine.process.alive) {
        this.simulation.marks.reach("follower, its process died")
        this.life++
        this.later()
      }
      this.look()
    })
  }
}

/** Lists the keys of a kind, page by page. */
const list = (simulation: Simulation, step: FollowStep, engine: SimulatedEngine | undefined): void => {
  if (engine?.engine === undefined) return
  const running = engine.engine
  const actor = engine.actors.get(step.actor)!
  const startedAt = simulation.world.now
  const page = (after: string | undefined): Effect.Effect<ReadonlyArray<string>, unknown> =>
    Effect.flatMap(running.keys(actor, step.organization, { after, limit: pageKeys }), ({ keys, next }) =>
      next === undefined ? Effect.succeed(keys) : Effect.map(page(next), (rest) => [...keys, ...rest])
    )
  engine.fork(page(undefined), (exit) => {
    if (Exit.isFailure(exit)) return
    const keys = exit.value
    simulation.trace(() => `${engine.name} lists ${step.actor} of ${step.organization}: ${keys.join(", ")}`)
    simulation.marks.reach("follower, listed keys")
    const { actor: kind, organization } = step
    for (const observer of simulation.observers) observer.listed?.({ engine, organization, kind, keys, startedAt })
  })
}

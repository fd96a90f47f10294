/**
 * Judges sentences about time (`eventually` of docs/simulation.md): once a stored state of an actor fits `from`, one must
 * fit `until` within a time. Time during which the engine may be late counts for nothing: a disturbance of any kind lets
 * every deadline begin anew behind it. Needs no service.
 */
import { brakeHoldMillis } from "../../engine/limits.ts"
import { epochMillis } from "../kernel/World.ts"
import type { Observer } from "./Checker.ts"
import type { Woken } from "./Decisions.ts"
import type { Simulation } from "./Simulation.ts"
import { type ActorHistory, type Commit, type Moment, nameOf } from "./Truth.ts"
import type { Eventually } from "./Workload.ts"
import { workersOwe } from "./workersAreThrough.ts"

/**
 * How long a fault may make the engine late, milliseconds: a statement that hangs ends after a minute, and so may the
 * one behind it.
 */
export const disturbedMillis = 160_000

/** The time that the engine itself may take, milliseconds, beside a part of the deadline: chains of wakes add it up. */
const ownMillis = 5_000
const ownPart = 20

/** A wake that is later than this shows that the engine was disturbed, milliseconds. */
export const lateMillis = 2_000 + brakeHoldMillis

/** A deadline that has begun. */
interface Begun {
  readonly history: ActorHistory
  readonly sentence: string
  readonly eventually: Eventually<never>
  readonly from: Moment
  /** The simulation's time, see `Deadlines.now`. */
  readonly at: number
}

/** The marks of a sentence. */
export const eventuallyMark = (kind: string, sentence: string, what: "begun" | "kept"): string =>
  `rule, ${kind}: eventually, ${what}: ${sentence}`

const dateOf = (time: number): string => new Date(time).toISOString()

/** The deadlines of a scenario. */
export class Deadlines {
  private readonly simulation: Simulation
  /** By actor and sentence. */
  private readonly begun = new Map<string, Begun>()
  /** The times for which `wakeAgain` has asked, with the number of the actor's states by then. */
  private readonly again = new Map<string, { readonly states: number; readonly at: number }>()
  /** Until when something may be late, by `World.now`. */
  private disturbedUntil = 0
  /** Since when nothing has been; undefined while something may be. */
  private calmSince: number | undefined = 0
  readonly isAny: boolean
  readonly observer: Observer

  constructor(simulation: Simulation) {
    this.simulation = simulation
    this.isAny = Object.values(simulation.workload.eventually ?? {}).some((of) => Object.keys(of).length > 0)
    this.observer = this.isAny
      ? {
          committed: (commit) => this.committed(commit),
          woken: (woken) => this.woken(woken),
          rested: () => this.judge()
        }
      : {}
  }

  /** The time that has passed, with what was leapt over, milliseconds. */
  get now(): number {
    return this.simulation.world.now + this.simulation.world.leapt
  }

  /** Notes that the engine may be late for this long. */
  disturb(millis = disturbedMillis): void {
    this.settle()
    this.calmSince = undefined
    this.disturbedUntil = Math.max(this.disturbedUntil, this.simulation.world.now + millis)
  }

  /** Ends a disturbance without an end of its own: everything is repaired. */
  repair(): void {
    this.disturbedUntil = 0
    this.disturb()
  }

  /** Notes that everything has come to rest. */
  rest(): void {
    this.disturbedUntil = 0
    this.disturb(0)
  }

  /** Leaps over time. `isAwake`: the engine has nothing to do meanwhile. */
  leap(millis: number, isAwake: boolean): void {
    this.settle()
    this.simulation.world.leapt += millis
    if (!isAwake) this.disturb(lateMillis)
  }

  /** Notes the end of a disturbance, before time is leapt over. */
  private settle(): void {
    if (this.calmSince === undefined && this.simulation.world.now >= this.disturbedUntil)
      this.calmSince = this.disturbedUntil + this.simulation.world.leapt
  }

  /** When the next wake is due, or a deadline over; undefined for none. */
  nextStop(): number | undefined {
    let next = Number.POSITIVE_INFINITY
    const { now } = this
    for (const due of this.dues()) if (due > now) next = Math.min(next, due)
    return Math.min(next, this.nextDeadline() ?? next)
  }

  /** When the next deadline is over; undefined for none. */
  nextDeadline(): number | undefined {
    let next = Number.POSITIVE_INFINITY
    for (const one of this.begun.values()) next = Math.min(next, this.endOf(one))
    return next === Number.POSITIVE_INFINITY ? undefined : Math.max(next, this.now + 1)
  }

  /** When actors want to be woken, as the newest process counts time. */
  private *dues(): Generator<number> {
    const { simulation } = this
    const offset = simulation.newest()?.process.clockOffset ?? 0
    for (const history of simulation.truth.histories(undefined)) {
      const due = this.dueOf(history)
      if (due !== undefined) yield due - epochMillis - offset
    }
  }

  private dueOf(history: ActorHistory): number | undefined {
    const last = history.moments[history.moments.length - 1]!
    const wakeAt = history.actor.options.wakeAt?.(last.state)
    if (wakeAt === undefined) return undefined
    const again = this.again.get(nameOf(history))
    return again !== undefined && again.states === history.moments.length ? again.at : Math.max(wakeAt, last.now)
  }

  private endOf({ at, eventually: { within } }: Begun): number {
    this.settle()
    const { world } = this.simulation
    const calm = this.calmSince ?? Math.max(this.disturbedUntil, world.now) + world.leapt
    return Math.max(at, calm) + within + ownMillis + within / ownPart
  }

  private woken(woken: Woken): void {
    const history = this.simulation.truth.history(woken)
    const due = this.dueOf(history)
    if (due !== undefined && woken.now - due > lateMillis) this.disturb(0)
    if (woken.againAt === undefined) this.again.delete(nameOf(woken))
    else this.again.set(nameOf(woken), { states: history.moments.length, at: woken.againAt })
  }

  private committed(commit: Commit): void {
    for (const history of this.simulation.truth.changedBy(commit)) {
      const sentences = Object.entries(this.simulation.workload.eventually?.[history.kind] ?? {})
      if (sentences.length === 0) continue
      for (const moment of history.moments)
        if (moment.sequence === commit.sequence)
          for (const [sentence, eventually] of sentences) this.note(history, moment, sentence, eventually)
    }
  }

  /** Begins a deadline, or ends it. */
  private note(history: ActorHistory, from: Moment, sentence: string, eventually: Eventually<never>): void {
    const name = `${nameOf(history)} ${sentence}`
    const { key, kind, organization } = history
    const context = { now: from.now, organization, key }
    const begun = this.begun.get(name)
    if (eventually.until(from.state as never, { ...context, begun: (begun?.from ?? from).state as never })) {
      if (begun === undefined) return
      // It may come behind its deadline, between two looks.
      this.judgeOne(begun)
      this.begun.delete(name)
      this.simulation.marks.reach(eventuallyMark(kind, sentence, "kept"))
      // The same state may be the first of the next time.
      this.note(history, from, sentence, eventually)
    } else if (begun === undefined && eventually.from(from.state as never, context)) {
      this.begun.set(name, { history, sentence, eventually, from, at: this.now })
      this.simulation.marks.reach(eventuallyMark(kind, sentence, "begun"))
    }
  }

  /** Looks for deadlines that have passed. */
  judge(): void {
    for (const begun of this.begun.values()) this.judgeOne(begun)
  }

  private judgeOne(begun: Begun): void {
    const { simulation } = this
    if (simulation.violations.length > 0 || this.now < this.endOf(begun)) return
    // The engine owes a wake, or the end of a job: the rule is not to blame.
    const owesJob = workersOwe(simulation, simulation.world.now - lateMillis)
    if (owesJob || [...this.dues()].some((due) => due < this.now - lateMillis)) {
      this.disturb(0)
      return
    }
    const { at, eventually, from, history, sentence } = begun
    const { key, kind, moments, organization } = history
    const later = moments[moments.length - 1]!.json
    simulation.violate(
      "eventually",
      `"${sentence}" does not hold for ${kind} ${JSON.stringify(key)} of ${organization}: since ${dateOf(from.now)}, for ${Math.floor(this.now - at)} ms, it was never so, which is more than ${eventually.within} ms. Its state was ${from.json} then${later === from.json ? ", and still is" : `, and is ${later}`}`
    )
  }
}

/**
 * Decides for actors by their own rules, without an engine: one decision after the other in memory, each applied as a
 * whole, and wakes at their times. It serves services without a server, models, and measurements of the rules alone. It
 * makes none of an engine's checks.
 */
import {
  type Actor,
  type AnyActor,
  type DecideContext,
  type Decision,
  type OtherFacts,
  WakeAgain
} from "../../engine/Actor.ts"
import type { ActorAddress } from "../../engine/address.ts"

interface Kept {
  readonly actor: AnyActor
  readonly address: ActorAddress
  state: unknown
}

/** One organization's actors. */
export class ActorsMemory {
  private readonly organization: string
  private readonly kept = new Map<string, Kept>()
  /** Actors that want to be woken, with the time. */
  private readonly wakes = new Map<Kept, number>()
  private latest = Number.NEGATIVE_INFINITY

  constructor(organization: string) {
    this.organization = organization
  }

  /** Names of actors that have had facts. */
  get size(): number {
    return this.kept.size
  }

  /** The state now; that of the beginning where the actor has had no fact. Wakes that are due are not taken. */
  state<Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    key: string
  ): State {
    return this.find(actor, key).state as State
  }

  /** Takes the wakes that are due at `now`, each at its time, then decides the command. Time never goes back. */
  ask<Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    key: string,
    command: Command,
    now: number
  ): Decision<Fact, Reply, Rejection> {
    this.advance(now)
    const kept = this.find(actor, key)
    // The found state has the actor's own types.
    const decision = actor.options.decide(kept.state as State, command, this.contextOf(kept))
    if (decision.accepted) this.apply(kept, decision)
    return decision
  }

  /** When the next actor wants to be woken; undefined for never. */
  nextWake(): number | undefined {
    let next: number | undefined
    for (const at of this.wakes.values()) if (next === undefined || at < next) next = at
    return next
  }

  /** Takes the wakes that are due at `now`, in their order, each at its time. */
  advance(now: number): void {
    for (let at = this.nextWake(); at !== undefined && at <= now; at = this.nextWake()) {
      this.latest = Math.max(this.latest, at)
      const due = [...this.wakes].find(([, wakeAt]) => wakeAt === at)?.[0]
      if (due !== undefined) this.wake(due)
    }
    this.latest = Math.max(this.latest, now)
  }

  private wake(kept: Kept): void {
    this.wakes.delete(kept)
    const decision = kept.actor.options.wake?.(kept.state, this.contextOf(kept))
    // As in an engine, a wake that makes no facts is not tried again before the state changes.
    if (decision instanceof WakeAgain) this.wakes.set(kept, decision.time)
    else if (decision?.accepted === true) this.apply(kept, decision)
  }

  private find(actor: AnyActor, key: string): Kept {
    const name = `${actor.kind}\n${key}`
    const known = this.kept.get(name)
    if (known !== undefined) return known
    const address = { organization: this.organization, kind: actor.kind, key }
    return { actor, address, state: actor.options.initial(key) }
  }

  private contextOf({ address }: Kept): DecideContext {
    return {
      now: this.latest,
      self: address,
      level: Number.POSITIVE_INFINITY,
      id: () => {
        throw new Error("rules without an engine have no ids")
      },
      read: <State>(actor: { readonly kind: string }, key = "") =>
        // A rule reads by the definition that it touches.
        this.find(actor as AnyActor, key).state as State
    }
  }

  private apply(kept: Kept, { facts, others }: Decision<unknown, unknown, unknown>): void {
    this.fold(kept, facts)
    for (const { actor, facts: own, key } of others as ReadonlyArray<OtherFacts>) this.fold(this.find(actor, key), own)
  }

  private fold(kept: Kept, facts: ReadonlyArray<unknown>): void {
    if (facts.length === 0) return
    const { copy, evolve, isOver, wakeAt } = kept.actor.options
    kept.state = facts.reduce(evolve, copy === undefined ? kept.state : copy(kept.state))
    const name = `${kept.actor.kind}\n${kept.address.key}`
    if (isOver?.(kept.state) === true) this.kept.delete(name)
    else this.kept.set(name, kept)
    const at = wakeAt?.(kept.state)
    if (at === undefined) this.wakes.delete(kept)
    else this.wakes.set(kept, at)
  }
}

/**
 * Defines a partition's data in memory: organizations with their waiting commands, actors with their durable and their
 * draft state, lanes. Plain mutable objects, changed only by the core's synchronous code.
 */
import type { AnyActor } from "../../Actor.ts"
import { type ActorAddress, fnv1a } from "../../address.ts"
import { internalActors } from "../../internalActors.ts"
import type { AnyLane } from "../../Lane.ts"
import type { TimerRow } from "../../ports/Checkpoints.ts"
import type { Guard, KeyGuard } from "../keys/KeyGuard.ts"
import type { WakeBrake } from "../timers/WakeBrake.ts"

/** The actors and lanes an engine knows, by kind. */
export class Registry {
  /** The users' actors, then the engine's own. */
  readonly actors: ReadonlyArray<AnyActor>
  readonly lanes: ReadonlyArray<AnyLane>
  /** The index of the actors of idempotency keys. */
  readonly keyIndex: number
  private readonly actorIndexes = new Map<string, number>()
  private readonly laneIndexes = new Map<string, number>()

  /** Throws when a kind is defined twice. */
  constructor(actors: ReadonlyArray<AnyActor>, lanes: ReadonlyArray<AnyLane>) {
    this.actors = [...actors, ...internalActors]
    this.keyIndex = this.actors.findIndex(({ internal }) => internal?.isRemembered !== undefined)
    this.lanes = lanes
    for (const [index, actor] of this.actors.entries()) {
      if (this.actorIndexes.has(actor.kind)) throw new Error(`two actors are of kind ${actor.kind}`)
      this.actorIndexes.set(actor.kind, index)
    }
    for (const [index, lane] of lanes.entries()) {
      if (this.laneIndexes.has(lane.kind)) throw new Error(`two lanes are of kind ${lane.kind}`)
      this.laneIndexes.set(lane.kind, index)
    }
  }

  /** The index of a kind, or -1. */
  actorIndex(kind: string): number {
    return this.actorIndexes.get(kind) ?? -1
  }

  /** The kinds whose actors have no state. */
  get statelessKinds(): ReadonlyArray<string> {
    return this.actors.filter(({ isStateless }) => isStateless).map(({ kind }) => kind)
  }

  laneIndex(kind: string): number {
    return this.laneIndexes.get(kind) ?? -1
  }
}

/** The caller; opaque to the core, which returns it with the answer. */
export type Caller = object

/** An entry to decide: a command of a caller, an external signal, or a timer. */
export class Entry {
  organization: Organization
  readonly actor: AnyActor
  readonly actorIndex: number
  readonly key: string
  readonly command: unknown
  /** Undefined for signals and timers. */
  readonly caller: Caller | undefined
  /** Whether the caller claims that the actor has had no fact yet. */
  isFresh = false
  /** Estimated size of the command, counted while it waits. */
  bytes = 0
  /** Position of a signal, or of an ingest's message; -1 for others. */
  signalSequence = -1
  /** The ingest whose message it is; undefined for others, signals among them. */
  ingest: string | undefined = undefined
  /** The guard that is asked before the decision, and gets a fact with it; undefined for most. */
  guard: Guard | undefined = undefined
  /** The idempotency key of the command; undefined for most. */
  keyGuard: KeyGuard | undefined = undefined
  /** For a timer, the time it was set to; undefined for others. */
  wakeAt: number | undefined = undefined
  /** Whether that time was set by `wakeAgain` or by the brake, so that no checkpoint has it. */
  isAgain = false
  /** The error to answer with, set when the entry must not be decided again. */
  refusal: unknown = undefined
  next: Entry | undefined = undefined

  constructor(
    organization: Organization,
    actor: AnyActor,
    actorIndex: number,
    key: string,
    command: unknown,
    caller: Caller | undefined
  ) {
    this.organization = organization
    this.actor = actor
    this.actorIndex = actorIndex
    this.key = key
    this.command = command
    this.caller = caller
  }
}

/** A lane's ask that waits, for an actor that it reads or for a confirmation of the ownership. */
export interface LaneAsk {
  readonly organization: string
  readonly laneIndex: number
  readonly key: string
  readonly command: unknown
  readonly caller: Caller
}

/**
 * Facts that cannot be folded into an actor, kept until a program that can fold them runs (docs/architecture.md, rule
 * 17).
 */
export interface Unreadable {
  /** Why, for people. */
  readonly reason: string
  /** The row to write instead of a state; undefined when the stored row stays as it is. */
  readonly row: string | undefined
}

/** An actor in memory. */
export class Cell {
  readonly organization: Organization
  readonly actor: AnyActor
  readonly actorIndex: number
  readonly key: string
  /** Whether `state` is known. */
  loaded = false
  /** Its checkpoint row is being read. */
  requested = false
  /** It is being read ahead of a command, and counts towards its organization's share of such loads. */
  isAhead = false
  unreadable: Unreadable | undefined = undefined
  /** It has no row and begins with its initial state. */
  isNew = false
  /** The durable state: everything in it is in the log. Never changed in place. */
  state: unknown = undefined
  /** True during a replay, when nothing else holds the state and it may be changed in place. */
  ownsState = false
  /** The state as the running drain has changed it; only meaningful while `draftOf` is that drain's number. */
  draft: unknown = undefined
  draftOf = -1
  /** Index in the table of the frame being built, while `frameOf` is that frame's number. */
  frameIndex = -1
  frameOf = -1
  /**
   * The drain in which it starts from its initial state. Then only its draft counts, and its row in a checkpoint does
   * not.
   */
  freshOf = -1
  /** The last decision that was applied to its draft. */
  appliedOf = -1
  /** The drain that used it last. It stays in memory until that drain is over. */
  usedBy = -1
  /** Sequence of the frame that changed it last, 0 for never. */
  changedAt = 0
  /** Upper bound of the encoded size, corrected by measuring. */
  bytes = 0
  /** When it wants to be woken; infinity for never. */
  wakeAt = Number.POSITIVE_INFINITY
  draftWakeAt = Number.POSITIVE_INFINITY
  /** The wake time that failed or did nothing, and is not tried again; NaN for none. */
  suspendedWakeAt = Number.NaN
  /** Its wakes in this life; undefined before the first one. */
  brake: WakeBrake | undefined = undefined
  /** Its entry among the timers in memory. */
  timer: Timer | undefined = undefined
  /** Entries that wait for its state, in order. */
  waiters: Array<Entry | LaneAsk> | undefined = undefined
  /** Monotonic time of its last use, milliseconds; meaningful in the list of idle actors. */
  usedAt = 0
  /** Its last use before it was put into the list of idle actors. */
  listedAt = 0
  isIdle = false
  older: Cell | undefined = undefined
  newer: Cell | undefined = undefined

  constructor(organization: Organization, actor: AnyActor, actorIndex: number, key: string) {
    this.organization = organization
    this.actor = actor
    this.actorIndex = actorIndex
    this.key = key
  }

  get address(): ActorAddress {
    return { organization: this.organization.name, kind: this.actor.kind, key: this.key }
  }

  /** When it is due to be woken; infinity for never. */
  get dueAt(): number {
    return this.brake === undefined ? this.wakeAt : this.brake.dueAt(this.wakeAt)
  }

  /** Whether this cell can be dropped: it has no state that counts, and no load is pending. */
  get isEmpty(): boolean {
    return !this.loaded && !this.requested && this.unreadable === undefined
  }
}

/** A timer of an actor that is not in memory. */
export interface ColdTimer extends TimerRow {
  /** Whether `wakeAgain` or the brake has set that time, so that no checkpoint has it. */
  readonly isAgain: boolean
}

/** A timer in memory, made by `Timers`. */
export interface Timer extends ColdTimer {
  wakeAt: number
  /** Undefined for an actor that is not in memory. */
  cell: Cell | undefined
  /** Meaningful while its actor is not in memory. */
  isAgain: boolean
  /** Its place in the heap. */
  index: number
}

/** A lane actor in memory. */
export class LaneCell {
  readonly organization: Organization
  readonly laneIndex: number
  readonly key: string
  readonly state: unknown
  /** Names of the actors it reads, once. */
  readonly touched: ReadonlyArray<{ readonly actorIndex: number; readonly key: string }>

  constructor(
    organization: Organization,
    laneIndex: number,
    key: string,
    state: unknown,
    touched: ReadonlyArray<{ readonly actorIndex: number; readonly key: string }>
  ) {
    this.organization = organization
    this.laneIndex = laneIndex
    this.key = key
    this.state = state
    this.touched = touched
  }
}

/** An organization that has commands waiting or actors in memory. */
export class Organization {
  readonly name: string
  /** As JSON. */
  readonly text: string
  readonly hash: number
  /** By actor index, then key. */
  readonly cells: Array<Map<string, Cell> | undefined> = []
  /** By lane index, then key. */
  readonly lanes: Array<Map<string, LaneCell> | undefined> = []
  /** Actors and idempotency keys. */
  cellCount = 0
  laneCount = 0
  head: Entry | undefined = undefined
  tail: Entry | undefined = undefined
  /** Commands in its queue. */
  waiting = 0
  /** Commands that wait for an actor's state. */
  stalled = 0
  /** Bytes of both. */
  bytes = 0
  /** Actors that are being read ahead of commands. */
  prefetched = 0
  inRing = false
  nextInRing: Organization | undefined = undefined
  /**
   * Whether one of its facts could not be applied to a state in place. From then on every decision of it works on
   * copies.
   */
  isCareful = false
  /** Why the organization is out of service (one of its actors cannot be read); undefined when it is not. */
  quarantine: string | undefined = undefined

  constructor(name: string) {
    this.name = name
    this.text = JSON.stringify(name)
    this.hash = fnv1a(name)
  }

  cell(actorIndex: number, key: string): Cell | undefined {
    return this.cells[actorIndex]?.get(key)
  }
}

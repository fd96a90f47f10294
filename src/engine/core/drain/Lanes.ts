/**
 * Decides asks of a partition's lanes on arrival (docs/architecture.md, rule 15), without a frame. An ask waits only
 * while an actor that it reads is being loaded, or until the partition's ownership is confirmed, and is then tried
 * again. A state is dropped only when it has ended.
 */
import type { ActorOfState } from "../../Actor.ts"
import type { ActorAddress } from "../../address.ts"
import { describe } from "../../describe.ts"
import { CommandFailed, CommandInvalid, Overloaded } from "../../errors.ts"
import type { AnyLane, LaneContext } from "../../Lane.ts"
import { maximumWaitingLaneAsks, retryAfterMillis } from "../../limits.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import { type Cell, type LaneAsk, LaneCell, type Organization } from "../actors/Organization.ts"
import type { Instant } from "../PartitionTime.ts"
import { checkKey, quarantined } from "../ruleChecks.ts"

/** The part of their partition that lanes need. */
export interface LaneHost {
  readonly partition: number
  readonly memory: ActorMemory
  /** Asks for an actor's state; true when it is there immediately. Throws when the state cannot be had. */
  readonly load: (cell: Cell) => boolean
  /** Makes an ask wait for an actor that was asked for. */
  readonly waitFor: (cell: Cell, ask: LaneAsk) => void
  /** The partition's time, or the error to answer instead. */
  readonly told: () => number | { readonly error: unknown }
  readonly isFresh: (now: Instant) => boolean
  readonly poisoned: (kind: string, reason: string) => void
}

/** An answer, or undefined if the ask waits. */
export type LaneAnswer = { readonly accepted: boolean; readonly value: unknown } | undefined

class RunningContext implements LaneContext {
  readonly now: number
  private readonly memory: ActorMemory
  private readonly lane: AnyLane
  private readonly cell: LaneCell

  constructor(memory: ActorMemory, lane: AnyLane, cell: LaneCell, now: number) {
    this.memory = memory
    this.lane = lane
    this.cell = cell
    this.now = now
  }

  get self(): ActorAddress {
    return { organization: this.cell.organization.name, kind: this.lane.kind, key: this.cell.key }
  }

  // A getter, not a method, so that a rule may destructure the context.
  get read() {
    return <State>(actor: ActorOfState<State>, key = ""): State => {
      const index = this.memory.registry.actorIndex(actor.kind)
      for (const name of this.cell.touched) {
        if (name.actorIndex === index && name.key === key)
          return this.cell.organization.cell(index, key)!.state as State
      }
      throw new Error(`the lane does not name ${actor.kind} "${key}" among the actors it touches`)
    }
  }
}

export class Lanes {
  private readonly host: LaneHost
  private unconfirmed: Array<LaneAsk> = []
  private waiting = 0
  private sweptAt = Number.NEGATIVE_INFINITY

  constructor(host: LaneHost) {
    this.host = host
  }

  /** Whether more asks may wait. */
  private get admitsWaiting(): boolean {
    return this.waiting + this.unconfirmed.length < maximumWaitingLaneAsks
  }

  /** Whether an ask waits for the ownership to be confirmed. */
  get needsConfirmation(): boolean {
    return this.unconfirmed.length > 0
  }

  /** Decides immediately if possible. */
  ask(ask: LaneAsk, now: Instant): LaneAnswer {
    return this.decide(ask, now, this.admitsWaiting)
  }

  /** Tries an ask again that waited for an actor, or answers it with an error. */
  resumed(ask: LaneAsk, now: Instant): LaneAnswer {
    this.waiting--
    return this.decide(ask, now, true)
  }

  /** Notes that an ask that waited for an actor was answered elsewhere. */
  dropped(): void {
    this.waiting--
  }

  /** Takes out the asks that waited for the confirmation. */
  takeUnconfirmed(): ReadonlyArray<LaneAsk> {
    const asks = this.unconfirmed
    this.unconfirmed = []
    return asks
  }

  /** Forgets the asks that wait; they were answered. */
  clear(): void {
    this.unconfirmed = []
    this.waiting = 0
  }

  /** Drops states that have ended. */
  sweep(now: number): void {
    const { memory } = this.host
    this.sweptAt = now
    for (const organization of [...memory.organizations.values()]) {
      if (organization.laneCount === 0) continue
      for (const cells of organization.lanes) {
        if (cells === undefined) continue
        for (const cell of [...cells.values()]) if (this.hasEnded(cell, now)) memory.removeLane(cell)
      }
    }
  }

  /** A state whose rule throws here, or answers no time, no longer counts. */
  private hasEnded(cell: LaneCell, now: number): boolean {
    try {
      return !(this.host.memory.registry.lanes[cell.laneIndex]!.options.keepUntil(cell.state) > now)
    } catch {
      return true
    }
  }

  private decide(ask: LaneAsk, now: Instant, mayWait: boolean): LaneAnswer {
    const { host } = this
    const lane = host.memory.registry.lanes[ask.laneIndex]!
    if (!host.isFresh(now)) {
      if (!mayWait) return this.overloaded()
      this.unconfirmed.push(ask)
      return undefined
    }
    const told = host.told()
    if (typeof told !== "number") return { accepted: false, value: told.error }
    const organization = host.memory.organization(ask.organization)
    if (organization === undefined) {
      const reason = "the organization's name is not one"
      return { accepted: false, value: new CommandInvalid({ kind: lane.kind, reason }) }
    }
    try {
      const cell = organization.lanes[ask.laneIndex]?.get(ask.key) ?? this.make(organization, ask, lane, told)
      const { quarantine } = organization
      if (cell === undefined) return this.overloaded()
      if (quarantine !== undefined) return { accepted: false, value: quarantined(organization.name, quarantine) }
      const missing = this.missing(organization, cell, now)
      if (missing === "no room" || (missing !== undefined && !mayWait)) return this.overloaded()
      if (missing !== undefined) {
        host.waitFor(missing, ask)
        this.waiting++
        return undefined
      }
      const value: unknown = lane.options.decide(
        cell.state,
        ask.command,
        new RunningContext(host.memory, lane, cell, told)
      )
      return { accepted: true, value }
    } catch (cause) {
      const reason = describe(cause)
      host.poisoned(lane.kind, reason)
      return { accepted: false, value: new CommandFailed({ kind: lane.kind, reason }) }
    } finally {
      if (organization.laneCount === 0) host.memory.noteEmptied(organization)
    }
  }

  /** Asks for all actors that the lane reads; returns one that is not there yet. */
  private missing(organization: Organization, cell: LaneCell, now: Instant): Cell | "no room" | undefined {
    const { memory } = this.host
    let missing: Cell | undefined
    for (const name of cell.touched) {
      if (organization.cell(name.actorIndex, name.key) === undefined && !memory.admitsActor()) return "no room"
      const read = memory.cell(organization, name.actorIndex, name.key)
      memory.look(read, now.monotonic)
      if (!read.loaded && !this.host.load(read)) missing ??= read
    }
    return missing
  }

  private make(organization: Organization, ask: LaneAsk, lane: AnyLane, now: number): LaneCell | undefined {
    const { memory } = this.host
    checkKey(ask.key)
    if (!memory.admitsLane()) {
      // Sweep for room at most once a second, since a sweep looks at all states.
      if (now - this.sweptAt >= 1_000) this.sweep(now)
      if (!memory.admitsLane()) return undefined
      memory.organizations.set(organization.name, organization)
    }
    const self = { organization: organization.name, kind: lane.kind, key: ask.key }
    const touched = (lane.options.touches?.(self) ?? []).map((name) => {
      const actorIndex = memory.registry.actorIndex(name.actor.kind)
      if (actorIndex < 0) throw new Error(`${name.actor.kind} is not an actor of this engine`)
      return { actorIndex, key: name.key }
    })
    const cell = new LaneCell(organization, ask.laneIndex, ask.key, lane.options.initial(ask.key), touched)
    memory.addLane(cell)
    return cell
  }

  private overloaded(): LaneAnswer {
    return { accepted: false, value: new Overloaded({ partition: this.host.partition, retryAfterMillis }) }
  }
}

/**
 * Receives commands, asks of lanes and signals into a partition's core: they are refused, queued or answered
 * immediately (docs/architecture.md, rules 6, 13, 15). Every entry that waits here is answered in the end, even if this
 * life ends.
 */

import type { AnyActor } from "../../Actor.ts"
import { CommandInvalid, Overloaded } from "../../errors.ts"
import { retryAfterMillis } from "../../limits.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import { type Caller, Entry, type LaneAsk } from "../actors/Organization.ts"
import type { Guard, KeyGuard } from "../keys/KeyGuard.ts"
import type { Life } from "../Life.ts"
import type { Instant, Moment } from "../PartitionTime.ts"
import type { CoreOptions } from "../protocol.ts"
import { estimateBytes } from "../ruleChecks.ts"
import { passedOver, peekCommand } from "./Decider.ts"
import type { LaneAnswer, Lanes } from "./Lanes.ts"
import type { Mailbox } from "./Mailbox.ts"

/** Bytes that a guard adds to a waiting command. */
const guardBytes = 256

/** The organization of a skipped signal: its own name may be invalid. */
const nobody = "-"

export interface IntakeOptions {
  readonly options: CoreOptions
  readonly memory: ActorMemory
  readonly mailbox: Mailbox
  readonly lanes: Lanes
  readonly now: Moment
  readonly life: () => Life
}

export class Intake {
  private readonly shared: IntakeOptions
  private readonly options: CoreOptions
  /** Why commands are refused now; undefined while they are accepted. */
  private refusal: { readonly error: unknown } | undefined = undefined

  constructor(shared: IntakeOptions) {
    this.shared = shared
    this.options = shared.options
  }

  /** Refuses commands with this error from now on, or accepts them again (undefined). */
  refuse(error: unknown): void {
    this.refusal = error === undefined ? undefined : { error }
  }

  /** Why commands are refused; undefined while they are accepted. */
  get refusedWith(): unknown {
    return this.refusal?.error
  }

  /** Accepts a caller's command, or returns immediately why it cannot. */
  offer(
    organizationName: string,
    actorIndex: number,
    key: string,
    command: unknown,
    caller: Caller,
    isFresh = false,
    guard?: Guard | KeyGuard
  ): void {
    const { host, partition, registry } = this.options
    if (this.refusal !== undefined) {
      host.reply(caller, false, this.refusal.error)
      return
    }
    const actor = registry.actors[actorIndex]!
    const organization = this.shared.memory.organization(organizationName)
    if (organization === undefined) {
      const reason = `"${organizationName.slice(0, 64)}" cannot name an organization`
      host.reply(caller, false, new CommandInvalid({ kind: actor.kind, reason }))
      return
    }
    const entry = new Entry(organization, actor, actorIndex, key, command, caller)
    entry.isFresh = isFresh
    entry.bytes = estimateBytes(command)
    if (guard !== undefined) {
      entry.bytes += guardBytes
      if ("remember" in guard) entry.keyGuard = guard
      else entry.guard = guard
    }
    this.shared.memory.noteEmptied(organization)
    if (this.shared.mailbox.offer(entry)) host.wake()
    else host.reply(caller, false, new Overloaded({ partition, retryAfterMillis }))
  }

  /** Begins to load the touched actors that are not in memory. Does nothing if that is not possible now. */
  prefetch(organizationName: string, actorIndex: number, key: string, command: unknown, isFresh: boolean): void {
    if (this.refusal !== undefined) return
    const organization = this.shared.memory.organization(organizationName)
    if (organization === undefined) return
    const actor = this.options.registry.actors[actorIndex]!
    const entry = new Entry(organization, actor, actorIndex, key, command, undefined)
    entry.isFresh = isFresh
    this.shared.life().loader.prefetchAhead(entry)
    this.shared.memory.noteEmptied(organization)
  }

  /**
   * Answers the durable state of an actor: immediately when it is in memory and the ownership is fresh, otherwise
   * through the mailbox.
   */
  peek(organization: string, actorIndex: number, key: string, caller: Caller, now: Instant): void {
    if (this.refusal === undefined && this.shared.life().time.isFresh(now)) {
      const cell = this.shared.memory.organizations.get(organization)?.cell(actorIndex, key)
      if (cell?.loaded === true) {
        this.shared.memory.look(cell, now.monotonic)
        this.options.host.reply(caller, true, cell.state)
        return
      }
    }
    this.offer(organization, actorIndex, key, peekCommand, caller)
  }

  /** Whether answers may be given that rest on no new frame (docs/architecture.md, rule 6). */
  isFresh(now: Instant): boolean {
    return this.refusal === undefined && this.shared.life().time.isFresh(now)
  }

  /** Asks a lane. Returns the answer immediately if it can, otherwise later through the caller. */
  askLane(ask: LaneAsk, now: Instant): LaneAnswer {
    if (this.refusal !== undefined) return { accepted: false, value: this.refusal.error }
    this.shared.now.set(now)
    const answer = this.shared.lanes.ask(ask, now)
    if (answer === undefined || this.shared.life().time.isRenewalDue(now)) {
      this.shared.life().time.wantRenewal()
      this.options.host.wake()
    }
    return answer
  }

  /** Ends the wait of a lane's ask: it is tried again, or answered with the error. */
  laneResumed(ask: LaneAsk, error: unknown): void {
    const answer =
      error === undefined ? this.shared.lanes.resumed(ask, this.shared.now) : { accepted: false, value: error }
    if (error !== undefined) this.shared.lanes.dropped()
    if (answer !== undefined) this.options.host.reply(ask.caller, answer.accepted, answer.value)
  }

  /** Tries the lane asks again that waited for a proof of the ownership. */
  retryUnconfirmed(): void {
    for (const ask of this.shared.lanes.takeUnconfirmed()) {
      const answer = this.shared.lanes.ask(ask, this.shared.now)
      if (answer !== undefined) this.options.host.reply(ask.caller, answer.accepted, answer.value)
    }
  }

  /**
   * Accepts an external signal, or the message of an ingest, in order. False when it means nothing; the next meaningful
   * one then covers its place too.
   */
  signal(
    sequence: number,
    organizationName: string,
    actor: AnyActor,
    key: string,
    command: unknown,
    ingest?: string
  ): boolean {
    const actorIndex = this.options.registry.actorIndex(actor.kind)
    const organization = this.shared.memory.organization(organizationName)
    if (actorIndex < 0 || organization === undefined) return false
    const entry = new Entry(
      organization,
      this.options.registry.actors[actorIndex]!,
      actorIndex,
      key,
      command,
      undefined
    )
    entry.signalSequence = sequence
    entry.ingest = ingest
    if (ingest !== undefined) entry.bytes = estimateBytes(command)
    this.shared.memory.noteEmptied(organization)
    this.shared.life().signals.of(ingest).add(entry)
    this.shared.life().loader.prefetch(entry)
    this.options.host.wake()
    return true
  }

  /** Records in the next frame that the partition has passed a signal or a message, which means no command. */
  passOver(sequence: number, ingest?: string): void {
    const organization = this.shared.memory.organization(nobody)!
    const entry = new Entry(organization, this.options.registry.actors[0]!, 0, "", passedOver, undefined)
    entry.signalSequence = sequence
    entry.ingest = ingest
    this.shared.memory.noteEmptied(organization)
    this.shared.life().signals.of(ingest).add(entry)
    this.options.host.wake()
  }

  /** Makes an ingest of the program known, whose place is kept. */
  follows(ingest: string): void {
    this.shared.life().signals.follows(ingest)
  }

  /** Notes that an ingest was read up to a place. A frame that is written for another reason records it. */
  passed(sequence: number, ingest: string): void {
    this.shared.life().signals.of(ingest).passed = sequence
  }

  /** Whether nothing waits that was read from an ingest. */
  isThrough(ingest: string): boolean {
    return this.shared.life().signals.of(ingest).size === 0
  }

  /** Whether more signals, or messages of an ingest, may be read. If not, `onRoom` is called once they may. */
  admitsSignals(onRoom: () => void, ingest?: string): boolean {
    const queue = this.shared.life().signals.of(ingest)
    queue.onRoom = queue.hasRoom ? undefined : onRoom
    return queue.hasRoom
  }

  /** Fails everything that waits for its turn. */
  failWaiting(error: unknown): void {
    const { host } = this.options
    this.shared.life().loader.dropWaiters(error)
    for (const organization of this.shared.memory.organizations.values()) {
      for (const entry of this.shared.mailbox.takeAllOf(organization)) host.reply(entry.caller!, false, error)
      this.shared.memory.noteEmptied(organization)
    }
    for (const ask of this.shared.lanes.takeUnconfirmed()) host.reply(ask.caller, false, error)
  }

  /** Fails the asks of lanes that wait; commands wait on. */
  failLanes(error: unknown): void {
    this.shared.life().loader.failLanes(error)
    for (const ask of this.shared.lanes.takeUnconfirmed()) this.options.host.reply(ask.caller, false, error)
  }

  /** Whether nothing waits to be decided. */
  get isDone(): boolean {
    return this.shared.mailbox.size === 0 && this.shared.mailbox.stalled === 0
  }
}

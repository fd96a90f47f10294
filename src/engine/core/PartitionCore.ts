/**
 * The core of a partition is a synchronous state machine over its actors (docs/architecture.md, rules 5 to 8, 10, 12,
 * 13, 15, 17, 19). Commands, loads, acknowledgements and the time go in; frames to append, actors to load, pages of
 * timers to read, snapshots and replies come out. It knows no Effect, no clock and no store, and is the only one to
 * change its state: the shell around it carries out its demands. It asserts its assumptions. A false one ends the life,
 * and the next one starts from the log.
 */

import { OutcomeUnknown, PartitionUnavailable } from "../errors.ts"
import { type Head, headAfter, placesOf } from "../frame.ts"
import { retryAfterMillis } from "../limits.ts"
import type { ActorRow, CheckpointRecord } from "../ports/Checkpoints.ts"
import { ActorMemory } from "./actors/ActorMemory.ts"
import type { Cell, LaneAsk } from "./actors/Organization.ts"
import type { Evictable } from "./actors/ProcessBounds.ts"
import { assert } from "./assert.ts"
import { Intake } from "./drain/Intake.ts"
import { Lanes } from "./drain/Lanes.ts"
import { Mailbox } from "./drain/Mailbox.ts"
import { Probe } from "./drain/Probe.ts"
import { Life } from "./Life.ts"
import { CheckpointSide } from "./log/CheckpointSide.ts"
import type { LogFill } from "./log/LogRoom.ts"
import { Replay } from "./log/Replay.ts"
import { type Instant, Moment } from "./PartitionTime.ts"
import type { CoreOptions, CoreTurn, Demand, DraftedFrame, NotStored, StoredDraft } from "./protocol.ts"

export class PartitionCore implements Evictable {
  /** Entrance of commands, asks of lanes and signals. */
  readonly intake: Intake
  /** Reads from the checkpoints, and the states for the next one. */
  readonly checkpoints: CheckpointSide
  /** A read-only view for operators, tests and the simulator. */
  readonly probe: Probe
  private readonly options: CoreOptions
  private readonly memory: ActorMemory
  private readonly mailbox: Mailbox
  private readonly lanes: Lanes
  /** The time that the shell gave last. */
  private readonly now = new Moment()
  private life: Life

  constructor(options: CoreOptions) {
    const { bounds, host, partition, registry } = options
    const { now } = this
    const life = () => this.life
    this.options = options
    this.memory = new ActorMemory(registry, bounds, () => this.life.timers)
    this.mailbox = new Mailbox(options.mailboxCapacity, bounds)
    const { mailbox, memory } = this
    this.lanes = new Lanes({
      partition,
      memory,
      load: (cell) => this.life.loader.load(cell),
      waitFor: (cell, ask) => this.life.loader.waitFor(cell, ask),
      told: () => this.tellLane(),
      isFresh: (at) => this.life.time.isFresh(at),
      poisoned: host.poisoned
    })
    this.intake = new Intake({ options, memory, mailbox, lanes: this.lanes, now, life })
    this.checkpoints = new CheckpointSide({ options, memory, now, life })
    this.probe = new Probe(() => {
      const { head, newestCheckpoint, signals, timers } = this.life
      return { memory, mailbox, timers, signals, head, newestCheckpoint }
    })
    this.life = this.newLife()
    bounds.join(this)
  }

  private newLife(base?: CheckpointRecord): Life {
    const { lanes, memory, now, options } = this
    const { host, partition } = options
    const laneResumed = (ask: LaneAsk, error: unknown) => this.intake.laneResumed(ask, error)
    return new Life({ options, partition, memory, mailbox: this.mailbox, lanes, now, host, laneResumed }, base)
  }

  get head(): Head {
    return this.life.head
  }

  get newestCheckpoint(): CheckpointRecord | undefined {
    return this.life.loader.newestCheckpoint
  }

  /** Drops everything but waiting commands, before a recovery. */
  beginLife(): void {
    // Commands that wait for an actor go back to their queues: the next life asks for it again.
    this.life.loader.dropWaiters(this.intake.refusedWith)
    assert(!this.life.loader.hasWaiters, "a life begins with commands that wait for actors of the last one")
    assert(this.life.drain.immediate.size === 0, "a life begins with answers of the last one")
    this.memory.dropActors()
    this.lanes.clear()
    this.life = this.newLife()
  }

  /** Begins to fold the log's tail over a checkpoint. `careful`: organizations in which something broke before. */
  beginReplay(base: CheckpointRecord | undefined, head: Head, careful: ReadonlySet<string>): Replay {
    this.life = this.newLife(base)
    this.life.head = head
    const { keys } = this.memory
    keys.stored = keys.storedSince(base === undefined ? undefined : head.now)
    return this.continueReplay(careful)
  }

  /** Folds further frames over what is in memory. */
  continueReplay(careful: ReadonlySet<string>): Replay {
    this.memory.isReplaying = true
    const { quarantined } = this.options.host
    const fillAll = (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) =>
      this.life.loader.fillAll(cells, rows, true)
    return new Replay({ memory: this.memory, quarantined, fillAll }, this.life.head, careful)
  }

  /**
   * Ends the replay of a tail of `bytes`, with the log as full as `log` says. Returns the organizations for which it
   * must be folded again with care, in a new life.
   */
  endReplay(replay: Replay, bytes: number, log: LogFill): ReadonlySet<string> {
    this.memory.isReplaying = false
    const broken = replay.finish(this.life.timers)
    this.life.head = replay.head
    this.life.room.note(log)
    const frames = this.life.head.sequence - (this.newestCheckpoint?.sequence ?? 0)
    this.life.pace.replayed(frames, this.life.pace.bytesSince + bytes, log.maximumBytes)
    return broken
  }

  /** Takes the stored claim as the new head. */
  claimed(head: Head, bytes: number, provenAt: Instant | undefined, provesByFrames: boolean): void {
    this.life.head = head
    this.life.provesByFrames = provesByFrames
    if (provenAt !== undefined) this.life.time.proven(provenAt)
    this.life.room.stored(bytes)
    this.life.pace.stored(bytes, 0)
  }

  /**
   * Ends the running drain without its frame. Callers who wait for the frame get `ofFrame`; without it,
   * `OutcomeUnknown` when the frame is under way and may be stored, otherwise `error`.
   */
  failDrain(error: unknown, ofFrame?: unknown): void {
    const { partition } = this.options
    const { reply } = this.options.host
    const unknown = this.life.underWay === undefined ? error : new OutcomeUnknown({ partition })
    this.life.underWay = undefined
    for (const caller of this.life.drain.abandon()) reply(caller, false, ofFrame ?? unknown)
    this.life.drain.immediate.fail(reply, error)
  }

  /** Fails everything. */
  failAll(error: unknown): void {
    this.failDrain(error)
    this.intake.failWaiting(error)
  }

  /** Whether the clock is too far behind the last frame. */
  isClockBehind({ wall }: Instant): boolean {
    return this.life.time.tell(this.life.head.now, wall) === "behind the log"
  }

  /** Whether the log was seen to be ours since that instant. */
  wasSeenSince(then: Instant): boolean {
    return this.life.time.wasSeenSince(then)
  }

  private tellLane(): number | { readonly error: unknown } {
    const told = this.life.time.tell(this.life.head.now, this.now.wall)
    if (typeof told === "number") return told
    this.options.host.wake()
    const { partition } = this.options
    return { error: new PartitionUnavailable({ partition, reason: "its clock was set back", retryAfterMillis }) }
  }

  /** Decides until the shell has something to do. */
  next(turn: CoreTurn): Demand {
    assert(this.life.underWay === undefined, "a drain begins while the frame of another one is on its way")
    let now: Instant = turn
    while (true) {
      this.now.set(now)
      this.life.loader.at(now.monotonic)
      this.memory.releaseEmptied()
      const told = this.life.time.tell(this.life.head.now, now.wall)
      if (told === "behind the log") return { _tag: "ClockBehind", millis: this.life.head.now - now.wall }
      if (told === "set back") return { _tag: "Restart", reason: "the clock was set back by more than a minute" }
      this.notice(told)
      if (this.life.isMarkWanted || this.needsProof(now)) return this.prove(told)
      if (this.life.room.wantsLook || this.life.time.isLookDue(now)) return { _tag: "Confirm" }
      const held = this.life.work.isHeld(now)
      if (!this.life.work.hasAny(told, held, now)) return { _tag: "Wait", millis: this.life.work.waitMillis(told, now) }
      this.life.drain.run(this.life.head, told, turn, this.life.room.forFacts(now.monotonic), held)
      if (this.life.drain.decider.metFullLog) this.logIsFull(false)
      if (this.life.drain.decider.hasFrame) return { _tag: "Append", frame: this.send() }
      this.life.drain.end()
      now = turn.read()
      this.now.set(now)
      if (this.life.time.isFresh(now)) this.life.drain.immediate.give(this.options.host.reply)
      if (turn.spent() > 1) return { _tag: "Yield" }
      if (this.life.drain.decider.decidedCount === 0)
        return { _tag: "Wait", millis: this.life.work.waitMillis(told, now) }
    }
  }

  /** Notifies the shell of the work beside the loop. */
  private notice(told: number): void {
    const { host } = this.options
    const { monotonic } = this.now
    if (this.life.isCheckpointDue) host.checkpointWanted()
    this.life.isCheckpointDue = false
    const { stored } = this.memory.keys
    if (this.life.pages.isWanted(this.life.timers, told, monotonic) || stored.isWanted(monotonic)) host.readsWanted()
  }

  /** Whether something waits for a proof of ownership, or will soon. */
  private needsProof(now: Instant): boolean {
    // Answers that were no longer fresh wait for a proof, whatever failed before: they must be answered in the end.
    if (this.life.drain.immediate.size > 0) return true
    if (this.lanes.needsConfirmation && this.life.time.mayAsk(now)) return true
    return this.life.time.takeRenewal(now)
  }

  /** Asks the leader for a proof, or stores an empty frame if the leader's word is not one. */
  private prove(told: number): Demand {
    const isMark = this.life.isMarkWanted
    this.life.isMarkWanted = false
    if (!isMark && (!this.life.provesByFrames || this.life.room.isFull)) return { _tag: "Confirm" }
    this.life.drain.mark(this.life.head, told)
    return { _tag: "Append", frame: this.send() }
  }

  private send(): DraftedFrame {
    this.life.underWay = this.life.drain.frameAfter(this.life.head)
    // These answers rest on nothing in this frame; stale ones wait for it, because it proves the ownership.
    if (this.life.time.isFresh(this.now)) this.life.drain.immediate.give(this.options.host.reply)
    return this.life.underWay
  }

  /**
   * Commits the frame that was stored: states advance and replies go out. Returns the frame for followers of the log.
   */
  appended(provenAt: Instant | undefined, now: Instant): StoredDraft {
    const { bytes, header } = this.endAppend(now)
    const { messages, records } = this.life.drain.decider.draft
    this.advance(header, bytes, provenAt)
    const stored = { head: this.life.head, bytes: bytes.length, records, messages }
    const answers = this.life.drain.commit(stored.head.sequence)
    if (this.life.pace.stored(bytes.length, this.memory.changedCount)) this.life.isCheckpointDue = true
    answers.give(this.options.host.reply)
    if (this.life.time.isFresh(now)) {
      this.life.drain.immediate.give(this.options.host.reply)
      this.intake.retryUnconfirmed()
    }
    return stored
  }

  /**
   * Abandons the frame that was not stored: callers get the error, timers and signals come back. Returns the fence if
   * one is stored instead.
   */
  notAppended(outcome: NotStored, error: unknown, now: Instant): StoredDraft | undefined {
    const { header } = this.endAppend(now)
    const { reply } = this.options.host
    const callers = this.life.drain.abandon()
    if (outcome._tag === "Fenced off") {
      this.advance({ ...header, ingests: undefined, ...placesOf(this.life.head) }, outcome.fence, outcome.provenAt)
      this.life.pace.stored(outcome.fence.length, this.memory.changedCount)
    }
    if (outcome._tag !== "Not sent") this.logIsFull(true)
    for (const caller of callers) reply(caller, false, error)
    // Facts cannot be stored, but answers that need none still come from the durable state.
    if (this.life.time.isFresh(now)) this.life.drain.immediate.give(reply)
    else this.life.drain.immediate.fail(reply, error)
    if (outcome._tag !== "Fenced off") return
    return { head: this.life.head, bytes: outcome.fence.length, records: [], messages: [] }
  }

  private endAppend(now: Instant): DraftedFrame {
    const frame = this.life.underWay
    assert(frame !== undefined, "an append ends that did not begin")
    assert(frame.expectedLast === this.life.head.sequence, "the head has moved under a frame on its way")
    this.life.underWay = undefined
    this.now.set(now)
    return frame
  }

  private advance(header: DraftedFrame["header"], bytes: Uint8Array, provenAt: Instant | undefined): void {
    this.life.head = headAfter(this.life.head.sequence + 1, bytes, header)
    this.life.room.stored(bytes.length)
    if (provenAt !== undefined) this.life.time.proven(provenAt)
  }

  /**
   * Processes the leader's report on the log, requested at `begunAt`; undefined when it did not answer. Returns false
   * when the log does not end with our head.
   */
  confirmed(log: (LogFill & { readonly lastSequence: number }) | undefined, begunAt: Instant, now: Instant): boolean {
    this.now.set(now)
    const isOurs = log?.lastSequence === this.life.head.sequence
    if (log !== undefined && isOurs) {
      this.life.room.note(log)
      if (this.life.provesByFrames && !this.life.room.isFull) this.life.time.seen(begunAt)
      else this.life.time.proven(begunAt)
    } else {
      this.life.room.lookFailed()
      this.life.time.failed(now)
    }
    // A leader that was deposed may not know our last frames.
    if (log !== undefined && !isOurs && !(this.life.provesByFrames && log.lastSequence < this.life.head.sequence))
      return false
    const { host, partition } = this.options
    if (this.life.time.isFresh(now)) {
      this.life.drain.immediate.give(host.reply)
      this.intake.retryUnconfirmed()
      return true
    }
    const error = new PartitionUnavailable({ partition, reason: "its log does not answer", retryAfterMillis })
    this.life.drain.immediate.fail(host.reply, error)
    for (const ask of this.lanes.takeUnconfirmed()) host.reply(ask.caller, false, error)
    return true
  }

  /**
   * Handles a log that has no room for facts. A checkpoint may free some; if a checkpoint covers the newest frame
   * already, a mark allows the next one to do so.
   */
  private logIsFull(isRefused: boolean): void {
    const { monotonic } = this.now
    if (isRefused) this.life.room.refused(monotonic)
    else this.life.room.missed(monotonic)
    if (this.newestCheckpoint?.sequence === this.life.head.sequence && this.life.room.wantsMark) {
      this.life.room.marked()
      this.life.isMarkWanted = true
    }
    this.life.isCheckpointDue = true
  }

  /** Asks for a checkpoint in the next turn, if anything has changed. */
  wantCheckpoint(): void {
    if (this.life.head.sequence <= (this.newestCheckpoint?.sequence ?? 0)) return
    this.life.isCheckpointDue = true
    this.options.host.wake()
  }

  /** Records the fill that the log reports. */
  noteFill(fill: LogFill): void {
    this.life.room.note(fill)
    if (!this.life.room.isFull) this.options.host.wake()
  }

  evict(count: number): number {
    return this.memory.evict(count)
  }

  /** Evicts actors that were not used for `idleMillis`, and lane states that have ended. */
  sweep(idleMillis: number, now: Instant): void {
    this.memory.evictUnusedSince(now.monotonic - idleMillis)
    const told = this.life.time.tell(this.life.head.now, now.wall)
    // A state that had ended at a time that we already used stays ended, even when the clock steps back.
    if (typeof told === "number") this.lanes.sweep(told)
    this.memory.releaseEmptied()
  }

  /** Drops the memory and leaves the process's bounds, for good. */
  leave(): void {
    this.memory.dropActors()
    this.options.bounds.leave(this)
  }
}

/**
 * The core of a partition: a synchronous state machine over its actors (docs/architecture.md, rules 5 to 8, 10, 12, 13,
 * 15, 17, 19). Commands, loads, acknowledgements and the time go in; frames to append, actors to load, pages of timers
 * to read, snapshots and replies come out. It knows no Effect, no clock and no store, and nobody else touches its
 * state: the shell around it carries out what it asks for. It asserts what it believes about its own state. A false
 * belief ends the life, and the next one starts from the log.
 */

import { OutcomeUnknown, PartitionUnavailable } from "../errors.ts"
import { emptyHead, type Head, headAfter } from "../frame.ts"
import { retryAfterMillis } from "../limits.ts"
import type { ActorRow, CheckpointRecord } from "../ports/Checkpoints.ts"
import { ActorLoader } from "./actors/ActorLoader.ts"
import { ActorMemory } from "./actors/ActorMemory.ts"
import type { Cell, Entry, LaneAsk } from "./actors/Organization.ts"
import type { Evictable } from "./actors/ProcessBounds.ts"
import { assert } from "./assert.ts"
import { Drain } from "./drain/Drain.ts"
import { Intake } from "./drain/Intake.ts"
import { Lanes } from "./drain/Lanes.ts"
import { Mailbox } from "./drain/Mailbox.ts"
import { NextWork } from "./drain/NextWork.ts"
import { Probe } from "./drain/Probe.ts"
import { SignalQueue } from "./drain/SignalQueue.ts"
import { CheckpointPace } from "./log/CheckpointPace.ts"
import { CheckpointSide } from "./log/CheckpointSide.ts"
import { type LogFill, LogRoom } from "./log/LogRoom.ts"
import { Replay } from "./log/Replay.ts"
import { type Instant, Moment, PartitionTime } from "./PartitionTime.ts"
import type { CoreOptions, CoreTurn, Demand, DraftedFrame, NotStored, StoredDraft } from "./protocol.ts"
import { TimerPages } from "./timers/TimerPages.ts"
import { Timers } from "./timers/Timers.ts"

/** The level in force where no older program is about. */
const everyLevel = () => Number.POSITIVE_INFINITY

export class PartitionCore implements Evictable {
  /** Where commands, asks of lanes and signals come in. */
  readonly intake: Intake
  /** What is read from the checkpoints, and what goes into them. */
  readonly checkpoints: CheckpointSide
  private readonly options: CoreOptions
  private readonly memory: ActorMemory
  private readonly mailbox: Mailbox
  private readonly signals = new SignalQueue()
  private readonly lanes: Lanes
  private readonly loader: ActorLoader
  private readonly pages = new TimerPages()
  private readonly room = new LogRoom()
  private readonly pace: CheckpointPace
  private readonly drain: Drain
  private readonly work: NextWork
  private readonly time = new PartitionTime()
  /** The time that the shell told last. */
  private readonly now = new Moment()
  private timers = new Timers(false)
  /** The frame that is on its way. */
  private underWay: DraftedFrame | undefined = undefined
  private headNow: Head = emptyHead
  /** Whether a deposed leader may still answer, so that only a stored frame proves the log to be ours. */
  private provesByFrames = false
  private isMarkWanted = false
  private isCheckpointDue = false

  constructor(options: CoreOptions) {
    const { bounds, host, partition, registry, wantsRecords } = options
    this.options = options
    const { now, pages, signals, time } = this
    const memory = new ActorMemory(registry, bounds)
    const mailbox = new Mailbox(options.mailboxCapacity, bounds)
    const pace = new CheckpointPace(options)
    memory.mayLeave = (cell) => this.timers.mayLeave(cell)
    memory.onEvicted = (cell) => this.timers.evicted(cell)
    const laneResumed = (ask: LaneAsk, error: unknown) => this.intake.laneResumed(ask, error)
    const loader = new ActorLoader({ partition, memory, mailbox, host, laneResumed }, this.timers)
    const load = (cell: Cell, isFresh?: boolean) => loader.load(cell, isFresh)
    const waitFor = (cell: Cell, waiter: Entry | LaneAsk) => loader.waitFor(cell, waiter)
    const common = { partition, memory, load, waitFor, poisoned: host.poisoned, braked: host.braked }
    const lanes = new Lanes({ ...common, told: () => this.tellLane(), isFresh: (at) => time.isFresh(at) })
    const mayLoad = () => loader.mayLoad
    const waitsForPage = (timer: Parameters<TimerPages["holds"]>[0]) => pages.holds(timer, this.timers, now.monotonic)
    const crowded = () => this.crowded()
    const defer: typeof loader.defer = (timer) => loader.defer(timer)
    const prefetch = (entry: Entry) => loader.prefetch(entry)
    const { signalFailed } = host
    const drainHost = {
      ...common,
      signalFailed,
      prefetch,
      mailbox,
      signals,
      level: options.level ?? everyLevel,
      mayLoad,
      defer,
      waitsForPage,
      crowded,
      wantsRecords
    }
    this.drain = new Drain(drainHost, this.timers)
    const atHand = { timers: () => this.timers, head: () => this.headNow }
    this.work = new NextWork({ mailbox, signals, pages, room: this.room, loader, lanes, time, timers: atHand.timers })
    this.memory = memory
    this.mailbox = mailbox
    this.pace = pace
    this.loader = loader
    this.lanes = lanes
    this.intake = new Intake({ options, memory, mailbox, signals, loader, lanes, time, now })
    this.checkpoints = new CheckpointSide({ options, memory, loader, pages, pace, now, ...atHand })
    bounds.join(this)
  }

  /** What it holds, for operators, tests and the simulator. */
  readonly probe = new Probe(() => {
    const { headNow: head, loader, memory, signals, timers } = this
    return { memory, mailbox: this.mailbox, timers, signals, head, newestCheckpoint: loader.newestCheckpoint }
  })

  get head(): Head {
    return this.headNow
  }

  get newestCheckpoint(): CheckpointRecord | undefined {
    return this.loader.newestCheckpoint
  }

  /** Drops everything but waiting commands, before a recovery. */
  beginLife(): void {
    // Commands that wait for an actor go back to their queues: the next life asks for it again.
    this.loader.dropWaiters(this.intake.refusedWith)
    this.memory.dropActors()
    this.lanes.clear()
    this.signals.clear()
    this.pages.begin()
    this.time.begin()
    this.setTimers(new Timers(false))
    this.underWay = undefined
    this.headNow = emptyHead
    this.pace.begin(0, 0, Number.POSITIVE_INFINITY)
    this.isMarkWanted = false
    this.isCheckpointDue = false
    this.work.begin()
  }

  private setTimers(timers: Timers): void {
    this.timers = timers
    this.drain.use(timers)
    this.loader.begin(timers)
  }

  /** Begins to fold the log's tail over a checkpoint. `careful`: organizations in which something broke before. */
  beginReplay(base: CheckpointRecord | undefined, head: Head, careful: ReadonlySet<string>): Replay {
    this.headNow = head
    this.setTimers(new Timers(base !== undefined))
    this.loader.useBase(base, false)
    this.memory.keys.stored.begin(base !== undefined, head.now)
    return this.continueReplay(careful)
  }

  /** Folds further frames over what is in memory. */
  continueReplay(careful: ReadonlySet<string>): Replay {
    this.memory.isReplaying = true
    const { quarantined } = this.options.host
    const fillAll = (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) =>
      this.loader.fillAll(cells, rows, true)
    return new Replay({ memory: this.memory, quarantined, fillAll }, this.headNow, careful)
  }

  /**
   * Ends the replay of a tail of `bytes`, with the log as full as `log` says. Answers organizations with which it has
   * to be folded anew with care, in a new life.
   */
  endReplay(replay: Replay, bytes: number, log: LogFill): ReadonlySet<string> {
    this.memory.isReplaying = false
    const broken = replay.finish(this.timers)
    this.headNow = replay.head
    this.room.begin(log)
    const frames = this.headNow.sequence - (this.newestCheckpoint?.sequence ?? 0)
    this.pace.begin(frames, this.pace.bytesSince + bytes, log.maximumBytes)
    return broken
  }

  /** Takes the stored claim as the new head. */
  claimed(head: Head, bytes: number, provenAt: Instant | undefined, provesByFrames: boolean): void {
    this.headNow = head
    this.provesByFrames = provesByFrames
    if (provenAt !== undefined) this.time.proven(provenAt)
    this.room.stored(bytes)
    this.pace.stored(bytes, 0)
  }

  /**
   * Ends the running drain without its frame. Callers who wait for the frame get `ofFrame`; without it,
   * `OutcomeUnknown` when the frame is under way and may be stored, otherwise `error`.
   */
  failDrain(error: unknown, ofFrame?: unknown): void {
    const { partition } = this.options
    const { reply } = this.options.host
    const unknown = this.underWay === undefined ? error : new OutcomeUnknown({ partition })
    this.underWay = undefined
    for (const caller of this.drain.abandon()) reply(caller, false, ofFrame ?? unknown)
    this.drain.immediate.fail(reply, error)
  }

  /** Fails everything. */
  failAll(error: unknown): void {
    this.failDrain(error)
    this.intake.failWaiting(error)
  }

  /** Whether the clock is too far behind the last frame. */
  isClockBehind({ wall }: Instant): boolean {
    return this.time.tell(this.headNow.now, wall) === "behind the log"
  }

  /** Whether the log was seen to be ours since that instant. */
  wasSeenSince(then: Instant): boolean {
    return this.time.wasSeenSince(then)
  }

  private tellLane(): number | { readonly error: unknown } {
    const told = this.time.tell(this.headNow.now, this.now.wall)
    if (typeof told === "number") return told
    this.options.host.wake()
    const { partition } = this.options
    return { error: new PartitionUnavailable({ partition, reason: "its clock was set back", retryAfterMillis }) }
  }

  /** Decides until the shell has to do something. */
  next(turn: CoreTurn): Demand {
    assert(this.underWay === undefined, "a drain begins while the frame of another one is on its way")
    let now: Instant = turn
    while (true) {
      this.now.set(now)
      this.loader.at(now.monotonic)
      this.memory.releaseEmptied()
      const told = this.time.tell(this.headNow.now, now.wall)
      if (told === "behind the log") return { _tag: "ClockBehind", millis: this.headNow.now - now.wall }
      if (told === "set back") return { _tag: "Restart", reason: "the clock was set back by more than a minute" }
      this.notice(told)
      if (this.isMarkWanted || this.needsProof(now)) return this.prove(told)
      if (this.room.wantsLook || this.time.isLookDue(now)) return { _tag: "Confirm" }
      const held = this.work.isHeld(now)
      if (!this.work.hasAny(told, held, now)) return { _tag: "Wait", millis: this.work.waitMillis(told, now) }
      this.drain.run(this.headNow, told, turn, this.room.forFacts(now.monotonic), held)
      if (this.drain.decider.metFullLog) this.logIsFull(false)
      if (this.drain.decider.hasFrame) return { _tag: "Append", frame: this.send() }
      this.drain.end()
      now = turn.read()
      this.now.set(now)
      if (this.time.isFresh(now)) this.drain.immediate.give(this.options.host.reply)
      if (turn.spent() > 1) return { _tag: "Yield" }
      if (this.drain.decider.decidedCount === 0) return { _tag: "Wait", millis: this.work.waitMillis(told, now) }
    }
  }

  /** Tells the shell what it can do beside the loop. */
  private notice(told: number): void {
    const { host } = this.options
    const { monotonic } = this.now
    if (this.isCheckpointDue) host.checkpointWanted()
    this.isCheckpointDue = false
    const { stored } = this.memory.keys
    if (this.pages.isWanted(this.timers, told, monotonic) || stored.isWanted(monotonic)) host.readsWanted()
  }

  /** Whether something waits for a proof of the ownership, or will soon. */
  private needsProof(now: Instant): boolean {
    // Answers that were no longer fresh wait for a proof, whatever failed before: they must be answered in the end.
    if (this.drain.immediate.size > 0) return true
    if (this.lanes.needsConfirmation && this.time.mayAsk(now)) return true
    return this.time.takeRenewal(now)
  }

  /** Asks the leader for a proof, or stores an empty frame where the leader's word is not one. */
  private prove(told: number): Demand {
    const isMark = this.isMarkWanted
    this.isMarkWanted = false
    if (!isMark && (!this.provesByFrames || this.room.isFull)) return { _tag: "Confirm" }
    this.drain.mark(this.headNow, told)
    return { _tag: "Append", frame: this.send() }
  }

  private send(): DraftedFrame {
    this.underWay = this.drain.frameAfter(this.headNow)
    // These answers rest on nothing in this frame; stale ones wait for it, because it proves the ownership.
    if (this.time.isFresh(this.now)) this.drain.immediate.give(this.options.host.reply)
    return this.underWay
  }

  /** Commits the frame that was stored: states advance and replies go out. Answers what followers of the log see. */
  appended(provenAt: Instant | undefined, now: Instant): StoredDraft {
    const { bytes, header } = this.endAppend(now)
    const { messages, records } = this.drain.decider.draft
    this.advance(header, bytes, provenAt)
    const stored = { head: this.headNow, bytes: bytes.length, records, messages }
    const answers = this.drain.commit(stored.head.sequence)
    if (this.pace.stored(bytes.length, this.memory.changedCount)) this.isCheckpointDue = true
    answers.give(this.options.host.reply)
    if (this.time.isFresh(now)) {
      this.drain.immediate.give(this.options.host.reply)
      this.intake.retryUnconfirmed()
    }
    return stored
  }

  /** Abandons the frame that was not stored: callers get the error, timers and signals come back. Answers the fence if one is stored instead. */
  notAppended(outcome: NotStored, error: unknown, now: Instant): StoredDraft | undefined {
    const { header } = this.endAppend(now)
    const { reply } = this.options.host
    const callers = this.drain.abandon()
    if (outcome._tag === "Fenced off") {
      this.advance({ ...header, signalSequence: this.headNow.signalSequence }, outcome.fence, outcome.provenAt)
      this.pace.stored(outcome.fence.length, this.memory.changedCount)
    }
    if (outcome._tag !== "Not sent") this.logIsFull(true)
    for (const caller of callers) reply(caller, false, error)
    // Facts cannot be stored, but answers that need none still come from the durable state.
    if (this.time.isFresh(now)) this.drain.immediate.give(reply)
    else this.drain.immediate.fail(reply, error)
    if (outcome._tag !== "Fenced off") return
    return { head: this.headNow, bytes: outcome.fence.length, records: [], messages: [] }
  }

  private endAppend(now: Instant): DraftedFrame {
    const frame = this.underWay
    assert(frame !== undefined, "an append ends that did not begin")
    assert(frame.expectedLast === this.headNow.sequence, "the head has moved under a frame on its way")
    this.underWay = undefined
    this.now.set(now)
    return frame
  }

  private advance(header: DraftedFrame["header"], bytes: Uint8Array, provenAt: Instant | undefined): void {
    this.headNow = headAfter(this.headNow.sequence + 1, bytes, header)
    this.room.stored(bytes.length)
    if (provenAt !== undefined) this.time.proven(provenAt)
  }

  /**
   * Takes in what the leader said of the log when asked at `begunAt`; undefined when it did not answer. Answers false
   * when the log does not end with our head.
   */
  confirmed(log: (LogFill & { readonly lastSequence: number }) | undefined, begunAt: Instant, now: Instant): boolean {
    this.now.set(now)
    const isOurs = log?.lastSequence === this.headNow.sequence
    if (log !== undefined && isOurs) {
      this.room.note(log)
      if (this.provesByFrames && !this.room.isFull) this.time.seen(begunAt)
      else this.time.proven(begunAt)
    } else {
      this.room.lookFailed()
      this.time.failed(now)
    }
    // A leader that was deposed may not know our last frames.
    if (log !== undefined && !isOurs && !(this.provesByFrames && log.lastSequence < this.headNow.sequence)) return false
    const { host, partition } = this.options
    if (this.time.isFresh(now)) {
      this.drain.immediate.give(host.reply)
      this.intake.retryUnconfirmed()
      return true
    }
    const error = new PartitionUnavailable({ partition, reason: "its log does not answer", retryAfterMillis })
    this.drain.immediate.fail(host.reply, error)
    for (const ask of this.lanes.takeUnconfirmed()) host.reply(ask.caller, false, error)
    return true
  }

  /**
   * Deals with a log that has no room for facts. A checkpoint may free some; where a checkpoint covers the newest frame
   * already, a mark lets the next one do so.
   */
  private logIsFull(isRefused: boolean): void {
    const { monotonic } = this.now
    if (isRefused) this.room.refused(monotonic)
    else this.room.missed(monotonic)
    if (this.newestCheckpoint?.sequence === this.headNow.sequence && this.room.wantsMark) {
      this.room.marked()
      this.isMarkWanted = true
    }
    this.isCheckpointDue = true
  }

  private crowded(): void {
    this.work.crowded(this.now)
    this.isCheckpointDue = true
  }

  /** Asks for a checkpoint in the next turn, if anything has changed. */
  wantCheckpoint(): void {
    if (this.headNow.sequence <= (this.newestCheckpoint?.sequence ?? 0)) return
    this.isCheckpointDue = true
    this.options.host.wake()
  }

  /** Takes in how full the log itself says it is. */
  noteFill(fill: LogFill): void {
    this.room.note(fill)
    if (!this.room.isFull) this.options.host.wake()
  }

  evict(count: number): number {
    return this.memory.evict(count)
  }

  /** Lets actors go that were not used for `idleMillis`, and lane states that have ended. */
  sweep(idleMillis: number, now: Instant): void {
    this.memory.evictUnusedSince(now.monotonic - idleMillis)
    const told = this.time.tell(this.headNow.now, now.wall)
    // A state that has ended by a time we already told stays ended, even when the clock steps back.
    if (typeof told === "number") this.lanes.sweep(told)
    this.memory.releaseEmptied()
  }

  /** Drops the memory and leaves the process's bounds, for good. */
  leave(): void {
    this.memory.dropActors()
    this.options.bounds.leave(this)
  }
}

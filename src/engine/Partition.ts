/**
 * One partition of this process: the memory that outlives its recoveries, its place in the log, and the synchronous part of its loop. The
 * fibers around it are in `serve.ts` (loop), `recovery.ts`, `checkpointing.ts`, `loading.ts`, `signalFeed.ts`, `reacting.ts` and `supervise.ts`.
 */
import { Duration, Effect, Exit, Semaphore } from "effect"
import type { CheckpointRecord, LogPosition } from "./Checkpoints.ts"
import { type Snapshot, snapshot } from "./checkpointing.ts"
import { Drain, peekCommand } from "./Drain.ts"
import {
  type AskError,
  CommandFailed,
  CommandInvalid,
  OutcomeUnknown,
  Overloaded,
  PartitionStopped,
  Unavailable
} from "./errors.ts"
import { makeRoom } from "./eviction.ts"
import { Feed } from "./Feed.ts"
import { canFire } from "./firing.ts"
import { emptyHead, type Head } from "./frame.ts"
import type { Log } from "./Journal.ts"
import { LaneRunner } from "./LaneRunner.ts"
import { freshnessMillis, maximumDrainMillis } from "./limits.ts"
import { load } from "./loading.ts"
import { Mailbox } from "./Mailbox.ts"
import { type Cell, Entry, Memory, type Resume } from "./memory.ts"
import type { PartitionMetrics } from "./metrics.ts"
import { PartitionTime } from "./partitionTime.ts"
import type { EngineParts, Status } from "./parts.ts"
import { describe, EvolveFailed, Poisoned } from "./poison.ts"
import { SignalQueue } from "./signalQueue.ts"
import { Timers } from "./timers.ts"
import { Wakeup } from "./Wakeup.ts"

/** What the loop has to do next. */
export type Step = "idle" | "yield" | "page" | "confirm" | "append" | "clock" | "restart"

/** A confirmation older than this is renewed before it is needed, half of what is allowed. */
const renewNanos = BigInt(freshnessMillis / 2) * 1_000_000n
const freshNanos = BigInt(freshnessMillis) * 1_000_000n

const retryAfterMillis = 1_000

export class Partition {
  readonly id: number
  readonly parts: EngineParts
  readonly metrics: PartitionMetrics
  readonly memory: Memory
  readonly mailbox: Mailbox
  readonly signals = new SignalQueue()
  readonly wakeup = new Wakeup()
  readonly loaderWakeup = new Wakeup()
  readonly checkpointWakeup = new Wakeup()
  /** Checkpoints are written one after the other. */
  readonly checkpointTurn = Semaphore.makeUnsafe(1)
  readonly lanes: LaneRunner
  readonly poisoned = new Poisoned()
  status: Status = { _tag: "Starting", reason: "not started yet" }
  /** No new commands; what was accepted is finished. */
  closing = false

  // of the current life, made anew by each recovery
  log: Log | undefined = undefined
  head: Head = emptyHead
  newestCheckpoint: CheckpointRecord | undefined = undefined
  /** Sequence of a log's first checkpoint, when this life has taken it before any actor had a state. */
  emptyCheckpointAt: number | undefined = undefined
  timers = new Timers(false)
  drain: Drain
  feed: Feed
  /** Cells that wait for their checkpoint rows. */
  loadRequests: Array<Cell> = []
  /** Monotonic time at which an exchange began that confirmed us as the owner. */
  confirmedAt = 0n
  /** Before this monotonic time no early renewal is tried again. */
  renewNotBefore = 0n
  /** A lane was asked when an early renewal was due. */
  renewalWanted = false
  /** Timers and signals are not taken before this monotonic time: the log took no frame. */
  heldUntil = 0n
  framesSinceCheckpoint = 0
  bytesSinceCheckpoint = 0
  /** Bytes of frames after which a checkpoint is due. */
  checkpointAfterBytes = Number.POSITIVE_INFINITY
  checkpointDue = false
  restartReason = ""
  /** A new actor found no place: actors that can go, go before the next drain. */
  roomWanted = false
  /** Set from outside the loop: it ends at the next boundary with this reason. */
  restartWanted: string | undefined = undefined
  /** Where the log was last seen to stand by any life of this process: one more witness for the next recovery. */
  witness: LogPosition | undefined = undefined

  private readonly time: PartitionTime
  private readonly overloaded: Exit.Exit<never, Overloaded>

  constructor(id: number, parts: EngineParts, metrics: PartitionMetrics) {
    this.id = id
    this.parts = parts
    this.metrics = metrics
    this.memory = new Memory(parts.registry)
    this.time = new PartitionTime(() => parts.clock, parts.sabotage)
    this.mailbox = new Mailbox(parts.config.mailboxCapacity)
    this.overloaded = Exit.fail(new Overloaded({ partition: id, retryAfterMillis }))
    this.drain = this.makeDrain()
    this.feed = this.makeFeed()
    this.lanes = new LaneRunner(this)
  }

  nanos = (): bigint => this.parts.clock.monotonicTimeNanosUnsafe()

  /** A pause that ends early when there is news, such as that the partition is closing. */
  pause(millis: number): Effect.Effect<void> {
    return Effect.raceFirst(this.wakeup.wait, Effect.sleep(Duration.millis(millis)))
  }

  /** Drops everything but waiting commands, before a recovery. */
  beginLife(): void {
    this.memory.dropActors()
    this.lanes.dropWaiting()
    this.signals.clear()
    this.loadRequests = []
    this.log = undefined
    this.head = emptyHead
    this.newestCheckpoint = undefined
    this.emptyCheckpointAt = undefined
    this.timers = new Timers(false)
    this.drain = this.makeDrain()
    this.feed = this.makeFeed()
    this.time.beginLife()
    this.confirmedAt = 0n
    this.renewNotBefore = 0n
    this.renewalWanted = false
    this.heldUntil = 0n
    this.framesSinceCheckpoint = 0
    this.bytesSinceCheckpoint = 0
    this.checkpointDue = false
    this.restartWanted = undefined
    this.betweenFrames = undefined
    this.mailbox.clearRing()
    for (const organization of this.memory.organizations.values()) this.mailbox.enlist(organization)
  }

  /** Makes a drain over the current timers. */
  renewDrain(): void {
    this.drain = this.makeDrain()
  }

  setStatus(status: Status): void {
    this.status = status
    this.metrics.serving(status._tag === "Serving")
    for (const listener of [...this.statusListeners]) listener(status)
  }
  readonly statusListeners = new Set<(status: Status) => void>()

  /** A command of a caller. Answers through `resume`, at once when it cannot be taken. */
  offer(organizationName: string, actorIndex: number, key: string, command: unknown, resume: Resume): void {
    if (this.status._tag !== "Serving" || this.closing) {
      resume(Exit.fail(this.notServing()))
      return
    }
    const actor = this.parts.registry.actors[actorIndex]!
    const organization = this.memory.organization(organizationName)
    if (organization === undefined) {
      resume(
        Exit.fail(
          new CommandInvalid({
            kind: actor.kind,
            reason: `"${organizationName.slice(0, 64)}" cannot name an organization`
          })
        )
      )
      return
    }
    if (!this.mailbox.offer(new Entry(organization, actor, actorIndex, key, command, resume))) {
      this.memory.releaseOrganization(organization)
      resume(this.overloaded)
      return
    }
    this.wakeup.notify()
  }

  /** The durable state of an actor, at once where it is in memory and the ownership is fresh, else through the mailbox. */
  peek(organizationName: string, actorIndex: number, key: string, resume: Resume): void {
    if (this.status._tag === "Serving" && this.isFresh(this.nanos())) {
      const cell = this.memory.organizations.get(organizationName)?.cell(actorIndex, key)
      if (cell?.loaded === true) {
        cell.used = true
        resume(Exit.succeed(this.parts.sabotage.has("draft-visible") ? this.drain.draft.stateOf(cell) : cell.state))
        return
      }
    }
    this.offer(organizationName, actorIndex, key, peekCommand, resume)
  }

  /** Why asks are not taken now. */
  notServing(): AskError {
    const { status } = this
    if (status._tag === "Stopped") return new PartitionStopped({ partition: this.id, reason: status.reason })
    const reason =
      this.closing || status._tag === "Closed"
        ? "it is shutting down"
        : status._tag === "Serving"
          ? "it restarts"
          : status.reason
    return new Unavailable({ partition: this.id, reason, retryAfterMillis })
  }

  /** Fails everything that waits. */
  failWaiting(error: AskError): void {
    for (const organization of [...this.memory.organizations.values()]) {
      const entries = this.mailbox.takeAllOf(organization)
      for (const entry of entries) entry.fail(error)
    }
    this.mailbox.clearRing()
    for (const organization of [...this.memory.organizations.values()]) this.memory.releaseOrganization(organization)
    this.lanes.failWaiting(error)
  }

  isFresh(nanos: bigint): boolean {
    return nanos - this.confirmedAt < freshNanos || this.parts.sabotage.has("no-freshness-check")
  }

  /** The partition's time, or undefined while the clock is too far behind the last frame (rule 7). */
  currentTime(): number | undefined {
    return this.time.after(this.head.now)
  }

  /** Decides until something needs an Effect. */
  step(): Step {
    const { drain } = this
    const until = this.nanos() + BigInt(maximumDrainMillis) * 1_000_000n
    this.wakeup.clear()
    while (true) {
      const now = this.currentTime()
      if (now === undefined) return "clock"
      this.timers.recede(now)
      if (this.roomWanted) {
        this.roomWanted = false
        if (!makeRoom(this)) this.checkpointDue = true
      }
      if (this.checkpointDue) {
        this.checkpointDue = false
        this.checkpointWakeup.notify()
      }
      const nanos = this.nanos()
      // answers that an append left behind because they were no longer fresh
      if (drain.immediate.length > 0) return "confirm"
      const held = nanos < this.heldUntil
      if (!held && this.timers.needsPage(now)) return "page"
      if (!this.hasWork(now, held)) {
        const renews = this.renewalWanted && this.wantsRenewal(nanos)
        this.renewalWanted = false
        return renews || (this.lanes.hasWaiting && !this.isFresh(nanos)) ? "confirm" : "idle"
      }
      try {
        drain.run(this.head, now, held)
      } catch (error) {
        return this.refuseAndRestart(error)
      }
      this.metrics.mailbox(this.mailbox.size)
      if (drain.decidedCount > 0) this.metrics.drained(drain.decidedCount)
      if (drain.hasFrame) return "append"
      const at = this.nanos()
      if (drain.immediate.length > 0 && (!this.isFresh(at) || this.wantsRenewal(at))) return "confirm"
      this.answerImmediate()
      if (at > until) return "yield"
      if (drain.decidedCount === 0) return "idle"
    }
  }

  /** When the loop has to look again without being woken; infinity for never. Milliseconds since the Unix epoch. */
  nextWakeAt(): number {
    // due timers that wait for their actors are told when those are there
    return this.timers.firstDue === undefined ? this.timers.nextAt() : Number.POSITIVE_INFINITY
  }

  /** A frame is stored: whether a checkpoint is due. */
  noteFrame(bytes: number): void {
    const { checkpointActors, checkpointFrames } = this.parts.config
    this.framesSinceCheckpoint++
    this.bytesSinceCheckpoint += bytes
    if (
      this.framesSinceCheckpoint >= checkpointFrames ||
      this.bytesSinceCheckpoint >= this.checkpointAfterBytes ||
      this.memory.dirty.size >= checkpointActors
    ) {
      this.checkpointDue = true
    }
  }

  /** The state for a checkpoint. Between frames the actors' durable states are the head's, also while an append is under way. */
  takeSnapshot(whileAppending: boolean): Snapshot | undefined {
    if (this.parts.sabotage.has("checkpoint-between-frames")) {
      if (whileAppending) this.betweenFrames = snapshot(this, true)
      return whileAppending ? undefined : this.betweenFrames
    }
    return snapshot(this, false)
  }
  private betweenFrames: Snapshot | undefined = undefined

  /** Gives the answers that rest on nothing of the drain. */
  answerImmediate(): void {
    const { drain } = this
    const resumes = drain.immediate
    const exits = drain.immediateExits
    drain.immediate = []
    drain.immediateExits = []
    for (let index = 0; index < resumes.length; index++) resumes[index]!(exits[index]!)
  }

  /** Gives the answers that waited for the frame. */
  answerWaiting(): void {
    const { drain } = this
    const entries = drain.waiting
    const exits = drain.waitingExits
    drain.waiting = []
    drain.waitingExits = []
    for (let index = 0; index < entries.length; index++) entries[index]!.resume?.(exits[index]!)
  }

  failImmediate(error: AskError): void {
    const resumes = this.drain.immediate
    this.drain.immediate = []
    this.drain.immediateExits = []
    for (const resume of resumes) resume(Exit.fail(error))
  }

  /** Answers everything that waits before the memory is dropped: what is in flight may be stored, the rest is not. */
  failAll(error: AskError): void {
    this.drain.abandon(new OutcomeUnknown({ partition: this.id }))
    this.failImmediate(error)
    this.failWaiting(error)
  }

  /** Whether early renewal of the confirmation is due. */
  wantsRenewal(nanos: bigint): boolean {
    return nanos - this.confirmedAt > renewNanos && nanos >= this.renewNotBefore
  }

  /** Lets the loop renew the confirmation, so that lanes which are asked steadily never wait for it. */
  renewSoon(): void {
    if (this.renewalWanted) return
    this.renewalWanted = true
    this.wakeup.notify()
  }

  private hasWork(now: number, held: boolean): boolean {
    if (this.mailbox.hasRunnable()) return true
    if (held) return false
    const signal = this.signals.first
    return (signal !== undefined && signal.organization.loading === 0) || canFire(this.memory, this.timers, now)
  }

  private refuseAndRestart(error: unknown): "restart" {
    if (this.isFresh(this.nanos())) this.answerImmediate()
    else this.failImmediate(this.notServing())
    if (error instanceof EvolveFailed) {
      const { entry } = error
      this.metrics.poison()
      this.poisoned.add(entry)
      this.setStatus({ _tag: "Starting", reason: "a fact could not be applied" })
      entry.fail(new CommandFailed({ kind: entry.actor.kind, reason: error.message }))
    }
    this.restartReason = describe(error)
    return "restart"
  }

  private makeDrain(): Drain {
    return new Drain({
      partition: this.id,
      memory: this.memory,
      mailbox: this.mailbox,
      signals: this.signals,
      timers: this.timers,
      sabotage: this.parts.sabotage,
      maximumActors: this.parts.config.maximumActors,
      poisoned: this.poisoned,
      nanos: this.nanos,
      load: (cell) => load(this, cell),
      onPoison: () => this.metrics.poison(),
      onCrowded: () => {
        this.roomWanted = true
      },
      wantsRecords: this.parts.reactors.length > 0
    })
  }

  private makeFeed(): Feed {
    const { config, reactors } = this.parts
    const readers = reactors.map((reactor) => reactor.name)
    return new Feed(config.feedFrames, config.feedBytes, readers)
  }
}

/**
 * One partition of this process is its core, and the state that the fibers around it share (docs/architecture.md, "The
 * way of a command"). `serve.ts` carries out the core's demands; `recover.ts`, `readCheckpoints.ts`,
 * `writeCheckpoints.ts`, `feedSignals.ts`, `react.ts` and `supervise.ts` are the others.
 */
import { Deferred, Duration, Effect, Exit, Semaphore } from "effect"
import { type ActorAddress, formatAddress } from "../../address.ts"
import type { Caller } from "../../core/actors/Organization.ts"
import { PartitionCore } from "../../core/PartitionCore.ts"
import type { Instant } from "../../core/PartitionTime.ts"
import type { CoreTurn, StoredDraft } from "../../core/protocol.ts"
import { type AskError, EngineRefused, PartitionStopped, PartitionUnavailable } from "../../errors.ts"
import { decodeFrame } from "../../frame.ts"
import { brakeWarningMillis, maximumDrainMillis, maximumWakes, retryAfterMillis } from "../../limits.ts"
import type { LogPosition } from "../../ports/Checkpoints.ts"
import type { Log } from "../../ports/Journal.ts"
import { recordsOf } from "../../records.ts"
import { Wakeup } from "../../Wakeup.ts"
import { Followers } from "../followers/Followers.ts"
import { IngestProgress } from "../ingest/IngestProgress.ts"
import { Outbox } from "../outbox/Outbox.ts"
import { Feed } from "../reactors/Feed.ts"
import { ReactorTasks } from "../reactors/ReactorTasks.ts"
import { readClocks } from "../readClocks.ts"
import { FailedSignals } from "../signals/FailedSignals.ts"
import type { EngineContext, Status } from "./EngineContext.ts"
import type { PartitionMetrics } from "./PartitionMetrics.ts"
import { Traces } from "./Traces.ts"

// Warns operators of actors that are paused because they are woken too often (docs/architecture.md, "Wakes"): once a
// minute for each kind, however many actors it has. The kinds of an engine bound it.

export class BrakeWarnings {
  /** The last warning of each kind, monotonic milliseconds. */
  private readonly toldAt = new Map<string, number>()
  private untold: ReadonlyArray<string> = []

  /** Notes an actor that is paused now. */
  note(address: ActorAddress, monotonic: number): void {
    const last = this.toldAt.get(address.kind) ?? Number.NEGATIVE_INFINITY
    if (monotonic - last < brakeWarningMillis) return
    this.toldAt.set(address.kind, monotonic)
    const name = formatAddress(address)
    this.untold = [
      ...this.untold,
      `${name} was woken ${maximumWakes} times within a second and is held for a second: its wake does not move its time ahead`
    ]
  }

  /** Takes the warnings that were not shown yet. */
  take(): ReadonlyArray<string> {
    const { untold } = this
    if (untold.length > 0) this.untold = []
    return untold
  }
}

/** Answers an ask. */
export type Resume = (exit: Exit.Exit<unknown, unknown>) => void

/** The requests that other modules may make of the sender of a partition's messages. */
export interface Courier {
  /** Moves the outbox's cursor to the last safe place. */
  readonly save: Effect.Effect<void>
  /** Notes that the first parked message of a receiver may have changed. */
  readonly look: (receiver: string) => void
}

export class Partition {
  readonly id: number
  readonly context: EngineContext
  readonly metrics: PartitionMetrics
  readonly core: PartitionCore
  readonly wakeup = new Wakeup()
  readonly readsWakeup = new Wakeup()
  readonly checkpointWakeup = new Wakeup()
  /** Checkpoints are written one after the other. */
  readonly checkpointTurn = Semaphore.makeUnsafe(1)
  /** Organizations whose facts are folded on copies, because one of their facts threw half-way. */
  readonly careful = new Set<string>()
  /** Organizations taken out of service by this life, with the reason. */
  readonly quarantine = new Map<string, string>()
  /** Names of the reactors that wait by their pace and have not worked since; the wakeup is notified when one has. */
  readonly heldBack = new Set<string>()
  readonly heldBackWakeup = new Wakeup()
  readonly brakeWarnings = new BrakeWarnings()
  readonly traces = new Traces()
  /** Signals that wait to be parked; the wakeup is notified of each. */
  readonly failedSignals = new FailedSignals()
  readonly failedSignalsWakeup = new Wakeup()
  readonly followers = new Followers()
  /** Names of reactors whose cursors were moved back, and that have not noticed yet. */
  readonly sentBack = new Set<string>()
  private readonly reactorTurns = new Map<string, Semaphore.Semaphore>()
  private readonly reactionListeners = new Set<() => void>()
  readonly outbox = new Outbox()
  private readonly ingests = new Map<string, IngestProgress>()
  private isEnding = false
  private restartReason: string | undefined = undefined
  private lastSeen: LogPosition | undefined = undefined
  private isLogFilling = false
  /**
   * The frame up to which an earlier program may have written rows of kinds that keep none now; 0 when these are
   * removed.
   */
  private earlierRows: number | undefined = undefined
  /** The signal up to which this process has removed the partition's. */
  private forgottenSignals = 0
  private sender: Courier | undefined = undefined
  private openLog: Log | undefined = undefined
  private currentFeed: Feed
  /** The tasks of the current life, by reactor. */
  private currentTasks: ReadonlyMap<string, ReactorTasks>
  /** Callers that wait for the reactors now, so that none of them waits for its pace. */
  private hurrying = 0
  private currentStatus: Status = { _tag: "Starting", reason: "not started yet" }
  private readonly listeners = new Set<(status: Status) => void>()

  constructor(id: number, context: EngineContext, metrics: PartitionMetrics) {
    this.id = id
    this.context = context
    this.metrics = metrics
    this.currentFeed = this.makeFeed()
    this.currentTasks = this.makeTasks()
    this.core = new PartitionCore({
      ...context.config,
      partition: id,
      registry: context.registry,
      bounds: context.bounds,
      wantsRecords: context.reactors.length > 0,
      level: context.placement.level,
      host: {
        reply: (caller, accepted, value) => (caller as Resume)(accepted ? Exit.succeed(value) : Exit.fail(value)),
        wake: () => this.wakeup.notify(),
        readsWanted: () => this.readsWakeup.notify(),
        checkpointWanted: () => this.checkpointWakeup.notify(),
        poisoned: () => metrics.poison(),
        signalFailed: (signal) => {
          if (this.failedSignals.add(signal)) this.failedSignalsWakeup.notify()
        },
        braked: (address) => {
          metrics.brake()
          this.brakeWarnings.note(address, this.now().monotonic)
        },
        quarantined: (organization, reason) => {
          this.quarantine.set(organization, reason)
          metrics.quarantined(this.quarantine.size)
        }
      }
    })
    this.core.intake.refuse(this.notServing())
  }

  now = (): Instant => readClocks(this.context.clock)

  /** The log of the current life. */
  get log(): Log | undefined {
    return this.openLog
  }

  get feed(): Feed {
    return this.currentFeed
  }

  /** The tasks of a reactor in the current life. */
  tasksOf(reactor: string): ReactorTasks {
    return this.currentTasks.get(reactor)!
  }

  /** Ends the tasks of the life: what runs goes on, and nothing is begun any more. */
  closeTasks(): void {
    for (const tasks of this.currentTasks.values()) tasks.close()
  }

  /** Whether somebody waits for the reactors. */
  get isHurried(): boolean {
    return this.hurrying > 0
  }

  /** Ends the waits of the reactors until the returned function is called. */
  hurry(): () => void {
    this.hurrying++
    this.currentFeed.wake()
    return () => void this.hurrying--
  }

  get status(): Status {
    return this.currentStatus
  }

  /** Whether the partition accepts no new commands and only finishes those it has. */
  get isClosing(): boolean {
    return this.isEnding
  }

  /** Why the life ends at its next boundary; undefined while it need not. */
  get restartWanted(): string | undefined {
    return this.restartReason
  }

  /** The end of the log as a life of this process last saw it: one more witness for the next recovery. */
  get witness(): LogPosition | undefined {
    return this.lastSeen
  }

  /** Notes the end of the log as this life sees it. */
  sawEnd({ hash, sequence }: LogPosition): void {
    this.lastSeen = { sequence, hash }
  }

  /** Drops what this process has seen: an operator has given up frames of the log. */
  forgetEnd(): void {
    this.lastSeen = undefined
  }

  /** Whether reactors should store their position although they had no work, because the log needs room. */
  get wantsPositions(): boolean {
    return this.isLogFilling
  }

  /** Notes whether the log needs room, and then makes reactors store their position. */
  needsRoom(isNeeded: boolean): void {
    this.isLogFilling = isNeeded
    if (isNeeded) this.currentFeed.wake()
  }

  /** Kinds that keep no rows now, of which an earlier program may have left some. */
  earlierKinds(): ReadonlyArray<string> {
    this.earlierRows ??= this.core.newestCheckpoint?.sequence ?? 0
    return this.earlierRows === 0 ? [] : this.context.registry.statelessKinds
  }

  /** Notes that rows up to this frame are covered by two checkpoints, and were pruned. */
  prunedThrough(sequence: number): void {
    if (this.earlierRows !== undefined && sequence >= this.earlierRows) this.earlierRows = 0
  }

  /** How far an ingest of the program has come in this life. */
  ingestProgress(ingest: string): IngestProgress {
    let progress = this.ingests.get(ingest)
    if (progress === undefined) {
      progress = new IngestProgress()
      this.ingests.set(ingest, progress)
    }
    return progress
  }

  /** Whether signals up to this one were removed by this process. */
  hasForgotten(signal: number): boolean {
    return signal <= this.forgottenSignals
  }

  forgotThrough(signal: number): void {
    this.forgottenSignals = signal
  }

  /** The sender of the outbox's messages; undefined while there is none. */
  get courier(): Courier | undefined {
    return this.sender
  }

  sendBy(courier: Courier | undefined): void {
    this.sender = courier
  }

  /** One turn of the core. */
  turn(): CoreTurn {
    const begun = this.now()
    const spent = () =>
      (Number(this.context.clock.monotonicTimeNanosUnsafe()) / 1e6 - begun.monotonic) / maximumDrainMillis
    return { ...begun, spent, read: this.now }
  }

  /**
   * A pause that ends early on news, such as that the partition is closing. Earlier news does not end it, so that a
   * retry loop always pauses.
   */
  pause(millis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isClosing) return Effect.void
      this.wakeup.clear()
      return Effect.raceFirst(this.wakeup.wait, Effect.sleep(Duration.millis(millis)))
    })
  }

  /** An operator's repair while no life runs, and the partition has stopped or waits for its clock. */
  private mending: Effect.Effect<void> | undefined

  /** Runs an effect before the next life, once the stopped partition comes to it; a new life follows. */
  mend<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | EngineRefused> {
    return Effect.suspend((): Effect.Effect<A, E | EngineRefused> => {
      if (this.mending !== undefined || this.isClosing)
        return Effect.fail(new EngineRefused({ message: `partition ${this.id} is being worked on already` }))
      const done = Deferred.makeUnsafe<A, E>()
      this.mending = Effect.uninterruptible(Effect.flatMap(Effect.exit(effect), (exit) => Deferred.done(done, exit)))
      this.wakeup.notify()
      return Deferred.await(done)
    })
  }

  /** Waits, and runs an operator's repair meanwhile. Returns whether one was done. */
  pauseToMend(millis: number): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const { mending } = this
      if (mending === undefined) return Effect.as(this.pause(millis), false)
      return Effect.as(
        Effect.ensuring(
          mending,
          Effect.sync(() => {
            this.mending = undefined
          })
        ),
        true
      )
    })
  }

  /** Drops everything but waiting commands, before a recovery. */
  beginLife(): void {
    this.core.beginLife()
    this.openLog = undefined
    this.closeTasks()
    this.currentFeed = this.makeFeed()
    this.currentTasks = this.makeTasks()
    this.outbox.drop()
    this.restartReason = undefined
    this.isLogFilling = false
    this.earlierRows = undefined
    this.heldBack.clear()
    this.quarantine.clear()
    this.metrics.quarantined(0)
  }

  opened(log: Log): void {
    this.openLog = log
  }

  /** Ends the life at its next boundary. */
  restart(reason: string): void {
    this.restartReason = reason
    this.wakeup.notify()
  }

  /** Accepts no more commands and finishes the accepted ones. */
  close(): void {
    this.isEnding = true
    for (const listener of [...this.reactionListeners]) listener()
    this.core.intake.refuse(this.notServing())
    this.wakeup.notify()
    this.currentFeed.wake()
  }

  setStatus(status: Status): void {
    this.currentStatus = status
    // Another owner's frames may come meanwhile.
    if (status._tag !== "Serving") this.followers.loseAll()
    this.metrics.serving(status._tag === "Serving")
    this.core.intake.refuse(status._tag === "Serving" && !this.isClosing ? undefined : this.notServing())
    for (const listener of [...this.listeners]) listener(status)
  }

  /** Serializes a reactor's batches, and holds them off while another fiber has its turn. */
  reactorTurn(name: string): Semaphore.Semaphore {
    let turn = this.reactorTurns.get(name)
    if (turn === undefined) {
      turn = Semaphore.makeUnsafe(1)
      this.reactorTurns.set(name, turn)
    }
    return turn
  }

  /** Notes that a reactor has processed all frames up to this one. */
  reacted(name: string, sequence: number): void {
    this.currentFeed.done(name, sequence)
    this.tasksOf(name).recorded(sequence)
    for (const listener of [...this.reactionListeners]) listener()
  }

  /** Calls the listener whenever a reactor makes progress, until the returned function is called. */
  onReaction(listener: () => void): () => void {
    this.reactionListeners.add(listener)
    return () => void this.reactionListeners.delete(listener)
  }

  /** Calls the listener with the status now and at each change, until the returned function is called. */
  watch(listener: (status: Status) => void): () => void {
    this.listeners.add(listener)
    listener(this.currentStatus)
    return () => void this.listeners.delete(listener)
  }

  /** The reason why asks are not accepted now. */
  notServing(): AskError {
    const { id: partition, status } = this
    if (status._tag === "Stopped") return new PartitionStopped({ partition, reason: status.reason })
    const isEnding = this.isClosing || status._tag === "Closed"
    const reason = isEnding ? "it is shutting down" : status._tag === "Serving" ? "it restarts" : status.reason
    return new PartitionUnavailable({ partition, reason, retryAfterMillis })
  }

  /** Shows a stored frame, whose bytes are `stored` where it has records, to followers and moves the witness. */
  followed({ bytes, head, messages, records }: StoredDraft, stored?: Uint8Array): void {
    this.sawEnd(head)
    this.outbox.take({ ...head, messages })
    const hasReactors = this.context.reactors.length > 0
    if (hasReactors) {
      const frame = { ...head, bytes, records }
      // Before a reactor can take the frame.
      for (const tasks of this.currentTasks.values()) tasks.followed(frame)
      this.currentFeed.push(frame)
    }
    if (this.followers.isEmpty) return
    // Without reactors the drain makes no records.
    const shown =
      hasReactors || stored === undefined
        ? records
        : recordsOf(this.context.registry, this.id, head.sequence, decodeFrame(stored))
    this.followers.show({ ...head, bytes, records: shown })
  }

  private makeTasks(): ReadonlyMap<string, ReactorTasks> {
    const { reactors, taskSources } = this.context
    const feed = this.currentFeed
    const framesAfter = (sequence: number) =>
      sequence >= this.core.head.sequence ? [] : feed.after(sequence, Number.POSITIVE_INFINITY)
    const life = { partition: this.id, framesAfter, spanOf: (sequence: number) => this.traces.spanOf(sequence) }
    const monotonic = () => this.now().monotonic
    return new Map(reactors.map(({ name }) => [name, new ReactorTasks(taskSources.get(name) ?? [], life, monotonic)]))
  }

  private makeFeed(): Feed {
    const { config, reactors } = this.context
    return new Feed(
      config.feedFrames,
      config.feedBytes,
      reactors.map(({ name }) => name)
    )
  }
}

export type { Caller }

/**
 * A partition's core without its shell: a test says when time goes by, what becomes of each frame and when a read is answered, one step at a time.
 * The log and the checkpoints are kept as the shell would keep them, so that a next life recovers from them.
 */
import { Effect } from "effect"
import type { AnyActor } from "../../../src/engine/Actor.ts"
import { defaultConfig, type EngineConfig } from "../../../src/engine/config.ts"
import { Registry } from "../../../src/engine/core/actors/Organization.ts"
import { ProcessBounds } from "../../../src/engine/core/actors/ProcessBounds.ts"
import type { LogFill } from "../../../src/engine/core/log/LogRoom.ts"
import type { Replay } from "../../../src/engine/core/log/Replay.ts"
import { PartitionCore } from "../../../src/engine/core/PartitionCore.ts"
import type { Instant } from "../../../src/engine/core/PartitionTime.ts"
import type { Demand, DraftedFrame, ReadRequest } from "../../../src/engine/core/protocol.ts"
import { CommandInvalid } from "../../../src/engine/errors.ts"
import { emptyHead, encodeClaim, headAfter, identityOf, placesOf } from "../../../src/engine/frame.ts"
import type { AnyLane } from "../../../src/engine/Lane.ts"
import { storedOverheadBytes } from "../../../src/engine/limits.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import { type OnceOptions, onceGuard } from "../../../src/engine/once.ts"
import type { CheckpointRecord } from "../../../src/engine/ports/Checkpoints.ts"
import type { StoredFrame } from "../../../src/engine/ports/Journal.ts"
import { Account, Counter, Limiter, Reminder } from "./actors.ts"

/** Whoever asks, and what they were told; `answers` counts how often. */
export class Asked {
  answers = 0
  accepted: boolean | undefined = undefined
  value: unknown = undefined
}

export interface CoreDriverOptions extends Partial<EngineConfig> {
  readonly actors?: ReadonlyArray<AnyActor>
  readonly lanes?: ReadonlyArray<AnyLane>
  readonly logBytes?: number
  readonly bounds?: ProcessBounds
  /** A leader that was deposed may still answer. */
  readonly leaderMayBeDeposed?: boolean
}

export class CoreDriver {
  readonly core: PartitionCore
  readonly bounds: ProcessBounds
  readonly log: Array<StoredFrame> = []
  readonly store = CheckpointsMemory.makeStore()
  /** Both clocks; `pass` moves them together. */
  now: Instant = { wall: 1_000_000, monotonic: 5_000 }
  /** The part of a turn's time that each look finds over. */
  spent: () => number = () => 0
  logBytes: number
  wakes = 0
  checkpointsWanted = 0
  readonly poisoned: Array<string> = []
  /** The organizations of actors that were held up. */
  readonly braked: Array<string> = []
  readonly quarantined: Array<string> = []
  private readonly registry: Registry
  private readonly options: CoreDriverOptions

  constructor(options: CoreDriverOptions = {}) {
    const config = { ...defaultConfig, ...options }
    this.options = options
    this.logBytes = options.logBytes ?? 1024 * 1024 * 1024
    this.bounds = options.bounds ?? new ProcessBounds(config)
    this.registry = new Registry(options.actors ?? [Counter, Account, Reminder], options.lanes ?? [Limiter])
    this.core = new PartitionCore({
      ...config,
      partition: 0,
      registry: this.registry,
      bounds: this.bounds,
      wantsRecords: true,
      host: {
        reply: (caller, accepted, value) =>
          Object.assign(caller, { accepted, value, answers: (caller as Asked).answers + 1 }),
        wake: () => this.wakes++,
        readsWanted: () => {},
        checkpointWanted: () => this.checkpointsWanted++,
        poisoned: (_, reason) => this.poisoned.push(reason),
        signalFailed: () => {},
        braked: ({ organization }) => this.braked.push(organization),
        quarantined: (organization) => this.quarantined.push(organization)
      }
    })
  }

  pass(millis: number): void {
    this.now = { wall: this.now.wall + millis, monotonic: this.now.monotonic + millis }
  }

  private get port() {
    return CheckpointsMemory.make(this.store)
  }

  get fill(): LogFill & { readonly lastSequence: number } {
    const bytes = this.log.reduce((sum, frame) => sum + frame.bytes.length + storedOverheadBytes, 0)
    return { bytes, maximumBytes: this.logBytes, lastSequence: this.log.length }
  }

  /** Recovers from checkpoint and log, claims, and takes commands. */
  begin(): this {
    this.recover()
    this.claim()
    this.core.intake.refuse(undefined)
    return this
  }

  /** Recovers from checkpoint and log. */
  recover(): void {
    this.core.beginLife()
    const [base] = Effect.runSync(this.port.list(0))
    const head = base === undefined ? emptyHead : { ...base }
    this.fold(this.core.beginReplay(base, head, new Set()), base)
  }

  /** Folds what the log has got since. */
  readOn(): void {
    this.fold(this.core.continueReplay(new Set()), this.core.newestCheckpoint)
  }

  private fold(replay: Replay, base: CheckpointRecord | undefined): void {
    const tail = this.log.slice(replay.head.sequence)
    const missing = replay.link(tail)
    if (typeof missing === "string") throw new Error(missing)
    const addresses = missing.map(({ address }) => address)
    replay.fill(missing, base === undefined ? [] : Effect.runSync(this.port.load(0, addresses, base.sequence)))
    const problem = replay.apply()
    if (problem !== undefined) throw new Error(JSON.stringify(problem))
    const bytes = tail.reduce((sum, frame) => sum + frame.bytes.length, 0)
    this.core.endReplay(replay, bytes, this.fill)
  }

  private claim(): void {
    const { epoch, hash, now, number, sequence } = this.core.head
    const time = Math.max(now, this.now.wall)
    const places = placesOf(this.core.head)
    const header = { epoch: epoch + 1, number: number + 1, now: time, previousHash: hash, ...places }
    const bytes = encodeClaim(header, "test")
    this.keep(bytes, epoch + 1, number + 1)
    const { leaderMayBeDeposed = false } = this.options
    this.core.claimed(headAfter(sequence + 1, bytes, header), bytes.length, this.now, leaderMayBeDeposed)
  }

  private keep(bytes: Uint8Array, epoch: number, number: number): void {
    this.log.push({ sequence: this.log.length + 1, identity: identityOf(0, epoch, number), bytes })
  }

  ask(actor: AnyActor, organization: string, command: unknown, key = "", isFresh = false): Asked {
    const asked = new Asked()
    this.core.intake.offer(organization, this.registry.actorIndex(actor.kind), key, command, asked, isFresh)
    return asked
  }

  /** Asks under an idempotency key. */
  askOnce(actor: AnyActor, organization: string, command: unknown, once: OnceOptions): Asked {
    const asked = new Asked()
    const guard = onceGuard(actor, "", once)
    if (guard instanceof CommandInvalid) throw guard
    this.core.intake.offer(organization, this.registry.actorIndex(actor.kind), "", command, asked, false, guard)
    return asked
  }

  peek(actor: AnyActor, organization: string, key = ""): Asked {
    const asked = new Asked()
    this.core.intake.peek(organization, this.registry.actorIndex(actor.kind), key, asked, this.now)
    return asked
  }

  askLane(lane: AnyLane, organization: string, key = ""): Asked {
    const caller = new Asked()
    const laneIndex = this.registry.laneIndex(lane.kind)
    const answer = this.core.intake.askLane({ organization, laneIndex, key, command: null, caller }, this.now)
    if (answer !== undefined) Object.assign(caller, answer, { answers: 1 })
    return caller
  }

  signal(sequence: number, actor: AnyActor, organization: string, command: unknown, key = ""): boolean {
    return this.core.intake.signal(sequence, organization, actor, key, command)
  }

  /** What the core wants done now. */
  next(): Demand {
    return this.core.next({ ...this.now, spent: this.spent, read: () => this.now })
  }

  /** The frame that it wants to append. */
  draft(): DraftedFrame {
    const demand = this.next()
    if (demand._tag !== "Append") throw new Error(`the core wants ${demand._tag}, not an append`)
    return demand.frame
  }

  /** The log has stored a frame. */
  stored({ bytes, header }: DraftedFrame, provenAt: Instant | undefined = this.now) {
    this.keep(bytes, header.epoch, header.number)
    return this.core.appended(provenAt, this.now)
  }

  /** The log has refused a frame for want of room, and stored an empty one in its place. */
  fencedOff({ fence, header }: DraftedFrame, error: unknown): void {
    const bytes = fence()
    this.keep(bytes, header.epoch, header.number)
    this.core.notAppended({ _tag: "Fenced off", fence: bytes, provenAt: this.now }, error, this.now)
  }

  /** The leader says where the log ends and how full it is. */
  confirm(): boolean {
    return this.core.confirmed(this.fill, this.now, this.now)
  }

  /** Carries out what the core wants until it waits: the log stores, the leader answers, the checkpoints are read. */
  run(): Extract<Demand, { readonly _tag: "Wait" }> {
    for (let steps = 0; steps < 10_000; steps++) {
      this.readAll()
      const demand = this.next()
      if (demand._tag === "Append") this.stored(demand.frame)
      else if (demand._tag === "Confirm") this.confirm()
      else if (demand._tag === "Wait") {
        if (!this.readAll()) return demand
      } else if (demand._tag !== "Yield") throw new Error(`the core wants ${JSON.stringify(demand)}`)
    }
    throw new Error("the core never comes to rest")
  }

  takeRead(): ReadRequest | undefined {
    return this.core.checkpoints.takeRead(this.now)
  }

  /** Answers a read from the checkpoints. */
  answerRead(request: ReadRequest): void {
    if (request._tag === "Actors") {
      const { cells, through } = request.batch
      const addresses = cells.map(({ address }) => address)
      this.core.checkpoints.loaded(request.batch, Effect.runSync(this.port.load(0, addresses, through)), this.now)
    } else if (request._tag === "Keys") {
      const rows = Effect.runSync(this.port.expiring(0, request.page))
      this.core.checkpoints.keysPaged(request.page, rows, this.now)
    } else {
      const { after, limit, through } = request.page
      const rows = Effect.runSync(this.port.timers(0, { through, after, limit }))
      this.core.checkpoints.paged(request.page, rows, this.now)
    }
  }

  /** Tells that a read has failed. */
  failRead(request: ReadRequest): void {
    if (request._tag === "Actors") this.core.checkpoints.loaded(request.batch, undefined, this.now)
    else if (request._tag === "Keys") this.core.checkpoints.keysPaged(request.page, undefined, this.now)
    else this.core.checkpoints.paged(request.page, undefined, this.now)
  }

  /** Answers all reads that it wants. Whether there were any. */
  readAll(): boolean {
    let any = false
    for (let request = this.takeRead(); request !== undefined; request = this.takeRead()) {
      this.answerRead(request)
      any = true
    }
    return any
  }

  /** Writes a checkpoint, if there is anything new. */
  save(): CheckpointRecord | undefined {
    const taken = this.core.checkpoints.snapshot()
    if (taken === undefined) return undefined
    const { bytes, count, record, rows } = taken
    Effect.runSync(this.port.save({ record, previous: this.core.newestCheckpoint?.sequence ?? 0, rows }))
    this.core.checkpoints.saved(record, count, bytes)
    return record
  }
}

/** A core that serves. */
export const servingCore = (options: CoreDriverOptions = {}): CoreDriver => new CoreDriver(options).begin()

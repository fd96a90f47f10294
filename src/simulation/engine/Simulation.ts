/**
 * Plays one scenario: the machine room, the stores, the processes, the clients, and the checkers that observe
 * everything. Steps come from `play.ts`. Needs no service.
 */
import { Exit } from "effect"
import { partitionOf } from "../../engine/address.ts"
import { internalActors } from "../../engine/internalActors.ts"
import * as CheckpointsMemory from "../../engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../engine/memory/JournalMemory.ts"
import * as ProgramStreamsMemory from "../../engine/memory/ProgramStreamsMemory.ts"
import * as SignalsMemory from "../../engine/memory/SignalsMemory.ts"
import * as WorkerJobsMemory from "../../engine/memory/WorkerJobsMemory.ts"
import type { ActorRow, CheckpointRecord } from "../../engine/ports/Checkpoints.ts"
import type { StoredFrame } from "../../engine/ports/Journal.ts"
import type { PublishedMessage } from "../../engine/ports/ProgramStreams.ts"
import type { Signal } from "../../engine/ports/Signals.ts"
import type { LogRecord } from "../../engine/records.ts"
import { Faults } from "../kernel/Faults.ts"
import { Outages } from "../kernel/Outages.ts"
import { Prng } from "../kernel/Prng.ts"
import { epochMillis, World } from "../kernel/World.ts"
import { boxed, unboxed } from "./boxedCommands.ts"
import type { Checker, Observer } from "./Checker.ts"
import type { CommandOrigin } from "./CommandOrigin.ts"
import { Deadlines } from "./Deadlines.ts"
import type { Decided } from "./Decisions.ts"
import { answerOf, decodeCommand, describeAnswer } from "./describeAnswer.ts"
import type { Follower } from "./Follower.ts"
import { restartLater } from "./heal.ts"
import { Marks } from "./Marks.ts"
import type { Answer, Attempt, BeginOptions, LookAnswer, Operation } from "./Operations.ts"
import { OutsideService } from "./OutsideService.ts"
import type { Scenario, Step } from "./Scenario.ts"
import { SimulatedEngine } from "./SimulatedEngine.ts"
import { LogServer } from "./SimulatedJournal.ts"
import { JobWorker, makeBooksStore } from "./SqlEffects.ts"
import { type Commit, jsonOf, Truth } from "./Truth.ts"
import type { Workload } from "./Workload.ts"

/** A checker's finding. See {@link play}. */
export interface Violation {
  readonly checker: string
  readonly message: string
  /** Virtual time, milliseconds since the scenario's beginning. */
  readonly at: number
}

/** The options of a scenario that runs. See {@link engineCheckers}. */
export interface SimulationOptions {
  readonly checkers: ReadonlyArray<Checker>
  /** Whether a readable trace is kept; costs time. */
  readonly isTraced?: boolean
}

/** The data of a message: a text as it is, anything else in JSON. */
const bytesOf = (data: unknown): Uint8Array => Buffer.from(typeof data === "string" ? data : JSON.stringify(data))

/** How long a client waits before it asks again, milliseconds. */
const firstRetryMillis = 60
const lastRetryMillis = 5_000
const retryGrowth = 3

/**
 * A client with this many refusals waits until a process begins or all is healed: time jumps by days, and a flood of
 * clients that ask again every few seconds would look like a deployment that does not come to rest.
 */
const patientTries = 8

/** A scenario that runs: its processes, stores, clients and marks. See {@link engineCheckers}. */
export class Simulation {
  readonly scenario: Scenario
  readonly workload: Workload
  readonly world: World
  readonly marks = new Marks()
  readonly faults: Faults
  readonly outages: Outages
  readonly truth: Truth
  readonly stores: {
    readonly journal: JournalMemory.JournalStore
    readonly checkpoints: CheckpointsMemory.CheckpointsStore
    readonly cursors: CursorsMemory.CursorsStore
    readonly signals: SignalsMemory.SignalsStore
    readonly streams: ProgramStreamsMemory.ProgramStreamsStore
    readonly workerJobs: WorkerJobsMemory.WorkerJobsStore
  }
  readonly server: LogServer
  readonly books = makeBooksStore()
  readonly worker: JobWorker
  /** The service that the workload's workers call. */
  readonly outside: OutsideService = new OutsideService(this)
  /** All processes ever started. */
  readonly engines: Array<SimulatedEngine> = []
  readonly operations: Array<Operation> = []
  readonly followers: Array<Follower> = []
  /** Messages that ever meant a command, by their sources. */
  readonly meant = new Map<string, Set<number>>()
  private readonly meanings = new WeakMap<object, CommandOrigin>()
  private readonly jobs = new WeakMap<object, string>()
  readonly violations: Array<Violation> = []
  /** The commands that were drawn when they were sent, by their numbers. */
  readonly drawn = new Map<number, unknown>()
  readonly lines: Array<string> = []
  /** The random source of faults and steps. */
  readonly draw: Prng
  /** Frames that a step has taken from a log or changed, to be put back when healing. */
  readonly damaged = new Map<
    number,
    { readonly from: number; readonly frames: ReadonlyArray<StoredFrame>; readonly isLost: boolean }
  >()
  /** How often time has passed up to one that matters. */
  passes = 0
  isHealed = false
  /** How often the whole machine went down. */
  machineOutages = 0
  private readonly latencies: Prng
  /** Operations that are asked again when a process begins, or when all is healed. */
  private readonly patient: Array<Operation> = []
  readonly observers: ReadonlyArray<Observer>
  /**
   * The sentences about time.
   * @internal
   */
  readonly deadlines: Deadlines
  private readonly isTraced: boolean

  constructor(scenario: Scenario, workload: Workload, options: SimulationOptions) {
    const { topology } = scenario
    this.scenario = scenario
    this.workload = workload
    this.isTraced = options.isTraced ?? false
    this.world = new World({
      seed: scenario.seed,
      disorder: topology.disorder,
      sliceOperations: Math.max(1, topology.sliceOperations),
      dragMicros: topology.dragMicros
    })
    this.outages = new Outages(this.world)
    this.draw = new Prng(scenario.seed, "faults")
    this.latencies = new Prng(scenario.seed, "latencies")
    // Each fault that happens has a line.
    this.faults = new Faults(scenario.faults, this.marks, (line) => {
      this.deadlines.disturb()
      this.trace(line)
    })
    this.truth = new Truth(
      topology.partitions,
      [...workload.actors, ...internalActors],
      (actor, key) => workload.oracles[actor.kind]?.initial(key),
      (organization) => partitionOf(organization, topology.partitions)
    )
    this.stores = {
      journal: JournalMemory.makeStore({ maximumBytes: topology.logBytes, deployment: "simulated" }),
      checkpoints: CheckpointsMemory.makeStore({ deployment: "simulated" }),
      cursors: CursorsMemory.makeStore(),
      signals: SignalsMemory.makeStore(topology.partitions),
      streams: ProgramStreamsMemory.makeStore(workload.streams ?? {}),
      workerJobs: WorkerJobsMemory.makeStore()
    }
    this.logBytes = topology.logBytes
    this.server = new LogServer(this)
    this.deadlines = new Deadlines(this)
    this.observers = [
      ...[...options.checkers, ...workload.checkers].map((checker) =>
        checker.make(this, (message) => this.violate(checker.name, message))
      ),
      this.deadlines.observer
    ]
    this.worker = new JobWorker(this)
  }

  /** Notes a line of the trace. */
  trace(line: () => string): void {
    if (this.isTraced) this.lines.push(`${this.world.now.toFixed(3).padStart(12)} ${line()}`)
  }

  violate(checker: string, message: string): void {
    this.violations.push({ checker, message, at: this.world.now })
    this.world.isOver = true
    this.trace(() => `VIOLATION, ${checker}: ${message}`)
  }

  /** The time that a message takes, milliseconds. */
  latency = (): number => (20 + this.latencies.next() * this.scenario.topology.latencyMicros) / 1000

  /** Bytes that a log holds now; an operator may raise it. */
  logBytes: number

  // Processes

  /** The living processes, oldest first. */
  living(): ReadonlyArray<SimulatedEngine> {
    return this.engines.filter((engine) => engine.process.alive)
  }

  newest(): SimulatedEngine | undefined {
    return this.engines.findLast((engine) => engine.process.alive)
  }

  start(): SimulatedEngine {
    const engine = new SimulatedEngine(this, this.engines.length + 1)
    this.engines.push(engine)
    this.trace(() => `${engine.name} starts`)
    this.deadlines.disturb()
    this.marks.reach("a process has begun")
    engine.start()
    this.askPatient()
    return engine
  }

  crash(engine: SimulatedEngine, where: string): void {
    if (!engine.process.alive) return
    this.trace(() => `${engine.name} is killed ${where}`)
    this.gone(engine)
  }

  pause(engine: SimulatedEngine): void {
    this.trace(() => `${engine.name} is paused`)
    engine.process.pause()
    // Until all is healed: it may come back at any time.
    this.deadlines.disturb(Number.POSITIVE_INFINITY)
  }

  /** Ends a process's connections: callers that wait for it see them close. */
  gone(engine: SimulatedEngine): void {
    engine.process.kill()
    this.deadlines.disturb()
    if (this.isHealed) restartLater(this)
    for (const operation of this.operations) {
      if (operation.answer !== undefined) continue
      const attempt = operation.attempts[operation.attempts.length - 1]
      if (attempt === undefined || attempt.engine !== engine || attempt.answer !== undefined || attempt.isLost) continue
      attempt.isLost = true
      if (this.workload.isRepeatable) this.askLater(operation)
      else this.settle(operation, { _tag: "Failed", error: "Lost", message: "the process died", isRetryable: false })
    }
  }

  // Clients

  begin(
    target: { organization: string; actor: string; key: string },
    command: unknown,
    { isFresh = false, once, repeats }: BeginOptions = {}
  ): Operation {
    const operation: Operation = {
      number: this.operations.length,
      organization: target.organization,
      kind: target.actor,
      key: target.key,
      command,
      once,
      startedAt: this.world.now,
      attempts: [],
      repeats,
      isFresh,
      answer: undefined,
      tries: 0
    }
    this.operations.push(operation)
    return operation
  }

  /** Asks a command of a process, or of the newest. */
  ask(operation: Operation, to?: SimulatedEngine) {
    operation.tries++
    const engine = to ?? this.newest()
    if (engine?.engine === undefined || !engine.process.alive) return this.askLater(operation)
    const actor = engine.actors.get(operation.kind)
    if (actor === undefined) throw new Error(`the workload has no actor ${operation.kind}`)
    const command = boxed(decodeCommand(actor, operation.command))
    const attempt: Attempt = {
      operation,
      engine,
      command,
      startedAt: this.world.now,
      answer: undefined,
      isReplay: false,
      answeredAt: 0,
      epoch: 0,
      decided: undefined,
      isLost: false
    }
    operation.attempts.push(attempt)
    for (const observer of this.observers) observer.asked?.(attempt)
    const target = { organization: operation.organization, key: operation.key, fresh: operation.isFresh }
    if (operation.once === undefined) {
      engine.fork(engine.engine.ask(actor, target, command), (exit) => this.answered(attempt, exit))
      return
    }
    engine.fork(engine.engine.askOnce(actor, target, command, operation.once), (exit) => {
      attempt.isReplay = exit._tag === "Success" && exit.value.isReplay
      this.answered(
        attempt,
        Exit.map(exit, ({ reply }) => reply)
      )
    })
  }

  /** Asks a process to load the actors that a command touches, without waiting for them. */
  prefetch(target: { organization: string; actor: string; key: string }, command: unknown, engine: SimulatedEngine) {
    const actor = engine.actors.get(target.actor)
    if (actor === undefined || engine.engine === undefined) return
    engine.fork(engine.engine.prefetch(actor, target, decodeCommand(actor, command)), () => {})
  }

  look(target: { organization: string; actor: string; key: string }, engine: SimulatedEngine): void {
    const actor = engine.actors.get(target.actor)
    if (actor === undefined || engine.engine === undefined) return
    const startedAt = this.world.now
    const { actor: kind, key, organization } = target
    engine.fork(engine.engine.state(actor, target), (exit) => {
      if (!this.countReply(engine)) return
      if (exit._tag === "Failure") return
      const partition = this.partitionOf(organization)
      const look: LookAnswer = {
        engine,
        organization,
        kind,
        key,
        partition,
        startedAt,
        epoch: engine.partition(partition)?.core.head.epoch ?? 0,
        json: jsonOf(actor, exit.value)
      }
      this.trace(() => `${engine.name} shows ${kind} ${key} of ${organization}: ${look.json}`)
      for (const observer of this.observers) observer.looked?.(look)
    })
  }

  /** Stores a signal from outside. */
  signal({ amount, data, kind, organization }: Extract<Step, { readonly _tag: "Signal" }>): void {
    const { signals } = this.stores
    const list = signals.lists[this.partitionOf(organization)]!
    list.push({
      sequence: list.length + 1,
      organization,
      kind: kind ?? Object.keys(this.workload.signals)[0]!,
      data: bytesOf(data === undefined ? { amount } : data)
    })
    for (const wake of [...signals.waiting]) wake()
  }

  /** The last signal of a partition that means something: the place moves over others with the next frame alone. */
  lastSignal(partition: number): number {
    const rules = this.workload.signals
    const isMeant = (signal: Signal): boolean => {
      try {
        return rules[signal.kind]?.(signal) !== undefined
      } catch {
        return true
      }
    }
    return this.stores.signals.lists[partition]!.findLast(isMeant)?.sequence ?? 0
  }

  /** Stores a message of a program in a stream. */
  message({ data, subject }: Extract<Step, { readonly _tag: "Message" }>): void {
    const { now, leapt } = this.world
    const time = Math.floor(epochMillis + now + leapt)
    const problem = ProgramStreamsMemory.append(this.stores.streams, { subject, data: bytesOf(data) }, time)
    if (problem !== undefined) this.violate("streams", problem.message)
  }

  /**
   * Notes that a command is the meaning of a message, or of a signal.
   * @internal
   */
  means(command: object, source: string, sequence: number): void {
    this.meanings.set(command, { source, sequence })
    const meant = this.meant.get(source)
    if (meant === undefined) this.meant.set(source, new Set([sequence]))
    else meant.add(sequence)
  }

  /**
   * The message or the signal that a command came from.
   * @internal
   */
  meaningOf(command: unknown): CommandOrigin | undefined {
    return typeof command === "object" && command !== null ? this.meanings.get(command) : undefined
  }

  /**
   * Notes that a command is the reply of a worker's job.
   * @internal
   */
  replies(command: object, job: string): void {
    this.jobs.set(command, job)
  }

  /**
   * The key of the job whose reply a command is.
   * @internal
   */
  jobOf(command: unknown): string | undefined {
    return typeof command === "object" && command !== null ? this.jobs.get(command) : undefined
  }

  published({ id, subject }: PublishedMessage, engine: SimulatedEngine): void {
    this.trace(() => `${engine.name} has stored ${id} in ${subject}`)
  }

  partitionOf(organization: string): number {
    return partitionOf(organization, this.scenario.topology.partitions)
  }

  askLane(organization: string, engine: SimulatedEngine): void {
    const [lane] = this.workload.lanes
    if (lane === undefined || engine.engine === undefined) return
    const partition = this.partitionOf(organization)
    engine.fork(engine.engine.askLane(lane, { organization }, null), (exit: Exit.Exit<unknown, unknown>) => {
      if (!this.countReply(engine)) return
      const epoch = engine.partition(partition)?.core.head.epoch ?? 0
      this.trace(
        () =>
          `${engine.name} lane of ${organization}: ${JSON.stringify(exit._tag === "Success" ? exit.value : "failed")}`
      )
      for (const observer of this.observers) observer.laneAnswered?.({ engine, organization, partition, epoch, exit })
    })
  }

  /** Whether a reply still leaves its process. */
  private countReply(engine: SimulatedEngine): boolean {
    if (engine.repliesUntilCrash === undefined) return engine.process.alive
    if (engine.repliesUntilCrash-- > 0) return true
    this.crash(engine, "between two replies")
    return false
  }

  private answered(attempt: Attempt, exit: Exit.Exit<unknown, unknown>) {
    const { engine, operation } = attempt
    if (!this.countReply(engine)) return
    const answer = answerOf(exit)
    attempt.answer = answer
    attempt.answeredAt = this.world.now
    attempt.decided = engine.decisions.answered(attempt.command, answer)
    attempt.epoch = engine.partition(this.partitionOf(operation.organization))?.core.head.epoch ?? 0
    this.trace(() => `${engine.name} answers #${operation.number}: ${describeAnswer(answer)}`)
    if (answer._tag === "Failed") {
      this.marks.reach(`answer, ${answer.error}`)
      this.deadlines.disturb()
    }
    for (const observer of this.observers) observer.answered?.(attempt)
    if (operation.answer !== undefined) return
    if (answer._tag !== "Failed") return this.settle(operation, answer)
    const mayBeStored = answer.error === "OutcomeUnknown"
    // Only a new process, which an operator starts, serves it again.
    if (answer.error === "PartitionStopped") this.patient.push(operation)
    else if (answer.isRetryable && (!mayBeStored || this.workload.isRepeatable)) this.askLater(operation)
    else this.settle(operation, answer)
  }

  private settle(operation: Operation, answer: Answer): void {
    operation.answer = answer
    for (const observer of this.observers) observer.settled?.(operation)
  }

  /** Asks the commands again that were refused too often or by a stopped partition. */
  askPatient(): void {
    for (const operation of this.patient.splice(0)) this.askAfter(operation, firstRetryMillis)
  }

  private askLater(operation: Operation): void {
    if (!this.isHealed && operation.tries % patientTries === 0) this.patient.push(operation)
    else
      this.askAfter(
        operation,
        Math.min(firstRetryMillis * retryGrowth ** Math.min(operation.tries, 10), lastRetryMillis)
      )
  }

  private askAfter(operation: Operation, wait: number): void {
    this.world.after(wait * (0.5 + this.latencies.next()), undefined, () => {
      if (operation.answer === undefined) this.ask(operation)
    })
  }

  // The reports of the ports.

  committed(
    partition: number,
    stored: StoredFrame,
    engine: SimulatedEngine | undefined,
    drafted: ReadonlyArray<Decided>
  ): void {
    const commit: Commit = this.truth.commit(partition, stored, this.world.now, engine?.process, drafted)
    for (const decided of commit.decisions) decided.storedAt ??= stored.sequence
    for (const observer of this.observers) observer.committed?.(commit)
  }

  decided(decided: Decided, engine: SimulatedEngine): void {
    const oracle = this.workload.oracles[decided.kind]
    if (oracle !== undefined && decided.command !== undefined) {
      decided.step = (history, before, now) => {
        if (history.kind !== decided.kind || history.key !== decided.key) return before.model
        const expected = oracle.step(before.model, unboxed(decided.command), now)
        return "model" in expected ? expected.model : before.model
      }
    }
    for (const observer of this.observers) observer.decided?.(decided, engine)
  }

  saved(record: CheckpointRecord, rows: ReadonlyArray<ActorRow>, engine: SimulatedEngine): void {
    this.trace(() => `  ${engine.name}: checkpoint ${record.partition} at ${record.sequence}, ${rows.length} rows`)
    for (const observer of this.observers) observer.checkpointed?.(record, rows, engine)
  }

  /** Removes frames as the server does. */
  purge(partition: number, below: number, by: string): void {
    for (const observer of this.observers) observer.purging?.(partition, below, by)
    this.trace(() => `  log ${partition}: purged below ${below} by ${by}`)
    JournalMemory.purgeLog(this.server.of(partition).log, below)
  }

  /** Called before signals are removed from their store. */
  forgetting(partition: number, through: number, by: string): void {
    for (const observer of this.observers) observer.forgetting?.(partition, through, by)
    this.trace(() => `  signals of partition ${partition}: removed up to ${through} by ${by}`)
  }

  effected(record: LogRecord): void {
    for (const observer of this.observers) observer.effected?.(record)
  }

  rested(): void {
    for (const observer of this.observers) observer.rested?.()
  }

  healed(): void {
    for (const observer of this.observers) observer.healed?.()
  }
}

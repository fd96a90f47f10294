/**
 * A process of the simulated deployment, which runs the real engine over simulated ports. When it is killed, only its
 * stored data is left.
 */
import { Context, Effect, Exit, Logger, LogLevel, Scope } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import { defaultConfig } from "../../engine/config.ts"
import { type Engine, make } from "../../engine/Engine.ts"
import type { Ingest, IngestCommand } from "../../engine/ingestRules.ts"
import { Checkpoints } from "../../engine/ports/Checkpoints.ts"
import { Cursors } from "../../engine/ports/Cursors.ts"
import { Journal } from "../../engine/ports/Journal.ts"
import { Placement } from "../../engine/ports/Placement.ts"
import { ProgramStreams } from "../../engine/ports/ProgramStreams.ts"
import { Signals } from "../../engine/ports/Signals.ts"
import { WorkerJobs } from "../../engine/ports/WorkerJobs.ts"
import { internals } from "../../engine/shell/partition/internals.ts"
import type { Partition } from "../../engine/shell/partition/Partition.ts"
import type { SignalRule, SignalRules } from "../../engine/shell/signals/feedSignals.ts"
import { SimulatedProcess } from "../kernel/World.ts"
import { boxed } from "./boxedCommands.ts"
import { signalsName } from "./CommandOrigin.ts"
import { Decisions } from "./Decisions.ts"
import { JobReplies } from "./JobReplies.ts"
import { noteMessage } from "./Marks.ts"
import { watchedReactor } from "./programReactors.ts"
import { makeJournal } from "./SimulatedJournal.ts"
import { makeCheckpoints, makeCursors, makePlacement, makeSignals } from "./SimulatedStores.ts"
import { makeProgramStreams } from "./SimulatedStreams.ts"
import { makeWorkerJobs } from "./SimulatedWorkerJobs.ts"
import type { Simulation } from "./Simulation.ts"
import { makeBooks } from "./SqlEffects.ts"

/** How long the logs of projections are kept, milliseconds: a thousand years, longer than any scenario. */
const keptMillis = 1_000 * 365 * 86_400_000

/** An engine in a simulated process. See {@link engineCheckers}. */
export class SimulatedEngine {
  readonly simulation: Simulation
  readonly process: SimulatedProcess
  readonly name: string
  readonly decisions: Decisions
  /** The actors of this process, watched. */
  readonly actors: ReadonlyMap<string, AnyActor>
  /** @internal */
  readonly replies: JobReplies
  /** Placement's answer to this process. */
  owns = true
  engine: Engine["Service"] | undefined = undefined
  /** Whether it is stopping and finishing its accepted commands. */
  isStopping = false
  /**
   * Whether a reactor is being built anew by it.
   *
   * @internal
   */
  isRebuilding = false
  /** Set by a fault: after this many more replies the process dies. */
  repliesUntilCrash: number | undefined = undefined
  private readonly scope = Scope.makeUnsafe()
  private readonly services: Context.Context<
    Journal | Checkpoints | Cursors | Placement | Signals | ProgramStreams | WorkerJobs | Scope.Scope
  >

  constructor(simulation: Simulation, number: number) {
    this.simulation = simulation
    this.name = `p${number}`
    this.process = new SimulatedProcess(simulation.world, number, this.logger())
    this.decisions = new Decisions(
      (decided) => simulation.decided(decided, this),
      (woken) => {
        for (const observer of simulation.observers) observer.woken?.(woken, this)
      }
    )
    this.replies = new JobReplies(
      () => this.actors,
      (command, job) => simulation.replies(command, job)
    )
    this.actors = new Map(
      simulation.workload.actors.map((actor) => [actor.kind, this.replies.taking(this.decisions.watch(actor))] as const)
    )
    this.services = this.process.services.pipe(
      Context.add(Journal, makeJournal(simulation, this)),
      Context.add(Checkpoints, makeCheckpoints(simulation, this)),
      Context.add(Cursors, makeCursors(simulation, this)),
      Context.add(Placement, makePlacement(simulation, this)),
      Context.add(Signals, makeSignals(simulation, this)),
      Context.add(ProgramStreams, makeProgramStreams(simulation, this)),
      Context.add(WorkerJobs, makeWorkerJobs(simulation, this)),
      Context.add(Scope.Scope, this.scope)
    )
  }

  start(): void {
    const { simulation } = this
    const { topology } = simulation.scenario
    const made = make({
      actors: [...this.actors.values()],
      lanes: simulation.workload.lanes,
      reactors: [
        makeBooks(simulation, this),
        ...(simulation.workload.projections ?? []).map(({ reactor }) => watchedReactor(simulation, reactor)),
        ...(simulation.workload.publishers ?? [])
      ],
      workers: (simulation.workload.workers ?? []).map((one) => simulation.outside.worker(this, one)),
      signals: this.watchedSignals(),
      ingests: this.watchedIngests(),
      config: {
        partitions: topology.partitions,
        mailboxCapacity: topology.mailboxCapacity,
        maximumActors: topology.maximumActors,
        maximumLaneActors: topology.maximumLaneActors,
        checkpointFrames: topology.checkpointFrames,
        checkpointMillis: topology.checkpointMillis,
        idleMillis: topology.idleMillis,
        feedFrames: topology.feedFrames,
        concurrentTransactions: topology.concurrentTransactions ?? defaultConfig.concurrentTransactions,
        // A projection is built anew from the beginning of the log alone.
        ...((simulation.workload.projections ?? []).length > 0 ? { logKeepMillis: keptMillis } : {}),
        shutdownMillis: 5_000
      }
    })
    this.fork(
      Effect.tap(made, (engine) =>
        Effect.sync(() => {
          this.engine = engine
        })
      ),
      (exit) => {
        if (Exit.isFailure(exit)) simulation.violate("start", `${this.name} did not start: ${String(exit.cause)}`)
      }
    )
  }

  /** Closes the engine as a shutdown does; then the process ends. */
  stop(): void {
    this.isStopping = true
    this.fork(Scope.close(this.scope, Exit.void), () => {
      this.simulation.trace(() => `${this.name} has stopped`)
      this.simulation.gone(this)
    })
  }

  /**
   * Its partitions, while it runs.
   * @internal
   */
  partitions(): ReadonlyArray<Partition> {
    return this.engine === undefined ? [] : [...internals(this.engine).partitions.values()]
  }

  /** @internal */
  partition(id: number): Partition | undefined {
    return this.partitions().find((partition) => partition.id === id)
  }

  /** Runs something in the process. `done` is not called once the process is dead. */
  fork<A, E>(
    effect: Effect.Effect<
      A,
      E,
      Journal | Checkpoints | Cursors | Placement | Signals | ProgramStreams | WorkerJobs | Scope.Scope
    >,
    done: (exit: Exit.Exit<A, E>) => void
  ): void {
    this.simulation.world.ready(this.process, () => {
      Effect.runForkWith(this.services)(effect).addObserver((exit) => {
        if (this.process.alive) done(exit)
      })
    })
  }

  /** Signals mean commands of the watched actors. */
  private watchedSignals(): SignalRules {
    const watched = ([kind, rule]: readonly [string, SignalRule]): readonly [string, SignalRule] => [
      kind,
      (signal) => {
        const meaning = rule(signal)
        return (
          meaning &&
          this.watched(meaning, `${signalsName} ${this.simulation.partitionOf(signal.organization)}`, signal.sequence)
        )
      }
    ]
    return Object.fromEntries(Object.entries(this.simulation.workload.signals).map(watched))
  }

  /** Messages mean commands of the watched actors. */
  private watchedIngests(): ReadonlyArray<Ingest> {
    return (this.simulation.workload.ingests ?? []).map((ingest) => ({
      ...ingest,
      toCommand: (message) => {
        const meaning = ingest.toCommand(message)
        return meaning && this.watched(meaning, ingest.name, message.sequence)
      }
    }))
  }

  /** The command of a message or a signal, in an object of its own. */
  private watched(meaning: IngestCommand, source: string, sequence: number): IngestCommand {
    const command = boxed(meaning.command)
    this.simulation.means(command, source, sequence)
    return { ...meaning, actor: this.actors.get(meaning.actor.kind) ?? meaning.actor, command }
  }

  private logger(): Logger.Logger<unknown, void> {
    return Logger.make(({ logLevel, message }) => {
      if (LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) this.simulation.deadlines.disturb()
      const text = Array.isArray(message) ? String(message[0]) : String(message)
      noteMessage(this.simulation.marks, text)
      this.simulation.trace(() => `  ${this.name}: ${text}`)
    })
  }
}

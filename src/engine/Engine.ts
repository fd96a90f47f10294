/**
 * Builds the engine: asks to actors, answered by the partitions of this process (or, over `Remote`, of another one).
 * Needs the ports `Journal`, `Checkpoints`, `Cursors`, `Placement`; uses `Signals`, `ProgramStreams`, `WorkerJobs` and
 * `Remote` if they are provided. `layerMemory` needs nothing.
 */
import { Clock, Context, Effect, Layer, Option, Random, type Scope, Semaphore } from "effect"
import { isTraced } from "../common/isTraced.ts"
import type { AnyActor } from "./Actor.ts"
import type { Target } from "./address.ts"
import { defaultConfig, type EngineConfig } from "./config.ts"
import { Registry } from "./core/actors/Organization.ts"
import { ProcessBounds } from "./core/actors/ProcessBounds.ts"
import { Engine } from "./EngineService.ts"
import { EngineRefused } from "./errors.ts"
import type { Ingest } from "./ingestRules.ts"
import type { AnyLane } from "./Lane.ts"
import { makeEngine } from "./makeEngine.ts"
import * as CheckpointsMemory from "./memory/CheckpointsMemory.ts"
import * as CursorsMemory from "./memory/CursorsMemory.ts"
import * as JournalMemory from "./memory/JournalMemory.ts"
import * as WorkerJobsMemory from "./memory/WorkerJobsMemory.ts"
import type { OnceOptions, OnceReply } from "./once.ts"
import { builtInActs } from "./operator/atOwner.ts"
import { Checkpoints } from "./ports/Checkpoints.ts"
import { ClockGuard } from "./ports/ClockGuard.ts"
import { Cursors, type ReactorTransaction } from "./ports/Cursors.ts"
import { Journal } from "./ports/Journal.ts"
import { layerLocal, Placement, type PlacementRefused, type PlacementUnavailable } from "./ports/Placement.ts"
import { Remote } from "./ports/Remote.ts"
import { Signals } from "./ports/Signals.ts"
import type { Reactor } from "./Reactor.ts"
import { OpenStreams } from "./shell/followers/OpenStreams.ts"
import { closeAll, untilHandedOver } from "./shell/partition/awaitStatus.ts"
import type { EngineContext } from "./shell/partition/EngineContext.ts"
import { register } from "./shell/partition/internals.ts"
import { Partition } from "./shell/partition/Partition.ts"
import { PartitionMetrics } from "./shell/partition/PartitionMetrics.ts"
import { checkConfig, checkDeployment, checkIngests } from "./shell/partition/startChecks.ts"
import { supervise } from "./shell/partition/supervise.ts"
import { TransactionPlaces } from "./shell/reactors/TransactionPlaces.ts"
import { RemoteTraffic } from "./shell/remote/ownerCalls.ts"
import { serveOperators } from "./shell/remote/serveOperators.ts"
import { serveRemote } from "./shell/remote/serveRemote.ts"
import type { SignalRules } from "./shell/signals/feedSignals.ts"
import type { TaskSource } from "./tasks/TaskSource.ts"
import { prepareWorkers } from "./workers/prepareWorkers.ts"
import type { Worker } from "./workers/workerTypes.ts"

/** The definitions and settings of an engine. See {@link Engine.layerMemory}. */
export interface EngineOptions<R = never, W = never> {
  readonly actors: ReadonlyArray<AnyActor>
  readonly lanes?: ReadonlyArray<AnyLane>
  readonly reactors?: ReadonlyArray<Reactor<R>>
  /** The meaning of external signals, by their kind. */
  readonly signals?: SignalRules
  /** Streams of the program's own that become commands (docs/streams.md). They need `ProgramStreams`. */
  readonly ingests?: ReadonlyArray<Ingest>
  /** Effects outside because of facts and events (docs/workers.md). They need `WorkerJobs`, which both layers bring. */
  readonly workers?: ReadonlyArray<Worker<W>>
  readonly config?: Partial<EngineConfig>
}

export type { ActorAddress } from "./address.ts"
export * as Operator from "./Operator.ts"
export type { Status } from "./shell/partition/EngineContext.ts"
export type { SignalCommand, SignalRule, SignalRules } from "./shell/signals/feedSignals.ts"
export type { OnceOptions, OnceReply, Target }
export { Engine, EngineRefused }

/**
 * Makes an engine and starts its partitions. When the scope ends, they finish the accepted commands, then stop.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { type Actor, Engine } from "sluice"
 *
 * // for programs that do not use layers; `Engine.layer` is the usual way
 * export const started = (Counter: Actor.AnyActor) =>
 *   Effect.tap(Engine.make({ actors: [Counter] }), (engine) => engine.ready)
 * ```
 */
export const make = Effect.fnUntraced(function* <R = never, W = never>(
  options: EngineOptions<R, W>
): Effect.fn.Return<
  Engine["Service"],
  EngineRefused | PlacementRefused | PlacementUnavailable,
  Journal | Checkpoints | Cursors | Placement | Scope.Scope | ProgramServices<R, W>
> {
  const config: EngineConfig = { ...defaultConfig, ...options.config }
  const services = yield* Effect.context<Journal | Checkpoints | Cursors | Placement | ProgramServices<R, W>>()
  const journal = Context.get(services, Journal)
  const checkpoints = Context.get(services, Checkpoints)
  const placement = Context.get(services, Placement)
  const remote = Option.getOrUndefined(Context.getOption(services as Context.Context<never>, Remote))
  const registry = yield* Effect.try({
    try: () => new Registry(options.actors, options.lanes ?? []),
    catch: (cause) => new EngineRefused({ message: cause instanceof Error ? cause.message : String(cause) })
  })
  const workers = yield* prepareWorkers(options, services as Context.Context<never>)
  const reactors = [
    ...(options.reactors ?? []).map((reactor) => provided<R>(reactor, services as Context.Context<never>)),
    ...(workers?.reactors ?? [])
  ]
  yield* checkConfig(config, journal.maximumMessageBytes, reactors)
  const { ingests = [] } = options
  const programStreams = yield* checkIngests(ingests, services as Context.Context<never>)
  const stores = { journal, checkpoints, cursors: Context.get(services, Cursors) }
  const deployment = yield* checkDeployment(stores, config)
  const local = new Map<number, Partition>()
  const random = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
  const taskSources = new Map<string, ReadonlyArray<TaskSource>>()
  for (const { name, tasks } of reactors) if (tasks !== undefined) taskSources.set(name, yield* tasks)
  const context: EngineContext = {
    config,
    deployment,
    registry,
    reactors,
    taskSources,
    signalRules: options.signals ?? {},
    ingests,
    programStreams,
    ...stores,
    placement,
    signals: Option.getOrUndefined(Context.getOption(services as Context.Context<never>, Signals)),
    remote,
    local,
    traffic: new RemoteTraffic(random.toString(36), services as Context.Context<never>),
    subscriptions: new OpenStreams(),
    acts: builtInActs(),
    clock: yield* Clock.Clock,
    clockGuard: yield* ClockGuard,
    bounds: new ProcessBounds(config),
    checkpointTurns: Semaphore.makeUnsafe(config.concurrentCheckpoints),
    transactionPlaces: new TransactionPlaces(config.concurrentTransactions),
    isTraced: isTraced(services as Context.Context<never>),
    instance: random.toString(36)
  }
  yield* placement.place(config.partitions, servedBy(context, local, services as Context.Context<never>))
  yield* Effect.addFinalizer(() =>
    Effect.ensuring(
      closeAll(local, config.shutdownMillis),
      Effect.sync(() => context.subscriptions.close())
    )
  )
  const engine = makeEngine(context, services as Context.Context<never>)
  register(engine, { context, partitions: local, workers })
  const { shutdownMillis } = config
  // After the finalizer of the partitions, so that it runs before that one.
  if (workers !== undefined) yield* workers.start({ engine, partitions: local, shutdownMillis })
  return engine
})

/** Runs a partition for as long as this process owns it. */
const servedBy =
  (context: EngineContext, local: Map<number, Partition>, services: Context.Context<never>) => (id: number) =>
    Effect.suspend(() => {
      const partition = new Partition(id, context, new PartitionMetrics(id, services))
      const { remote } = context
      local.set(id, partition)
      const serving =
        remote === undefined
          ? supervise(partition)
          : Effect.scoped(
              Effect.forkScoped(serveOperators(remote, partition)).pipe(
                Effect.andThen(Effect.forkScoped(serveRemote(remote, partition))),
                Effect.andThen(supervise(partition))
              )
            )
      return Effect.ensuring(
        untilHandedOver(partition, serving),
        Effect.sync(() => {
          if (local.get(id) === partition) local.delete(id)
          partition.metrics.left()
        })
      )
    })

/**
 * The services that reactors and the effects of workers need. The engine gives the transaction, and itself. See
 * {@link Engine.layer}.
 */
export type ProgramServices<R, W> = Exclude<R, ReactorTransaction> | Exclude<W, Engine>

/** Gives a reactor's handler the services that it needs, which the engine's type demands. */
const provided = <R>(reactor: Reactor<R>, services: Context.Context<never>): Reactor<never> => {
  const { ahead, handle, states, tasks, ...kept } = reactor
  return {
    ...kept,
    ...(ahead === undefined
      ? {}
      : { ahead: (records) => Effect.provideContext(ahead(records), services as Context.Context<R>) }),
    handle: (records) => Effect.provideContext(handle(records), services) as never,
    ...(states === undefined
      ? {}
      : {
          states: states.map((part) => ({
            kind: part.kind,
            handle: (of) => Effect.provideContext(part.handle(of), services) as never
          }))
        }),
    // Tasks are opened outside any transaction.
    ...(tasks === undefined ? {} : { tasks: Effect.provideContext(tasks, services) as never })
  }
}

/**
 * The engine over the ports of its context. Partitions start immediately; `ready` completes when they serve.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { type Actor, type Checkpoints, type Cursors, Engine, type Journal, type Placement } from "sluice"
 *
 * // on stores of your own; `Durable.layer` brings those of NATS and PostgreSQL
 * export const on = (Counter: Actor.AnyActor, stores: Layer.Layer<Checkpoints | Cursors | Journal | Placement>) =>
 *   Layer.provide(Engine.layer({ actors: [Counter] }), stores)
 * ```
 */
export const layer = <R = never, W = never>(
  options: EngineOptions<R, W>
): Layer.Layer<
  Engine,
  EngineRefused | PlacementRefused | PlacementUnavailable,
  Journal | Checkpoints | Cursors | Placement | ProgramServices<R, W>
> => Layer.effect(Engine, make(options))

/**
 * An engine in memory, without a server; its data ends with the process. It serves as soon as the layer is built.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Actor, Engine } from "sluice"
 *
 * const Seen = Actor.make({
 *   kind: "seen",
 *   command: Schema.Struct({}),
 *   fact: Schema.Struct({}),
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (count) => count + 1,
 *   decide: (count) => Actor.decided({ facts: [{}], reply: count + 1 })
 * })
 * const ask = Effect.flatMap(Engine.Engine, (engine) => engine.ask(Seen, { organization: "acme", key: "page" }, {}))
 * console.log(await Effect.runPromise(Effect.provide(ask, Engine.layerMemory({ actors: [Seen] })))) // 1
 * ```
 */
export const layerMemory = <R = never, W = never>(
  options: EngineOptions<R, W>
): Layer.Layer<Engine, EngineRefused, ProgramServices<R, W>> =>
  Layer.effect(
    Engine,
    Effect.gen(function* () {
      const engine = yield* make({ ...options, config: { partitions: 1, ...options.config } })
      yield* engine.ready
      return engine
    }).pipe(
      Effect.catchTags({
        PlacementRefused: (error) => Effect.die(error),
        PlacementUnavailable: (error) => Effect.die(error),
        PartitionStopped: (error) => Effect.die(error)
      })
    )
  ).pipe(
    Layer.provide([
      JournalMemory.layer,
      CheckpointsMemory.layer,
      CursorsMemory.layer,
      WorkerJobsMemory.layer,
      layerLocal
    ])
  ) as Layer.Layer<Engine, EngineRefused, ProgramServices<R, W>>

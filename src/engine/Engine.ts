/**
 * The engine: asks to actors, answered by the partitions of this process (or, over `Remote`, of another one). Needs the ports `Journal`,
 * `Checkpoints`, `Cursors`, `Placement`; uses `Signals` and `Remote` where they are there. `layerMemory` needs nothing.
 */
import {
  Clock,
  Context,
  Data,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Random,
  References,
  Schedule,
  type Scope,
  Semaphore
} from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import { partitionOf } from "./address.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { Cursors, type ReactorTransaction } from "./Cursors.ts"
import { defaultConfig, type EngineConfig } from "./config.ts"
import { Registry } from "./core/actors.ts"
import { ProcessBounds } from "./core/bounds.ts"
import { type AskError, CommandInvalid, PartitionStopped, PartitionUnavailable } from "./errors.ts"
import { Journal } from "./Journal.ts"
import type { AnyLane, Lane } from "./Lane.ts"
import { maximumFrameBytes } from "./limits.ts"
import * as CheckpointsMemory from "./memory/CheckpointsMemory.ts"
import * as CursorsMemory from "./memory/CursorsMemory.ts"
import * as JournalMemory from "./memory/JournalMemory.ts"
import { type ActorInspection, inspectActor, inspectPartition, type PartitionInspection } from "./operator/inspect.ts"
import { layerLocal, Placement, type PlacementRefused, type PlacementUnavailable } from "./Placement.ts"
import type { EngineParts, Status } from "./parts.ts"
import type { Reactor } from "./Reactor.ts"
import { Remote } from "./Remote.ts"
import { Signals } from "./Signals.ts"
import { checkLogs } from "./shell/belonging.ts"
import { register } from "./shell/internals.ts"
import { PartitionMetrics } from "./shell/metrics.ts"
import { Partition, type Resume } from "./shell/Partition.ts"
import { askRemote, serveRemote } from "./shell/remoteAsk.ts"
import type { SignalRules } from "./shell/signalFeed.ts"
import { supervise } from "./shell/supervising.ts"

/** What an engine is made of. */
export interface EngineOptions<R = never> {
  readonly actors: ReadonlyArray<AnyActor>
  readonly lanes?: ReadonlyArray<AnyLane>
  readonly reactors?: ReadonlyArray<Reactor<R>>
  /** What external signals mean, by their kind. */
  readonly signals?: SignalRules
  readonly config?: Partial<EngineConfig>
}

/** The engine cannot run as configured; the message says what to change. Terminal. */
export class EngineRefused extends Data.TaggedError("EngineRefused")<{ readonly message: string }> {}

/** Where an actor is and what is asked of it. */
export interface Target {
  readonly organization: string
  /** Empty for a kind of which an organization has one. */
  readonly key?: string
}

export class Engine extends Context.Service<
  Engine,
  {
    /**
     * Decides a command. Succeeds with the rule's reply once its facts are durable; fails with the rule's rejection or
     * an `AskError`. Interrupting the caller does not take the command back.
     */
    readonly ask: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, Rejection | AskError>

    /** Asks a lane actor. It makes no fact and appends nothing; normally it answers at once. */
    readonly askLane: <Command, State, Reply>(
      lane: Lane<Command, State, Reply>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, AskError>

    /**
     * Like `askLane`, for hot paths. Answers at once, without an Effect, where it can; otherwise it answers undefined
     * and calls `later` with the answer. An actor of another process is `PartitionUnavailable` here.
     */
    readonly askLaneNow: <Command, State, Reply>(
      lane: Lane<Command, State, Reply>,
      target: Target,
      command: Command,
      later: (exit: Exit.Exit<Reply, AskError>) => void
    ) => Exit.Exit<Reply, AskError> | undefined

    /**
     * Reads the durable state of an actor of this process: nothing in it is still waiting to be stored. The caller must
     * not change it.
     */
    readonly state: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target
    ) => Effect.Effect<State, AskError>

    /** Number of partitions. */
    readonly partitions: number

    /** The partition of an organization. */
    readonly partitionOf: (organization: string) => number

    /** Waits until all partitions placed here serve; fails when one has stopped. */
    readonly ready: Effect.Effect<void, PartitionStopped>

    /** What the partitions placed here are doing, for /readyz. */
    readonly status: Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly status: Status }>>

    readonly inspectPartition: (partition: number) => Effect.Effect<PartitionInspection, EngineRefused>
    readonly inspectActor: (actor: AnyActor, target: Target) => Effect.Effect<ActorInspection, EngineRefused>
  }
>()("sluice/engine/Engine") {}

/** The most partitions of a deployment. */
const maximumPartitions = 4_096

/** Attempts to read the deployment's number of partitions at the start, and the pause between them. */
const fixAttempts = 10
const fixPauseMillis = 500

/** Makes an engine and starts its partitions. When the scope ends, they finish what they accepted, then stop. */
export const make = Effect.fnUntraced(function* <R = never>(
  options: EngineOptions<R>
): Effect.fn.Return<
  Engine["Service"],
  EngineRefused | PlacementRefused | PlacementUnavailable,
  Journal | Checkpoints | Cursors | Placement | Scope.Scope | Exclude<R, ReactorTransaction>
> {
  const config: EngineConfig = { ...defaultConfig, ...options.config }
  const services = yield* Effect.context<Journal | Checkpoints | Cursors | Placement | Exclude<R, ReactorTransaction>>()
  const journal = Context.get(services, Journal)
  const checkpoints = Context.get(services, Checkpoints)
  const placement = Context.get(services, Placement)
  const remote = Option.getOrUndefined(Context.getOption(services as Context.Context<never>, Remote))
  const registry = yield* Effect.try({
    try: () => new Registry(options.actors, options.lanes ?? []),
    catch: (cause) => new EngineRefused({ message: cause instanceof Error ? cause.message : String(cause) })
  })
  yield* checkConfig(config, journal.maximumMessageBytes, options.reactors ?? [])
  const patiently = <A>(effect: Effect.Effect<A, { readonly message: string }>, what: string) =>
    Effect.mapError(
      Effect.retry(effect, { times: fixAttempts, schedule: Schedule.spaced(Duration.millis(fixPauseMillis)) }),
      (error) => new EngineRefused({ message: `${what} cannot be read: ${error.message}` })
    )
  const inForce = yield* patiently(checkpoints.fixPartitions(config.partitions), "the number of partitions")
  if (inForce !== config.partitions) {
    return yield* new EngineRefused({
      message: `this deployment was started with ${inForce} partitions, and that number is fixed; ${config.partitions} are configured`
    })
  }
  const deployment = yield* Effect.flatMap(patiently(checkpoints.deployment, "the deployment's id"), (found) =>
    found === undefined
      ? Effect.fail(new EngineRefused({ message: "the deployment has no id" }))
      : Effect.succeed(found)
  )
  const stores = { journal, checkpoints, cursors: Context.get(services, Cursors) }
  yield* Effect.mapError(
    checkLogs(stores, deployment, config.partitions),
    ({ message }) => new EngineRefused({ message })
  )
  const random = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
  const parts: EngineParts = {
    config,
    deployment,
    registry,
    reactors: (options.reactors ?? []).map(
      (reactor): Reactor<never> => ({
        ...reactor,
        handle: (records) =>
          Effect.provideContext(
            reactor.handle(records),
            services as Context.Context<Exclude<R, ReactorTransaction>>
          ) as never
      })
    ),
    signalRules: options.signals ?? {},
    ...stores,
    placement,
    signals: Option.getOrUndefined(Context.getOption(services as Context.Context<never>, Signals)),
    clock: yield* Clock.Clock,
    bounds: new ProcessBounds(config),
    checkpointTurns: Semaphore.makeUnsafe(config.concurrentCheckpoints),
    isTraced: yield* References.TracerEnabled,
    instance: random.toString(36)
  }
  const local = new Map<number, Partition>()
  yield* placement.place(config.partitions, (id) =>
    Effect.suspend(() => {
      const partition = new Partition(id, parts, new PartitionMetrics(id, services as Context.Context<never>))
      local.set(id, partition)
      const serving =
        remote === undefined
          ? supervise(partition)
          : Effect.scoped(Effect.andThen(serveRemote(remote, partition), supervise(partition)))
      return Effect.ensuring(
        serving,
        Effect.sync(() => {
          if (local.get(id) === partition) local.delete(id)
        })
      )
    })
  )
  yield* Effect.addFinalizer(() => close(local, config.shutdownMillis))
  const engine = makeService(parts, local, remote)
  register(engine, { parts, partitions: local })
  return engine
})

const checkConfig = (
  config: EngineConfig,
  maximumMessageBytes: number,
  reactors: ReadonlyArray<{ readonly name: string }>
): Effect.Effect<void, EngineRefused> => {
  const refuse = (message: string) => Effect.fail(new EngineRefused({ message }))
  for (const [name, value] of Object.entries(config)) {
    if (!Number.isSafeInteger(value) || value < 1) return refuse(`${name} must be an integer from 1, not ${value}`)
  }
  if (config.partitions > maximumPartitions)
    return refuse(`partitions must be at most ${maximumPartitions}, not ${config.partitions}`)
  if (maximumMessageBytes < maximumFrameBytes) {
    return refuse(
      `the log takes messages of ${maximumMessageBytes} bytes, frames need ${maximumFrameBytes}: raise the server's max_payload`
    )
  }
  const names = new Set(reactors.map((reactor) => reactor.name))
  if (names.size !== reactors.length) return refuse("two reactors have the same name")
  return Effect.void
}

const unplacedRetryMillis = 250

const makeService = (
  parts: EngineParts,
  local: ReadonlyMap<number, Partition>,
  remote: Remote["Service"] | undefined
): Engine["Service"] => {
  const { partitions } = parts.config
  const { registry } = parts
  const unplaced = (partition: number): AskError =>
    new PartitionUnavailable({ partition, reason: "it is not placed here", retryAfterMillis: unplacedRetryMillis })
  const epochs = new Map<number, number>()
  const unknownKind = (kind: string) => new CommandInvalid({ kind, reason: "it is not among the engine's actors" })
  const localOf = (id: number): Effect.Effect<Partition, EngineRefused> => {
    const partition = local.get(id)
    return partition === undefined
      ? Effect.fail(new EngineRefused({ message: `partition ${id} is not placed here` }))
      : Effect.succeed(partition)
  }
  const askLaneNow: Engine["Service"]["askLaneNow"] = (lane, target, command, later) => {
    const index = registry.laneIndex(lane.kind)
    if (registry.lanes[index] !== lane) return Exit.fail(unknownKind(lane.kind))
    const id = partitionOf(target.organization, partitions)
    const partition = local.get(id)
    if (partition === undefined) return Exit.fail(unplaced(id))
    const caller = later as unknown as Resume
    const { key = "", organization } = target
    const answer = partition.askLane({ organization, laneIndex: index, key, command, caller })
    if (answer === undefined) return undefined
    return answer.accepted ? Exit.succeed(answer.value as never) : Exit.fail(answer.value as AskError)
  }
  return Engine.of({
    partitions,
    partitionOf: (organization) => partitionOf(organization, partitions),
    ask: (actor, target, command) =>
      Effect.callback((resume) => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return resume(Effect.fail(unknownKind(actor.kind)))
        const id = partitionOf(target.organization, partitions)
        const partition = local.get(id)
        if (partition !== undefined) {
          partition.offer(target.organization, index, target.key ?? "", command, resume as Resume)
        } else {
          resume(
            remote === undefined ? Effect.fail(unplaced(id)) : askRemote(remote, epochs, id, actor, target, command)
          )
        }
      }),
    askLane: (lane, target, command) =>
      Effect.callback((resume) => {
        const exit = askLaneNow(lane, target, command, resume)
        if (exit !== undefined) resume(exit)
      }),
    askLaneNow,
    state: (actor, target) =>
      Effect.callback((resume) => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return resume(Effect.fail(unknownKind(actor.kind)))
        const id = partitionOf(target.organization, partitions)
        const partition = local.get(id)
        if (partition === undefined) return resume(Effect.fail(unplaced(id)))
        partition.peek(target.organization, index, target.key ?? "", resume as Resume)
      }),
    ready: awaitAllServing(local),
    status: Effect.sync(() =>
      [...local.values()].map((partition) => ({ partition: partition.id, status: partition.status }))
    ),
    inspectPartition: (id) => Effect.flatMap(localOf(id), inspectPartition),
    inspectActor: (actor, target) =>
      Effect.flatMap(localOf(partitionOf(target.organization, partitions)), (partition) =>
        inspectActor(partition, { organization: target.organization, kind: actor.kind, key: target.key ?? "" })
      )
  })
}

/** A partition may have stopped serving while we waited for another. */
const awaitAllServing = (local: ReadonlyMap<number, Partition>): Effect.Effect<void, PartitionStopped> =>
  Effect.suspend(() => {
    const partitions = [...local.values()]
    return Effect.flatMap(Effect.forEach(partitions, awaitServing, { discard: true }), () =>
      partitions.every(({ status }) => status._tag === "Serving") ? Effect.void : awaitAllServing(local)
    )
  })

const awaitServing = (partition: Partition): Effect.Effect<void, PartitionStopped> =>
  awaitStatus(partition, (status) => {
    if (status._tag === "Serving") return Effect.void
    if (status._tag !== "Stopped" && status._tag !== "Closed") return undefined
    const reason = status._tag === "Stopped" ? status.reason : "it was shut down"
    return Effect.fail(new PartitionStopped({ partition: partition.id, reason }))
  })

/** Waits for a status. `judge` says whether the wait ends with this one, and how. */
const awaitStatus = <E>(
  partition: Partition,
  judge: (status: Status) => Effect.Effect<void, E> | undefined
): Effect.Effect<void, E> =>
  Effect.callback<void, E>((resume) => {
    let stop: (() => void) | undefined
    let isOver = false
    stop = partition.watch((status) => {
      const end = isOver ? undefined : judge(status)
      if (end === undefined) return
      isOver = true
      stop?.()
      resume(end)
    })
    if (isOver) stop()
    return Effect.sync(() => stop?.())
  })

/** Takes no more commands, finishes what was accepted, writes the last checkpoints. */
const close = (local: ReadonlyMap<number, Partition>, shutdownMillis: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const partitions = [...local.values()]
    for (const partition of partitions) partition.close()
    const isClosed = (status: Status) => (status._tag === "Closed" ? Effect.void : undefined)
    return Effect.ignore(
      Effect.timeoutOption(
        Effect.forEach(partitions, (partition) => awaitStatus(partition, isClosed), {
          discard: true,
          concurrency: "unbounded"
        }),
        Duration.millis(shutdownMillis)
      )
    )
  })

/** The engine over the ports of its context. Partitions start at once; `ready` says when they serve. */
export const layer = <R = never>(
  options: EngineOptions<R>
): Layer.Layer<
  Engine,
  EngineRefused | PlacementRefused | PlacementUnavailable,
  Journal | Checkpoints | Cursors | Placement | Exclude<R, ReactorTransaction>
> => Layer.effect(Engine, make(options))

/**
 * The engine in memory, without any server: its data goes with the process. It serves as soon as the layer is built.
 */
export const layerMemory = <R = never>(
  options: EngineOptions<R>
): Layer.Layer<Engine, EngineRefused, Exclude<R, ReactorTransaction>> =>
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
  ).pipe(Layer.provide([JournalMemory.layer, CheckpointsMemory.layer, CursorsMemory.layer, layerLocal])) as Layer.Layer<
    Engine,
    EngineRefused,
    Exclude<R, ReactorTransaction>
  >

/**
 * The placement of several machines (docs/architecture.md, "Placement"): effect/cluster spreads the partitions over the nodes that are alive, by
 * locks in PostgreSQL. A partition does not stop when effect/cluster stops what stands for it, unless another node takes it: while
 * PostgreSQL is away it serves on under its log's fence. Needs `PgClient`; the locks have connections of their own.
 */
import {
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  FiberMap,
  Layer,
  Option,
  type Redacted,
  Schedule,
  Scope,
  Semaphore
} from "effect"
import {
  EntityId,
  MessageStorage,
  RunnerAddress,
  RunnerHealth,
  RunnerStorage,
  Runners,
  Sharding,
  ShardingConfig,
  SqlRunnerStorage
} from "effect/cluster"
import { Placement, PlacementRefused, PlacementUnavailable } from "../../engine/Placement.ts"
import * as AdvisoryLock from "../advisoryLock.ts"
import * as PgClient from "../PgClient.ts"
import { placementLock } from "../PlacementPostgres.ts"
import { LockWatch } from "./lockWatch.ts"
import { Membership } from "./Membership.ts"
import * as Nodes from "./nodes.ts"
import { shardNames } from "./shards.ts"

/** How long a node that gives no sign of life keeps its partitions. A takeover takes a little longer. */
export const expiryMillis = 3_000

/** How often a node gives signs of life and looks at its locks. */
export const refreshMillis = 500

/** How long nodes that come must stay before partitions move to them, so that one that has just thawed moves none twice. */
export const joinMillis = 1_000

/** How often a partition that may be another node's looks whose it is. */
const lookMillis = 250

/** How long a start waits until every partition has an owner. */
const assignmentMillis = 10_000

/** How long the database may take to say whose a partition is. */
const answerMillis = 2_000

/** Connections for locks and what belongs to them: one is held for ever. */
const connections = 3

const group = "default"
const prefix = "sluice_cluster"

export interface ClusterOptions {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly node: Nodes.NodeCard
  /** Whether the node takes partitions. One that does not only shows itself. */
  readonly takesPartitions: boolean
}

const unavailable = (cause: { readonly message: string }) =>
  new PlacementUnavailable({ message: `PostgreSQL does not say who runs the partitions: ${cause.message}`, cause })

const refused = (held: AdvisoryLock.LockHeld) =>
  new PlacementRefused({
    message: `Another process runs the partitions of this database by itself: ${held.message}. Stop it, and start it again with SLUICE_PLACEMENT=cluster`
  })

/** The membership in effect/cluster, without its messages, which Sluice has no use for. */
const layerSharding = (options: ClusterOptions, partitions: number, watch: LockWatch) => {
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(options.node.name, 1)),
    availableShardGroups: [group],
    assignedShardGroups: [group],
    shardsPerGroup: partitions,
    shardLockExpiration: Duration.millis(expiryMillis),
    shardLockRefreshInterval: Duration.millis(refreshMillis),
    refreshAssignmentsInterval: Duration.millis(refreshMillis),
    runnerJoinDebounce: Duration.millis(joinMillis),
    // Also how often shards are looked for that could not be had at first.
    entityMessagePollInterval: Duration.millis(refreshMillis)
  })
  const storage = Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.map(RunnerStorage.RunnerStorage, (found) => RunnerStorage.RunnerStorage.of(watch.watch(found)))
  ).pipe(
    Layer.provide(SqlRunnerStorage.layerWith({ prefix })),
    Layer.provide(
      PgClient.layer({
        url: options.databaseUrl,
        maxConnections: connections,
        applicationName: `sluice locks of ${options.node.name}`
      })
    )
  )
  return Sharding.layer.pipe(
    Layer.provide([Runners.layerNoop, RunnerHealth.layerNoop, storage]),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(config)
  )
}

/** Holds the deployment's lock together with the other nodes, so that no process that runs everything alone starts beside them. */
const holdTogether = Effect.gen(function* () {
  const client = yield* PgClient.PgClient
  const scope = yield* Effect.scope
  const take = Effect.gen(function* () {
    const own = yield* Scope.fork(scope)
    const lock = yield* AdvisoryLock.hold(placementLock, { isShared: true }).pipe(
      Effect.provideService(PgClient.PgClient, client),
      Scope.provide(own),
      Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
    )
    return { lock, own }
  })
  const first = yield* Effect.mapError(take, (error) =>
    error._tag === "LockHeld" ? refused(error) : unavailable(error)
  )
  const keep = Effect.gen(function* () {
    let held = first
    while (true) {
      yield* held.lock.lost
      yield* Scope.close(held.own, Exit.void)
      held = yield* Effect.retry(take, Schedule.spaced(Duration.millis(refreshMillis)))
    }
  })
  yield* Effect.forkScoped(Effect.ignore(keep))
})

/** The partitions that run here, and what is known of whose they are. */
class Tenure {
  /** Those whose shard is ours as far as effect/cluster knows. */
  readonly held = new Set<number>()
  readonly watch = new LockWatch()
  hasLeft = false
  private readonly nodes: Nodes.Nodes
  private readonly node: string
  private readonly fibers: FiberMap.FiberMap<number, void>
  /** A partition that comes back waits until it has gone. */
  private readonly turns = new Map<number, Semaphore.Semaphore>()

  constructor(nodes: Nodes.Nodes, node: string, fibers: FiberMap.FiberMap<number, void>) {
    this.nodes = nodes
    this.node = node
    this.fibers = fibers
  }

  /** Whether another node has taken the partition, as the database says. */
  isTaken(partition: number): Effect.Effect<boolean, PlacementUnavailable> {
    return this.nodes.owners.pipe(
      Effect.mapBoth({
        onFailure: unavailable,
        onSuccess: (owners) => owners.some((owner) => owner.partition === partition && owner.node !== this.node)
      }),
      Effect.timeoutOrElse({
        duration: Duration.millis(answerMillis),
        orElse: () => new PlacementUnavailable({ message: `PostgreSQL does not answer within ${answerMillis} ms` })
      })
    )
  }

  /** The shard is ours. The partition serves already where only the sight of its lock had been lost. */
  begin(partition: number, serve: () => void): Effect.Effect<void> {
    return Effect.andThen(
      Effect.orDie(Effect.retry(this.nodes.take(partition, this.node), Schedule.spaced(Duration.millis(lookMillis)))),
      this.inTurn(
        partition,
        Effect.sync(() => {
          this.held.add(partition)
          serve()
        })
      )
    )
  }

  /** effect/cluster has stopped what stands for the partition. */
  end(partition: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.held.delete(partition)
      return this.watch.isUncertain(partition) && !this.hasLeft ? Effect.void : this.stop(partition)
    })
  }

  /** Hands the partition over; returns when it has ended. */
  stop(partition: number): Effect.Effect<void> {
    return this.inTurn(partition, FiberMap.remove(this.fibers, partition))
  }

  private inTurn(partition: number, effect: Effect.Effect<void>): Effect.Effect<void> {
    const turn = this.turns.get(partition) ?? Semaphore.makeUnsafe(1)
    this.turns.set(partition, turn)
    return turn.withPermits(1)(effect)
  }

  /** Stops partitions that other nodes have taken while this one did not see its locks. */
  readonly look: Effect.Effect<void> = Effect.suspend(() => {
    const unseen = [...this.fibers].map(([partition]) => partition).filter((partition) => !this.held.has(partition))
    return Effect.forEach(
      unseen,
      (partition) =>
        Effect.flatMap(this.isTaken(partition), (isTaken) =>
          isTaken && !this.held.has(partition) ? this.stop(partition) : Effect.void
        ),
      { discard: true }
    )
  }).pipe(Effect.ignore)
}

export const make = Effect.fnUntraced(function* (options: ClusterOptions) {
  const client = yield* PgClient.PgClient
  const nodes = yield* Nodes.make
  const { name } = options.node
  const membership = yield* Scope.fork(yield* Effect.scope)
  let tenure: Tenure | undefined
  let hasLeft = false

  const leave = Effect.suspend(() => {
    hasLeft = true
    if (tenure !== undefined) tenure.hasLeft = true
    return Effect.andThen(Scope.close(membership, Exit.void), Effect.ignore(nodes.leave(name)))
  })

  const place: Placement["Service"]["place"] = Effect.fnUntraced(function* (partitions, serve) {
    yield* holdTogether.pipe(Effect.provideService(PgClient.PgClient, client))
    const fibers = yield* FiberMap.make<number, void>()
    const run = yield* FiberMap.runtime(fibers)<never>()
    yield* Effect.addFinalizer(() => leave)
    const own = new Tenure(nodes, name, fibers)
    tenure = own
    yield* Effect.mapError(nodes.join(options.node), unavailable)
    yield* Effect.forkScoped(showing(nodes, options.node, () => hasLeft, leave))
    if (!options.takesPartitions) return
    const services = yield* Layer.buildWithScope(layerSharding(options, partitions, own.watch), membership).pipe(
      Effect.mapError(unavailable)
    )
    const sharding = Context.get(services, Sharding.Sharding)
    const names = shardNames(partitions, (text) => sharding.getShardId(EntityId.make(text), group).id - 1)
    for (const [partition, singleton] of names.entries()) {
      const begin = own.begin(partition, () => run(partition, serve(partition), { onlyIfMissing: true }))
      const placed = Effect.onExit(Effect.andThen(begin, Effect.never), () => own.end(partition))
      yield* Scope.provide(sharding.registerSingleton(singleton, placed, { shardGroup: group }), membership)
    }
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(Duration.millis(lookMillis)), own.look)))
    yield* awaitOwners(nodes, partitions)
  })

  const owns: Placement["Service"]["owns"] = (partition) =>
    tenure?.held.has(partition) === true
      ? Effect.map(tenure.isTaken(partition), (isTaken) => !isTaken)
      : Effect.succeed(false)

  return Context.make(Placement, Placement.of({ place, owns })).pipe(
    Context.add(Membership, Membership.of({ node: options.node, nodes, leave, hasLeft: () => hasLeft }))
  )
})

/** Gives signs of life, and leaves when an operator has asked for it. */
const showing = (nodes: Nodes.Nodes, card: Nodes.NodeCard, hasLeft: () => boolean, leave: Effect.Effect<void>) =>
  Effect.gen(function* () {
    while (!hasLeft()) {
      yield* Effect.sleep(Duration.millis(refreshMillis))
      if (hasLeft()) return
      const isDraining = yield* Effect.orElseSucceed(nodes.beat(card), () => false)
      if (!isDraining) continue
      yield* Effect.logInfo("This node was asked to hand its partitions over, and takes none until it is started again")
      yield* leave
      // It goes on to answer, and to be shown.
      yield* Effect.ignore(nodes.join({ ...card, role: `${card.role}, drained` }))
    }
  })

/** Waits until living nodes have all partitions. */
const awaitOwners = Effect.fnUntraced(function* (nodes: Nodes.Nodes, partitions: number) {
  const until = (yield* Clock.currentTimeMillis) + assignmentMillis
  while ((yield* Clock.currentTimeMillis) < until) {
    const found = yield* Effect.option(Effect.all([nodes.list, nodes.owners]))
    if (Option.isSome(found)) {
      const [all, owners] = found.value
      const living = new Set(all.filter(({ silentMillis }) => silentMillis < expiryMillis).map((node) => node.name))
      if (owners.filter(({ node }) => living.has(node)).length >= partitions) return
    }
    yield* Effect.sleep(Duration.millis(lookMillis))
  }
})

export const layer = (options: ClusterOptions) => Layer.effectContext(make(options))

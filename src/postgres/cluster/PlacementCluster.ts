/**
 * Places partitions on several machines (docs/architecture.md, "Placement"): effect/cluster spreads them over the live
 * nodes, by locks in PostgreSQL. When effect/cluster stops a partition's entity, the partition stops only if another
 * node takes it: while PostgreSQL is away it continues to serve under its log's fence. Needs `PgClient`; the locks have
 * connections of their own.
 */
import {
  Cause,
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  type Redacted,
  Schedule,
  Scope
} from "effect"
import {
  EntityId,
  MessageStorage,
  RunnerAddress,
  RunnerHealth,
  RunnerStorage,
  Runners,
  type ShardId,
  Sharding,
  ShardingConfig
} from "effect/cluster"
import type { SqlError } from "effect/sql"
import type { FormatsRefused } from "../../common/formatLevels.ts"
import * as NodeMembership from "../../engine/NodeMembership.ts"
import * as PartitionOwnership from "../../engine/PartitionOwnership.ts"
import { ClockGuard, type ClockGuardShape } from "../../engine/ports/ClockGuard.ts"
import { Placement, PlacementRefused, PlacementUnavailable } from "../../engine/ports/Placement.ts"
import * as AdvisoryLock from "../advisoryLock.ts"
import * as Formats from "../clusterFormats.ts"
import * as PgClient from "../PgClient.ts"
import { placementLock } from "../PlacementPostgres.ts"
import * as LockStorage from "./lockStorage.ts"
import { Membership } from "./Membership.ts"
import * as Nodes from "./nodes.ts"
import { partitionOfShard, shardNames } from "./shards.ts"

// Watches the locks of effect/cluster, which stops everything it has placed in two cases that mean different things: a
// partition goes to another node, or its owner is unknown at the moment (PostgreSQL does not answer, or has ended the
// session that held the locks). Needs no service.

export class LockWatch {
  /** Partitions whose locks were there when they were looked at last, and have not been given back since. */
  private readonly seen = new Set<number>()

  /** Whether a partition that is to be stopped may still be ours. */
  isUncertain(partition: number): boolean {
    return !this.seen.has(partition)
  }

  private look(asked: Iterable<ShardId.ShardId>, found: Iterable<ShardId.ShardId>): void {
    for (const shard of asked) this.seen.delete(partitionOfShard(shard))
    for (const shard of found) this.seen.add(partitionOfShard(shard))
  }

  /** Reports a failure of the node, once for each time that it begins to fail. */
  private readonly failing = new Set<string>()

  private told<A, E>(what: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.onExit(effect, (exit) => {
      if (Exit.isSuccess(exit))
        return this.failing.delete(what)
          ? Effect.logInfo(`This node can ask and tell PostgreSQL ${what} again`)
          : Effect.void
      if (Cause.hasInterruptsOnly(exit.cause) || this.failing.has(what)) return Effect.void
      this.failing.add(what)
      return Effect.logWarning(`This node cannot ask or tell PostgreSQL ${what}: no partition moves`, exit.cause)
    })
  }

  /** The storage, watched. */
  watch(storage: RunnerStorage.RunnerStorage["Service"]): RunnerStorage.RunnerStorage["Service"] {
    return {
      ...storage,
      // effect/cluster tries again without a word, and until it succeeds nothing moves.
      getRunners: this.told("who is there", storage.getRunners),
      register: (runner, healthy) => this.told("that it is there", storage.register(runner, healthy)),
      acquire: (address, shards) =>
        Effect.tap(storage.acquire(address, shards), (acquired) => Effect.sync(() => this.look([], acquired))),
      refresh: (address, shards) => {
        const asked = [...shards]
        return Effect.onExit(storage.refresh(address, asked), (exit) =>
          // One that is interrupted was given up. One that asks for nothing only sees whether anybody answers.
          Effect.sync(() => this.look(asked, Exit.isSuccess(exit) ? exit.value : []))
        )
      }
    }
  }
}

/** How long a node that gives no sign of life keeps its partitions. A takeover takes a little longer. */
export const expiryMillis = 3_000

/**
 * How often a node looks for changes. A takeover waits for one such look, so it is more often than signs of life are
 * given.
 */
export const refreshMillis = 250

/**
 * How often effect/cluster asks for a node's locks. It gives up after as long, but `LockKeeper.ts` answers from the last
 * look and goes on: only a look that is older than the expiry makes them count as out of sight.
 */
const lockMillis = 1_000

/**
 * How long nodes that come must stay before partitions move to them, so that one that has just thawed moves none twice.
 */
export const joinMillis = 1_000

/** How long a start waits until every partition has an owner. */
const assignmentMillis = 10_000

/** How long the database may take to say whose a partition is. */
const answerMillis = 2_000

/** Connections for what belongs to the locks, beside the session that has them. */
const connections = 2

/** A connection needs several answers, and a node that is slow for long has to get one all the same. */
const connectMillis = 15_000

/** Nodes have no port; effect/cluster writes one behind their names. */
const runnerPort = 1

const group = "default"
const prefix = "sluice_cluster"

export interface ClusterOptions {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly node: Omit<Nodes.NodeCard, "level">
  /** Whether the node takes partitions. One that does not only shows itself. */
  readonly takesPartitions: boolean
}

const notJoined = (cause: SqlError.SqlError | FormatsRefused) =>
  cause._tag === "FormatsRefused" ? new PlacementRefused({ message: cause.message }) : unavailable(cause)

const unavailable = (cause: { readonly message: string }) =>
  new PlacementUnavailable({ message: `PostgreSQL does not say who runs the partitions: ${cause.message}`, cause })

const refused = (held: AdvisoryLock.LockHeld) =>
  new PlacementRefused({
    message: `Another process runs the partitions of this database by itself: ${held.message}. Stop it, and start it again with SLUICE_PLACEMENT=cluster`
  })

/** The membership in effect/cluster, without its messages, which Sluice has no use for. */
const layerSharding = (options: ClusterOptions, partitions: number, watch: LockWatch) => {
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(options.node.name, runnerPort)),
    availableShardGroups: [group],
    assignedShardGroups: [group],
    shardsPerGroup: partitions,
    shardLockExpiration: Duration.millis(expiryMillis),
    shardLockRefreshInterval: Duration.millis(lockMillis),
    refreshAssignmentsInterval: Duration.millis(refreshMillis),
    runnerJoinDebounce: Duration.millis(joinMillis),
    // Also how often shards are looked for that could not be had at first.
    entityMessagePollInterval: Duration.millis(refreshMillis)
  })
  const storage = Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.map(RunnerStorage.RunnerStorage, (found) => RunnerStorage.RunnerStorage.of(watch.watch(found)))
  ).pipe(
    Layer.provide(LockStorage.layer({ prefix, group, address: `${options.node.name}:${runnerPort}`, expiryMillis })),
    Layer.provide(
      PgClient.layer({
        url: options.databaseUrl,
        maxConnections: connections,
        connectTimeoutMillis: connectMillis,
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

/**
 * Holds the deployment's lock together with the other nodes, so that no process that runs everything alone starts
 * beside them.
 */
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

export const make = Effect.fnUntraced(function* (options: ClusterOptions) {
  const client = yield* PgClient.PgClient
  const formats = yield* Formats.make()
  const nodes = yield* Nodes.make(formats)
  const { name } = options.node
  let card: Nodes.NodeCard = { ...options.node, level: formats.known.newest }
  const membership = yield* Scope.fork(yield* Effect.scope)
  let ownership: PartitionOwnership.PartitionOwnership | undefined
  let guard: ClockGuardShape = { problem: () => undefined }

  const { beforeLeave, giveBack, hasLeft } = makeHandover(membership, () => ownership)

  const attendance = yield* NodeMembership.make({
    newest: card.level,
    seen: formats,
    join: Effect.suspend(() => nodes.join(card)),
    beat: Effect.suspend(() => nodes.beat(card)),
    raise: formats.raise,
    leave: nodes.leave(name),
    drain: Effect.tap(giveBack, () =>
      Effect.sync(() => {
        card = { ...card, role: `${card.role}, drained` }
      })
    )
  })
  const leave = Effect.andThen(giveBack, attendance.leave)

  const place: Placement["Service"]["place"] = Effect.fnUntraced(function* (partitions, serve) {
    yield* holdTogether.pipe(Effect.provideService(PgClient.PgClient, client))
    const watch = new LockWatch()
    const own = yield* PartitionOwnership.make({
      serve,
      isTaken: (partition) => isTaken(nodes, name, partition),
      take: (partition) =>
        Effect.tapErrorTag(
          Effect.suspend(() => nodes.take(partition, card)),
          "FormatsRefused",
          attendance.refuse
        ),
      isUncertain: (partition) => watch.isUncertain(partition)
    })
    yield* Effect.addFinalizer(() => leave)
    ownership = own
    yield* Effect.mapError(attendance.join, notJoined)
    yield* Effect.forkScoped(attendance.attend)
    if (!options.takesPartitions) return
    // The engine has it in its context, not this layer.
    guard = yield* ClockGuard
    const share = Effect.fnUntraced(function* (scope: Scope.Scope) {
      const services = yield* Layer.buildWithScope(layerSharding(options, partitions, watch), scope)
      const sharding = Context.get(services, Sharding.Sharding)
      const names = shardNames(partitions, (text) => partitionOfShard(sharding.getShardId(EntityId.make(text), group)))
      for (const [partition, singleton] of names.entries())
        yield* Scope.provide(sharding.registerSingleton(singleton, own.hold(partition), { shardGroup: group }), scope)
    })
    yield* Effect.mapError(shareByClock(guard, share, membership), unavailable)
    yield* awaitOwners(nodes, partitions)
  })

  const owns: Placement["Service"]["owns"] = (partition) => ownership?.owns(partition) ?? Effect.succeed(false)

  const { level } = formats
  return Context.make(Placement, Placement.of({ place, owns, level, isShared: true })).pipe(
    Context.add(
      Membership,
      Membership.of({
        node: card,
        nodes,
        leave,
        beforeLeave,
        level,
        outdated: attendance.outdated,
        hasLeft,
        clockProblem: () => guard.problem()
      })
    )
  )
})

/** How often a node looks whether its clock can be trusted. */
const clockMillis = 250

/**
 * Takes partitions while the clock of this machine is not ahead of others. A partition that it could not serve would
 * be away for as long as the clock is wrong, so the others get all of them, as if the node had left. Fails if the first
 * attempt does; later ones are repeated.
 */
const shareByClock = Effect.fnUntraced(function* <E>(
  guard: ClockGuardShape,
  share: (scope: Scope.Scope) => Effect.Effect<void, E>,
  membership: Scope.Scope
) {
  const until = (isRight: boolean) =>
    Effect.sleep(Duration.millis(clockMillis)).pipe(
      Effect.repeat({ until: () => (guard.problem() === undefined) === isRight }),
      Effect.asVoid
    )
  let part: Scope.Closeable | undefined
  const begin = Effect.gen(function* () {
    const scope = yield* Scope.fork(membership)
    yield* share(scope).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
    part = scope
  })
  const keep = Effect.gen(function* () {
    while (true) {
      if (part !== undefined) {
        yield* until(false)
        yield* Effect.logWarning("This node gives its partitions to others until its clock is right again")
        // A node that began again before it has left would be forgotten as it leaves.
        yield* Scope.close(part, Exit.void)
        part = undefined
      }
      yield* until(true)
      yield* Effect.retry(begin, Schedule.spaced(Duration.millis(expiryMillis)))
    }
  })
  if (guard.problem() === undefined) yield* begin
  yield* Effect.forkIn(keep, membership)
})

/** Whether another node has taken the partition, as the database says. */
const isTaken = (nodes: Nodes.Nodes, own: string, partition: number): Effect.Effect<boolean, PlacementUnavailable> =>
  nodes.owners.pipe(
    Effect.mapBoth({
      onFailure: unavailable,
      onSuccess: (owners) => owners.some((owner) => owner.partition === partition && owner.node !== own)
    }),
    Effect.timeoutOrElse({
      duration: Duration.millis(answerMillis),
      orElse: () => new PlacementUnavailable({ message: `PostgreSQL does not answer within ${answerMillis} ms` })
    })
  )

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
    yield* Effect.sleep(Duration.millis(PartitionOwnership.lookMillis))
  }
})

export const layer = (options: ClusterOptions) => Layer.effectContext(make(options))

/** How long a node that leaves waits until its partitions are handed over and its locks given back. */
const leaveMillis = 5_000

/** The handover of a node. */
export interface Handover extends Pick<Membership["Service"], "beforeLeave" | "hasLeft"> {
  /** Hands all partitions over. Another run has nothing left to do. */
  readonly giveBack: Effect.Effect<void>
}

/** The handover of a node whose locks are given back as `membership` closes. */
export const makeHandover = (
  membership: Scope.Closeable,
  ownership: () => PartitionOwnership.PartitionOwnership | undefined
): Handover => {
  const before = new Set<Effect.Effect<void>>()
  let hasLeft = false
  const runBefore = Effect.suspend(() => {
    const all = [...before]
    before.clear()
    return Effect.all(all, { concurrency: "unbounded", discard: true })
  })
  return {
    hasLeft: () => hasLeft,
    beforeLeave: (effect) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => before.add(effect)),
          () => Effect.sync(() => before.delete(effect))
        )
      ),
    giveBack: Effect.gen(function* () {
      yield* runBefore
      hasLeft = true
      ownership()?.leave()
      // effect/cluster gives its locks back only when it sees them, and waits for that without an end. What it does not
      // give back expires.
      const closing = yield* Effect.forkDetach(Scope.close(membership, Exit.void), { startImmediately: true })
      yield* Effect.timeoutOption(Fiber.await(closing), Duration.millis(leaveMillis))
    })
  }
}

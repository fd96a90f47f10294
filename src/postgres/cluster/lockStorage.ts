/**
 * Stores the runners and locks of effect/cluster in PostgreSQL, in its tables and under its lock numbers, so that nodes
 * whose storage is the library's own share them. The library's storage ends each attempt after a second and begins
 * again, so a node whose answers take longer never gets its partitions; here a {@link LockKeeper} goes on. Needs
 * `PgClient`.
 */
import { Effect, Layer } from "effect"
import { ClusterError, RunnerStorage, ShardId, SqlRunnerStorage } from "effect/cluster"
import type { SqlError } from "effect/sql"
import { PgClient } from "../PgClient.ts"
import * as LockKeeper from "./LockKeeper.ts"

/** How often a node looks at its locks, which is its sign of life. */
const lookMillis = 500

/** The space of the library's advisory locks: FNV-1a of `effect-cluster:` and the tables' prefix, which it never changes. */
export const lockSpace = (prefix: string): number => {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`effect-cluster:${prefix}`)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash | 0
}

/** The library's number of a shard's lock, in the first group. */
const groupBase = 1_000_000

export interface LockStorageOptions {
  /** Before the names of the tables. */
  readonly prefix: string
  readonly group: string
  /** The node's address, as effect/cluster writes it. */
  readonly address: string
  /** A node that gives no sign of life for so long has gone. */
  readonly expiryMillis: number
}

/** Opens the session of the locks. The server ends it after the expiry, if a frozen node keeps its connection. */
const openLocks = Effect.fnUntraced(function* (
  client: PgClient,
  { address, expiryMillis, prefix }: LockStorageOptions
) {
  const session = yield* client.session("cluster locks")
  yield* session.query(`select set_config('idle_session_timeout', '${expiryMillis}', false)`)
  const space = lockSpace(prefix)
  const numbers = (sql: string, locks: ReadonlyArray<number>) =>
    Effect.map(session.query(sql, [[...locks]]), (rows) => rows.map(({ lock }) => Number(lock)))
  return {
    look: Effect.map(
      session.query(
        `with beat as (update ${prefix}_runners set last_heartbeat = now() where address = $1)
         select objid::int8 as lock from pg_locks
         where locktype = 'advisory' and granted and classid = ${space >>> 0}::oid and objsubid = 2
           and pid = pg_backend_pid()`,
        [address]
      ),
      (rows) => rows.map(({ lock }) => Number(lock))
    ),
    take: (locks) =>
      numbers(`select lock from unnest($1::int4[]) as lock where pg_try_advisory_lock(${space}, lock)`, locks),
    giveBack: (locks) =>
      Effect.asVoid(numbers(`select lock, pg_advisory_unlock(${space}, lock) from unnest($1::int4[]) as lock`, locks)),
    destroy: session.destroy
  } satisfies LockKeeper.LockConnection<SqlError.SqlError>
})

const make = Effect.fnUntraced(function* (options: LockStorageOptions) {
  const client = yield* PgClient
  const { expiryMillis, group, prefix } = options
  const keeper = yield* LockKeeper.make({ open: openLocks(client, options), lookMillis, expiryMillis })
  const runners = client(`${prefix}_runners`)
  const isAlive = client.literal(`last_heartbeat > now() - interval '${expiryMillis} milliseconds'`)
  const failing = <A, E>(effect: Effect.Effect<A, E>) => ClusterError.PersistenceError.refail(effect)
  const lockOf = (shard: string) => groupBase + ShardId.fromString(shard).id
  const shardOf = (lock: number) => ShardId.make(group, lock - groupBase).toString()
  const shards = (found: Effect.Effect<ReadonlyArray<number>, LockKeeper.LocksUnseen>) =>
    failing(Effect.map(found, (locks) => locks.map(shardOf)))
  return RunnerStorage.makeEncoded({
    getRunners: failing(
      Effect.map(
        client<{ readonly runner: string; readonly healthy: boolean }>`
          select runner, healthy from ${runners} where ${isAlive}`,
        (rows) => rows.map(({ healthy, runner }) => [runner, healthy] as const)
      )
    ),
    register: (address, runner, healthy) =>
      failing(
        Effect.map(
          client<{ readonly id: number }>`
            insert into ${runners} (address, runner, last_heartbeat, healthy)
            values (${address}, ${runner}, now(), ${healthy})
            on conflict (address) do update
            set runner = excluded.runner, last_heartbeat = excluded.last_heartbeat, healthy = excluded.healthy
            returning machine_id as id`,
          ([row]) => row!.id
        )
      ),
    unregister: (address) =>
      failing(Effect.asVoid(client`delete from ${runners} where address = ${address} or not ${isAlive}`)),
    setRunnerHealth: (address, healthy) =>
      failing(Effect.asVoid(client`update ${runners} set healthy = ${healthy} where address = ${address}`)),
    acquire: (_address, wanted) => shards(keeper.acquire(wanted.map(lockOf))),
    refresh: (_address, asked) => shards(keeper.held(asked.map(lockOf))),
    release: (_address, shard) => keeper.release([lockOf(shard)]),
    releaseAll: () => keeper.release("all")
  })
})

/** The storage, with the library's tables. */
export const layer = (options: LockStorageOptions) =>
  Layer.effect(RunnerStorage.RunnerStorage, Effect.withTracerEnabled(make(options), false)).pipe(
    Layer.provide(SqlRunnerStorage.layerMigrations({ prefix: options.prefix }))
  )

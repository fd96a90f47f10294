/**
 * Manages tables that PostgreSQL partitions by the UTC day of an `int8` column of milliseconds: old rows go as whole
 * days, which leaves nothing to vacuum. The first writer into a day creates its partition, in the same transaction. The
 * keeper creates the coming days beforehand, so that this is rare, and drops the old ones. Needs `SqlClient`.
 */

import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { superviseLoop } from "../common/superviseLoop.ts"
import { lockKey } from "./advisoryLock.ts"
import { tableOf } from "./workQueueTable.ts"

export const dayMillis = 24 * 60 * 60 * 1000

/** Days that the keeper makes beforehand, today included. */
const daysAhead = 3

/**
 * How many days before today are remembered as made. Older days are looked up again, since another node's keeper may
 * have dropped them.
 */
const rememberedDays = 7

/** How often the keeper works. */
const keepIntervalMillis = 60 * 60 * 1000

/** How soon it works again after a failure. */
const keepRetryMillis = 60 * 1000

/** Shorter than the server's deadlock_timeout, so that the drop gives way when it and writers wait for each other. */
const dropLockTimeoutMillis = 500

/** How often a drop tries to get its lock before the keeper leaves it for later. */
const dropAttempts = 20

/** A table and how long its rows are kept. */
export interface KeptTable {
  readonly table: string
  readonly retentionMillis: number
}

export class DayPartitions extends Context.Service<
  DayPartitions,
  {
    /**
     * Makes the missing partitions for these times (milliseconds since the Unix epoch), inside the caller's transaction
     * if there is one. Costs no statement while the days are known to exist.
     */
    readonly ensureDays: (table: string, millis: Iterable<number>) => Effect.Effect<void, SqlError.SqlError>

    /**
     * Drops the days that lie wholly before a time, and answers their partitions' names. It holds up writers for half a
     * second at most: without its lock by then it fails (reason `LockTimeoutError`) and can be tried again.
     */
    readonly dropDaysBefore: (table: string, millis: number) => Effect.Effect<ReadonlyArray<string>, SqlError.SqlError>
  }
>()("sluice/postgres/DayPartitions") {
  static readonly layer: Layer.Layer<DayPartitions, never, SqlClient.SqlClient> = Layer.effect(
    DayPartitions,
    Effect.suspend(() => make)
  )
}

/**
 * A table partitioned by day, for a migration, still without any day. `columns` is the text between the parentheses of
 * `create table`; a primary key must contain `column`. Indexes made on the table are those of every day.
 */
export const createDayPartitioned = (
  table: string,
  { column, columns }: { readonly column: string; readonly columns: string }
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`create table ${tableOf(sql, table)} (${sql.literal(columns)}) partition by range (${sql(column)})`
  })

/**
 * How full the pages of a table's coming days are written at first, in percent (10 to 100), for a migration: rows that
 * are written again then find room beside their old version, and no index has to change. It is in the table's comment,
 * since PostgreSQL refuses storage parameters for a partitioned table.
 */
export const setDayFillFactor = (
  table: string,
  percent: number
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`comment on table ${tableOf(sql, table)} is ${sql.literal(`'fillfactor=${Math.trunc(percent)}'`)}`
  })

/** The number of the UTC day of a time. */
export const dayOf = (millis: number): number => Math.floor(millis / dayMillis)

/** The name of a day's partition, such as `events_d20260131`. */
export const partitionOfDay = (table: string, day: number): string =>
  `${table}_d${new Date(day * dayMillis).toISOString().slice(0, 10).replaceAll("-", "")}`

/** Storage parameters of a day's table. */
const storageOf = (sql: SqlClient.SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly fillFactor: string | null }>`
      select substring(obj_description(${table}::text::regclass, 'pg_class') from '^fillfactor=(\\d+)$') as "fillFactor"`,
    ([row]) => (row!.fillFactor === null ? "" : `with (fillfactor = ${row!.fillFactor})`)
  )

/** Whether this role may change the table itself, or asks functions of its owner (`runtimeRole.ts`). */
const isOwner = (sql: SqlClient.SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly isOwner: boolean }>`
      select pg_has_role(current_user, relowner, 'USAGE') as "isOwner" from pg_class where oid = ${table}::text::regclass`,
    ([row]) => row!.isOwner
  )

const createDay = (sql: SqlClient.SqlClient, table: string, day: number, storage: string, owns: boolean) => {
  const name = partitionOfDay(table, day)
  const [since, until] = [day * dayMillis, (day + 1) * dayMillis]
  if (!owns) return sql`select sluice_create_day(${table}, ${name}, ${storage})`
  // Attached after creation: creating it as a partition would lock the table against readers and writers until the
  // commit.
  return Effect.andThen(
    sql.unsafe(`create table "${name}" (like "${table}" including all) ${storage}`).unprepared,
    sql.unsafe(`alter table "${table}" attach partition "${name}" for values from (${since}) to (${until})`).unprepared
  )
}

/** The names of the existing partitions. */
const daysOf = (sql: SqlClient.SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${table}::text::regclass`,
    (rows) => rows.map(({ name }) => name)
  )

const missingOf = (sql: SqlClient.SqlClient, table: string, days: ReadonlyArray<number>) =>
  Effect.map(daysOf(sql, table), (there) => {
    const names = new Set(there)
    return days.filter((day) => !names.has(partitionOfDay(table, day)))
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  /** Days that a committed transaction has made or seen, by table. */
  const known = new Map<string, Set<number>>()

  const knownOf = (table: string): Set<number> => {
    const days = known.get(table) ?? new Set()
    known.set(table, days)
    return days
  }

  const ensureDays = Effect.fnUntraced(function* (table: string, millis: Iterable<number>) {
    const days = knownOf(table)
    const unknown = new Set<number>()
    for (const one of millis) {
      const day = dayOf(one)
      if (!days.has(day)) unknown.add(day)
    }
    if (unknown.size === 0) return
    const wanted = [...unknown].toSorted((a, b) => a - b)
    yield* sql.withTransaction(
      Effect.gen(function* () {
        if ((yield* missingOf(sql, table, wanted)).length === 0) return
        // After waiting here, look again: the other writer may have made it. One lock serves all tables, so that their
        // order does not matter.
        yield* sql`select pg_advisory_xact_lock(${lockKey("day partitions")})`
        const storage = yield* storageOf(sql, table)
        const owns = yield* isOwner(sql, table)
        for (const day of yield* missingOf(sql, table, wanted)) yield* createDay(sql, table, day, storage, owns)
      })
    )
    // Remember days only after the commit, because a roll-back removes them.
    const today = dayOf(yield* Clock.currentTimeMillis)
    yield* sql.afterCommit(
      Effect.sync(() => {
        for (const day of days) if (day < today - rememberedDays) days.delete(day)
        for (const day of wanted) if (day >= today - rememberedDays && day <= today + daysAhead) days.add(day)
      })
    )
  })

  const dropDaysBefore = Effect.fn("DayPartitions.dropDaysBefore")(function* (table: string, millis: number) {
    const before = dayOf(millis)
    // Forget the days first, so that writers meanwhile look for themselves.
    const days = knownOf(table)
    for (const day of days) if (day < before) days.delete(day)
    const limit = partitionOfDay(table, before)
    const old = (yield* daysOf(sql, table)).filter((name) => name < limit).toSorted()
    const owns = old.length === 0 || (yield* isOwner(sql, table))
    for (const name of old) {
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql.unsafe(`set local lock_timeout = ${dropLockTimeoutMillis}`).unprepared
          yield* owns ? sql`drop table if exists ${sql(name)}` : sql`select sluice_drop_day(${table}, ${name})`
        })
      )
    }
    return old
  })

  return DayPartitions.of({ ensureDays, dropDaysBefore })
})

/**
 * The supervised fiber that keeps the days of these tables: makes the coming ones, drops those past their time. Every
 * node may run it. What fails is logged and tried again within a minute; writers make their days themselves meanwhile.
 */
export const layerKeeper = (tables: ReadonlyArray<KeptTable>): Layer.Layer<never, never, DayPartitions> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const partitions = yield* DayPartitions
      const keep = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const ahead = Array.from({ length: daysAhead }, (_, index) => now + index * dayMillis)
        for (const { retentionMillis, table } of tables) {
          yield* partitions.ensureDays(table, ahead)
          const dropped = yield* Effect.retry(partitions.dropDaysBefore(table, now - retentionMillis), {
            times: dropAttempts,
            schedule: Schedule.spaced(Duration.millis(2 * dropLockTimeoutMillis))
          })
          if (dropped.length > 0) yield* Effect.logInfo(`Dropped what is past its time: ${dropped.join(", ")}`)
        }
        yield* Effect.sleep(Duration.millis(keepIntervalMillis))
      })
      const options = { failed: "The days of partitioned tables could not be kept", retryMillis: keepRetryMillis }
      yield* Effect.forkScoped(superviseLoop(keep, options))
    })
  )

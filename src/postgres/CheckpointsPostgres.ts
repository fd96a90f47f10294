/**
 * Stores checkpoints in PostgreSQL: actor rows are only ever inserted, at the sequence of their checkpoint, and deleted
 * when the second-newest checkpoint covers a newer row of the same actor (docs/architecture.md, rule 9). Needs
 * `SqlClient` and the tables of `migrations.ts`.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { ActorAddress } from "../engine/address.ts"
import {
  type ActorRow,
  CheckpointConflict,
  type CheckpointRecord,
  Checkpoints,
  CheckpointsUnavailable,
  type Deployment,
  type ExpiryRow,
  type KeysRequest,
  type OrganizationsRequest,
  type StatesRequest,
  type TimerRow
} from "../engine/ports/Checkpoints.ts"
import { withStatementTimeout } from "./deadlines.ts"
import { mapSqlError, transaction } from "./transactions.ts"
import { unnest } from "./unnest.ts"

/** Most rows, and characters of state, in one insert. Encoding them blocks the event loop for a few milliseconds. */
const insertRows = 500
const insertCharacters = 512 * 1024

const actorColumns = {
  partition: "int4",
  organization: "text",
  kind: "text",
  key: "text",
  sequence: "int8",
  version: "int4",
  state: "text",
  wake_at: "float8",
  expires_at: "float8"
} as const

/** The timeout of a statement that removes superseded rows, of which there may be many. */
const pruneTimeoutMillis = 10 * 60 * 1000

const beforeAllTimers: TimerRow = { wakeAt: Number.NEGATIVE_INFINITY, organization: "", kind: "", key: "" }

const unavailable = (cause: SqlError.SqlError): CheckpointsUnavailable =>
  new CheckpointsUnavailable({ message: `the checkpoints in PostgreSQL are not available: ${cause.message}`, cause })

type Service = Checkpoints["Service"]

const inTransaction = <A, E>(sql: SqlClient.SqlClient, body: Effect.Effect<A, E>) =>
  mapSqlError(transaction(sql, body, unavailable), unavailable)

const newestOf = (sql: SqlClient.SqlClient, partition: number) =>
  Effect.map(
    sql<{ readonly newest: number }>`
      select coalesce(max(sequence), 0) as newest from engine_checkpoints where partition = ${partition}`,
    ([row]) => row!.newest
  )

/** The data of the deployment rather than of a partition. */
const deploymentOf = (sql: SqlClient.SqlClient): Pick<Service, "fixPartitions" | "deployment"> => ({
  fixPartitions: Effect.fn("Checkpoints.fixPartitions")((count) =>
    inTransaction(
      sql,
      Effect.gen(function* () {
        yield* sql`insert into engine_deployment (partitions) values (${count}) on conflict (one) do nothing`
        const [row] = yield* sql<{ readonly partitions: number }>`select partitions from engine_deployment`
        return row!.partitions
      })
    )
  ),

  deployment: mapSqlError(
    Effect.map(
      sql<Deployment>`
        select id::text as id, 'the database ' || current_database()
          || coalesce(' at ' || host(inet_server_addr()) || ':' || inet_server_port(), '') as home
        from engine_deployment`,
      ([row]) => row
    ),
    unavailable
  )
})

/** Rows in pieces that are each one insert. */
const pieces = function* (rows: Iterable<ActorRow>): Generator<ReadonlyArray<ActorRow>> {
  let piece: Array<ActorRow> = []
  let characters = 0
  for (const row of rows) {
    piece.push(row)
    characters += row.state?.length ?? 0
    if (piece.length >= insertRows || characters >= insertCharacters) {
      yield piece
      piece = []
      characters = 0
    }
  }
  if (piece.length > 0) yield piece
}

const saving = (sql: SqlClient.SqlClient): Service["save"] => {
  /** Locks the partition's row until the transaction ends, and moves it if it is where we expect it. */
  const advance = (record: CheckpointRecord, previous: number) => {
    const { partition, sequence } = record
    if (sequence <= previous) return Effect.succeed([])
    return previous === 0
      ? sql`
          insert into engine_partitions (partition, newest_checkpoint) values (${partition}, ${sequence})
          on conflict (partition) do update set newest_checkpoint = ${sequence}
          where engine_partitions.newest_checkpoint = 0
          returning partition`
      : sql`
          update engine_partitions set newest_checkpoint = ${sequence}
          where partition = ${partition} and newest_checkpoint = ${previous}
          returning partition`
  }

  const insertActors = (partition: number, rows: ReadonlyArray<ActorRow>) =>
    sql`
      insert into engine_actors (partition, organization, kind, key, sequence, version, state, wake_at, expires_at)
      select partition, organization, kind, key, sequence, version, state, wake_at, expires_at
      from ${unnest(
        rows.map((row) => ({ ...row, partition, wake_at: row.wakeAt, expires_at: row.expiresAt })),
        actorColumns
      )}`

  return Effect.fn("Checkpoints.save")(({ previous, record, rows }) =>
    inTransaction(
      sql,
      Effect.gen(function* () {
        const { epoch, hash, ingests, now, number, partition, sequence, signalSequence } = record
        if ((yield* advance(record, previous)).length === 0) {
          const found = yield* newestOf(sql, partition)
          return yield* new CheckpointConflict({ partition, expected: previous, found })
        }
        for (const piece of pieces(rows)) yield* insertActors(partition, piece)
        yield* sql`
          insert into engine_checkpoints
            (partition, sequence, hash, epoch, number, now_millis, signal_sequence, ingests)
          values (${partition}, ${sequence}, ${hash}, ${epoch}, ${number}, ${now}, ${signalSequence},
            ${ingests === undefined ? null : JSON.stringify(ingests)}::text::json)`
      })
    )
  )
}

type CheckpointRow = Omit<CheckpointRecord, "ingests"> & { readonly ingests: string | null }

const recordOf = ({ ingests, ...row }: CheckpointRow): CheckpointRecord =>
  // It was written by this adapter.
  ingests === null ? row : { ...row, ingests: JSON.parse(ingests) as Readonly<Record<string, number>> }

/**
 * Each of these statements is planned again, for the table as large as it is now. A plan that a session has kept from
 * when there were a few actors reads all of them for every one that is looked up, until PostgreSQL next analyzes the
 * table.
 */
const reading = (
  sql: SqlClient.SqlClient
): Pick<Service, "list" | "load" | "keys" | "organizations" | "states" | "timers" | "expiring"> => {
  /**
   * Rows with a timer in the order of the index, superseded and later ones among them. Done in two steps, because a
   * planner that may join first reads and sorts all of them.
   */
  const timerPage = (partition: number, through: number, after: TimerRow, limit: number) =>
    sql<TimerRow & { readonly current: boolean }>`
      with page as materialized (
        select organization, kind, key, sequence, wake_at from engine_actors
        where partition = ${partition} and wake_at is not null
          and (wake_at, organization, kind, key)
            > (${after.wakeAt}::float8, ${after.organization}, ${after.kind}, ${after.key})
        order by wake_at, organization, kind, key limit ${limit}
      )
      select page.organization, page.kind, page.key, page.wake_at as "wakeAt", coalesce(newest.sequence = page.sequence, false) as current
      from page left join lateral (
        select a.sequence from engine_actors a
        where a.partition = ${partition} and a.organization = page.organization and a.kind = page.kind
          and a.key = page.key and a.sequence <= ${through}
        order by a.sequence desc limit 1
      ) newest on true
      order by page.wake_at, page.organization, page.kind, page.key`.unprepared

  /** A walk along the primary key, which ends with the page. */
  const keysPage = (partition: number, { after, kind, limit, organization, through }: KeysRequest) =>
    sql<{ readonly key: string }>`
      select key from (
        select distinct on (key) key, state is not null as is_there from engine_actors
        where partition = ${partition} and organization = ${organization} and kind = ${kind}
          and (${after === undefined} or key > ${after ?? ""}) and sequence <= ${through}
        order by key, sequence desc
      ) newest
      where is_there order by key limit ${limit}`.unprepared

  /**
   * A step along the primary key for each organization with actors of the kind, which ends with the page. A step reads
   * over the others within the index: a step for each of them would take minutes where a kind is rare.
   */
  const organizationsPage = (partition: number, { after, kind, limit, through }: OrganizationsRequest) =>
    sql<{ readonly organization: string }>`
      with recursive walked as (
        (select organization from engine_actors
          where partition = ${partition} and kind = ${kind} and (${after === undefined} or organization > ${after ?? ""})
          order by organization limit 1)
        union all
        select (select a.organization from engine_actors a
          where a.partition = ${partition} and a.kind = ${kind} and a.organization > walked.organization
          order by a.organization limit 1)
        from walked where walked.organization is not null
      )
      select organization from walked
      where organization is not null and exists (
        select from (
          select distinct on (key) state is not null as is_there from engine_actors a
          where a.partition = ${partition} and a.organization = walked.organization and a.kind = ${kind}
            and a.sequence <= ${through}
          order by key, sequence desc
        ) newest
        where is_there
      )
      limit ${limit}`.unprepared

  /** A walk along the primary key, which ends with the page. */
  const statesPage = (partition: number, { after, kinds, limit, through }: StatesRequest) =>
    sql<ActorRow>`
      select distinct on (organization, kind, key) organization, kind, key, sequence, version, state,
        wake_at as "wakeAt", expires_at as "expiresAt"
      from engine_actors
      where partition = ${partition} and kind = any(${kinds}::text[]) and sequence <= ${through}
        and (organization, kind, key) > (${after?.organization ?? ""}, ${after?.kind ?? ""}, ${after?.key ?? ""})
      order by organization, kind, key, sequence desc limit ${limit}`.unprepared

  const newestRows = (partition: number, addresses: ReadonlyArray<ActorAddress>, through: number) =>
    sql<ActorRow>`
      select found.organization, found.kind, found.key, found.sequence, found.version, found.state,
        found.wake_at as "wakeAt", found.expires_at as "expiresAt"
      from ${unnest(addresses, { organization: "text", kind: "text", key: "text" })}
      cross join lateral (
        select * from engine_actors a
        where a.partition = ${partition} and a.organization = batch.organization and a.kind = batch.kind
          and a.key = batch.key and a.sequence <= ${through}
        order by a.sequence desc limit 1
      ) found
      where found.state is not null`.unprepared

  return {
    list: Effect.fn("Checkpoints.list")((partition) =>
      mapSqlError(
        Effect.map(
          sql<CheckpointRow>`
          select partition, sequence, hash, epoch, number, now_millis as now, signal_sequence as "signalSequence",
            ingests::text
          from engine_checkpoints where partition = ${partition} order by sequence desc limit 3`,
          (rows) => rows.map(recordOf)
        ),
        unavailable
      )
    ),

    load: Effect.fn("Checkpoints.load")((partition, addresses, through) =>
      addresses.length === 0 ? Effect.succeed([]) : mapSqlError(newestRows(partition, addresses, through), unavailable)
    ),

    keys: Effect.fn("Checkpoints.keys")((partition, request) =>
      mapSqlError(
        Effect.map(keysPage(partition, request), (rows) => rows.map(({ key }) => key)),
        unavailable
      )
    ),

    organizations: Effect.fn("Checkpoints.organizations")((partition, request) =>
      mapSqlError(
        Effect.map(organizationsPage(partition, request), (rows) => rows.map(({ organization }) => organization)),
        unavailable
      )
    ),

    states: Effect.fn("Checkpoints.states")((partition, request) =>
      mapSqlError(statesPage(partition, request), unavailable)
    ),

    timers: Effect.fn("Checkpoints.timers")(function* (partition, { after, limit, through }) {
      const found: Array<TimerRow> = []
      let place = after ?? beforeAllTimers
      while (found.length < limit) {
        const page = yield* mapSqlError(timerPage(partition, through, place, limit), unavailable)
        for (const { current, ...timer } of page) {
          if (current && found.length < limit) found.push(timer)
        }
        if (page.length < limit) break
        place = page[page.length - 1]!
      }
      return found
    }),

    expiring: Effect.fn("Checkpoints.expiring")((partition, { after, limit }) =>
      mapSqlError(
        sql<ExpiryRow>`
          select organization, kind, key, expires_at as "expiresAt" from engine_actors
          where partition = ${partition} and expires_at >= ${after.expiresAt}::float8
            and (expires_at, organization, kind, key)
              > (${after.expiresAt}::float8, ${after.organization}, ${after.kind}, ${after.key})
          order by expires_at, organization, kind, key limit ${limit}`.unprepared,
        unavailable
      )
    )
  }
}

/**
 * The removals. The searches for actors' rows by sequence state that it is above 0, as every sequence is: the index
 * that they use holds only such rows, so that no other statement can be planned with it (`migrations.ts`). It leaves
 * out the rows that expire, which nothing else removes.
 */
const removing = (sql: SqlClient.SqlClient): Pick<Service, "prune" | "expire" | "discardAbove"> => {
  const patiently = <A, E>(body: Effect.Effect<A, E>) =>
    inTransaction(sql, withStatementTimeout(sql, pruneTimeoutMillis, body))

  /** Runs a statement that deletes and returns rows, and counts them on the server. */
  const countOf = (deletion: Statement.Statement<unknown>) =>
    Effect.map(
      sql<{ readonly count: number }>`with gone as (${deletion}) select count(*) as count from gone`.unprepared,
      ([row]) => row!.count
    )

  /** Only rows that came since the last prune can have superseded others. */
  const superseded = (partition: number, pruned: number, covered: number) => sql`
    delete from engine_actors older using engine_actors newer
    where newer.partition = ${partition} and newer.sequence > 0 and newer.expires_at is null
      and newer.sequence > ${pruned} and newer.sequence <= ${covered}
      and older.partition = newer.partition and older.organization = newer.organization
      and older.kind = newer.kind and older.key = newer.key and older.sequence < newer.sequence
    returning 1`

  const ended = (partition: number, pruned: number, covered: number) => sql`
    delete from engine_actors
    where partition = ${partition} and sequence > 0 and expires_at is null
      and sequence > ${pruned} and sequence <= ${covered} and state is null
    returning 1`

  /** The rows of kinds that keep none any more. */
  const ofKinds = (partition: number, kinds: ReadonlyArray<string>, covered: number) => sql`
    delete from engine_actors
    where partition = ${partition} and ${sql.in("kind", kinds)} and sequence > 0 and expires_at is null
      and sequence <= ${covered}
    returning 1`

  const expired = (partition: number, now: number, limit: number) => sql`
    delete from engine_actors where ctid = any(array(
      select ctid from engine_actors where partition = ${partition} and expires_at <= ${now}::float8
      order by expires_at limit ${limit}
    )) returning 1`

  return {
    prune: Effect.fn("Checkpoints.prune")((partition, stateless = []) =>
      patiently(
        Effect.gen(function* () {
          const [place] = yield* sql<{ readonly covered: number | null; readonly pruned: number }>`
            select p.pruned_through as pruned,
              (select sequence from engine_checkpoints c where c.partition = p.partition
               order by sequence desc offset 1 limit 1) as covered
            from engine_partitions p where partition = ${partition} for update`
          if (place === undefined || place.covered === null) return { rows: 0, checkpoints: 0 }
          const { covered, pruned } = place
          const rows =
            (yield* countOf(superseded(partition, pruned, covered))) +
            (yield* countOf(ended(partition, pruned, covered))) +
            (stateless.length === 0 ? 0 : yield* countOf(ofKinds(partition, stateless, covered)))
          const checkpoints = yield* countOf(sql`
            delete from engine_checkpoints where partition = ${partition} and sequence < ${covered} returning 1`)
          yield* sql`update engine_partitions set pruned_through = ${covered} where partition = ${partition}`
          return { rows, checkpoints }
        })
      )
    ),

    expire: Effect.fn("Checkpoints.expire")((partition, now, limit) =>
      patiently(countOf(expired(partition, now, limit)))
    ),

    discardAbove: Effect.fn("Checkpoints.discardAbove")((partition, sequence) =>
      patiently(
        Effect.gen(function* () {
          yield* sql`select from engine_partitions where partition = ${partition} for update`
          const lasting = yield* countOf(sql`
            delete from engine_actors
            where partition = ${partition} and sequence > 0 and expires_at is null and sequence > ${sequence}
            returning 1`)
          const expiring = yield* countOf(sql`
            delete from engine_actors
            where partition = ${partition} and expires_at is not null and sequence > ${sequence}
            returning 1`)
          const checkpoints = yield* countOf(sql`
            delete from engine_checkpoints where partition = ${partition} and sequence > ${sequence} returning 1`)
          yield* sql`
            update engine_partitions
            set newest_checkpoint = ${yield* newestOf(sql, partition)}, pruned_through = least(pruned_through, ${sequence})
            where partition = ${partition}`
          return { rows: lasting + expiring, checkpoints }
        })
      )
    )
  }
}

export const make = Effect.map(
  SqlClient.SqlClient,
  (sql): Service => Checkpoints.of({ ...deploymentOf(sql), ...reading(sql), save: saving(sql), ...removing(sql) })
)

export const layer: Layer.Layer<Checkpoints, never, SqlClient.SqlClient> = Layer.effect(Checkpoints, make)

/**
 * Stores reactors' cursors in PostgreSQL: a cursor moves in the transaction of its batch's effects, and only from where
 * its owner believes it to be, so a replaced owner rolls back (docs/architecture.md, rule 11). Needs `SqlClient`, the
 * one that the effects use, and the tables of `migrations.ts`.
 */
import { Cause, Effect, Layer } from "effect"
import { SqlClient, SqlError, Statement } from "effect/sql"
import { emptyLogHash } from "../engine/ports/Checkpoints.ts"
import {
  type Cursor,
  type CursorMove,
  CursorMoved,
  Cursors,
  CursorsUnavailable,
  type ParkedOrganization,
  type ParkedRecord,
  ReactorTransaction,
  type RebuildProgress
} from "../engine/ports/Cursors.ts"
import { deferred, flushDeferred } from "./deferredStatements.ts"
import { storableText } from "./errorText.ts"
import { isMissing, isStoreFailure, mapSqlError, transaction } from "./transactions.ts"
import { unnest } from "./unnest.ts"

const unavailable = (cause: SqlError.SqlError): CursorsUnavailable =>
  new CursorsUnavailable({ message: `the cursors in PostgreSQL are not available: ${cause.message}`, cause })

/** Runs effects with a `ReactorTransaction` of their own, and answers what they staged beside their value. */
const staging = <A, E, R>(effects: Effect.Effect<A, E, R>, move?: CursorMove) =>
  Effect.suspend(() => {
    const staged: Array<() => void> = []
    return Effect.map(
      Effect.provideService(
        effects,
        ReactorTransaction,
        ReactorTransaction.of({ move, onCommit: (action) => void staged.push(action) })
      ),
      (value) => ({ value, staged })
    )
  })

/** A table that is missing is no fault of a record: no record could be processed, so none is parked. */
const isStores = (error: unknown): error is SqlError.SqlError => isStoreFailure(error) || isMissing(error)

type Service = Cursors["Service"]

/** Failures of this adapter's own statements inside a transaction. */
const own = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError>) => mapSqlError(effect, unavailable)

/** Runs effects together with their deferred statements, so that a failure of those counts as theirs. */
const completely = <A, E, R>(sql: SqlClient.SqlClient, effects: Effect.Effect<A, E, R>) =>
  Effect.tap(effects, flushDeferred(sql) as Effect.Effect<void, E>)

/** A transaction whose staged actions run after the commit, even if the fiber is interrupted at that moment. */
const inTransaction = <A, E, R>(sql: SqlClient.SqlClient, effects: Effect.Effect<A, E, R>, move?: CursorMove) =>
  transaction(
    sql,
    Effect.flatMap(staging(effects, move), ({ staged, value }) =>
      Effect.as(
        sql.afterCommit(
          Effect.sync(() => {
            for (const action of staged) action()
          })
        ),
        value
      )
    ),
    unavailable
  )

interface CursorRow extends Omit<Cursor, "rebuild"> {
  readonly rebuild: string | null
}

const readRow = ({ rebuild, ...row }: CursorRow): Cursor =>
  // It was written by this adapter.
  rebuild === null ? row : { ...row, rebuild: JSON.parse(rebuild) as RebuildProgress }

const cursorOf = (sql: SqlClient.SqlClient, partition: number, reactor: string) =>
  Effect.map(
    sql<CursorRow>`
      select partition, reactor, sequence, hash, rebuild::text from engine_cursors
      where partition = ${partition} and reactor = ${reactor}`,
    ([row]): Cursor => (row === undefined ? { partition, reactor, sequence: 0, hash: emptyLogHash } : readRow(row))
  )

/** Reads cursors, and moves them outside of batches. */
const positions = (sql: SqlClient.SqlClient): Pick<Service, "list" | "read" | "forget" | "reset"> => ({
  list: Effect.fn("Cursors.list")((partition) =>
    own(
      sql<Cursor>`
        select partition, reactor, sequence, hash from engine_cursors
        where partition = ${partition} order by reactor`
    )
  ),

  read: Effect.fn("Cursors.read")((partition, reactor) => own(cursorOf(sql, partition, reactor))),

  forget: Effect.fn("Cursors.forget")((partition, reactor) =>
    Effect.asVoid(own(sql`delete from engine_cursors where partition = ${partition} and reactor = ${reactor}`))
  ),

  reset: Effect.fn("Cursors.reset")(({ hash, partition, reactor, sequence }) =>
    Effect.asVoid(
      own(
        sql`
          insert into engine_cursors (partition, reactor, sequence, hash)
          values (${partition}, ${reactor}, ${sequence}, ${hash})
          on conflict (partition, reactor) do update set sequence = excluded.sequence, hash = excluded.hash, rebuild = null`
      )
    )
  )
})

/** Fails when no row was moved. It is a text, so that the server's log tells why. */
const oneMoved = Statement.fragment([
  Statement.literal("(select case count(*) when 1 then '1' else 'the cursor has moved' end from moved)::int4")
])

/**
 * Locks the cursor's row until the transaction ends: a replaced owner waits here and then finds the cursor moved. It
 * is sent with the first statement of the effects and fails by itself when the cursor is elsewhere, so nothing behind
 * it runs.
 */
const advance = (sql: SqlClient.SqlClient, { from, partition, reactor, to }: CursorMove) => {
  return deferred(
    sql,
    from.sequence === 0 && from.hash === emptyLogHash
      ? sql`
          with moved as (
            insert into engine_cursors (partition, reactor, sequence, hash)
            values (${partition}, ${reactor}, ${to.sequence}, ${to.hash})
            on conflict (partition, reactor) do update set sequence = excluded.sequence, hash = excluded.hash
            where engine_cursors.sequence = 0 and engine_cursors.hash = ${emptyLogHash}
            returning 1
          )
          select ${oneMoved}`
      : sql`
          with moved as (
            update engine_cursors set sequence = ${to.sequence}, hash = ${to.hash}
            where partition = ${partition} and reactor = ${reactor}
              and sequence = ${from.sequence} and hash = ${from.hash}
            returning 1
          )
          select ${oneMoved}`
  )
}

/** Moves the progress of a rebuild, in the transaction that has locked the cursor. */
const advanceRebuild = (sql: SqlClient.SqlClient, { partition, rebuild, reactor, from, to }: CursorMove) => {
  if (rebuild === undefined) return Effect.void
  const text = rebuild.to === undefined ? null : JSON.stringify(rebuild.to)
  const moved = sql`
    update engine_cursors set rebuild = ${text}::json
    where partition = ${partition} and reactor = ${reactor} and (
      ${rebuild.from === "any"} or (rebuild ->> 'step')::int8 is not distinct from ${typeof rebuild.from === "number" ? rebuild.from : null}::int8
    )
    returning 1`
  return Effect.flatMap(own(moved), (rows) =>
    rows.length === 1 ? Effect.void : Effect.fail(new CursorMoved({ partition, reactor, expected: from, found: to }))
  )
}

/** A batch's transaction, and attempts inside it. */
const batches = (sql: SqlClient.SqlClient): Pick<Service, "transact" | "attempt"> => {
  /**
   * After a failed transaction, whatever the effects failed with, checks whether the cursor had moved. A failure at
   * COMMIT that is not the store's comes from a statement that the effects deferred, so it counts as theirs.
   */
  const unlessMoved = <E>(
    { from, partition, reactor }: CursorMove,
    cause: Cause.Cause<E>
  ): Effect.Effect<never, E | CursorMoved | CursorsUnavailable> => {
    const error = Cause.squash(cause)
    if (Cause.hasInterrupts(cause) || (error instanceof CursorsUnavailable && isStores(error.cause)))
      return Effect.failCause(cause)
    return Effect.flatMap(
      own(cursorOf(sql, partition, reactor)),
      ({ hash, sequence }): Effect.Effect<never, E | CursorMoved> =>
        sequence === from.sequence && hash === from.hash
          ? error instanceof CursorsUnavailable && SqlError.isSqlError(error.cause)
            ? Effect.fail(error.cause as E)
            : Effect.failCause(cause)
          : Effect.fail(new CursorMoved({ partition, reactor, expected: from, found: { sequence, hash } }))
    )
  }

  return {
    transact: (request, effects) =>
      Effect.catchCause(
        inTransaction(
          sql,
          Effect.andThen(own(advance(sql, request)), Effect.andThen(advanceRebuild(sql, request), effects)),
          request
        ),
        (cause) => unlessMoved(request, cause)
      ),

    attempt: (effects) =>
      Effect.flatMap(ReactorTransaction, (outer) =>
        Effect.map(transaction(sql, staging(completely(sql, effects)), unavailable, isStores), ({ staged, value }) => {
          for (const action of staged) outer.onCommit(action)
          return value
        })
      )
  }
}

/** Columns of a parked record, in the order of the table. */
const parkedColumns = {
  partition: "int4",
  reactor: "text",
  organization: "text",
  sequence: "int8",
  record_index: "int4",
  record: "text",
  error: "text"
} as const

/** Parks records and counts them, as part of the batch's transaction. */
const parking = (sql: SqlClient.SqlClient): Pick<Service, "park" | "parkedAmong"> => {
  const insertParked = (records: ReadonlyArray<ParkedRecord>) => sql`
    with parked as (
      insert into engine_parked (partition, reactor, organization, sequence, record_index, record, error)
      select * from ${unnest(
        records.map((record) => ({ ...record, record_index: record.index, error: storableText(record.error) })),
        parkedColumns
      )}
      on conflict (partition, reactor, organization, sequence, record_index) do nothing
      returning partition, reactor, organization
    ), counted as (
      insert into engine_parked_counts as counts (partition, reactor, organization, count)
      select partition, reactor, organization, count(*) from parked group by 1, 2, 3
      on conflict (partition, reactor, organization) do update set count = counts.count + excluded.count
    )
    insert into engine_parked_totals as totals (partition, reactor, count)
    select partition, reactor, count(*) from parked group by 1, 2
    on conflict (partition, reactor) do update set count = totals.count + excluded.count`

  return {
    park: (records) =>
      Effect.andThen(
        ReactorTransaction,
        records.length === 0 ? Effect.void : Effect.asVoid(own(insertParked(records)))
      ),

    parkedAmong: (partition, reactor, organizations) =>
      Effect.andThen(
        ReactorTransaction,
        own(
          Effect.map(
            sql<{ readonly organization: string }>`
              select organization from ${unnest(
                organizations.map((organization) => ({ organization })),
                { organization: "text" }
              )}
              where exists (
                select from engine_parked_counts p where p.partition = ${partition} and p.reactor = ${reactor}
                  and p.organization = batch.organization
              )`,
            (rows) => new Set(rows.map(({ organization }) => organization))
          )
        )
      )
  }
}

/** Reads parked records, for the reactor's start and for people. */
const parkedRecords = (sql: SqlClient.SqlClient): Pick<Service, "parkedOrganizations" | "parkedCount" | "parked"> => ({
  parkedOrganizations: Effect.fn("Cursors.parkedOrganizations")((partition, reactor, page) =>
    own(
      sql<ParkedOrganization>`
        select organization, count from engine_parked_counts
        where partition = ${partition} and reactor = ${reactor} and organization > ${page?.after ?? ""}
        order by organization limit ${page?.limit ?? null}::int8`
    )
  ),

  parkedCount: Effect.fn("Cursors.parkedCount")((partition, reactor, organization) =>
    own(
      Effect.map(
        organization === undefined
          ? sql<{ readonly count: number }>`
              select count from engine_parked_totals where partition = ${partition} and reactor = ${reactor}`
          : sql<{ readonly count: number }>`
              select count from engine_parked_counts
              where partition = ${partition} and reactor = ${reactor} and organization = ${organization}`,
        ([row]) => row?.count ?? 0
      )
    )
  ),

  parked: Effect.fn("Cursors.parked")((partition, reactor, organization, limit) =>
    own(
      sql<ParkedRecord>`
        select partition, reactor, organization, sequence, record_index as index, record, error from engine_parked
        where partition = ${partition} and reactor = ${reactor} and organization = ${organization}
        order by sequence, record_index limit ${limit}`
    )
  )
})

/** Takes parked records off together with the effects that have worked on them. */
const unparking = (sql: SqlClient.SqlClient): Service["unpark"] => {
  const keysOf = (records: ReadonlyArray<ParkedRecord>) =>
    unnest(
      records.map((record) => ({ ...record, record_index: record.index })),
      { partition: "int4", reactor: "text", organization: "text", sequence: "int8", record_index: "int4" }
    )

  const takeOff = (records: ReadonlyArray<ParkedRecord>) => sql`
    with taken as (
      delete from engine_parked p using ${keysOf(records)}
      where p.partition = batch.partition and p.reactor = batch.reactor and p.organization = batch.organization
        and p.sequence = batch.sequence and p.record_index = batch.record_index
      returning p.partition, p.reactor, p.organization
    ), counted as (
      update engine_parked_counts c set count = c.count - gone.count
      from (select partition, reactor, organization, count(*) as count from taken group by 1, 2, 3) gone
      where c.partition = gone.partition and c.reactor = gone.reactor and c.organization = gone.organization
    ), totalled as (
      update engine_parked_totals t set count = t.count - gone.count
      from (select partition, reactor, count(*) as count from taken group by 1, 2) gone
      where t.partition = gone.partition and t.reactor = gone.reactor
    )
    select 1 from taken`

  const dropEmptyCounts = (records: ReadonlyArray<ParkedRecord>) => sql`
    delete from engine_parked_counts c using ${keysOf(records)}
    where c.partition = batch.partition and c.reactor = batch.reactor and c.organization = batch.organization
      and c.count <= 0`

  return (records, effects) =>
    inTransaction(
      sql,
      Effect.gen(function* () {
        // The reactor's transaction takes the same lock, so that it parks no record behind those that are taken off
        // here.
        for (const { partition, reactor } of records.slice(0, 1)) {
          yield* own(sql`
            select 1 from engine_cursors where partition = ${partition} and reactor = ${reactor} for update`)
        }
        // Delete first: of two callers that take the same records, one waits here and then finds them gone.
        const taken = yield* own(takeOff(records))
        yield* own(dropEmptyCounts(records))
        if (taken.length !== records.length) {
          return yield* new CursorsUnavailable({
            message: `${records.length - taken.length} of ${records.length} records are no longer parked: look again`
          })
        }
        return yield* completely(sql, effects)
      })
    )
}

export const make = Effect.map(
  SqlClient.SqlClient,
  (sql): Service =>
    Cursors.of({
      ...positions(sql),
      ...batches(sql),
      ...parking(sql),
      ...parkedRecords(sql),
      unpark: unparking(sql)
    })
)

export const layer: Layer.Layer<Cursors, never, SqlClient.SqlClient> = Layer.effect(Cursors, make)

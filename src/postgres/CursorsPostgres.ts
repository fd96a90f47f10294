/**
 * Reactors' cursors in PostgreSQL: a cursor moves in the transaction of its batch's effects, and only from where its
 * owner believes it to be, so that a replaced owner rolls back (docs/architecture.md, rule 11). Needs `SqlClient`, the one
 * that the effects use, and the tables of `migrations.ts`.
 */
import { Cause, Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { emptyLogHash } from "../engine/Checkpoints.ts"
import {
  type Cursor,
  type CursorMove,
  CursorMoved,
  Cursors,
  CursorsUnavailable,
  type ParkedOrganization,
  type ParkedRecord,
  ReactorTransaction
} from "../engine/Cursors.ts"
import { deferred, flushDeferred } from "./deferred.ts"
import { storableText } from "./text.ts"
import { isStoreFailure, mapSqlError, transaction } from "./transactions.ts"
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

export const make = Effect.map(SqlClient.SqlClient, (sql): Cursors["Service"] => {
  /** Runs effects together with their deferred statements, so that a failure of those counts as theirs. */
  const completely = <A, E, R>(effects: Effect.Effect<A, E, R>) =>
    Effect.tap(effects, flushDeferred(sql) as Effect.Effect<void, E>)

  /** A transaction whose staged actions run after the commit, even if the fiber is interrupted at that moment. */
  const inTransaction = <A, E, R>(effects: Effect.Effect<A, E, R>, move?: CursorMove) =>
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

  const read = (partition: number, reactor: string) =>
    Effect.map(
      sql<Cursor>`
        select partition, reactor, sequence, hash from engine_cursors
        where partition = ${partition} and reactor = ${reactor}`,
      ([row]): Cursor => row ?? { partition, reactor, sequence: 0, hash: emptyLogHash }
    )

  /** Failures of this adapter's own statements inside a transaction. */
  const own = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError>) => mapSqlError(effect, unavailable)

  /** Fails when no row was moved. It is a text, so that the server's log tells why. */
  const oneMoved = sql.literal(
    "(select case count(*) when 1 then '1' else 'the cursor has moved' end from moved)::int4"
  )

  /**
   * Locks the cursor's row until the transaction ends: a replaced owner waits here and then finds the cursor moved. It
   * is sent with the first statement of the effects and fails by itself when the cursor is elsewhere, so nothing behind
   * it runs.
   */
  const advance = ({ from, partition, reactor, to }: CursorMove) =>
    deferred(
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

  /**
   * After a failed transaction, whatever the effects failed with, checks whether the cursor had moved. A failure at
   * COMMIT that is not the store's comes from a statement that the effects deferred, so it counts as theirs.
   */
  const unlessMoved = <E>(
    { from, partition, reactor }: CursorMove,
    cause: Cause.Cause<E>
  ): Effect.Effect<never, E | CursorMoved | CursorsUnavailable> => {
    const error = Cause.squash(cause)
    if (Cause.hasInterrupts(cause) || (error instanceof CursorsUnavailable && isStoreFailure(error.cause)))
      return Effect.failCause(cause)
    return Effect.flatMap(
      own(read(partition, reactor)),
      ({ hash, sequence }): Effect.Effect<never, E | CursorMoved> =>
        sequence === from.sequence && hash === from.hash
          ? error instanceof CursorsUnavailable && SqlError.isSqlError(error.cause)
            ? Effect.fail(error.cause as E)
            : Effect.failCause(cause)
          : Effect.fail(new CursorMoved({ partition, reactor, expected: from, found: { sequence, hash } }))
    )
  }

  const keysOf = (records: ReadonlyArray<ParkedRecord>) =>
    unnest(
      records.map((record) => ({ ...record, record_index: record.index })),
      { partition: "int4", reactor: "text", organization: "text", sequence: "int8", record_index: "int4" }
    )

  return Cursors.of({
    list: (partition) =>
      mapSqlError(
        sql<Cursor>`
          select partition, reactor, sequence, hash from engine_cursors
          where partition = ${partition} order by reactor`,
        unavailable
      ),

    read: (partition, reactor) => mapSqlError(read(partition, reactor), unavailable),

    transact: (request, effects) =>
      Effect.catchCause(inTransaction(Effect.andThen(own(advance(request)), effects), request), (cause) =>
        unlessMoved(request, cause)
      ),

    attempt: (effects) =>
      Effect.flatMap(ReactorTransaction, (outer) =>
        Effect.map(transaction(sql, staging(completely(effects)), unavailable), ({ staged, value }) => {
          for (const action of staged) outer.onCommit(action)
          return value
        })
      ),

    park: (records) =>
      Effect.andThen(
        ReactorTransaction,
        records.length === 0
          ? Effect.void
          : Effect.asVoid(
              mapSqlError(
                sql`
                  with parked as (
                  insert into engine_parked (partition, reactor, organization, sequence, record_index, record, error)
                  select * from ${unnest(
                    records.map((record) => ({
                      ...record,
                      record_index: record.index,
                      error: storableText(record.error)
                    })),
                    {
                      partition: "int4",
                      reactor: "text",
                      organization: "text",
                      sequence: "int8",
                      record_index: "int4",
                      record: "text",
                      error: "text"
                    }
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
                  on conflict (partition, reactor) do update set count = totals.count + excluded.count`,
                unavailable
              )
            )
      ),

    parkedOrganizations: (partition, reactor, page) =>
      mapSqlError(
        sql<ParkedOrganization>`
          select organization, count from engine_parked_counts
          where partition = ${partition} and reactor = ${reactor} and organization > ${page?.after ?? ""}
          order by organization limit ${page?.limit ?? null}::int8`,
        unavailable
      ),

    parkedCount: (partition, reactor, organization) =>
      mapSqlError(
        Effect.map(
          organization === undefined
            ? sql<{ readonly count: number }>`
                select count from engine_parked_totals where partition = ${partition} and reactor = ${reactor}`
            : sql<{ readonly count: number }>`
                select count from engine_parked_counts
                where partition = ${partition} and reactor = ${reactor} and organization = ${organization}`,
          ([row]) => row?.count ?? 0
        ),
        unavailable
      ),

    parked: (partition, reactor, organization, limit) =>
      mapSqlError(
        sql<ParkedRecord>`
          select partition, reactor, organization, sequence, record_index as index, record, error from engine_parked
          where partition = ${partition} and reactor = ${reactor} and organization = ${organization}
          order by sequence, record_index limit ${limit}`,
        unavailable
      ),

    parkedAmong: (partition, reactor, organizations) =>
      Effect.andThen(
        ReactorTransaction,
        mapSqlError(
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
          ),
          unavailable
        )
      ),

    forget: (partition, reactor) =>
      Effect.asVoid(
        mapSqlError(
          sql`delete from engine_cursors where partition = ${partition} and reactor = ${reactor}`,
          unavailable
        )
      ),

    unpark: (records, effects) =>
      inTransaction(
        Effect.gen(function* () {
          // the reactor's transaction takes the same lock, so that it parks no record behind those that are taken off
          // here
          for (const { partition, reactor } of records.slice(0, 1)) {
            yield* own(sql`
              select 1 from engine_cursors where partition = ${partition} and reactor = ${reactor} for update`)
          }
          // delete first: of two callers that take the same records, one waits here and then finds them gone
          const taken = yield* own(sql`
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
            select 1 from taken`)
          yield* own(sql`
            delete from engine_parked_counts c using ${keysOf(records)}
            where c.partition = batch.partition and c.reactor = batch.reactor and c.organization = batch.organization
              and c.count <= 0`)
          if (taken.length !== records.length) {
            return yield* new CursorsUnavailable({
              message: `${records.length - taken.length} of ${records.length} records are no longer parked: look again`
            })
          }
          return yield* completely(effects)
        })
      ),

    reset: ({ hash, partition, reactor, sequence }) =>
      Effect.asVoid(
        mapSqlError(
          sql`
            insert into engine_cursors (partition, reactor, sequence, hash)
            values (${partition}, ${reactor}, ${sequence}, ${hash})
            on conflict (partition, reactor) do update set sequence = excluded.sequence, hash = excluded.hash`,
          unavailable
        )
      )
  })
})

export const layer: Layer.Layer<Cursors, never, SqlClient.SqlClient> = Layer.effect(Cursors, make)

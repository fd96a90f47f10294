/**
 * Adapts the client's connection to effect/sql, for one statement that ends with the effect that borrows it.
 * Connections for transactions and streams are in `LeasedConnection.ts`.
 */
import type { PgConnection } from "@effect/sql-pg"
import { Effect, Stream } from "effect"
import { type SqlConnection, SqlError } from "effect/sql"
import { explained, refusedStatement } from "./errors.ts"

export type TransformRows = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
type Row = PgConnection.Row

/** Adapts the client's ways of running a statement to those of effect/sql. */
export class Borrowed implements SqlConnection.Connection {
  readonly connection: PgConnection.PgConnection

  constructor(connection: PgConnection.PgConnection) {
    this.connection = connection
  }

  /** One statement, with its rows keyed by column. */
  protected query(
    sql: string,
    params: ReadonlyArray<unknown>,
    isPrepared: boolean
  ): Effect.Effect<PgConnection.Result, SqlError.SqlError> {
    return sql.includes("\0") ? unsendable : this.connection.query(sql, params, isPrepared)
  }

  /** The same, with the values of each row alone. */
  protected values(
    sql: string,
    params: ReadonlyArray<unknown>,
    isPrepared: boolean
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError> {
    return sql.includes("\0") ? unsendable : this.connection.queryValues(sql, params, isPrepared)
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return rowsOf(this.query(sql, params, true), transformRows)
  }

  /** The client's result: `rows`, `rowCount`, `command`, `fields`. */
  executeRaw(sql: string, params: ReadonlyArray<unknown>): Effect.Effect<PgConnection.Result, SqlError.SqlError> {
    return this.query(sql, params, true)
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.values(sql, params, true)
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.values(sql, params, false)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return rowsOf(this.query(sql, params, false), transformRows)
  }

  executeStream(
    sql: string,
    params: ReadonlyArray<unknown>,
    transformRows: TransformRows
  ): Stream.Stream<Row, SqlError.SqlError> {
    return streamOf(this.connection, sql, params, transformRows)
  }
}

export const streamOf = (
  connection: PgConnection.PgConnection,
  sql: string,
  params: ReadonlyArray<unknown>,
  transformRows: TransformRows
): Stream.Stream<Row, SqlError.SqlError> => {
  const rows = sql.includes("\0") ? Stream.fromEffect(unsendable) : connection.stream(sql, params)
  if (transformRows === undefined) return rows
  return Stream.mapArray(rows, (chunk) => transformRows(chunk) as unknown as readonly [Row, ...Array<Row>])
}

/** Refuses a text with a zero byte: the protocol would end the statement there, and the client does not check. */
export const unsendable: Effect.Effect<never, SqlError.SqlError> = Effect.suspend(() =>
  Effect.fail(refusedStatement("The text of a statement cannot hold a zero byte", "execute"))
)

/** Turns the client's errors into the platform's. */
export const explaining = <A, E, R>(effect: Effect.Effect<A, E, R>, operation: string): Effect.Effect<A, E, R> =>
  Effect.mapError(effect, (error) => (SqlError.isSqlError(error) ? (explained(error, operation) as E) : error))

const rowsOf = (
  result: Effect.Effect<PgConnection.Result, SqlError.SqlError>,
  transformRows: TransformRows
  // biome-ignore lint/suspicious/noExplicitAny: the row type of effect/sql's Connection
): Effect.Effect<ReadonlyArray<any>, SqlError.SqlError> =>
  Effect.map(result, transformRows === undefined ? ({ rows }) => rows : ({ rows }) => transformRows(rows))

/**
 * Rows of one statement as a stream, read with the driver's cursor in chunks, so that memory is bounded by a chunk and
 * the server is asked for no more than is consumed. Needs the connection's turn; the cursor lives in the stream's scope.
 * A cursor is closed only when no read is pending and no error has ended it: anything else would wait for ever.
 */
import { Cause, Effect, type Pull, type Scope, Stream } from "effect"
import type { SqlError } from "effect/sql"
import Cursor from "pg-cursor"
import { cancel, cancelDeadlineMillis, Settlement } from "./cancel.ts"
import type { PgConnection } from "./connection.ts"
import { connectionError, refusedStatement, toSqlError } from "./errors.ts"
import { checkText, encodeParameters, typeParsers } from "./types.ts"

/** Rows fetched at a time. */
export const streamChunkRows = 512

type Row = Record<string, unknown>
type TransformRows = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

/** `open` from the first read to the last: only then is there something to close. */
type CursorState = "unsent" | "open" | "ended"

export const streamRows = Effect.fnUntraced(function* (
  connection: PgConnection,
  sql: string,
  params: ReadonlyArray<unknown>,
  transformRows: TransformRows
): Effect.fn.Return<Stream.Stream<Row, SqlError.SqlError>, SqlError.SqlError, Scope.Scope> {
  const values = yield* Effect.try({
    try: () => {
      checkText(sql)
      return encodeParameters(params)
    },
    catch: (cause) => refusedStatement((cause as Error).message, "stream", cause)
  })
  const cursor = new Cursor<Row>(sql, values, { types: typeParsers })
  let state: CursorState = "unsent"
  yield* Effect.addFinalizer(() => (state === "open" ? close(connection, cursor) : Effect.void))

  const read = Effect.callback<ReadonlyArray<Row>, SqlError.SqlError>((resume) => {
    if (connection.failure !== undefined) {
      state = "ended"
      resume(Effect.fail(connectionError(connection.failure.message, "stream", connection.failure)))
      return
    }
    // Sent together with its first read, so that an error always finds a read to fail.
    if (state === "unsent") connection.client.query(cursor)
    state = "open"
    const settlement = new Settlement()
    cursor.read(streamChunkRows, (error, rows) => {
      if (error === null || error === undefined) {
        if (rows.length < streamChunkRows) state = "ended"
        settlement.settle()
        resume(Effect.succeed(rows))
        return
      }
      state = "ended"
      connection.whenReady(error, () => {
        settlement.settle()
        resume(Effect.fail(toSqlError(connection.causeOf(error), "stream")))
      })
    })
    return Effect.suspend(() => cancel(connection, settlement))
  })

  const pull: Pull.Pull<[Row, ...Array<Row>], SqlError.SqlError> = Effect.suspend(() =>
    state === "ended"
      ? Cause.done()
      : Effect.flatMap(read, (rows) =>
          rows.length === 0
            ? Cause.done()
            : Effect.succeed((transformRows === undefined ? rows : transformRows(rows)) as [Row, ...Array<Row>])
        )
  )
  return Stream.fromPull(Effect.succeed(pull))
})

const close = (connection: PgConnection, cursor: Cursor<Row>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (connection.failure !== undefined) {
      resume(Effect.void)
      return
    }
    cursor.close(() => resume(Effect.void))
  }).pipe(
    Effect.raceFirst(connection.lost),
    Effect.timeoutOrElse({
      duration: cancelDeadlineMillis,
      orElse: () => Effect.sync(() => connection.destroy("A stream's cursor could not be closed"))
    }),
    Effect.asVoid
  )

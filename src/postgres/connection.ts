/**
 * One PostgreSQL connection as effect/sql's `Connection`, pooled or dedicated. Statements take turns through a
 * semaphore, since the driver's own queue would let a cancellation hit the statement of another fiber. A statement has
 * settled when the server is ready for the next one, so a connection is never released with an answer outstanding.
 * BEGIN, and what is deferred, goes with the next statement.
 */
import { Effect, Exit, Semaphore, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { type Client, DatabaseError, type QueryResult } from "pg"
import { cancel, Settlement } from "./cancel.ts"
import { connectionError, refusedStatement, sqlState, toSqlError } from "./errors.ts"
import { GroupedQuery, isPrepared, type QueryConfig } from "./grouped.ts"
import type { StatementNames } from "./statementNames.ts"
import { streamRows } from "./stream.ts"
import { checkText, encodeParameters } from "./types.ts"

/** A transaction's own statements cannot be interrupted; unanswered for this time, they cost the connection. */
export const controlDeadlineMillis = 30_000

const controlStatement = /^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/

type Resume = (exit: Exit.Exit<QueryResult, SqlError.SqlError>) => void

type TransformRows = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

/** Statements that wait for the next one at most. */
const maximumAhead = 16

export class PgConnection implements SqlConnection.Connection {
  readonly client: Client
  /** Why the connection can no longer be used, undefined while it can. */
  failure: Error | undefined
  private readonly names: StatementNames
  private readonly turn = Semaphore.makeUnsafe(1)
  private streaming = false
  /** Not sent yet: goes with the next statement. */
  private ahead: Array<QueryConfig> = []

  constructor(client: Client, names: StatementNames) {
    this.client = client
    this.names = names
    // Without a listener the loss of a connection that is lent out would end the process.
    client.on("error", (error) => {
      this.failure ??= error
    })
    client.on("end", () => {
      this.failure ??= new Error("The connection has ended")
    })
  }

  /** Whether a transaction is open on a connection that can still end it. */
  get inTransaction(): boolean {
    return this.failure === undefined && !this.streaming && (this.ahead.length > 0 || !this.idle)
  }

  private get idle(): boolean {
    return this.client.getTransactionStatus() === "I"
  }

  /** Why the pool must not lend the connection again, undefined when it may. */
  get unfit(): Error | undefined {
    if (this.failure !== undefined) return this.failure
    if (this.streaming) return new Error("A stream was left open")
    return this.idle && this.ahead.length === 0 ? undefined : new Error("A transaction was left open")
  }

  /** Completes with the reason once the connection is lost. */
  readonly lost: Effect.Effect<Error> = Effect.callback((resume) => {
    if (this.failure !== undefined) {
      resume(Effect.succeed(this.failure))
      return
    }
    const onEnd = () => resume(Effect.succeed(this.failure ?? new Error("The connection has ended")))
    this.client.once("end", onEnd)
    return Effect.sync(() => {
      this.client.off("end", onEnd)
    })
  })

  /** Cuts the connection; what runs on it fails with the reason given here. */
  destroy(reason: string): void {
    this.failure ??= new Error(reason)
    this.client.connection.stream.destroy()
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return rowsOf(this.run(sql, params, true, "execute"), transformRows)
  }

  /** The driver's result: `rows`, `rowCount`, `command`, `fields`. */
  executeRaw(sql: string, params: ReadonlyArray<unknown>): Effect.Effect<QueryResult, SqlError.SqlError> {
    return this.run(sql, params, true, "execute")
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return rowsOf(this.run(sql, params, true, "execute", "array"), undefined)
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return rowsOf(this.run(sql, params, false, "execute", "array"), undefined)
  }

  /** Without parameters the text may hold several statements; the rows are those of the last one. */
  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return rowsOf(this.run(sql, params, false, "execute"), transformRows)
  }

  /**
   * Inside a transaction: sends the statement together with the next one, or with `flush`, which then also fails with what this one fails with.
   * Whatever comes behind a failed one is not run. What was not sent when the transaction is rolled back never is.
   */
  defer(sql: string, params: ReadonlyArray<unknown>): Effect.Effect<void, SqlError.SqlError> {
    return Effect.asVoid(this.run(sql, params, true, "execute", undefined, true))
  }

  /** Sends what was deferred. */
  readonly flush: Effect.Effect<void, SqlError.SqlError> = Effect.suspend(() => {
    if (this.ahead.length === 0) return Effect.void
    return this.streaming
      ? this.busy
      : this.turn.withPermit(this.sent((settlement, resume) => this.submitAhead(settlement, resume)))
  })

  executeStream(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return Stream.unwrap(
      Effect.gen({ self: this }, function* () {
        if (this.streaming) return yield* this.busy
        yield* this.flush
        yield* this.turn.takeScoped(1)
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            this.streaming = true
          }),
          () =>
            Effect.sync(() => {
              this.streaming = false
            })
        )
        return yield* streamRows(this, sql, params, transformRows)
      })
    )
  }

  /** Waiting would never end where the stream's own consumer asks, so nobody waits. */
  private get busy(): Effect.Effect<never, SqlError.SqlError> {
    return Effect.fail(
      refusedStatement("A stream is open on this transaction's connection: end it before the next statement", "execute")
    )
  }

  private run(
    sql: string,
    params: ReadonlyArray<unknown>,
    prepared: boolean,
    operation: string,
    rowMode?: "array",
    deferred = false
  ): Effect.Effect<QueryResult, SqlError.SqlError> {
    const statement = Effect.suspend(() => {
      if (this.streaming) return this.busy
      return this.turn.withPermit(
        this.sent((settlement, resume) => {
          const query = this.prepare(sql, params, prepared, rowMode)
          if ("reason" in query) {
            resume(Exit.fail(query))
            return
          }
          const known = this.withoutSending(query, deferred)
          if (known !== undefined) {
            settlement.settle()
            resume(Exit.succeed(known))
            return
          }
          // several statements in one text cannot share a Sync with what is ahead of them
          if (this.ahead.length > 0 && query.name === undefined && query.values.length === 0) {
            this.submitAhead(new Settlement(), (exit) => {
              if (Exit.isSuccess(exit) && !settlement.settled) this.submit(query, [], operation, settlement, resume)
              else {
                settlement.settle()
                resume(exit)
              }
            })
            return
          }
          this.submit(query, this.takeAhead(), operation, settlement, resume)
        })
      )
    })
    return controlStatement.test(sql) ? this.control(sql, statement) : statement
  }

  /** A statement on the wire, cancelled where its fiber is interrupted. */
  private sent(send: (settlement: Settlement, resume: Resume) => void): Effect.Effect<QueryResult, SqlError.SqlError> {
    return Effect.callback((resume) => {
      if (this.failure !== undefined) {
        resume(Exit.fail(connectionError(this.failure.message, "execute", this.failure)))
        return
      }
      const settlement = new Settlement()
      send(settlement, resume)
      return Effect.suspend(() => cancel(this, settlement))
    })
  }

  private takeAhead(): ReadonlyArray<QueryConfig> {
    const { ahead } = this
    this.ahead = []
    return ahead
  }

  private submitAhead(settlement: Settlement, resume: Resume): void {
    const ahead = this.takeAhead()
    this.submit(ahead.at(-1)!, ahead.slice(0, -1), "execute", settlement, resume)
  }

  /** The result of a statement that need not be sent, or not now. */
  private withoutSending(query: QueryConfig, deferred: boolean): QueryResult | undefined {
    const { ahead } = this
    switch (query.text) {
      case "BEGIN":
        if (!this.idle || ahead.length > 0) return undefined
        break
      case "COMMIT":
        // nothing but its BEGIN
        if (!this.idle || ahead.length !== 1) return undefined
        this.ahead = []
        return resultOf("COMMIT")
      case "ROLLBACK":
        if (ahead.length === 0) return undefined
        this.ahead = []
        return this.idle ? resultOf("ROLLBACK") : undefined
      default:
        // what comes back from a failed savepoint takes with it what was deferred in it
        if (query.text.startsWith("ROLLBACK TO")) this.ahead = []
        if (!deferred || (this.idle && ahead.length === 0) || ahead.length >= maximumAhead) return undefined
    }
    if (!isPrepared(this.client.connection, query)) return undefined
    ahead.push(query)
    return resultOf(query.text)
  }

  private prepare(
    text: string,
    params: ReadonlyArray<unknown>,
    prepared: boolean,
    rowMode: "array" | undefined
  ): QueryConfig | SqlError.SqlError {
    const name = prepared ? this.names.nameOf(text) : undefined
    try {
      if (name === undefined) checkText(text)
      const values = encodeParameters(params)
      return rowMode === undefined ? { name, text, values } : { name, text, values, rowMode }
    } catch (cause) {
      return refusedStatement((cause as Error).message, "execute", cause)
    }
  }

  private submit(
    query: QueryConfig,
    ahead: ReadonlyArray<QueryConfig>,
    operation: string,
    settlement: Settlement,
    resume: Resume
  ): void {
    const answered = (error: Error | null | undefined, result: QueryResult) => {
      if (error === null || error === undefined) {
        settlement.settle()
        resume(Exit.succeed(Array.isArray(result) ? result[result.length - 1] : result))
        return
      }
      this.whenReady(error, () => {
        const group = [...ahead, query]
        if (group.some(({ name }) => name !== undefined) && this.isStale(error) && !settlement.settled) {
          for (const { text } of group) this.names.renew(text)
          // Outside a transaction nothing has happened yet, and the statement can run as if it came for the first time.
          if (this.failure === undefined && this.idle) {
            const unprepared = group.map((one) => ({ ...one, name: undefined }))
            this.submit(unprepared.at(-1)!, unprepared.slice(0, -1), operation, settlement, resume)
            return
          }
        }
        // who went on after the failure would write outside of the transaction
        if (ahead[0]?.text === "BEGIN" && this.idle) this.destroy("A transaction could not begin")
        settlement.settle()
        resume(Exit.fail(toSqlError(this.causeOf(error), operation)))
      })
    }
    if (ahead.length === 0) this.client.query(query as QueryConfig & { name: string }, answered)
    else this.client.query(new GroupedQuery(query, ahead) as unknown as QueryConfig & { name: string }, answered)
  }

  /** A prepared statement that changed tables have overtaken, or that the session has forgotten (DISCARD, a proxy). */
  private isStale(error: Error): boolean {
    const state = sqlState(error)
    return state === "26000" || (state === "0A000" && (error as DatabaseError).routine === "RevalidateCachedQuery")
  }

  /** An error the server reports comes before it is ready again, or before it closes; the driver's own come after. */
  whenReady(error: Error, then: () => void): void {
    if (!(error instanceof DatabaseError) || this.failure !== undefined) {
      then()
      return
    }
    const connection = this.client.connection
    const finish = () => {
      connection.off("readyForQuery", finish)
      connection.off("end", finish)
      then()
    }
    connection.on("readyForQuery", finish)
    connection.on("end", finish)
  }

  /** The reason for which the connection was cut says more than what the driver makes of the cut. */
  causeOf(error: Error): Error {
    return error instanceof DatabaseError ? error : (this.failure ?? error)
  }

  /** BEGIN, COMMIT and the like run where nothing interrupts them, so a silent server must not hold them for ever. */
  private control(
    sql: string,
    statement: Effect.Effect<QueryResult, SqlError.SqlError>
  ): Effect.Effect<QueryResult, SqlError.SqlError> {
    const limited = Effect.raceFirst(
      statement,
      Effect.sleep(controlDeadlineMillis).pipe(
        Effect.andThen(
          Effect.suspend(() => {
            this.destroy(`PostgreSQL did not answer ${sql} within ${controlDeadlineMillis} ms`)
            return Effect.never
          })
        )
      )
    )
    if (!sql.startsWith("ROLLBACK")) return limited
    // The end of a session is a rollback: it must not become a defect of the transaction that lost its connection.
    return Effect.catchIf(
      limited,
      () => this.failure !== undefined,
      () => Effect.succeed(resultOf("ROLLBACK"))
    )
  }
}

const resultOf = (command: string): QueryResult => ({ command, rowCount: null, oid: 0, fields: [], rows: [] })

const rowsOf = (
  result: Effect.Effect<QueryResult, SqlError.SqlError>,
  transformRows: TransformRows
  // biome-ignore lint/suspicious/noExplicitAny: the row type of effect/sql's Connection
): Effect.Effect<ReadonlyArray<any>, SqlError.SqlError> =>
  Effect.map(result, transformRows === undefined ? (_) => _.rows : (_) => transformRows(_.rows))

/**
 * Lends a connection to one transaction or stream. Every statement on it has a deadline, statements whose rows nobody
 * needs can travel with the next one (`deferredStatements.ts`), and it knows two things that the client does not report: whether
 * it was lost, and whether a transaction is open on it. The client sends statements together only on a connection that
 * is not pinned, and interrupts them only on one that is, so it is pinned for single statements, but not for a group,
 * for BEGIN and for COMMIT. An interrupted group runs to its end on the server, at most to the statement timeout. BEGIN
 * goes alone, because a statement behind a failed BEGIN would run outside a transaction. Without groups a reactor's
 * transaction costs 1.6 times the CPU.
 */
import type { PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope, Semaphore, Stream } from "effect"
import { SqlError } from "effect/sql"
import { Borrowed, explaining, streamOf, type TransformRows, unsendable } from "./connection.ts"
import type { Deadlines } from "./deadlines.ts"
import { connectionError, refusedStatement } from "./errors.ts"

/** Most statements that wait to be sent with the next one. */
const maximumAhead = 16

type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** A way to run one statement on a connection, pinned or not. */
type Statement<A> = (connection: PgConnection.PgConnection) => Answer<A>

export class LeasedConnection extends Borrowed {
  private readonly deadlines: Deadlines
  private readonly turn = Semaphore.makeUnsafe(1)
  private ahead: Array<Statement<unknown>> = []
  private pin: { readonly scope: Scope.Closeable; readonly connection: PgConnection.PgConnection } | undefined
  private streaming = false
  private lost = false
  private open = false

  /** `connection` must be lent to nobody else, and not pinned. */
  constructor(connection: PgConnection.PgConnection, deadlines: Deadlines) {
    super(connection)
    this.deadlines = deadlines
  }

  /** Whether the connection failed, so that no transaction is left to end. */
  get isLost(): boolean {
    return this.lost
  }

  /** Whether a transaction may still be open on it, so that nobody else may use it. */
  get isLeftOpen(): boolean {
    return this.open
  }

  protected override query(sql: string, params: ReadonlyArray<unknown>, isPrepared: boolean) {
    if (sql.includes("\0")) return unsendable
    return this.run(sql, (connection) => connection.query(sql, params, isPrepared))
  }

  protected override values(sql: string, params: ReadonlyArray<unknown>, isPrepared: boolean) {
    if (sql.includes("\0")) return unsendable
    return this.run(sql, (connection) => connection.queryValues(sql, params, isPrepared))
  }

  override executeStream(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return Stream.unwrap(
      Effect.gen({ self: this }, function* () {
        if (this.streaming) return yield* busy
        yield* this.flush
        const connection = yield* this.pinned
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            this.streaming = true
          }),
          () =>
            Effect.sync(() => {
              this.streaming = false
            })
        )
        return Stream.transformPull(streamOf(connection, sql, params, transformRows), (pull) =>
          Effect.succeed(this.watched(pull, "stream"))
        )
      })
    )
  }

  /**
   * Inside a transaction: sends the statement together with the next one, or with `flush`, which then also fails with
   * what this one fails with. Statements behind a failed one do not run, since the transaction has failed. A roll-back
   * drops statements that were not sent.
   */
  defer(sql: string, params: ReadonlyArray<unknown>): Answer<void> {
    return this.later(sql, params, true)
  }

  /** The same for a statement that is planned each time (`deferredPlanned`). */
  deferPlanned(sql: string, params: ReadonlyArray<unknown>): Answer<void> {
    return this.later(sql, params, false)
  }

  /** Sends what was deferred. */
  readonly flush: Answer<void> = Effect.suspend(() => {
    if (this.ahead.length === 0) return Effect.void
    return Effect.asVoid(this.inTurn(Effect.suspend(() => this.together(this.takeAhead()))))
  })

  /** Gives the pin back. Call it before the connection is given back. */
  readonly release: Effect.Effect<void> = Effect.suspend(() => {
    const pin = this.pin
    this.pin = undefined
    return pin === undefined ? Effect.void : Scope.close(pin.scope, Exit.void)
  })

  private later(sql: string, params: ReadonlyArray<unknown>, isPrepared: boolean): Answer<void> {
    return Effect.suspend((): Answer<void> => {
      if (!this.open || this.ahead.length >= maximumAhead) return Effect.asVoid(this.query(sql, params, isPrepared))
      this.ahead.push((connection) => connection.query(sql, params, isPrepared))
      return Effect.void
    })
  }

  private run<A>(sql: string, statement: Statement<A>): Answer<A> {
    if (sql === "BEGIN" || sql.startsWith("BEGIN ")) return this.begin(statement)
    if (sql === "COMMIT") return this.ending(this.inTurn(this.unpinned(statement)))
    if (sql.startsWith("ROLLBACK")) return this.rollback(sql, statement)
    return this.inTurn(
      Effect.suspend(() => (this.ahead.length > 0 ? this.unpinned(statement) : Effect.flatMap(this.pinned, statement)))
    )
  }

  private begin<A>(statement: Statement<A>): Answer<A> {
    return Effect.suspend(() => {
      this.open = true
      return this.inTurn(this.unpinned(statement))
    })
  }

  /** The transaction is over after any answer of the server. */
  private ending<A>(statement: Answer<A>): Answer<A> {
    return Effect.onExit(statement, () =>
      Effect.sync(() => {
        this.open = this.lost
      })
    )
  }

  /** Rolls back. A lost session has rolled back by itself, so the loss must not become a defect. */
  private rollback<A>(sql: string, statement: Statement<A>): Answer<A> {
    const sent = Effect.suspend(() => {
      this.ahead = []
      return this.inTurn(this.unpinned(statement))
    })
    return Effect.catchIf(
      sql === "ROLLBACK" ? this.ending(sent) : sent,
      () => this.lost,
      () => Effect.succeed(rolledBack as A)
    )
  }

  private takeAhead(): ReadonlyArray<Statement<unknown>> {
    const ahead = this.ahead
    this.ahead = []
    return ahead
  }

  /** Sends the statement behind the deferred ones, in one packet. */
  private unpinned<A>(statement: Statement<A>): Answer<A> {
    return Effect.suspend(() => {
      const ahead = this.takeAhead()
      if (ahead.length === 0) return Effect.andThen(this.release, statement(this.connection))
      return Effect.map(this.together([...ahead, statement]), (answers) => answers.at(-1) as A)
    })
  }

  /** Submits all statements in this order before the first answer. Fails with the first failure. */
  private together(statements: ReadonlyArray<Statement<unknown>>): Answer<ReadonlyArray<unknown>> {
    const submitted = statements.map((statement) => Effect.suspend(() => statement(this.connection)))
    return Effect.andThen(this.release, Effect.all(submitted, { concurrency: "unbounded" }))
  }

  private readonly pinned: Effect.Effect<PgConnection.PgConnection> = Effect.suspend(() => {
    if (this.pin !== undefined) return Effect.succeed(this.pin.connection)
    const scope = Scope.makeUnsafe()
    return Effect.map(Scope.provide(this.connection.pin, scope), (connection) => {
      this.pin = { scope, connection }
      return connection
    })
  })

  private inTurn<A>(statement: Answer<A>): Answer<A> {
    return Effect.suspend(() => {
      if (this.lost) return gone
      return this.streaming ? busy : this.watched(this.turn.withPermit(statement), "execute")
    })
  }

  private watched<A, E, R>(
    effect: Effect.Effect<A, E, R>,
    operation: string
  ): Effect.Effect<A, E | SqlError.SqlError, R> {
    const answered = this.deadlines.watched((waiting) => {
      waiting.answer()
      return explaining(effect, operation)
    })
    return Effect.tapError(answered, (error) => {
      if (SqlError.isSqlError(error) && error.reason._tag === "ConnectionError") this.lost = true
      return Effect.void
    })
  }
}

const rolledBack = { command: "ROLLBACK", rowCount: 0, oid: null, rows: [], fields: [] } satisfies PgConnection.Result

/** A statement that was given up may still have run on the server, so the transaction must not go on. */
const gone: Effect.Effect<never, SqlError.SqlError> = Effect.suspend(() =>
  Effect.fail(connectionError("The transaction's connection was lost or given up", "execute"))
)

/** Waiting would never end when the stream's own consumer asks, so this fails immediately. */
const busy: Effect.Effect<never, SqlError.SqlError> = Effect.suspend(() =>
  Effect.fail(
    refusedStatement("A stream is open on this transaction's connection: end it before the next statement", "execute")
  )
)

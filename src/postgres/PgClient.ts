/**
 * The `SqlClient` of effect/sql on the official client `@effect/sql-pg`, with what the platform needs besides:
 * deadlines, errors in the server's own words, JSON parameters, and separate sessions. Everything outside
 * `src/postgres` uses `SqlClient`. It opens its first connection with the first statement; `server.ts` checks the
 * server at boot.
 *
 * The library's `PgPool`, `PgConnection` and compiler do the work. Its own `PgClient` cannot be used as it is, for
 * these reasons, each worth an issue upstream:
 *
 * - no deadline of a statement: a server that hangs holds its callers, and then the pool, for ever (`deadlines.ts`);
 * - a caller waits without limit for a free connection (`deadlines.ts`), and the closing pool for callers that keep one (`openPool`);
 * - SQLSTATE classes 57P and 53300 are no connection errors there, and messages leave out the server's (`errors.ts`);
 * - a ROLLBACK on a lost connection becomes a defect, a statement beside an open stream of its transaction waits for ever, and a connection
 *   that comes back inside a transaction is lent again (`LeasedConnection.ts`);
 * - statements of one transaction are never sent together on its pinned connection (`LeasedConnection.ts`);
 * - nothing tells that an idle connection was lost (`PgSession.ts`);
 * - a text that holds a zero byte is sent, and breaks the protocol (`connection.ts`);
 * - values that cannot be sent are quoted in the error's cause (`errors.ts`);
 * - `json(null)` is SQL's null, and an array of nulls has no type (`unnest.ts`).
 */
import { PgClient as Library, type PgConnection, PgPool } from "@effect/sql-pg"
import { Context, Duration, Effect, Fiber, Layer, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, type Statement } from "effect/sql"
import type { PgConfig, PgTarget, PostgresUrlInvalid } from "./config.ts"
import { Borrowed, explaining } from "./connection.ts"
import * as Deadlines from "./deadlines.ts"
import { refusedStatement } from "./errors.ts"
import { LeasedConnection } from "./LeasedConnection.ts"
import * as Session from "./PgSession.ts"
import * as ServerChoice from "./ServerChoice.ts"
import { json } from "./unnest.ts"

export type { PgConfig } from "./config.ts"
export { type UnnestType, unnest } from "./unnest.ts"

/** How long a closing pool waits for connections that are lent out. They close when they come back. */
export const poolCloseMillis = 5_000

/** The client of the database, with what `SqlClient` has. See {@link Durable.layer}. */
export interface PgClient extends SqlClient.SqlClient {
  /** Any value as one `json` or `jsonb` parameter. */
  readonly json: (value: unknown) => Statement.Fragment
  /**
   * The same client for short statements. They share a few connections, on which several travel together at a fraction
   * of the cost of each alone. A slow statement holds up those behind it, and an interrupted one runs to its end on the
   * server. Transactions, streams, and statements inside a transaction work as usual.
   */
  readonly pipelined: SqlClient.SqlClient
  /**
   * Opens a connection outside the pool, for locks and listeners, which belong to a session. `purpose` shows in
   * `pg_stat_activity`.
   */
  readonly session: (purpose: string) => Effect.Effect<Session.PgSession, SqlError.SqlError, Scope.Scope>
  /** The target of the connection; of several servers the one at the start. */
  readonly target: PgTarget
}

export const PgClient = Context.Service<PgClient>("sluice/postgres/PgClient")

/** Builds the client; its pool closes with the scope. */
export const make = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<PgClient, PostgresUrlInvalid, Scope.Scope | Reactivity.Reactivity> {
  const servers = yield* ServerChoice.make(config, openPool)
  const resolved = servers.current().config
  const deadlines = hearing(yield* Deadlines.make(resolved), servers)

  const bounded = boundingOnce(resolved.statementTimeoutMillis)

  const lease = Effect.gen(function* () {
    const { pool } = servers.current()
    const connection = yield* explaining(
      deadlines.watched((waiting) => {
        waiting.connection()
        return Effect.tap(pool.get, bounded)
      }),
      "connect"
    )
    const leased = new LeasedConnection(connection, deadlines)
    yield* Effect.addFinalizer(() =>
      Effect.andThen(leased.release, leased.isLeftOpen ? pool.invalidate(connection) : Effect.void)
    )
    return leased
  })

  const borrow: SqlConnection.Borrower = (use) =>
    explaining(
      deadlines.watched((waiting) => {
        waiting.connection()
        return servers.current().pool.use((connection) => {
          waiting.answer()
          // Pinned, so that an interruption ends the statement on the server.
          return Effect.andThen(
            bounded(connection),
            Effect.scoped(Effect.flatMap(connection.pin, (pinned) => use(new Borrowed(pinned))))
          )
        })
      }),
      "execute"
    )

  /**
   * The client does not interrupt statements that share a connection. So a connection that hangs leaves the pool, and
   * closes when every caller has given up.
   */
  const share: SqlConnection.Borrower = (use) =>
    explaining(
      deadlines.watched((waiting) => {
        waiting.connection()
        const { pool, sharedPool = pool } = servers.current()
        return sharedPool.use((connection) => {
          waiting.answer(sharedPool.invalidate(connection))
          return Effect.andThen(bounded(connection), use(new Borrowed(connection)))
        })
      }),
      "execute"
    )

  const options = {
    acquirer: lease,
    transactionAcquirer: lease,
    compiler: Library.makeCompiler(),
    driver: "pg",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    commit,
    isTransaction: (connection) => !(connection as LeasedConnection).isLost,
    spanAttributes: attributesOf(resolved.target)
  } satisfies Omit<SqlClient.SqlClient.MakeOptions, "borrower">
  const client = yield* SqlClient.make({ ...options, borrower: borrow })
  const { transactionService } = client
  const pipelined =
    resolved.sharedPool === undefined
      ? client
      : Object.assign(yield* SqlClient.make({ ...options, borrower: share, transactionService }), {
          // Both clients share this, so that savepoints of one inside transactions of the other take turns.
          withTransaction: client.withTransaction
        })
  return Object.assign(client, {
    json,
    pipelined,
    session: (purpose: string) => openSession(servers, purpose),
    target: resolved.target
  })
})

/** Lets the choice of the server hear what fails. */
const hearing = ({ watched }: Deadlines.Deadlines, { hear }: ServerChoice.ServerChoice): Deadlines.Deadlines => ({
  watched: (run) => Effect.tapError(watched(run), (error) => (SqlError.isSqlError(error) ? hear(error) : Effect.void))
})

/** Opens a session at the chosen server. It is cut when another one is chosen. */
const openSession = Effect.fnUntraced(function* (servers: ServerChoice.ServerChoice, purpose: string) {
  const server = servers.current()
  const session = yield* Effect.tapError(Session.open(server.config, purpose), servers.hear)
  if (server !== servers.current()) session.destroy("Another server was chosen meanwhile")
  yield* Effect.acquireRelease(
    Effect.sync(() => server.sessions.add(session)),
    () => Effect.sync(() => server.sessions.delete(session))
  )
  return {
    ...session,
    query: (sql, params) => Effect.tapError(session.query(sql, params), servers.hear),
    listen: (channel) => Effect.tapError(session.listen(channel), servers.hear)
  } satisfies Session.PgSession
})

const attributesOf = ({ database, host, port }: PgTarget): ReadonlyArray<readonly [string, string | number]> => [
  ["db.system.name", "postgresql"],
  ["db.namespace", database],
  ["server.address", host],
  ["server.port", port]
]

/** Bounds the statements of a connection once. A parameter of its start would do, and PgBouncer refuses that. */
const boundingOnce = (statementTimeoutMillis: number) => {
  const bounded = new WeakSet<PgConnection.PgConnection>()
  return (connection: PgConnection.PgConnection) =>
    bounded.has(connection)
      ? Effect.void
      : Effect.map(connection.query(`SET statement_timeout = ${statementTimeoutMillis}`, [], false), () => {
          bounded.add(connection)
        })
}

/** Makes the pool, which opens nothing yet. The scope's end waits for lent-out connections, but not for ever. */
const openPool = Effect.fnUntraced(function* (config: PgPool.Config) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) =>
    Effect.flatMap(Effect.forkDetach(Scope.close(scope, exit)), Fiber.await).pipe(
      Effect.timeoutOrElse({
        duration: Duration.millis(poolCloseMillis),
        orElse: () =>
          Effect.logWarning(`Connections to PostgreSQL are still in use ${poolCloseMillis} ms after the end`)
      })
    )
  )
  return yield* Effect.orDie(Scope.provide(PgPool.make(config), scope))
})

/**
 * Commits. PostgreSQL answers COMMIT of a failed transaction with success and the tag ROLLBACK, which would lose the
 * work silently.
 */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap((connection as LeasedConnection).executeRaw("COMMIT", []), (result) =>
    result.command === "COMMIT"
      ? Effect.void
      : Effect.fail(refusedStatement("The transaction was rolled back, because a statement in it had failed", "commit"))
  )

/** The client under both its names. Fails only on a URL that cannot be read. */
export const layer = (config: PgConfig): Layer.Layer<PgClient | SqlClient.SqlClient, PostgresUrlInvalid> =>
  Layer.effectContext(
    Effect.map(make(config), (client) => Context.make(PgClient, client).pipe(Context.add(SqlClient.SqlClient, client)))
  ).pipe(Layer.provide(Reactivity.layer))

/** Gives {@link PgClient.pipelined} as `SqlClient`, to services whose statements outside transactions are short. */
export const layerPipelined: Layer.Layer<SqlClient.SqlClient, never, PgClient> = Layer.effect(
  SqlClient.SqlClient,
  Effect.map(PgClient, ({ pipelined }) => pipelined)
)

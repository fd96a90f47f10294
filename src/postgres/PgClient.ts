/**
 * The `SqlClient` of effect/sql on the driver `pg`. Everything outside `src/postgres` uses `SqlClient`; what only
 * PostgreSQL has (JSON parameters, batches, dedicated connections, the pool's state) is on `PgClient`, which the same
 * layer provides. Opens its first connection with the first statement; `server.ts` checks the server at boot.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError, type Statement } from "effect/sql"
import * as Compiler from "./compiler.ts"
import { type PgConfig, type PgTarget, type PostgresUrlInvalid, resolve } from "./config.ts"
import type { PgConnection } from "./connection.ts"
import * as Dedicated from "./dedicated.ts"
import { refusedStatement } from "./errors.ts"
import * as Pool from "./pool.ts"

export { type UnnestType, unnest } from "./compiler.ts"
export type { PgConfig } from "./config.ts"

export interface PgClient extends SqlClient.SqlClient {
  /** A pooled connection for as long as the scope lives; its `client` is the driver's own. */
  readonly reserve: Effect.Effect<PgConnection, SqlError.SqlError, Scope.Scope>
  /** Any value as one `json` or `jsonb` parameter. */
  readonly json: (value: unknown) => Statement.Fragment
  /** A connection outside the pool, for what belongs to a session; `purpose` is shown in `pg_stat_activity`. */
  readonly dedicated: (purpose: string) => Effect.Effect<PgConnection, SqlError.SqlError, Scope.Scope>
  /** Open, idle and awaited connections of the pool. */
  readonly poolState: Effect.Effect<Pool.PoolState>
  /** What the client connects to. */
  readonly target: PgTarget
}

export const PgClient = Context.Service<PgClient>("sluice/postgres/PgClient")

/** Builds the client; its pool closes with the scope. */
export const make = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<PgClient, PostgresUrlInvalid, Scope.Scope | Reactivity.Reactivity> {
  const resolved = yield* resolve(config)
  const pool = yield* Pool.make(config, resolved)
  const client = yield* SqlClient.make({
    acquirer: pool.lease,
    borrower: pool.borrow,
    transactionAcquirer: pool.lease,
    compiler: Compiler.make(),
    driver: "pg",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    commit,
    onCommitFailure,
    isTransaction: (connection) => (connection as PgConnection).inTransaction,
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", resolved.target.database],
      ["server.address", resolved.target.host],
      ["server.port", resolved.target.port]
    ]
  })
  return Object.assign(client, {
    reserve: pool.lease,
    json: Compiler.json,
    dedicated: (purpose: string) => Dedicated.connect(resolved, purpose),
    poolState: pool.state,
    target: resolved.target
  })
})

/** PostgreSQL answers COMMIT of a failed transaction with success and the tag ROLLBACK: the work would be lost silently. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap((connection as PgConnection).executeRaw("COMMIT", []), (result) =>
    result.command === "COMMIT"
      ? Effect.void
      : Effect.fail(refusedStatement("The transaction was rolled back, because a statement in it had failed", "commit"))
  )

/** What was sent with a COMMIT may have failed, and then the transaction is still open. */
const onCommitFailure = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  (connection as PgConnection).inTransaction
    ? Effect.asVoid(connection.execute("ROLLBACK", [], undefined))
    : Effect.void

/** The client under both its names. Fails only on a URL that cannot be read. */
export const layer = (config: PgConfig): Layer.Layer<PgClient | SqlClient.SqlClient, PostgresUrlInvalid> =>
  Layer.effectContext(
    Effect.map(make(config), (client) => Context.make(PgClient, client).pipe(Context.add(SqlClient.SqlClient, client)))
  ).pipe(Layer.provide(Reactivity.layer))

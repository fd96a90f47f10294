/**
 * The pool of connections behind the client: leases into a scope for transactions and streams, loans for single
 * statements. A caller that waits can be interrupted at any time; a connection that arrives for it afterwards goes back.
 * What comes back broken, or with a transaction or stream left open, is closed and replaced.
 */
import { Effect, Scope } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { Pool, type PoolClient } from "pg"
import { defaultIdleTimeoutMillis, defaultMaxConnections, type PgConfig, type ResolvedConfig } from "./config.ts"
import { PgConnection } from "./connection.ts"
import { connectionError, toSqlError } from "./errors.ts"
import { StatementNames } from "./statementNames.ts"

/** Callers that may wait for a connection at once; one more is refused without waiting. */
export const maxWaitingCallers = 10_000

/** Connections still lent out when the pool closes are cut after this time. */
export const poolCloseMillis = 5_000

/** How full the pool is, for metrics. */
export interface PoolState {
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

export interface PgPool {
  /** A connection for as long as the scope lives. */
  readonly lease: Effect.Effect<PgConnection, SqlError.SqlError, Scope.Scope>
  /** A connection for one effect. */
  readonly borrow: SqlConnection.Borrower
  readonly state: Effect.Effect<PoolState>
}

/** Opens no connection yet; the scope's end closes them all. */
export const make = Effect.fnUntraced(function* (
  config: PgConfig,
  resolved: ResolvedConfig
): Effect.fn.Return<PgPool, never, Scope.Scope> {
  const services = yield* Effect.context<never>()
  const names = new StatementNames()
  const connections = new WeakMap<PoolClient, PgConnection>()
  const lent = new Set<PgConnection>()
  const pool = new Pool({
    ...resolved.client,
    max: config.maxConnections ?? defaultMaxConnections,
    idleTimeoutMillis: config.idleTimeoutMillis ?? defaultIdleTimeoutMillis
  })
  // The pool has replaced the connection already; without a listener the event would end the process.
  pool.on("error", (error) => {
    Effect.logDebug("An idle PostgreSQL connection was lost", error.message).pipe(Effect.runForkWith(services))
  })

  const connectionOf = (client: PoolClient): PgConnection => {
    let connection = connections.get(client)
    if (connection === undefined) {
      connection = new PgConnection(client, names)
      connections.set(client, connection)
    }
    lent.add(connection)
    return connection
  }

  const acquire = Effect.callback<PgConnection, SqlError.SqlError>((resume) => {
    if (pool.waitingCount >= maxWaitingCallers) {
      resume(Effect.fail(connectionError(`More than ${maxWaitingCallers} callers wait for a connection`, "connect")))
      return
    }
    let abandoned = false
    pool.connect((error, client, release) => {
      if (client === undefined) resume(Effect.fail(toSqlError(error, "connect")))
      else if (abandoned) release()
      else resume(Effect.succeed(connectionOf(client)))
    })
    return Effect.sync(() => {
      abandoned = true
    })
  })

  const release = (connection: PgConnection): void => {
    lent.delete(connection)
    ;(connection.client as PoolClient).release(connection.unfit)
  }

  const lease = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (scope) =>
      Effect.flatMap(restore(acquire), (connection) =>
        Effect.as(
          Scope.addFinalizer(
            scope,
            Effect.sync(() => release(connection))
          ),
          connection
        )
      )
    )
  )

  const borrow: SqlConnection.Borrower = (use) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(acquire), (connection) =>
        Effect.onExitPrimitive(restore(use(connection)), () => {
          release(connection)
          return undefined
        })
      )
    )

  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => pool.end(() => resume(Effect.void))).pipe(
      Effect.timeoutOrElse({
        duration: poolCloseMillis,
        orElse: () =>
          Effect.sync(() => {
            for (const connection of lent) connection.destroy("The pool is closed")
          })
      })
    )
  )

  const state = Effect.sync(() => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }))
  return { lease, borrow, state }
})

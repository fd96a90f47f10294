/**
 * A connection of its own, outside the pool, for what belongs to a session: listening and advisory locks. It lives as
 * long as its scope and is watched: a peer that has silently vanished is found by a query that gets no answer.
 */
import { Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { Client } from "pg"
import type { ResolvedConfig } from "./config.ts"
import { PgConnection } from "./connection.ts"
import { toSqlError } from "./errors.ts"
import { StatementNames } from "./statementNames.ts"

/** A goodbye that the server does not answer within this time is cut short. */
const closeMillis = 1_000

/** Connects; the scope's end disconnects. `purpose` is added to the application's name in `pg_stat_activity`. */
export const connect = (
  resolved: ResolvedConfig,
  purpose: string
): Effect.Effect<PgConnection, SqlError.SqlError, Scope.Scope> =>
  Effect.acquireRelease(open(resolved, purpose), close, { interruptible: true })

const open = (resolved: ResolvedConfig, purpose: string) =>
  Effect.callback<PgConnection, SqlError.SqlError>((resume) => {
    const client = new Client({
      ...resolved.client,
      application_name: `${resolved.client.application_name} ${purpose}`
    })
    const connection = new PgConnection(client, new StatementNames())
    client.connect((error: Error | null) => {
      if (error === null || error === undefined) {
        resume(Effect.succeed(connection))
        return
      }
      // The driver leaves the socket open when it is the one to refuse, and the server would wait a minute.
      connection.destroy(error.message)
      resume(Effect.fail(toSqlError(error, "connect")))
    })
    return Effect.sync(() => connection.destroy("The connection is no longer wanted"))
  })

const close = (connection: PgConnection): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (connection.failure !== undefined) resume(Effect.void)
    else connection.client.end(() => resume(Effect.void))
  }).pipe(
    Effect.timeoutOrElse({
      duration: closeMillis,
      orElse: () => Effect.sync(() => connection.destroy("The connection did not close"))
    })
  )

/** How often a dedicated connection is asked for a sign of life, and how long it may take to give it. */
export interface Watch {
  readonly intervalMillis: number
  readonly timeoutMillis: number
}

/** Asks for signs of life until one fails to come; then the connection is cut and this returns the reason. */
export const watch = (connection: PgConnection, { intervalMillis, timeoutMillis }: Watch): Effect.Effect<Error> =>
  Effect.raceFirst(
    connection.lost,
    Effect.sleep(intervalMillis).pipe(
      Effect.andThen(
        Effect.raceFirst(
          Effect.ignore(connection.executeUnprepared("SELECT 1", [], undefined)),
          Effect.andThen(
            Effect.sleep(timeoutMillis),
            Effect.sync(() => connection.destroy(`PostgreSQL gave no sign of life within ${timeoutMillis} ms`))
          )
        )
      ),
      Effect.forever
    )
  )

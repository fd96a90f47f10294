/**
 * Chooses among the servers of an address (`host1,host2` with `target_session_attrs`) for as long as the process runs.
 * Connections go to one server. An error that may mean that it is gone, or may only be read now, makes this look: if
 * it no longer fits, the others are asked, and all new connections go to the first that fits. Its pools are left to
 * the callers that have connections of them, and its sessions are cut, since locks and channels are needed at the new
 * one. An address with one server costs nothing.
 */
import type { PgPool } from "@effect/sql-pg"
import { Duration, Effect, Exit, Latch, Scope } from "effect"
import type { SqlError } from "effect/sql"
import {
  findFitting,
  isFitting,
  type PgConfig,
  type PostgresUrlInvalid,
  type ResolvedConfig,
  resolve
} from "./config.ts"
import { explained } from "./errors.ts"
import type { PgSession } from "./PgSession.ts"

/** The shortest time between two looks, while callers meet one error after the other. */
const lookPauseMillis = 500

/** The server that connections go to, and what was opened there. */
export interface ChosenServer {
  readonly config: ResolvedConfig
  readonly pool: PgPool.PgPool
  /** Undefined when no connections are shared. */
  readonly sharedPool: PgPool.PgPool | undefined
  readonly sessions: Set<PgSession>
}

export interface ServerChoice {
  readonly current: () => ChosenServer
  /** Hears an error of a statement, a connection or a session. */
  readonly hear: (error: SqlError.SqlError) => Effect.Effect<void>
}

/** A caller may wait so long for a connection, so a pool is not closed before. */
const pastWaits = ({ connectTimeoutMillis }: ResolvedConfig): number => connectTimeoutMillis * 2

/** Whether the server may be gone, or takes no writes any more. */
const isDoubtful = (error: SqlError.SqlError): boolean => explained(error, "execute").reason._tag === "ConnectionError"

const placeOf = ({ target }: ResolvedConfig): string => `${target.host}:${target.port}`

/** Makes the choice. `openPool` gives a pool that closes with its scope. */
export const make = Effect.fnUntraced(function* (
  config: PgConfig,
  openPool: (pool: PgPool.Config) => Effect.Effect<PgPool.PgPool, never, Scope.Scope>
): Effect.fn.Return<ServerChoice, PostgresUrlInvalid, Scope.Scope> {
  const outer = yield* Effect.scope
  const open = Effect.fnUntraced(function* (resolved: ResolvedConfig) {
    const scope = yield* Scope.fork(outer)
    const openHere = (pool: PgPool.Config) => Scope.provide(openPool(pool), scope)
    const server: ChosenServer = {
      config: resolved,
      pool: yield* openHere(resolved.pool),
      sharedPool: resolved.sharedPool === undefined ? undefined : yield* openHere(resolved.sharedPool),
      sessions: new Set()
    }
    return { server, scope }
  })

  let chosen = yield* open(yield* resolve(config))
  const current = () => chosen.server
  if (chosen.server.config.others === 0) return { current, hear: () => Effect.void }

  const move = Effect.fnUntraced(function* (next: ResolvedConfig) {
    const left = chosen
    chosen = yield* open(next)
    const reason = `PostgreSQL at ${placeOf(left.server.config)} is gone or does not fit`
    yield* Effect.logWarning(`${reason}: connections go to ${placeOf(next)} now`)
    for (const session of left.server.sessions) session.destroy(reason)
    yield* Scope.close(left.scope, Exit.void).pipe(
      Effect.delay(Duration.millis(pastWaits(left.server.config))),
      Effect.forkIn(outer)
    )
  })

  const doubt = Latch.makeUnsafe(false)
  const look = Effect.gen(function* () {
    if (yield* isFitting(chosen.server.config)) return
    const next = yield* findFitting(config, chosen.server.config.target)
    if (next !== undefined) yield* move(next)
  })
  yield* doubt.await.pipe(
    Effect.andThen(doubt.close),
    // The address could be read at the start; a file of its certificates may be gone since.
    Effect.andThen(Effect.catch(look, (error) => Effect.logWarning(error.message))),
    Effect.andThen(Effect.sleep(Duration.millis(lookPauseMillis))),
    Effect.forever,
    Effect.forkScoped
  )
  return { current, hear: (error) => (isDoubtful(error) ? Effect.asVoid(doubt.open) : Effect.void) }
})

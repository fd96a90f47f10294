/**
 * Ensures one owner per database by a session-level advisory lock of PostgreSQL, held on a connection of its own for as
 * long as the scope lives. The server frees the lock when that connection ends. The holder learns of the loss and must
 * then stop the protected work. The lock does not exclude two holders at every instant: work that must not happen twice
 * needs a fence of its own. Needs `PgClient`, and a direct connection: a proxy that shares sessions breaks session
 * locks.
 */
import { createHash } from "node:crypto"
import { Data, Deferred, Effect, Exit, Scope } from "effect"
import type { SqlError } from "effect/sql"
import { PgClient } from "./PgClient.ts"
import { type PgSession, type Watch, watch } from "./PgSession.ts"

/**
 * The holder notices a vanished server within the sum of these two. That is sooner than the server notices a vanished
 * holder ({@link serverProbes}), so the old holder knows before there can be a new one.
 */
export const defaultWatch: Watch = { intervalMillis: 2_000, timeoutMillis: 5_000 }

/**
 * The server probes a silent holder after 6 s, 3 times 2 s apart, and frees the lock 12 s after the last sign of life.
 */
const serverProbes = ["SET tcp_keepalives_idle = 6", "SET tcp_keepalives_interval = 2", "SET tcp_keepalives_count = 3"]

/** The holder of a lock, as far as the server tells this user. */
export interface LockHolder {
  readonly processId: number
  readonly applicationName: string
  /** Null over a local socket. */
  readonly clientAddress: string | null
  readonly since: Date
}

/** Somebody else holds the lock. */
export class LockHeld extends Data.TaggedError("LockHeld")<{
  readonly lock: string
  /** Null when the holder has gone meanwhile, or the server does not show it to this user. */
  readonly holder: LockHolder | null
}> {
  override get message(): string {
    if (this.holder === null) return `The lock "${this.lock}" is held by another session`
    const { processId, applicationName, clientAddress, since } = this.holder
    const from = clientAddress === null ? "" : ` from ${clientAddress}`
    return `The lock "${this.lock}" is held by "${applicationName}"${from} since ${since.toISOString()} (backend ${processId})`
  }
}

/** The lock was held and is no longer: its connection has ended. */
export class LockLost extends Data.TaggedError("LockLost")<{ readonly lock: string; readonly detail: string }> {
  override get message(): string {
    return `The lock "${this.lock}" is lost: ${this.detail}`
  }
}

export interface HeldLock {
  /** Completes when the lock is lost; never while it is held. */
  readonly lost: Effect.Effect<LockLost>
}

export interface HoldOptions {
  /** Signs of life of the connection, default {@link defaultWatch}. */
  readonly watch?: Watch
  /** Whether others that share it may hold it too; who does not share it then finds it held. */
  readonly isShared?: boolean
}

/**
 * Takes the lock or fails immediately; the scope's end returns it. A name means the 64-bit key that
 * {@link lockKey} derives from it. To wait for a holder, retry while the error is `LockHeld`.
 */
export const hold = (
  lock: string | bigint,
  options: HoldOptions = {}
): Effect.Effect<HeldLock, LockHeld | SqlError.SqlError, PgClient | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const client = yield* PgClient
      const outer = yield* Effect.scope
      // A failed attempt must not leave its connection in a scope that may live long.
      const scope = yield* Scope.make()
      const held = yield* restore(take(client, lock, options)).pipe(
        Scope.provide(scope),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      yield* Scope.addFinalizerExit(outer, (exit) => Scope.close(scope, exit))
      return held
    })
  )

const take = Effect.fnUntraced(function* (
  client: PgClient,
  lock: string | bigint,
  options: HoldOptions
): Effect.fn.Return<HeldLock, LockHeld | SqlError.SqlError, Scope.Scope> {
  const name = String(lock)
  const key = typeof lock === "bigint" ? lock : lockKey(lock)
  // The server frees the lock before it closes its end of the connection, and the session's finalizer waits for that.
  const session = yield* client.session(`lock ${name}`)
  yield* Effect.forkScoped(watch(session, options.watch ?? defaultWatch))
  for (const probe of serverProbes) yield* session.query(probe)
  const attempt = options.isShared === true ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock"
  const [row] = yield* session.query(`SELECT ${attempt}($1) AS taken`, [key])
  if (row?.taken !== true) return yield* new LockHeld({ lock: name, holder: yield* holderOf(session, key) })
  const lost = yield* Deferred.make<LockLost>()
  yield* Effect.forkScoped(
    Effect.flatMap(session.lost, (reason) =>
      Deferred.succeed(lost, new LockLost({ lock: name, detail: reason.message }))
    )
  )
  return { lost: Deferred.await(lost) }
})

const holderOf = (session: PgSession, key: bigint): Effect.Effect<LockHolder | null, SqlError.SqlError> =>
  Effect.map(
    session.query(
      `SELECT a.pid AS "processId", a.application_name AS "applicationName",
         host(a.client_addr) AS "clientAddress", a.backend_start AS since
       FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND (l.classid::int8 << 32 | l.objid::int8) = $1 AND a.backend_start IS NOT NULL
       LIMIT 1`,
      [key]
    ),
    ([row]) => (row as unknown as LockHolder | undefined) ?? null
  )

/** The key of a named lock: the first 64 bits of the SHA-256 of its name. */
export const lockKey = (name: string): bigint => createHash("sha256").update(name).digest().readBigInt64BE()

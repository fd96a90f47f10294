/**
 * The placement of one machine: this process runs all partitions, and a lock in the database keeps a second process out
 * (docs/architecture.md, "Placement"), because two `serve` on one database are the likeliest double owner. The lock
 * does not protect the log; the log's fence does. Needs `PgClient`.
 */
import { Clock, Duration, Effect, Exit, FiberSet, Layer, Schedule, Scope } from "effect"
import type { SqlError } from "effect/sql"
import { Placement, PlacementRefused, PlacementUnavailable } from "../engine/Placement.ts"
import * as AdvisoryLock from "./advisoryLock.ts"
import { PgClient } from "./PgClient.ts"

/** The lock's name. It belongs to the database, so deployments on databases of their own do not meet. */
export const placementLock = "sluice partitions"

/** How long to wait until the server has forgotten a predecessor that was just killed. */
const predecessorMillis = 2_000
const predecessorPauseMillis = 100

/** How long the server has to say who holds the lock; after that it counts as not known. */
const answerMillis = 2_000

/** How often a lost lock is tried again. */
const regainMillis = 1_000

export interface PlacementOptions {
  readonly lock?: string | undefined
  /** Signs of life of the lock's connection. */
  readonly watch?: AdvisoryLock.HoldOptions["watch"]
}

/** The session that holds a lock. A process id may be used again, but not with the same start time. */
interface Holder {
  readonly processId: number
  readonly since: string
}

const refusal = (held: AdvisoryLock.LockHeld): PlacementRefused =>
  new PlacementRefused({
    message: `Another process runs the partitions of this database: ${held.message}. Two at once would take the logs from each other, so this one does not start; stop the other one, or give this one a database and streams of its own`
  })

const unavailable = (cause: SqlError.SqlError): PlacementUnavailable =>
  new PlacementUnavailable({ message: `PostgreSQL does not say who runs the partitions: ${cause.message}`, cause })

export const make = (options: PlacementOptions = {}): Effect.Effect<Placement["Service"], never, PgClient> =>
  Effect.map(PgClient, (sql) => {
    const name = options.lock ?? placementLock
    const key = AdvisoryLock.lockKey(name)
    let ours: Holder | undefined

    /** Asks the server who holds the lock, through any connection. */
    const holder: Effect.Effect<Holder | undefined, SqlError.SqlError> = Effect.map(
      sql<Holder>`
        select a.pid as "processId", a.backend_start::text as since
        from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and l.granted and l.objsubid = 1
          and l.database = (select oid from pg_database where datname = current_database())
          and (l.classid::int8 << 32 | l.objid::int8) = ${key}`,
      ([row]) => row
    )

    /** The scope of the held lock and its connection; undefined while the lock is not held. */
    let current: Scope.Closeable | undefined
    const release = Effect.suspend(() => {
      const scope = current
      current = undefined
      ours = undefined
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    })

    const take = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const attempt = Effect.gen(function* () {
          const lock = yield* AdvisoryLock.hold(name, watchOf(options))
          return { lock, holder: yield* holder }
        })
        const held = yield* restore(
          attempt.pipe(Effect.provideService(PgClient, sql), Effect.provideService(Scope.Scope, scope))
        ).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
        current = scope
        ours = held.holder
        return held.lock
      })
    )

    /** Takes the lock again whenever it was lost. */
    const keep = Effect.fnUntraced(function* (first: AdvisoryLock.HeldLock) {
      let lock = first
      while (true) {
        const lost = yield* lock.lost
        yield* release
        yield* Effect.logError(
          `${lost.message}. The partitions go on, protected by their logs, but none is claimed anew until the lock is held again`
        )
        const startedAt = yield* Clock.currentTimeMillis
        let told = ""
        lock = yield* Effect.retry(
          Effect.tapError(take, (error) => {
            // log once per holder, which may stay for ever
            if (error._tag !== "LockHeld" || error.message === told) return Effect.void
            told = error.message
            return Effect.logError(refusal(error).message)
          }),
          Schedule.spaced(Duration.millis(regainMillis))
        )
        const millis = (yield* Clock.currentTimeMillis) - startedAt
        yield* Effect.logInfo(`The lock of the partitions is held again after ${millis} ms`)
      }
    })

    return Placement.of({
      place: (partitions, serve) =>
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() => release)
          const lock = yield* take.pipe(
            Effect.retry({
              while: (error) => error._tag === "LockHeld",
              schedule: Schedule.spaced(Duration.millis(predecessorPauseMillis)).pipe(
                Schedule.upTo({ duration: Duration.millis(predecessorMillis) })
              )
            }),
            Effect.mapError((error) => (error._tag === "LockHeld" ? refusal(error) : unavailable(error)))
          )
          yield* Effect.forkScoped(keep(lock))
          // made after the lock, so that all partitions have ended when the lock is given back
          const serving = yield* FiberSet.make<void>()
          for (let partition = 0; partition < partitions; partition++) yield* FiberSet.run(serving, serve(partition))
        }),
      owns: () =>
        Effect.suspend(() => {
          const claimed = ours
          if (claimed === undefined) return Effect.succeed(false)
          return Effect.mapBoth(holder, {
            onFailure: unavailable,
            onSuccess: (found) => found?.processId === claimed.processId && found.since === claimed.since
          }).pipe(
            Effect.timeoutOrElse({
              duration: Duration.millis(answerMillis),
              orElse: () =>
                new PlacementUnavailable({
                  message: `PostgreSQL does not say within ${answerMillis} ms who runs the partitions`
                })
            })
          )
        })
    })
  })

const watchOf = (options: PlacementOptions): AdvisoryLock.HoldOptions =>
  options.watch === undefined ? {} : { watch: options.watch }

export const layer = (options: PlacementOptions = {}): Layer.Layer<Placement, never, PgClient> =>
  Layer.effect(Placement, make(options))

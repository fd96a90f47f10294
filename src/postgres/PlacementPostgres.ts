/**
 * Places all partitions in this process, on one machine. A lock in the database keeps a second process out
 * (docs/architecture.md, "Placement"), because two `serve` on one database are the likeliest double owner. The lock
 * does not protect the log; the log's fence does. Needs `PgClient`.
 */
import { Clock, Duration, Effect, Exit, FiberSet, Layer, Schedule, Scope } from "effect"
import type { SqlError } from "effect/sql"
import { Placement, PlacementRefused, PlacementUnavailable } from "../engine/ports/Placement.ts"
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
  /** Runs when the lock is held, before any partition begins. */
  readonly whenHeld?: Effect.Effect<void, PlacementRefused | PlacementUnavailable>
  /** The level of formats in force from then on; every one where it is left out. */
  readonly level?: () => number
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
    message: `Another process runs the partitions of this database: ${held.message}. Two of them would take the logs from each other, so this one does not start; stop the other one, or give this one a database and streams of its own`
  })

const unavailable = (cause: SqlError.SqlError): PlacementUnavailable =>
  new PlacementUnavailable({ message: `PostgreSQL does not say who runs the partitions: ${cause.message}`, cause })

/** This process's hold on the lock, and what the server says of it. */
interface Hold {
  /** Asks the server who holds the lock, through any connection. */
  readonly holder: Effect.Effect<Holder | undefined, SqlError.SqlError>
  /** Takes the lock on a connection of its own. */
  readonly take: Effect.Effect<AdvisoryLock.HeldLock, AdvisoryLock.LockHeld | SqlError.SqlError>
  readonly release: Effect.Effect<void>
  /** The session that this process took the lock with; undefined while it does not hold it. */
  readonly ours: () => Holder | undefined
}

const makeHold = (sql: PgClient, options: PlacementOptions): Hold => {
  const name = options.lock ?? placementLock
  const key = AdvisoryLock.lockKey(name)
  let held: { readonly holder: Holder | undefined; readonly scope: Scope.Closeable } | undefined

  const holder = Effect.map(
    sql<Holder>`
      select a.pid as "processId", a.backend_start::text as since
      from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.classid::int8 << 32 | l.objid::int8) = ${key}`,
    ([row]) => row
  )

  const take = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const attempt = Effect.gen(function* () {
        const lock = yield* AdvisoryLock.hold(name, watchOf(options))
        return { lock, holder: yield* holder }
      })
      const taken = yield* restore(
        attempt.pipe(Effect.provideService(PgClient, sql), Effect.provideService(Scope.Scope, scope))
      ).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
      held = { holder: taken.holder, scope }
      return taken.lock
    })
  )

  const release = Effect.suspend(() => {
    const scope = held?.scope
    held = undefined
    return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
  })

  return { holder, take, release, ours: () => held?.holder }
}

/** Takes the lock again whenever it was lost. */
const keepHeld = Effect.fnUntraced(function* ({ release, take }: Hold, first: AdvisoryLock.HeldLock) {
  let lock = first
  while (true) {
    const lost = yield* lock.lost
    yield* release
    yield* Effect.logError(
      `${lost.message}. The partitions go on, protected by their logs, but none is claimed again until the lock is held again`
    )
    const startedAt = yield* Clock.currentTimeMillis
    let told = ""
    lock = yield* Effect.retry(
      Effect.tapError(take, (error) => {
        // Log once per holder, which may stay for ever.
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

export const make = (options: PlacementOptions = {}): Effect.Effect<Placement["Service"], never, PgClient> =>
  Effect.map(PgClient, (sql) => {
    const hold = makeHold(sql, options)

    // Without a span of its own, which would be the parent of everything that the partitions ever do.
    const place: Placement["Service"]["place"] = Effect.fnUntraced(function* (partitions, serve) {
      yield* Effect.addFinalizer(() => hold.release)
      const lock = yield* hold.take.pipe(
        Effect.retry({
          while: (error) => error._tag === "LockHeld",
          schedule: Schedule.spaced(Duration.millis(predecessorPauseMillis)).pipe(
            Schedule.upTo({ duration: Duration.millis(predecessorMillis) })
          )
        }),
        Effect.mapError((error) => (error._tag === "LockHeld" ? refusal(error) : unavailable(error)))
      )
      yield* options.whenHeld ?? Effect.void
      yield* Effect.forkScoped(keepHeld(hold, lock))
      // Made after the lock, so that all partitions have ended when the lock is given back.
      const serving = yield* FiberSet.make<void>()
      for (let partition = 0; partition < partitions; partition++) yield* FiberSet.run(serving, serve(partition))
    })

    const owns: Placement["Service"]["owns"] = Effect.fn("Placement.owns")(() => {
      const claimed = hold.ours()
      if (claimed === undefined) return Effect.succeed(false)
      return Effect.mapBoth(hold.holder, {
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

    return Placement.of({ place, owns, ...(options.level === undefined ? {} : { level: options.level }) })
  })

const watchOf = (options: PlacementOptions): AdvisoryLock.HoldOptions =>
  options.watch === undefined ? {} : { watch: options.watch }

export const layer = (options: PlacementOptions = {}): Layer.Layer<Placement, never, PgClient> =>
  Layer.effect(Placement, make(options))

/**
 * Tells whether there is room to write, as far as this process can see: the last answers of the log and the database,
 * and the disk of the data folder. It observes the answers of the engine's ports. Needs no service.
 */
import { statfs } from "node:fs/promises"
import { Cause, Clock, Context, Effect, Layer, Metric } from "effect"
import { SqlError } from "effect/sql"
import { Cursors } from "../engine/ports/Cursors.ts"
import { Journal, type Log, type PublishAnswer } from "../engine/ports/Journal.ts"
import { isOutOfSpace } from "../postgres/transactions.ts"
import { Health, type HealthCheck } from "./Health.ts"
import { RefusedWrites } from "./refusedWrites.ts"

/** Share of a disk that has to be free. */
export const freeShareLeast = 0.05

/** How long the answer "full" counts without a write since. */
const fullCountsMillis = 5 * 60_000

/** How long a check of the disk stays valid. */
const lookMillis = 2_000

const freeRatio = Metric.gauge("sluice_disk_free_ratio", {
  description: "Free part of the disk of the data folder, 0 to 1"
})

const refusingLogs = Metric.gauge("sluice_nats_refusing_logs", {
  description: "Logs whose NATS store answers and refuses writes"
})

export class DiskSpace extends Context.Service<
  DiskSpace,
  {
    /** A store said that it is full. */
    readonly full: (store: string) => Effect.Effect<void>
    /** A store has written something. */
    readonly written: (store: string) => Effect.Effect<void>
    /** Notes a log's answer to a write. */
    readonly answered: (store: string, answer: PublishAnswer) => Effect.Effect<void>
    /** Notes that a log has answered a read with its end. */
    readonly read: (store: string, lastSequence: number) => Effect.Effect<void>
    /** Why NATS stores nothing although it answers; undefined while it does. */
    readonly refusal: Effect.Effect<string | undefined>
    /** The stores whose last answer was "full", not too long ago. */
    readonly fullStores: Effect.Effect<ReadonlyArray<string>>
  }
>()("sluice/platform/DiskSpace") {
  static readonly layer = Layer.sync(DiskSpace, () => {
    const full = new Map<string, number>()
    const refused = new RefusedWrites()
    let shown = 0
    const noting = (note: (now: number) => void) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        note(now)
        const count = refused.count(now)
        if (count === shown) return Effect.void
        shown = count
        return Metric.update(refusingLogs, count)
      })
    return DiskSpace.of({
      answered: (store, answer) => noting((now) => refused.note(store, answer, now)),
      read: (store, lastSequence) => noting((now) => refused.read(store, lastSequence, now)),
      refusal: Effect.map(Clock.currentTimeMillis, (now) => refused.finding(now)),
      full: (store) => Effect.map(Clock.currentTimeMillis, (now) => void full.set(store, now)),
      written: (store) => Effect.sync(() => void full.delete(store)),
      fullStores: Effect.map(Clock.currentTimeMillis, (now) =>
        [...full].flatMap(([store, at]) => (now - at < fullCountsMillis ? [store] : []))
      )
    })
  })
}

/** Whether the failure or one of its causes is a database without room. */
const isOutOfSpaceInside = (failure: unknown): boolean => {
  for (let at = failure, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (SqlError.isSqlError(at) && isOutOfSpace(at)) return true
  }
  return false
}

const watchLog = (log: Log, space: DiskSpace["Service"]): Log => {
  const store = `the log of partition ${log.partition}`
  return {
    ...log,
    state: Effect.tap(log.state, ({ lastSequence }) => space.read(store, lastSequence)),
    publish: (request) =>
      Effect.tap(log.publish(request), (answer) =>
        Effect.andThen(
          space.answered(store, answer),
          answer._tag === "Full" ? space.full(store) : answer._tag === "Acked" ? space.written(store) : Effect.void
        )
      )
  }
}

/** The log and the reactors' transactions, with their answers observed. */
export const layerWatched = Layer.effectContext(
  Effect.gen(function* () {
    const space = yield* DiskSpace
    const journal = yield* Journal
    const cursors = yield* Cursors
    const database = "PostgreSQL"
    return Context.make(
      Journal,
      Journal.of({
        ...journal,
        open: (...asked) => Effect.map(journal.open(...asked), (log) => watchLog(log, space))
      })
    ).pipe(
      Context.add(
        Cursors,
        Cursors.of({
          ...cursors,
          transact: (move, effects) =>
            cursors.transact(move, effects).pipe(
              Effect.tap(() => space.written(database)),
              Effect.tapCause((cause) => (isOutOfSpaceInside(Cause.squash(cause)) ? space.full(database) : Effect.void))
            )
        })
      )
    )
  })
)

const shareFree = (folder: string): Effect.Effect<number | undefined> =>
  Effect.promise(() =>
    statfs(folder).then(
      ({ bavail, blocks }) => (blocks === 0 ? undefined : bavail / blocks),
      () => undefined
    )
  )

/** The check's result for a disk's free share and for full stores. */
export const diskCheck = (full: ReadonlyArray<string>, free: number | undefined, folder: string): HealthCheck => {
  const faults = [
    ...(full.length === 0 ? [] : [`no room is left in ${full.join(", ")}`]),
    ...(free !== undefined && free < freeShareLeast
      ? [`the disk of ${folder} has ${(free * 100).toFixed(1)} % free`]
      : [])
  ]
  return faults.length === 0 ? { ok: true } : { ok: false, detail: faults.join("; ") }
}

/**
 * How often to check whether NATS refuses writes, and how long an embedded server has after its restart before the next
 * one.
 */
const refusalLookMillis = 5_000
const restartPauseMillis = 60_000

/**
 * Logs that NATS refuses writes, and restarts a server of our own, which then accepts them if its disk has room.
 * `restart` is absent for an external server. Needs `DiskSpace`.
 */
export const watchRefusals = (restart: Effect.Effect<void> | undefined) =>
  Effect.gen(function* () {
    const space = yield* DiskSpace
    let notBefore = 0
    const look = Effect.gen(function* () {
      const refusal = yield* space.refusal
      const now = yield* Clock.currentTimeMillis
      if (refusal === undefined || now < notBefore) return
      notBefore = now + restartPauseMillis
      yield* Effect.logError(refusal)
      if (restart === undefined) return
      yield* Effect.logWarning("The embedded NATS server is restarted, so that it takes writes again")
      yield* restart
    })
    yield* Effect.sleep(refusalLookMillis).pipe(Effect.andThen(look), Effect.forever, Effect.forkScoped)
  })

/** Shows the check in `/readyz` and in the health record (docs/platform.md, 8.1). Reads continue while it fails. */
export const layerDiskHealth = (folder: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const health = yield* Health
      const space = yield* DiskSpace
      const measured = Effect.tap(shareFree(folder), (share) =>
        share === undefined ? Effect.void : Metric.update(freeRatio, share)
      )
      const free = yield* Effect.cachedWithTTL(measured, lookMillis)
      yield* health.register({
        name: "disk",
        part: "note",
        check: Effect.gen(function* () {
          const { detail, ok } = diskCheck(yield* space.fullStores, yield* free, folder)
          const refusal = yield* space.refusal
          const faults = [refusal, detail].filter((one) => one !== undefined)
          return faults.length === 0 ? { ok } : { ok: false, detail: faults.join("; ") }
        })
      })
    })
  )

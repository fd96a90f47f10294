import { Worker as WorkerThread } from "node:worker_threads"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import { Clock, Context, Effect, Layer, Queue, Redacted, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Worker } from "effect/workers"
import { type Admission, admitUsual } from "./fileAdmission.ts"
import { bundledSources } from "./files/bundledSources.ts"
import { sourceName } from "./files/download.ts"
import { layer as readersLayer } from "./files/read.ts"
import {
  type IngestionEvent,
  type IngestionFailure,
  type IngestionFailureRecord,
  IngestionProgress,
  type IngestionRecord,
  IngestionStopped,
  type PresentIngestion
} from "./ingestionSchema.ts"
import { failureOf, ingestSources, waitingEventsLimit } from "./ingestSources.ts"
import type { DatasetKind } from "./model.ts"

/**
 * Ingestion as a service (docs/directory.md, 6): brings published files into the database and remembers what was
 * ingested when. `layer` works in a thread of its own with a connection of its own, so that a server goes on answering;
 * `layerInThread` works where it is called, for a command that has nothing else to do. Both need `SqlClient`.
 *
 * @example
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Ingestions } from "sluice/directory"
 *
 * // Reads a file into the database, and tells how far it is.
 * export const ingested = (path: string) => Stream.unwrap(Effect.map(Ingestions, ({ run }) => run([path])))
 * ```
 */
export class Ingestions extends Context.Service<
  Ingestions,
  {
    /**
     * Ingests paths and addresses, one after the other, while the stream is read. Never fails: a failure of a file is
     * an event, and the next file is tried. A few runs work at a time; they fetch and read side by side and store one
     * after the other. A run that waits says why in an event.
     */
    readonly run: (sources: ReadonlyArray<string>, options?: RunOptions) => Stream.Stream<IngestionEvent>
    /** Ingests the bundled file of every kind that was never ingested; nothing when there is none. */
    readonly runBundled: Stream.Stream<IngestionEvent, SqlError.SqlError>
    /** A page of the history, newest first. */
    readonly historyPage: (page?: {
      /** 1 to 100, default 100. */
      readonly limit?: number | undefined
      /** Only ingestions before the one with this id. */
      readonly before?: number | undefined
    }) => Effect.Effect<ReadonlyArray<IngestionRecord>, SqlError.SqlError>
    /** The files that this process works on now, a run each. */
    readonly present: Effect.Effect<ReadonlyArray<PresentIngestion>>
    /** Files that were not taken, newest first; the newest thousand are kept. */
    readonly failures: (page?: {
      /** 1 to 100, default 100. */
      readonly limit?: number | undefined
      /** Only failures before the one with this id. */
      readonly before?: number | undefined
    }) => Effect.Effect<ReadonlyArray<IngestionFailureRecord>, SqlError.SqlError>
    /** The last file of each kind that was taken. */
    readonly latest: Effect.Effect<ReadonlyArray<IngestionRecord>, SqlError.SqlError>
    /** The newest page of the history. */
    readonly history: Effect.Effect<ReadonlyArray<IngestionRecord>, SqlError.SqlError>
  }
>()("sluice/directory/Ingestions") {
  /** In a worker thread. */
  static readonly layer = (options: WorkerOptions): Layer.Layer<Ingestions, never, SqlClient.SqlClient> =>
    Layer.effect(
      Ingestions,
      Effect.suspend(() => make((sources, of) => inWorker({ ...of, sources }, options)))
    )

  /** Works in the calling thread and keeps it busy. */
  static readonly layerInThread: Layer.Layer<Ingestions, never, SqlClient.SqlClient> = Layer.effect(
    Ingestions,
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      make((sources, options) =>
        ingestSources(sources, options).pipe(
          Stream.provide(readersLayer),
          Stream.provideService(SqlClient.SqlClient, sql)
        )
      )
    )
  )
}

/** Most concurrent ingestions in this process. Each may need a thread and its memory. */
export const runsAtOnce = 4

/** Ingestions in one page of history, and the default. */
export const historyPageMaximum = 100

/** Failures that are kept. */
const keptFailures = 1_000

/** The options of a worker thread. See {@link Ingestions}. */
export interface WorkerOptions {
  /** The database to ingest into; the worker has a connection of its own. */
  readonly databaseUrl: Redacted.Redacted<string>
}

/** Heap limit of a worker, beyond which it is stopped. A file needs a fraction of it. */
const workerHeapMegabytes = 192

/** Heap for the worker's young objects: a few batches of records with their text. */
const workerYoungMegabytes = 16

/** The start data of a worker. */
export interface IngestionWorkerData {
  readonly databaseUrl: string
}

/** An order for a worker. See {@link Ingestions}. */
export interface IngestionOrder extends Admission {
  readonly sources: ReadonlyArray<string>
  readonly dryRun: boolean
}

/** Options of a run, with defaults for what is left out. See {@link Ingestions}. */
export type RunOptions = {
  readonly [K in "dryRun" | keyof Admission]?: Omit<IngestionOrder, "sources">[K] | undefined
}

/** The answer of a worker. */
export type IngestionReply = IngestionEvent | { readonly _tag: "Done" }

type Run = (sources: ReadonlyArray<string>, options: Omit<IngestionOrder, "sources">) => Stream.Stream<IngestionEvent>

interface HistoryRow extends Omit<IngestionRecord, "startedAt" | "finishedAt"> {
  readonly startedAt: Date
  readonly finishedAt: Date
}

/** Reads and keeps what was ingested, and what was not taken. */
const makeHistory = (sql: SqlClient.SqlClient) => {
  /** Keeps a failure. One that cannot be kept was reported all the same. */
  const keepFailure = ({ code, message, source }: IngestionFailure) =>
    Effect.gen(function* () {
      const at = new Date(yield* Clock.currentTimeMillis)
      yield* sql`
        insert into directory_ingestion_failures (at, source, code, message)
        values (${at}, ${source}, ${code}, ${message})`
      yield* sql`
        delete from directory_ingestion_failures
        where id <= (select max(id) from directory_ingestion_failures) - ${keptFailures}`
    }).pipe(Effect.catch((error) => Effect.logWarning("The failure of an ingestion could not be kept", error)))

  const limitOf = (limit: number = historyPageMaximum): number => {
    if (Number.isInteger(limit) && limit >= 1 && limit <= historyPageMaximum) return limit
    throw new RangeError(`limit must be an integer from 1 to ${historyPageMaximum}, not ${limit}`)
  }
  const columns = sql.literal(
    `id, kind, source, publication_date::text as "publicationDate", sha256,
      started_at as "startedAt", finished_at as "finishedAt", read, added, changed, removed, malformed`
  )
  const recordOf = (row: HistoryRow): IngestionRecord => ({
    ...row,
    startedAt: row.startedAt.toISOString(),
    finishedAt: row.finishedAt.toISOString()
  })
  const before = (id: number | undefined) => (id === undefined ? sql`true` : sql`id < ${id}`)

  const historyPage: Ingestions["Service"]["historyPage"] = Effect.fnUntraced(function* (page = {}) {
    const limit = limitOf(page.limit)
    const rows = yield* sql<HistoryRow>`
      select ${columns} from directory_ingestions where ${before(page.before)} order by id desc limit ${limit}`
    return rows.map(recordOf)
  })

  const failures: Ingestions["Service"]["failures"] = Effect.fnUntraced(function* (page = {}) {
    const limit = limitOf(page.limit)
    const rows = yield* sql<Omit<IngestionFailureRecord, "at"> & { readonly at: Date }>`
      select id, at, source, code, message from directory_ingestion_failures
      where ${before(page.before)} order by id desc limit ${limit}`
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
  })

  return {
    keepFailure,
    historyPage,
    failures,
    latest: Effect.map(
      sql<HistoryRow>`select distinct on (kind) ${columns} from directory_ingestions order by kind, id desc`,
      (rows) => rows.map(recordOf)
    ),
    history: Effect.suspend(() => historyPage())
  }
}

const make = Effect.fnUntraced(function* (ingest: Run) {
  const sql = yield* SqlClient.SqlClient
  const running = yield* Semaphore.make(runsAtOnce)
  const { keepFailure, ...kept } = makeHistory(sql)

  // By run: two runs of one file are under way at a time.
  const underWay = new Map<symbol, PresentIngestion>()

  const run = (sources: ReadonlyArray<string>, options: RunOptions = {}) => {
    const source = sourceName(sources[0] ?? "")
    const own = Symbol(source)
    const isDry = options.dryRun ?? false
    // Scoped: one that is interrupted as its turn comes gives it back.
    const taken = Effect.andThen(
      running.takeScoped(1),
      Effect.acquireRelease(
        Effect.map(Clock.currentTimeMillis, (startedAt) =>
          underWay.set(own, { source, startedAt, phase: "opening", rows: 0, fraction: null, isDry })
        ),
        () => Effect.sync(() => underWay.delete(own))
      )
    )
    const told = (event: IngestionEvent) => {
      if (event._tag === "Failed") return isDry ? Effect.void : keepFailure(event)
      const present = underWay.get(own)
      if (event._tag !== "Progress" || present === undefined) return Effect.void
      const { fraction, phase, rows } = event
      return Effect.sync(() => {
        underWay.set(own, { ...present, source: event.source, phase, rows, fraction })
      })
    }
    const whole = Stream.unwrap(
      Effect.as(
        taken,
        ingest(sources, {
          dryRun: isDry,
          allowOlder: options.allowOlder ?? admitUsual.allowOlder,
          allowRemovals: options.allowRemovals ?? admitUsual.allowRemovals,
          retire: options.retire ?? admitUsual.retire
        })
      )
    ).pipe(Stream.tap(told))
    return Stream.suspend(() =>
      underWay.size < runsAtOnce ? whole : Stream.concat(Stream.succeed(waiting(source, underWay.values())), whole)
    )
  }

  const runBundled = Stream.unwrap(
    Effect.gen(function* () {
      const known = yield* sql<{ readonly kind: DatasetKind }>`select distinct kind from directory_ingestions`
      const missing = bundledSources.filter((source) => known.every((row) => row.kind !== source.kind))
      return missing.length === 0 ? Stream.empty : run(missing.map((source) => source.path))
    })
  )

  return Ingestions.of({ ...kept, run, runBundled, present: Effect.sync(() => [...underWay.values()]) })
})

/** The event of a run that must wait for another one to end. */
const waiting = (source: string, underWay: Iterable<PresentIngestion>): IngestionEvent => {
  const names = Array.from(underWay, (one) => one.source)
  return IngestionProgress.make({
    source,
    phase: "waiting",
    rows: 0,
    fraction: null,
    detail: `${names.length} ingestions are under way: ${names.join(", ")}`
  })
}

const spawn = (options: WorkerOptions) => () =>
  new WorkerThread(workerModule, {
    name: "sluice ingest",
    workerData: { databaseUrl: Redacted.value(options.databaseUrl) } satisfies IngestionWorkerData,
    resourceLimits: {
      maxOldGenerationSizeMb: workerHeapMegabytes,
      maxYoungGenerationSizeMb: workerYoungMegabytes
    }
  })

/** Starts a worker for one order and ends it with the stream, however that ends. */
const inWorker = (order: IngestionOrder, options: WorkerOptions): Stream.Stream<IngestionEvent> =>
  Stream.callback<IngestionEvent>(
    (events) => {
      let source = sourceName(order.sources[0] ?? "")
      const onReply = (reply: IngestionReply) => {
        if (reply._tag === "Done") return Queue.end(events)
        source = reply.source
        if (reply._tag !== "Progress") return Queue.offer(events, reply)
        return Effect.sync(() => Queue.offerUnsafe(events, reply))
      }
      return Effect.gen(function* () {
        const platform = yield* Worker.WorkerPlatform
        const worker = yield* platform.spawn<IngestionReply, IngestionOrder>(0)
        yield* worker.send(order)
        yield* worker.run(onReply)
      }).pipe(
        Effect.provide(NodeWorker.layer(spawn(options))),
        Effect.tapError((error) => Effect.logError("An ingestion's thread has ended", error)),
        Effect.catchTag("WorkerError", () => Queue.offer(events, failureOf(workerEnded(source)))),
        Effect.andThen(Queue.end(events))
      )
    },
    { bufferSize: waitingEventsLimit }
  )

const workerEnded = (source: string): IngestionStopped =>
  new IngestionStopped({
    source,
    reason: "WorkerEnded",
    message: `${source} was not ingested: the thread that did it has ended. A file is stored as a whole or not at all; try again.`
  })

export const workerModule: URL = new URL(
  import.meta.url.endsWith(".ts") ? "./ingestionWorker.ts" : "./ingestionWorker.js",
  import.meta.url
)

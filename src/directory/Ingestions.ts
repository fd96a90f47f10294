import { Worker as WorkerThread } from "node:worker_threads"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import { Context, Effect, Layer, Queue, Redacted, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Worker } from "effect/workers"
import { type Admission, admitUsual } from "./fileAdmission.ts"
import { bundledSources } from "./files/bundledSources.ts"
import { sourceName } from "./files/download.ts"
import { layer as readersLayer } from "./files/read.ts"
import { type IngestionEvent, IngestionProgress, type IngestionRecord, IngestionStopped } from "./ingestionSchema.ts"
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

const make = Effect.fnUntraced(function* (ingest: Run) {
  const sql = yield* SqlClient.SqlClient
  const running = yield* Semaphore.make(runsAtOnce)

  const underWay = new Set<string>()

  const run = (sources: ReadonlyArray<string>, options: RunOptions = {}) => {
    const source = sourceName(sources[0] ?? "")
    // Scoped: one that is interrupted as its turn comes gives it back.
    const taken = Effect.andThen(
      running.takeScoped(1),
      Effect.acquireRelease(
        Effect.sync(() => underWay.add(source)),
        () => Effect.sync(() => underWay.delete(source))
      )
    )
    const whole = Stream.unwrap(
      Effect.as(
        taken,
        ingest(sources, {
          dryRun: options.dryRun ?? false,
          allowOlder: options.allowOlder ?? admitUsual.allowOlder,
          allowRemovals: options.allowRemovals ?? admitUsual.allowRemovals,
          retire: options.retire ?? admitUsual.retire
        })
      )
    )
    return Stream.suspend(() =>
      underWay.size < runsAtOnce ? whole : Stream.concat(Stream.succeed(waiting(source, underWay)), whole)
    )
  }

  const runBundled = Stream.unwrap(
    Effect.gen(function* () {
      const known = yield* sql<{ readonly kind: DatasetKind }>`select distinct kind from directory_ingestions`
      const missing = bundledSources.filter((source) => known.every((row) => row.kind !== source.kind))
      return missing.length === 0 ? Stream.empty : run(missing.map((source) => source.path))
    })
  )

  const historyPage: Ingestions["Service"]["historyPage"] = Effect.fnUntraced(function* (page = {}) {
    const limit = page.limit ?? historyPageMaximum
    if (!Number.isInteger(limit) || limit < 1 || limit > historyPageMaximum) {
      throw new RangeError(`limit must be an integer from 1 to ${historyPageMaximum}, not ${limit}`)
    }
    const rows = yield* sql<HistoryRow>`
      select id, kind, source, publication_date::text as "publicationDate", sha256,
        started_at as "startedAt", finished_at as "finishedAt", read, added, changed, removed, malformed
      from directory_ingestions
      where ${page.before === undefined ? sql`true` : sql`id < ${page.before}`}
      order by id desc limit ${limit}`
    return rows.map((row) => ({
      ...row,
      startedAt: row.startedAt.toISOString(),
      finishedAt: row.finishedAt.toISOString()
    }))
  })

  return Ingestions.of({ run, runBundled, historyPage, history: Effect.suspend(() => historyPage()) })
})

/** The event of a run that must wait for another one to end. */
const waiting = (source: string, underWay: ReadonlySet<string>): IngestionEvent =>
  IngestionProgress.make({
    source,
    phase: "waiting",
    rows: 0,
    fraction: null,
    detail: `${underWay.size} ingestions are under way: ${[...underWay].join(", ")}`
  })

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

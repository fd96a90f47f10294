import { Clock, Context, Effect, Layer, Metric, Queue, Schedule, Schema, type Scope, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { backoff } from "../common/backoff.ts"
import { connectionError } from "../postgres/errors.ts"
import { Notifications } from "../postgres/Notifications.ts"
import type { DirectoryIndex } from "./DirectoryIndex.ts"
import * as EncodedAnswers from "./EncodedAnswers.ts"
import { bundledSources } from "./files/bundledSources.ts"
import type { Records } from "./files/DatasetReader.ts"
import type { NotRecognized, Refused, SourceUnreadable } from "./files/errors.ts"
import { openSource, layer as readersLayer, readFile } from "./files/read.ts"
import * as IndexBuilder from "./IndexBuilder.ts"
import { minimumImageRecords, storeImage } from "./indexImage.ts"
import { directoryChannel } from "./ingest.ts"
import { buildInTurns, type DirectoryState, loadIndex, loadState } from "./load.ts"
import {
  type AreaCodeRecord,
  type BlockRecord,
  type CarrierTypeRecord,
  type CodeRecord,
  type Country,
  countries
} from "./model.ts"
import * as rules from "./rules.ts"
import type { AreaCode, CarrierDetail, CarrierPage, Statistics } from "./schema.ts"

/**
 * The number directory (docs/directory.md): carriers, area codes and statistics, answered from an index in memory. The
 * index is replaced as a whole after every ingestion, on whichever node it ran, and goes on answering while the
 * database is away. `layer` needs `SqlClient` and `Notifications`; `layerMemory` and `layerFiles` need nothing.
 */

/**
 * One index with its answers and its state. A request that needs several answers takes them from one snapshot. See
 * {@link codesMatching}.
 */
export interface DirectorySnapshot {
  readonly index: DirectoryIndex
  /** The answers as bytes of JSON, cached while they are asked for. */
  readonly answers: EncodedAnswers.EncodedAnswers
  readonly state: DirectoryState
}

/** No index is loaded yet, because the database has not answered since the start. See {@link Directory}. */
export class DirectoryUnavailable extends Schema.TaggedError<DirectoryUnavailable>()("DirectoryUnavailable", {
  message: Schema.String
}) {}

/** Records of the directory, of whichever kinds there are. See {@link codesMatching}. */
export interface DirectoryRecords {
  readonly codes?: Iterable<CodeRecord> | undefined
  readonly carrierTypes?: Iterable<CarrierTypeRecord> | undefined
  readonly areaCodes?: Iterable<AreaCodeRecord> | undefined
  readonly blocks?: Iterable<BlockRecord> | undefined
}

/**
 * The number directory as a service (docs/directory.md).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Directory } from "sluice/directory"
 *
 * export const carrier = Effect.flatMap(Directory, (directory) => directory.carrier("9104")).pipe(
 *   Effect.provide(Directory.layerFiles())
 * )
 * ```
 */
export class Directory extends Context.Service<
  Directory,
  {
    /** The current index. Later calls may give a newer one. */
    readonly snapshot: Effect.Effect<DirectorySnapshot, DirectoryUnavailable>
    /** The current index, synchronously; undefined when there is none yet. */
    readonly current: () => DirectorySnapshot | undefined
    /** Whether there is an index. */
    readonly ready: Effect.Effect<boolean>
    /** Carriers that pass every filter, by OCN (docs/directory.md, 3.2). */
    readonly carriers: (query?: rules.CarrierQuery) => Effect.Effect<CarrierPage, DirectoryUnavailable>
    /** One carrier with its exchanges counted (docs/directory.md, 3.3). */
    readonly carrier: (ocn: string) => Effect.Effect<CarrierDetail, rules.EntryNotFound | DirectoryUnavailable>
    /** An area code with a page of its exchanges, or one (docs/directory.md, 3.4). */
    readonly areaCode: (
      npa: string,
      query?: rules.AreaCodeQuery
    ) => Effect.Effect<AreaCode, rules.EntryNotFound | DirectoryUnavailable>
    /** Counts and times (docs/directory.md, 3.5). */
    readonly statistics: Effect.Effect<Statistics, DirectoryUnavailable>
    /** Time of the last successful ingestion of any kind, ISO 8601, null before the first. */
    readonly lastIngestion: Effect.Effect<string | null, DirectoryUnavailable>
    /** Completes when the index is that of the stored records. After an ingestion this happens by itself, soon. */
    readonly refresh: Effect.Effect<void, SqlError.SqlError>
  }
>()("sluice/directory/Directory") {
  /** On PostgreSQL. The service exists immediately; a background fiber loads the first index, and `ready` says when. */
  static readonly layer: Layer.Layer<Directory, never, SqlClient.SqlClient | Notifications> = Layer.effect(
    Directory,
    Effect.suspend(() => makeStored)
  )

  /** From the given records, without a server. Fails with `InvalidRecord` when an NPA-NXX is not digits. */
  static readonly layerMemory = (records: DirectoryRecords): Layer.Layer<Directory, IndexBuilder.InvalidRecord> =>
    Layer.effect(Directory, fromRecords(records))

  /** From files, without a server: paths or addresses, by default the bundled snapshot. */
  static readonly layerFiles = (
    sources: ReadonlyArray<string> = bundledSources.map((source) => source.path)
  ): Layer.Layer<Directory, SourceUnreadable | NotRecognized | Refused> => Layer.effect(Directory, fromFiles(sources))
}

/** Longest pause between two attempts to load. */
const retryMaxMillis = 5_000

/** How long a load may take before it is given up and tried again. It normally takes half a second. */
const loadTimeoutMillis = 30_000

/** First pause after a failed attempt to load. */
const retryMinMillis = 100

const recordsGauge = Metric.gauge("sluice_directory_records", {
  description: "NPA-NXX records of the index that reads are answered from"
})

const loadDuration = Metric.gauge("sluice_directory_load_duration_seconds", {
  description: "How long the last load of the index from the database took"
})

/** Shows when each kind of files was ingested last. */
const showTimes = ({ lastUpdated }: DirectoryState) =>
  Effect.forEach(
    Object.entries(lastUpdated),
    ([kind, at]) =>
      at === null
        ? Effect.void
        : Metric.update(
            Metric.gauge("sluice_directory_ingested_timestamp_seconds", {
              description: "When files of a kind were ingested last, seconds since 1970",
              attributes: { kind }
            }),
            Date.parse(at) / 1_000
          ),
    { discard: true }
  )

/** The service over the current snapshot. */
const makeService = (
  current: () => DirectorySnapshot | undefined,
  refresh: Effect.Effect<void, SqlError.SqlError>
): Directory["Service"] => {
  const snapshot = Effect.suspend(() => {
    const found = current()
    return found === undefined
      ? Effect.fail(new DirectoryUnavailable({ message: "The number directory is not loaded yet" }))
      : Effect.succeed(found)
  })
  return Directory.of({
    snapshot,
    current,
    ready: Effect.sync(() => current() !== undefined),
    carriers: (query) => Effect.map(snapshot, ({ index }) => rules.listCarriers(index, query)),
    carrier: (ocn) => Effect.flatMap(snapshot, ({ index }) => Effect.fromResult(rules.carrierByOcn(index, ocn))),
    areaCode: (npa, query) =>
      Effect.flatMap(snapshot, ({ index }) => Effect.fromResult(rules.areaCodeByNpa(index, npa, query))),
    statistics: Effect.map(snapshot, ({ index, state }) => rules.statistics(index, state.lastUpdated)),
    lastIngestion: Effect.map(snapshot, ({ state }) => rules.lastIngestion(state.lastUpdated)),
    refresh
  })
}

const snapshotOf = (index: DirectoryIndex, state: DirectoryState): DirectorySnapshot => ({
  index,
  answers: EncodedAnswers.make(index),
  state
})

/** Stores the image of an index. Where that fails, only the next start misses it. */
const keepImage = (index: DirectoryIndex, { generation }: DirectoryState) =>
  storeImage(index, generation).pipe(
    Effect.tapError(({ reason }) => Effect.logDebug("The image of the number directory was not stored", reason._tag)),
    Effect.ignore
  )

const makeStored: Effect.Effect<Directory["Service"], never, SqlClient.SqlClient | Notifications | Scope.Scope> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const notifications = yield* Notifications
    const loading = yield* Semaphore.make(1)
    const scope = yield* Effect.scope
    let current: DirectorySnapshot | undefined

    const load = Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      const { index, isBuilt, state } = yield* loadIndex
      current = snapshotOf(index, state)
      const durationMillis = (yield* Clock.currentTimeMillis) - startedAt
      const records = index.counts.total
      const carriers = index.carriers.ocn.length
      yield* Metric.update(recordsGauge, records)
      yield* showTimes(state)
      yield* Metric.update(loadDuration, durationMillis / 1000)
      yield* Effect.logInfo("Number directory loaded").pipe(
        Effect.annotateLogs({ generation: state.generation, records, carriers, durationMillis })
      )
      if (isBuilt && records >= minimumImageRecords) yield* Effect.forkIn(keepImage(index, state), scope)
    })

    // One load at a time. A refresh that is asked for during a load waits for the next one.
    const refresh = loading.withPermit(
      Effect.gen(function* () {
        if (current === undefined) return yield* load
        const state = yield* loadState
        if (state.generation !== current.state.generation) return yield* load
        // The records are the same, so the cached answers stay; only the times may have changed.
        current = { ...current, state }
        yield* showTimes(state)
      }).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        // A silent database must not delay the next attempt.
        Effect.timeoutOrElse({
          duration: loadTimeoutMillis,
          orElse: () => Effect.fail(connectionError(`No answer within ${loadTimeoutMillis} ms`, "directory.load"))
        })
      )
    )

    const wanted = yield* Queue.make<void>({ capacity: 1, strategy: "sliding" })
    const want = () => Queue.offer(wanted, undefined)
    yield* want()
    // A gap, after which messages may have been missed, counts like a message.
    yield* notifications.listen(directoryChannel).pipe(Stream.runForEach(want), Effect.forkScoped)
    let failing = false
    const untilLoaded = refresh.pipe(
      Effect.tapError((error) => {
        // Warn once per outage; log every attempt for debugging.
        const log = failing ? Effect.logDebug : Effect.logWarning
        failing = true
        return log("Number directory could not be loaded; trying again").pipe(
          Effect.annotateLogs({ reason: error.reason._tag })
        )
      }),
      Effect.tap(() =>
        Effect.sync(() => {
          failing = false
        })
      ),
      Effect.retry(backoff(retryMinMillis, retryMaxMillis).pipe(Schedule.jittered))
    )
    yield* Queue.take(wanted).pipe(
      Effect.andThen(untilLoaded),
      // A fault in the stored records must not end the fiber, since the next ingestion may mend it.
      Effect.catchDefect((defect) => Effect.logError("Number directory cannot be loaded", defect)),
      Effect.forever,
      Effect.forkScoped
    )
    return makeService(() => current, refresh)
  })

/** The service over one fixed index. Its records count as ingested now. */
const fromBuilder = Effect.fnUntraced(function* (builder: IndexBuilder.IndexBuilder) {
  const index = yield* buildInTurns(builder)
  const now = new Date(yield* Clock.currentTimeMillis).toISOString()
  const has = (country: Country) => (index.counts.byCountry[countries.indexOf(country)] === 0 ? null : now)
  const lastUpdated = { NANPA: has("US"), CNAC: has("CA"), CARRIER_TYPES: null, NPA_REPORT: null, NANPA_BLOCKS: null }
  const snapshot = snapshotOf(index, { generation: 1, lastUpdated })
  return makeService(() => snapshot, Effect.void)
})

const fromRecords = Effect.fnUntraced(function* (records: DirectoryRecords) {
  const builder = IndexBuilder.make()
  yield* Effect.try({
    try: () => {
      for (const record of records.codes ?? []) builder.addCode(record)
      for (const record of records.carrierTypes ?? []) builder.addCarrierType(record)
      for (const record of records.areaCodes ?? []) builder.addAreaCode(record)
      for (const record of records.blocks ?? []) builder.addBlock(record)
    },
    catch: (cause) => {
      if (cause instanceof IndexBuilder.InvalidRecord) return cause
      // The caller's iterable may throw anything; that is the caller's defect.
      throw cause
    }
  })
  return yield* fromBuilder(builder)
})

const addBatch = (builder: IndexBuilder.IndexBuilder, batch: Records) => {
  if (batch.kind === "CARRIER_TYPES") for (const record of batch.records) builder.addCarrierType(record)
  else if (batch.kind === "NPA_REPORT") for (const record of batch.records) builder.addAreaCode(record)
  else if (batch.kind === "NANPA_BLOCKS") for (const record of batch.records) builder.addBlock(record)
  else for (const record of batch.records) builder.addCode(record)
}

const fromFiles = Effect.fnUntraced(
  function* (sources: ReadonlyArray<string>) {
    const builder = IndexBuilder.make()
    for (const source of sources) {
      const { files } = yield* openSource(source)
      for (const file of files) yield* readFile(file, ({ data }) => Effect.sync(() => addBatch(builder, data)))
    }
    return yield* fromBuilder(builder)
  },
  Effect.scoped,
  Effect.provide(readersLayer)
)

/**
 * Writes the requests of keys to the request log (docs/platform.md, 2.12). They are counted and sampled in memory, and
 * written every second by one statement for many. Those that cannot be written wait, within a bound in bytes; beyond it
 * they are dropped and counted. Needs `SqlClient` and `DayPartitions`.
 */
import { Context, Effect, Layer, Metric, Random, Redacted, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { fingerprint, type SecretsKeys } from "../../common/secretsKeys.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { CurrentRequestRecorder, type RequestRecorder } from "../../http/RequestRecorder.ts"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { isStoreFailure } from "../../postgres/transactions.ts"
import { unnest } from "../../postgres/unnest.ts"
import { RequestBuffer, type WaitingRecord } from "./RequestBuffer.ts"
import { requestsTable } from "./requestsTable.ts"

/** How often records are written. */
const writeIntervalMillis = 1_000
/** Records of one statement. */
const batchRecords = 500
/** How long one statement may take. */
const writeTimeoutMillis = 5_000
/** How long a stop waits for the last records. */
const lastWriteMillis = 2_000

/** How many requests of an organization are kept in a second; the others are sampled. */
export interface RequestLogRates {
  readonly successesPerSecond: number
  readonly failuresPerSecond: number
}

export const defaultRates: RequestLogRates = { successesPerSecond: 5, failuresPerSecond: 25 }

export interface RequestWriterOptions extends Partial<RequestLogRates> {
  /** The keys of digests. */
  readonly secretsKeys: Redacted.Redacted<SecretsKeys>
}

export class RequestWriter extends Context.Service<
  RequestWriter,
  {
    /** Takes the requests that both paths of the server report. */
    readonly recorder: RequestRecorder
    /** Writes the waiting records, without a wait for the next second. One that cannot be written waits on. */
    readonly flush: Effect.Effect<void>
  }
>()("sluice/platform/RequestWriter") {
  static readonly layer = (
    options: RequestWriterOptions
  ): Layer.Layer<RequestWriter, never, SqlClient.SqlClient | DayPartitions> =>
    Layer.effect(RequestWriter, make(options))
}

/** Lets the listeners below report to the request log. */
export const layerCurrentRequestRecorder: Layer.Layer<never, never, RequestWriter> = Layer.effect(
  CurrentRequestRecorder,
  Effect.map(RequestWriter, ({ recorder }) => recorder)
)

const dropped = (reason: "memory" | "database") =>
  Metric.counter("sluice_request_log_dropped_total", {
    description: "Records that the request log could not keep, by the reason",
    incremental: true,
    attributes: { reason }
  })

const make = Effect.fnUntraced(function* (options: RequestWriterOptions) {
  const sql = yield* SqlClient.SqlClient
  const partitions = yield* DayPartitions
  const random = yield* Random.Random
  const context = yield* Effect.context<never>()
  const [noMemory, noDatabase] = [dropped("memory"), dropped("database")]
  for (const metric of [noMemory, noDatabase]) metric.updateUnsafe(0, context)
  const keys = Redacted.value(options.secretsKeys)
  const buffer = new RequestBuffer({
    successesPerSecond: options.successesPerSecond ?? defaultRates.successesPerSecond,
    failuresPerSecond: options.failuresPerSecond ?? defaultRates.failuresPerSecond,
    random: () => random.nextDoubleUnsafe(),
    digest: (organizationId, text) => fingerprint(keys, `request log\n${organizationId}\n${text}`).slice(0, 32),
    onDropped: () => noMemory.updateUnsafe(1, context)
  })
  // The round of a second and a flush would otherwise write the same records.
  const turn = yield* Semaphore.make(1)
  const write = turn.withPermit(
    writing(sql, partitions, buffer, (records) => noDatabase.updateUnsafe(records, context))
  )
  yield* Effect.addFinalizer(() => Effect.ignoreCause(Effect.timeoutOption(write, lastWriteMillis)))
  yield* Effect.forkScoped(
    superviseLoop(Effect.andThen(Effect.sleep(writeIntervalMillis), write), {
      failed: "Requests wait for the request log",
      retryMillis: writeIntervalMillis
    })
  )
  return RequestWriter.of({ recorder: buffer, flush: write })
})

const columns = {
  organization_id: "text",
  at: "int8",
  id: "text",
  mode: "text",
  api_key_id: "text",
  method: "text",
  path: "text",
  route: "text",
  status: "int4",
  code: "text",
  duration_millis: "int4",
  request_id: "text",
  address: "text",
  count: "int4",
  request_body: "text",
  answer_body: "text",
  facts: "jsonb"
} as const

const rowOf = (record: WaitingRecord): { readonly [Column in keyof typeof columns]: unknown } => ({
  organization_id: record.organizationId,
  at: BigInt(record.at),
  id: record.id,
  mode: record.mode,
  api_key_id: record.keyId,
  method: record.method,
  path: record.path,
  route: record.route,
  status: record.status,
  code: record.code,
  duration_millis: record.durationMillis,
  request_id: record.requestId,
  address: record.address,
  count: record.count,
  request_body: record.requestBody,
  answer_body: record.answerBody,
  facts: record.facts
})

/** Writes records, once each, except those of organizations that are being deleted: their rows may have been erased before. */
const insert = (sql: SqlClient.SqlClient, records: ReadonlyArray<WaitingRecord>) => {
  const names = Object.keys(columns)
  return sql`
    insert into ${sql(requestsTable)} (${sql.literal(names.join(", "))})
    select ${sql.literal(names.map((name) => `batch.${name}`).join(", "))} from ${unnest(records.map(rowOf), columns)}
    where exists (select from organizations where id = batch.organization_id and deleted_at is null)
    on conflict do nothing`
}

/** Writes what waits, oldest first. */
const writing = (
  sql: SqlClient.SqlClient,
  partitions: DayPartitions["Service"],
  buffer: RequestBuffer,
  onDropped: (records: number) => void
): Effect.Effect<void> => {
  /** Whether the batch is settled: written, or dropped because the fault is its own. */
  const settled = (records: ReadonlyArray<WaitingRecord>) =>
    Effect.andThen(
      partitions.ensureDays(
        requestsTable,
        records.map(({ at }) => at)
      ),
      insert(sql, records)
    ).pipe(
      Effect.timeout(writeTimeoutMillis),
      Effect.as(true),
      Effect.catch((error) => {
        if (error._tag === "TimeoutError" || isStoreFailure(error))
          return Effect.as(Effect.logDebug("Requests wait for the request log", error), false)
        onDropped(records.length)
        return Effect.as(Effect.logError("Requests could not be kept in the request log", error), true)
      })
    )
  return Effect.gen(function* () {
    buffer.turn()
    for (let records = buffer.oldest(batchRecords); records.length > 0; records = buffer.oldest(batchRecords)) {
      if (!(yield* settled(records))) return
      buffer.remove(records.length)
    }
  })
}

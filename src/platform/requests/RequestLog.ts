/**
 * Keeps the requests of an organization's keys for seven days (docs/platform.md, 2.12). They are counted and sampled in
 * memory, and written every second by one statement for many. One that cannot be written waits, within a bound in bytes;
 * beyond it records are dropped and counted. Needs `SqlClient`, `DayPartitions` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Metric, Option, Random, Redacted, type Schema, Semaphore } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { fingerprint, type SecretsKeys } from "../../common/secretsKeys.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../../http/PageCursors.ts"
import { CurrentRequestRecorder, type RequestRecorder } from "../../http/RequestRecorder.ts"
import { DayPartitions } from "../../postgres/dayPartitions.ts"
import { isStoreFailure } from "../../postgres/transactions.ts"
import { unnest } from "../../postgres/unnest.ts"
import { RequestBuffer, type WaitingRecord } from "./RequestBuffer.ts"
import { timeOfRecord } from "./recordId.ts"
import { hasId } from "./redaction.ts"
import { keptRequestsMillis, requestsTable } from "./requestsTable.ts"

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

export interface RequestLogOptions extends Partial<RequestLogRates> {
  /** The keys of digests. */
  readonly secretsKeys: Redacted.Redacted<SecretsKeys>
}

/** A request in a list. */
export interface LoggedRequest
  extends Pick<
    WaitingRecord,
    | "address"
    | "at"
    | "code"
    | "count"
    | "durationMillis"
    | "keyId"
    | "method"
    | "mode"
    | "path"
    | "requestId"
    | "route"
    | "status"
  > {
  /** `rq_…` */
  readonly id: string
}

/** A request with the bodies of a failed one. */
export interface RequestDetail extends LoggedRequest, Pick<WaitingRecord, "answerBody" | "requestBody"> {
  readonly facts: typeof Schema.JsonObject.Type | null
}

/** The owner of requests; undefined as the mode for both. */
export interface RequestsOwner {
  readonly organizationId: string
  readonly mode: "live" | "test" | undefined
}

export interface RequestPageOptions extends RequestsOwner {
  readonly method?: string | undefined
  /** A path with ids, or a route with `{name}`. */
  readonly path?: string | undefined
  /** A status, or the first digit of a class such as 4. */
  readonly status?: number | undefined
  readonly key?: string | undefined
  readonly requestId?: string | undefined
  /** Unix milliseconds: inclusive. */
  readonly since?: number | undefined
  /** The same, exclusive. */
  readonly until?: number | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface RequestPage {
  readonly data: ReadonlyArray<LoggedRequest>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

/** The organization has no such request, or has it no longer. */
export class RequestNotFound extends Data.TaggedError("RequestNotFound")<{ readonly id: string }> {}

export class RequestLog extends Context.Service<
  RequestLog,
  {
    /** Takes what both paths of the server report. */
    readonly recorder: RequestRecorder
    /** Newest first. */
    readonly list: (options: RequestPageOptions) => Effect.Effect<RequestPage, InvalidCursor | SqlError.SqlError>
    readonly get: (
      owner: RequestsOwner,
      id: string
    ) => Effect.Effect<RequestDetail, RequestNotFound | SqlError.SqlError>
    /** Writes what waits, without a wait for the next second. Fails with nothing: what cannot be written waits on. */
    readonly flush: Effect.Effect<void>
  }
>()("sluice/platform/RequestLog") {
  static readonly layer = (
    options: RequestLogOptions
  ): Layer.Layer<RequestLog, never, SqlClient.SqlClient | DayPartitions | PageCursors> =>
    Layer.effect(RequestLog, make(options))
}

/** Lets the listeners below report to the request log. */
export const layerCurrentRequestRecorder: Layer.Layer<never, never, RequestLog> = Layer.effect(
  CurrentRequestRecorder,
  Effect.map(RequestLog, ({ recorder }) => recorder)
)

const dropped = (reason: "memory" | "database") =>
  Metric.counter("sluice_request_log_dropped_total", {
    description: "Records that the request log could not keep, by the reason",
    incremental: true,
    attributes: { reason }
  })

const make = Effect.fnUntraced(function* (options: RequestLogOptions) {
  const sql = yield* SqlClient.SqlClient
  const partitions = yield* DayPartitions
  const cursors = yield* PageCursors
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
  yield* Effect.addFinalizer(() => Effect.timeoutOption(write, lastWriteMillis))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(writeIntervalMillis), write)))
  return RequestLog.of({
    recorder: buffer,
    list: listing(sql, cursors),
    get: getting(sql),
    flush: write
  })
})

const columns = {
  organization_id: "text",
  at: "int8",
  id: "text",
  mode: "text",
  key_id: "text",
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
  key_id: record.keyId,
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

interface Row extends Omit<RequestDetail, "at"> {
  readonly at: string | number
}

const requestOf = <A extends { readonly at: string | number }>(row: A): Omit<A, "at"> & { readonly at: number } => ({
  ...row,
  at: Number(row.at)
})

const listColumns = `id, at, mode, key_id as "keyId", method, path, route, status, code,
  duration_millis as "durationMillis", request_id as "requestId", address, count`

const ofOwner = (sql: SqlClient.SqlClient, { mode, organizationId }: RequestsOwner) => [
  sql`organization_id = ${organizationId}`,
  ...(mode === undefined ? [] : [sql`mode = ${mode}`])
]

/** The condition of a status or a class. Its index has failures alone, which the planner must see in the text. */
const ofStatus = (sql: SqlClient.SqlClient, status: number): ReadonlyArray<Statement.Fragment> => {
  const [from, to] = status < 100 ? [status * 100, status * 100 + 99] : [status, status]
  return [...(from < 400 ? [] : [sql`status >= 400`]), sql`status between ${from}::int4 and ${to}::int4`]
}

/** The condition of a path. One without an id is the route itself, whose index is in the order of the list. */
const ofPath = (sql: SqlClient.SqlClient, path: string) =>
  hasId(path) ? sql`path = ${path} and path <> route` : sql`route = ${path}`

/** The signed name of the list: a cursor of one list is none of another. */
const listName = (options: RequestPageOptions): string => {
  const { key, method, mode, organizationId, path, requestId, since, status, until } = options
  return JSON.stringify(["requests", organizationId, mode, method, path, status, key, requestId, since, until])
}

const listing = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): RequestLog["Service"]["list"] =>
  Effect.fnUntraced(function* (options) {
    const { cursor, key, limit, method, path, requestId, since, status, until } = options
    const name = listName(options)
    const place = yield* cursors.decode(name, cursor)
    const kept = (yield* Clock.currentTimeMillis) - keptRequestsMillis
    const conditions = [
      ...ofOwner(sql, options),
      sql`at >= ${Math.max(kept, since ?? kept)}::int8`,
      ...(method === undefined ? [] : [sql`method = ${method}`]),
      ...(path === undefined ? [] : [ofPath(sql, path)]),
      ...(status === undefined ? [] : ofStatus(sql, status)),
      ...(key === undefined ? [] : [sql`key_id = ${key}`]),
      ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
      ...(until === undefined ? [] : [sql`at < ${until}::int8`]),
      ...(Option.isNone(place) ? [] : [sql`(at, id) < (${place.value.atMillis}::int8, ${place.value.id})`])
    ]
    const rows = yield* sql<Omit<Row, "answerBody" | "facts" | "requestBody">>`
      select ${sql.literal(listColumns)} from ${sql(requestsTable)} where ${sql.and(conditions)}
      order by at desc, id desc limit ${limit + 1}`.unprepared
    return pageOf(rows.map(requestOf), limit, ({ at, id }) => cursors.encode(name, { atMillis: at, id }))
  })

const getting = (sql: SqlClient.SqlClient): RequestLog["Service"]["get"] =>
  Effect.fnUntraced(function* (owner, id) {
    const at = timeOfRecord(id)
    const kept = (yield* Clock.currentTimeMillis) - keptRequestsMillis
    if (at === undefined || at < kept) return yield* new RequestNotFound({ id })
    const conditions = [...ofOwner(sql, owner), sql`at = ${at}::int8`, sql`id = ${id}`]
    const [row] = yield* sql<Row>`
      select ${sql.literal(listColumns)}, request_body as "requestBody", answer_body as "answerBody", facts
      from ${sql(requestsTable)} where ${sql.and(conditions)}`
    if (row === undefined) return yield* new RequestNotFound({ id })
    return requestOf(row)
  })

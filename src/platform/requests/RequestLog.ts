/**
 * Lists the requests of an organization's keys (docs/platform.md, 2.12), which `RequestWriter` writes. Needs `SqlClient`
 * and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option, type Schema } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { KeptTimes, type KeptTimesShape } from "../../common/KeptTimes.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../../http/PageCursors.ts"
import type { WaitingRecord } from "./RequestBuffer.ts"
import { timeOfRecord } from "./recordId.ts"
import { hasId } from "./redaction.ts"
import { requestsTable } from "./requestsTable.ts"

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
    /** Newest first. */
    readonly list: (options: RequestPageOptions) => Effect.Effect<RequestPage, InvalidCursor | SqlError.SqlError>
    readonly get: (
      owner: RequestsOwner,
      id: string
    ) => Effect.Effect<RequestDetail, RequestNotFound | SqlError.SqlError>
  }
>()("sluice/platform/RequestLog") {
  static readonly layer: Layer.Layer<RequestLog, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const kept = yield* KeptTimes
      return RequestLog.of({ list: listing(sql, yield* PageCursors, kept), get: getting(sql, kept) })
    })
  )
}

interface Row extends Omit<RequestDetail, "at"> {
  readonly at: string | number
}

const requestOf = <A extends { readonly at: string | number }>(row: A): Omit<A, "at"> & { readonly at: number } => ({
  ...row,
  at: Number(row.at)
})

const listColumns = `id, at, mode, api_key_id as "keyId", method, path, route, status, code,
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
  const { key, method, mode, organizationId, path, requestId, status } = options
  // Not the range of time: that of a view ends now, and its place stays the same.
  return JSON.stringify(["requests", organizationId, mode, method, path, status, key, requestId])
}

const listing = (
  sql: SqlClient.SqlClient,
  cursors: PageCursors["Service"],
  { requestsMillis }: KeptTimesShape
): RequestLog["Service"]["list"] =>
  Effect.fnUntraced(function* (options) {
    const { cursor, key, limit, method, path, requestId, since, status, until } = options
    const name = listName(options)
    const place = yield* cursors.decode(name, cursor)
    const kept = (yield* Clock.currentTimeMillis) - requestsMillis
    const conditions = [
      ...ofOwner(sql, options),
      sql`at >= ${Math.max(kept, since ?? kept)}::int8`,
      ...(method === undefined ? [] : [sql`method = ${method}`]),
      ...(path === undefined ? [] : [ofPath(sql, path)]),
      ...(status === undefined ? [] : ofStatus(sql, status)),
      ...(key === undefined ? [] : [sql`api_key_id = ${key}`]),
      ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
      ...(until === undefined ? [] : [sql`at < ${until}::int8`]),
      ...(Option.isNone(place) ? [] : [sql`(at, id) < (${place.value.atMillis}::int8, ${place.value.id})`])
    ]
    const rows = yield* sql<Omit<Row, "answerBody" | "facts" | "requestBody">>`
      select ${sql.literal(listColumns)} from ${sql(requestsTable)} where ${sql.and(conditions)}
      order by at desc, id desc limit ${limit + 1}`.unprepared
    return pageOf(rows.map(requestOf), limit, ({ at, id }) => cursors.encode(name, { atMillis: at, id }))
  })

const getting = (sql: SqlClient.SqlClient, { requestsMillis }: KeptTimesShape): RequestLog["Service"]["get"] =>
  Effect.fnUntraced(function* (owner, id) {
    const at = timeOfRecord(id)
    const kept = (yield* Clock.currentTimeMillis) - requestsMillis
    if (at === undefined || at < kept) return yield* new RequestNotFound({ id })
    const conditions = [...ofOwner(sql, owner), sql`at = ${at}::int8`, sql`id = ${id}`]
    const [row] = yield* sql<Row>`
      select ${sql.literal(listColumns)}, request_body as "requestBody", answer_body as "answerBody", facts
      from ${sql(requestsTable)} where ${sql.and(conditions)}`
    if (row === undefined) return yield* new RequestNotFound({ id })
    return requestOf(row)
  })

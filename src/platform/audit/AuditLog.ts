/**
 * Keeps who did what to an organization (docs/platform.md, 2.11): its keys, sessions and operators, for 400 days. An act
 * that is done is kept a moment later, in a statement of its own: one that cannot be kept is counted and named in the
 * log, and stays done. Needs `SqlClient` and `PageCursors`.
 */
import { Clock, Context, Effect, Layer, Metric, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomText } from "../../common/identifiers.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../../http/PageCursors.ts"
import type { Principal } from "../model.ts"

export const auditTable = "audit_entries"

/** How long entries are kept. */
export const keptAuditMillis = 400 * 24 * 60 * 60 * 1000

/** How long an act waits for its entry. */
const recordTimeoutMillis = 2_000

export const createAuditTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table ${sql(auditTable)} (
      organization_id text collate "C" not null,
      at int8 not null,
      id text collate "C" not null,
      act text collate "C" not null,
      mode text,
      actor text not null,
      actor_id text,
      address text,
      object text,
      request_id text,
      primary key (organization_id, at, id)
    )`
  yield* sql`create index audit_entries_by_act on ${sql(auditTable)} (organization_id, act, at, id)`
  yield* sql`create index audit_entries_by_age on ${sql(auditTable)} (at)`
})

/** The one who acted. Operators act with one credential, and have no id. */
export const actorTypes = ["key", "session", "member", "operator"] as const

/** An act that was done. */
export interface Act {
  readonly organizationId: string
  readonly act: string
  /** Null for an act that belongs to neither mode. */
  readonly mode: "live" | "test" | null
  readonly actor: { readonly type: (typeof actorTypes)[number]; readonly id: string | null }
  /** The network address that the request came from. */
  readonly address: string | null
  /** The id of the thing that it was done to, or made. */
  readonly object: string | null
  readonly requestId: string | null
}

export interface AuditEntry extends Omit<Act, "organizationId"> {
  /** `aud_…` */
  readonly id: string
  /** Unix milliseconds. */
  readonly at: number
}

/** A page of entries to read. */
export interface AuditPageOptions {
  readonly organizationId: string
  /** Entries of this mode, and those of neither; undefined for all. */
  readonly mode: "live" | "test" | undefined
  readonly act?: string | undefined
  /** Unix milliseconds: inclusive. */
  readonly since?: number | undefined
  /** The same, exclusive. */
  readonly until?: number | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface AuditPage {
  readonly data: ReadonlyArray<AuditEntry>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Keeps an act. Never fails: what cannot be kept is counted. */
    readonly record: (act: Act) => Effect.Effect<void>
    /** Newest first. */
    readonly list: (options: AuditPageOptions) => Effect.Effect<AuditPage, InvalidCursor | SqlError.SqlError>
  }
>()("sluice/platform/AuditLog") {
  static readonly layer: Layer.Layer<AuditLog, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return AuditLog.of({ record: recording(sql), list: listing(sql, yield* PageCursors) })
    })
  )
}

/** The audit log that access writes to. Without one nothing is kept, as for an API of one's own. */
export const CurrentAuditLog = Context.Reference<Pick<AuditLog["Service"], "record"> | undefined>(
  "sluice/platform/CurrentAuditLog",
  { defaultValue: () => undefined }
)

/** Lets the access layers below write to the audit log. */
export const layerCurrentAuditLog: Layer.Layer<never, never, AuditLog> = Layer.effect(CurrentAuditLog, AuditLog)

const lost = Metric.counter("sluice_audit_lost_total", {
  description: "Acts that were done and could not be kept in the audit log",
  incremental: true
})

/** The actor of a request, by its principal. A session acts for its member, or for the key that opened it. */
export const actorOf = ({ keyId, session }: Principal): Act["actor"] =>
  session?.member === undefined
    ? { type: session === undefined ? "key" : "session", id: keyId }
    : { type: "member", id: session.member.id }

const recording =
  (sql: SqlClient.SqlClient): AuditLog["Service"]["record"] =>
  (act) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (at) =>
        sql`insert into ${sql(auditTable)} ${sql.insert({
          organization_id: act.organizationId,
          at,
          id: `aud_${randomText()}`,
          act: act.act,
          mode: act.mode,
          actor: act.actor.type,
          actor_id: act.actor.id,
          address: act.address,
          object: act.object,
          request_id: act.requestId
        })}`
    ).pipe(
      Effect.timeout(recordTimeoutMillis),
      Effect.catchCause((cause) =>
        Effect.andThen(
          Metric.update(lost, 1),
          Effect.annotateLogs(Effect.logError("An act could not be kept in the audit log", cause), {
            act: act.act,
            organization: act.organizationId,
            object: act.object,
            requestId: act.requestId
          })
        )
      ),
      Effect.asVoid
    )

interface Row extends Omit<AuditEntry, "actor"> {
  readonly actor: (typeof actorTypes)[number]
  readonly actorId: string | null
}

/** The signed name of the list: a cursor of one list is none of another. */
const listName = ({ act, mode, organizationId }: AuditPageOptions): string =>
  // Not the range of time: that of a view ends now, and its place stays the same.
  ["audit", organizationId, mode ?? "", act ?? ""].join(" ")

const listing = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): AuditLog["Service"]["list"] =>
  Effect.fnUntraced(function* (options) {
    const { act, cursor, limit, mode, organizationId, since, until } = options
    const name = listName(options)
    const place = yield* cursors.decode(name, cursor)
    const conditions = [
      sql`organization_id = ${organizationId}`,
      ...(mode === undefined ? [] : [sql`(mode = ${mode} or mode is null)`]),
      ...(act === undefined ? [] : [sql`act = ${act}`]),
      ...(since === undefined ? [] : [sql`at >= ${since}::int8`]),
      ...(until === undefined ? [] : [sql`at < ${until}::int8`]),
      ...(Option.isNone(place) ? [] : [sql`(at, id) < (${place.value.atMillis}::int8, ${place.value.id})`])
    ]
    const rows = yield* sql<Row>`
      select id, at, act, mode, actor, actor_id as "actorId", address, object, request_id as "requestId"
      from ${sql(auditTable)} where ${sql.and(conditions)} order by at desc, id desc limit ${limit + 1}`
    const entries = rows.map(
      ({ actor, actorId, at, ...row }): AuditEntry => ({ ...row, at: Number(at), actor: { type: actor, id: actorId } })
    )
    return pageOf(entries, limit, ({ at, id }) => cursors.encode(name, { atMillis: at, id }))
  })

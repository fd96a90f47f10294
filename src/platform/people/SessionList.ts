/**
 * Lists and ends sessions of the console (docs/platform.md, 12.5): those of an organization, or of one member or key.
 * Portals are not among them. Needs `SqlClient`, `Notifications`, `PageCursors` and `Authentication`.
 */
import { Clock, Context, Data, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type InvalidCursor, PageCursors, pageOf } from "../../http/PageCursors.ts"
import { ConsoleSessions } from "../ConsoleSessions.ts"
import { grants, type Principal, type Role } from "../model.ts"
import type { Page } from "../Organizations.ts"

/** A session of the console. Times are Unix milliseconds. */
export interface SessionShown {
  /** `ses_…` */
  readonly id: string
  /** The member who signed in; null where a key or an operator's link did. */
  readonly member: { readonly id: string; readonly email: string; readonly role: Role } | null
  /** The key that signed in; null for members and operators' links. */
  readonly keyId: string | null
  /** Null for a member's session, which has both modes. */
  readonly mode: "live" | "test" | null
  readonly createdAt: number
  /** To the minute; null before its first use is stored. */
  readonly lastUsedAt: number | null
  readonly expiresAt: number
  readonly address: string | null
  readonly browser: string | null
  /** Whether it is the one that asks. */
  readonly current: boolean
}

/** No session that the caller may end has this id. */
export class SessionNotFound extends Data.TaggedError("SessionNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `There is no session ${JSON.stringify(this.id)}, or not any more.`
  }
}

/** Whether a caller sees and ends the sessions of everybody in the organization. */
export const seesEverySession = ({ scopes }: Pick<Principal, "scopes">): boolean =>
  grants(scopes, "platform:people:manage")

export class SessionList extends Context.Service<
  SessionList,
  {
    /** The newest first: the caller's own ones, or all. */
    readonly list: (
      principal: Principal,
      page: { readonly limit: number; readonly cursor: string | undefined }
    ) => Effect.Effect<Page<SessionShown>, InvalidCursor | SqlError.SqlError>
    /** Ends a session, and returns it as it was. */
    readonly end: (principal: Principal, id: string) => Effect.Effect<SessionShown, SessionNotFound | SqlError.SqlError>
  }
>()("sluice/platform/SessionList") {
  static readonly layer: Layer.Layer<SessionList, never, SqlClient.SqlClient | PageCursors | ConsoleSessions> =
    Layer.effect(
      SessionList,
      Effect.suspend(() => make)
    )
}

interface Row {
  readonly id: string
  readonly parent_id: string | null
  readonly member_id: string | null
  readonly email: string | null
  readonly role: Role | null
  readonly mode: "live" | "test"
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly expires_at: Date
  readonly opened_from: string | null
  readonly browser: string | null
}

const fromRow = (row: Row, { session }: Principal): SessionShown => ({
  id: row.id,
  member:
    row.member_id === null || row.email === null || row.role === null
      ? null
      : { id: row.member_id, email: row.email, role: row.role },
  keyId: row.parent_id,
  mode: row.member_id === null ? row.mode : null,
  createdAt: row.created_at.getTime(),
  lastUsedAt: row.last_used_at?.getTime() ?? null,
  expiresAt: row.expires_at.getTime(),
  address: row.opened_from,
  browser: row.browser,
  current: session?.id === row.id
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* PageCursors
  const sessions = yield* ConsoleSessions

  /** The sessions that a caller sees. */
  const within = (principal: Principal, now: number) => {
    const { keyId, organizationId, session } = principal
    const own =
      session?.member === undefined
        ? sql`(k.parent_id = ${keyId} or k.id = ${keyId}) and k.member_id is null`
        : sql`k.member_id = ${session.member.id}`
    return sql`k.organization_id = ${organizationId} and k.is_session and k.portal_label is null and k.active
      and k.expires_at > ${new Date(now)} and (k.member_id is null or k.parent_id is null)
      and ${seesEverySession(principal) ? sql.literal("true") : own}`
  }

  return SessionList.of({
    list: Effect.fn("SessionList.list")(function* (principal, { cursor, limit }) {
      const all = seesEverySession(principal)
      const whose = all ? "" : (principal.session?.member?.id ?? principal.keyId)
      const name = `sessions ${principal.organizationId} ${whose}`
      const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
      const after =
        position === undefined
          ? sql.literal("true")
          : sql`(k.created_at, k.id) < (${new Date(position.atMillis)}, ${position.id})`
      const rows = yield* sql<Row>`
        select k.*, m.email, m.role from api_keys k left join members m on m.id = k.member_id
        where ${within(principal, yield* Clock.currentTimeMillis)} and ${after}
        order by k.created_at desc, k.id desc limit ${limit + 1}`
      return pageOf(
        rows.map((row) => fromRow(row, principal)),
        limit,
        (last) => cursors.encode(name, { atMillis: last.createdAt, id: last.id })
      )
    }),
    end: Effect.fn("SessionList.end")(function* (principal, id) {
      const [row] = yield* sql<Row>`
        select k.*, m.email, m.role from api_keys k left join members m on m.id = k.member_id
        where ${within(principal, yield* Clock.currentTimeMillis)} and k.id = ${id}`
      if (row === undefined) return yield* new SessionNotFound({ id })
      yield* sessions.close(id)
      return fromRow(row, principal)
    })
  })
})

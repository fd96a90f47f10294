/**
 * Stores API keys in PostgreSQL (docs/platform.md, 2.3): made at random, shown once, stored as SHA-256 only. A
 * revocation is announced to every node in its own transaction, so every node hears of it within a second. Needs
 * `SqlClient`, `Notifications` and `Organizations`.
 */
import { Clock, Context, Data, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest, randomText } from "../common/identifiers.ts"
import { type IdempotencyConflict, type IdempotentRequest, replayOf } from "../http/idempotency.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import { Notifications } from "../postgres/Notifications.ts"
import type { ApiKey, Principal, Role, Scope, Service } from "./model.ts"
import { type OrganizationNotFound, Organizations, type Page } from "./Organizations.ts"

/** Channel on which nodes hear that a key has changed; the payload is its digest. */
export const keysChannel = "sluice_keys"

/** Characters of a key that are stored to tell keys apart: `sk_live_` and four more. */
const shownPrefixLength = 12

/** No key has this id. */
export class ApiKeyNotFound extends Data.TaggedError("ApiKeyNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No API key has the id ${JSON.stringify(this.id)}.`
  }
}

export interface NewApiKey {
  readonly name: string | null
  readonly mode: "live" | "test"
  readonly services: ReadonlyArray<Service>
  readonly scopes: ReadonlyArray<Scope>
  readonly expiresAtMillis: number | null
  /** The key's own text, for a demo or a migration; default: random. */
  readonly value?: string | undefined
}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly name: string | null
  readonly prefix: string
  readonly digest: string
  readonly mode: "live" | "test"
  readonly services: ReadonlyArray<Service>
  readonly scopes: ReadonlyArray<Scope>
  readonly active: boolean
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
  readonly request_digest: string | null
  /** The key on whose behalf a session acts; null for a key, and for a session that a link has opened. */
  readonly parent_id: string | null
  readonly is_session: boolean
  /** Of a portal's session only. */
  readonly portal_label: string | null
  readonly portal_types: ReadonlyArray<string> | null
  /** Of a member's session only. */
  readonly member_id: string | null
  readonly is_proven: boolean
}

const fromRow = (row: Row): ApiKey => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  prefix: row.prefix,
  mode: row.mode,
  services: row.services,
  scopes: row.scopes,
  active: row.active,
  createdAt: row.created_at.getTime(),
  expiresAt: row.expires_at?.getTime() ?? null,
  lastUsedAt: row.last_used_at?.getTime() ?? null
})

/** A row, and what others say of it. */
interface FoundRow extends Row {
  readonly plan: Principal["plan"]
  readonly send_plan: Principal["sendPlan"]
  readonly parent_expires_at: Date | null
  readonly member_email: string | null
  readonly member_role: Role | null
}

const sessionOf = (row: FoundRow): NonNullable<Principal["session"]> => {
  const { id, member_email: email, member_id, member_role: role, parent_expires_at: parentEndsAt, parent_id } = row
  // Both modes of a member's session are one, and keys made in it outlive it.
  if (member_id !== null && email !== null && role !== null)
    return {
      id: parent_id ?? id,
      keyEndsAtMillis: null,
      member: { id: member_id, email, role, isProven: row.is_proven }
    }
  const { portal_label: label, portal_types: types } = row
  return {
    id,
    keyEndsAtMillis: parentEndsAt?.getTime() ?? null,
    ...(label === null ? {} : { portal: { label, types: types ?? [] } })
  }
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Creates a key. `key` is its text, which is never shown again; null when this repeats an earlier request. */
    readonly create: (
      organizationId: string,
      apiKey: NewApiKey,
      idempotent?: IdempotentRequest
    ) => Effect.Effect<
      { readonly apiKey: ApiKey; readonly key: string | null },
      OrganizationNotFound | IdempotencyConflict | SqlError.SqlError
    >
    /** Lists an organization's keys, newest first, revoked ones too. */
    readonly list: (options: {
      readonly organizationId: string
      /** Only keys of this mode; default: both modes. */
      readonly mode?: ApiKey["mode"]
      readonly limit: number
      readonly cursor: string | undefined
    }) => Effect.Effect<Page<ApiKey>, OrganizationNotFound | InvalidCursor | SqlError.SqlError>
    /** An organization's key of a mode. */
    readonly get: (
      organizationId: string,
      mode: ApiKey["mode"],
      id: string
    ) => Effect.Effect<ApiKey, ApiKeyNotFound | SqlError.SqlError>
    /**
     * Ends a key, and the sessions that act for it, at a time, unless they end earlier. Every node knows within a
     * second.
     */
    readonly endBy: (id: string, atMillis: number) => Effect.Effect<ApiKey, ApiKeyNotFound | SqlError.SqlError>
    /**
     * Ends a key and the sessions that act for it for good, on every node within a second. Revoking a revoked one
     * changes nothing.
     */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, ApiKeyNotFound | SqlError.SqlError>
    /** Removes all keys of an organization, on every node within a second. */
    readonly removeAll: (organizationId: string) => Effect.Effect<void, SqlError.SqlError>
    /** The principal of an active key with this digest, expired ones included; undefined if there is none. */
    readonly findByDigest: (digest: string) => Effect.Effect<Principal | undefined, SqlError.SqlError>
    /** Notes when keys were last used. An earlier time than the noted one changes nothing. */
    readonly touch: (
      uses: ReadonlyArray<{ readonly keyId: string; readonly atMillis: number }>
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("sluice/platform/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notifications = yield* Notifications
      const organizations = yield* Organizations
      const cursors = yield* PageCursors

      // A digest is far below the longest payload.
      const announce = (digest: string) =>
        notifications.notify(keysChannel, digest).pipe(Effect.catchTag("NotificationTooLong", Effect.die))

      const create: ApiKeys["Service"]["create"] = Effect.fn("ApiKeys.create")(function* (
        organizationId,
        apiKey,
        idempotent
      ) {
        yield* organizations.get(organizationId)
        const now = new Date(yield* Clock.currentTimeMillis)
        const key = apiKey.value ?? `sk_${apiKey.mode}_${randomText()}`
        const digest = keyDigest(key)
        const inserted = yield* sql<Row>`
            insert into api_keys (id, organization_id, name, prefix, digest, mode, services, scopes, created_at,
              expires_at, idempotency_key, request_digest)
            values (${`key_${randomText()}`}, ${organizationId}, ${apiKey.name}, ${key.slice(0, shownPrefixLength)},
              ${digest}, ${apiKey.mode}, ${[...apiKey.services]}, ${[...apiKey.scopes]}, ${now},
              ${apiKey.expiresAtMillis === null ? null : new Date(apiKey.expiresAtMillis)},
              ${idempotent?.key ?? null}, ${idempotent?.digest ?? null})
            on conflict (organization_id, idempotency_key) do nothing
            returning *`
        if (inserted[0] !== undefined) {
          // A node that looked this text up before remembers it as unknown.
          yield* announce(digest)
          return { apiKey: fromRow(inserted[0]), key }
        }
        const [earlier] = yield* sql<Row>`
            select * from api_keys
            where organization_id = ${organizationId} and idempotency_key = ${idempotent?.key ?? null}`
        return { apiKey: fromRow(yield* replayOf(idempotent, earlier, earlier?.request_digest)), key: null }
      }, sql.withTransaction)

      const page: ApiKeys["Service"]["list"] = Effect.fn("ApiKeys.list")(function* ({
        organizationId,
        mode,
        limit,
        cursor
      }) {
        yield* organizations.get(organizationId)
        const name = `keys ${organizationId}${mode === undefined ? "" : ` ${mode}`}`
        const ofMode = mode === undefined ? sql.literal("true") : sql`mode = ${mode}`
        const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
        const rows = yield* position === undefined
          ? sql<Row>`
                select * from api_keys where organization_id = ${organizationId} and not is_session and ${ofMode}
                order by created_at desc, id desc limit ${limit + 1}`
          : sql<Row>`
                select * from api_keys
                where organization_id = ${organizationId} and not is_session and ${ofMode}
                  and (created_at, id) < (${new Date(position.atMillis)}, ${position.id})
                order by created_at desc, id desc limit ${limit + 1}`
        return pageOf(rows.map(fromRow), limit, (last) =>
          cursors.encode(name, { atMillis: last.createdAt, id: last.id })
        )
      })

      const findByDigest: ApiKeys["Service"]["findByDigest"] = Effect.fn("ApiKeys.findByDigest")(function* (digest) {
        const rows = yield* sql<FoundRow>`
          select k.*, o.plan, o.send_plan, p.expires_at as parent_expires_at,
            m.email as member_email, m.role as member_role
          from api_keys k join organizations o on o.id = k.organization_id left join api_keys p on p.id = k.parent_id
            left join members m on m.id = k.member_id
          where k.digest = ${digest} and k.active and o.deleted_at is null`
        const row = rows[0]
        if (row === undefined) return undefined
        return {
          // A session shares the limits of the key for which it acts; a portal's acts for nobody.
          keyId: row.portal_label === null ? (row.parent_id ?? row.id) : row.id,
          organizationId: row.organization_id,
          mode: row.mode,
          plan: row.plan,
          sendPlan: row.send_plan,
          services: new Set(row.services),
          scopes: new Set(row.scopes),
          expiresAtMillis: row.expires_at?.getTime() ?? null,
          ...(row.is_session ? { session: sessionOf(row) } : {})
        }
      })

      return ApiKeys.of({ create, list: page, ...own(sql, announce), findByDigest, touch: makeTouch(sql) })
    })
  )
}

const makeTouch = (sql: SqlClient.SqlClient): ApiKeys["Service"]["touch"] =>
  Effect.fn("ApiKeys.touch")((uses) =>
    uses.length === 0
      ? Effect.void
      : Effect.asVoid(sql`
        update api_keys k set last_used_at = greatest(k.last_used_at, used.at)
        from unnest(${uses.map((use) => use.keyId)}::text[],
          ${uses.map((use) => new Date(use.atMillis))}::timestamptz[]) as used (id, at)
        where k.id = used.id`)
  )

/** Changes one key of an organization. */
const own = (
  sql: SqlClient.SqlClient,
  announce: (digest: string) => Effect.Effect<void, SqlError.SqlError>
): Pick<ApiKeys["Service"], "get" | "endBy" | "revoke" | "removeAll"> => {
  const get: ApiKeys["Service"]["get"] = Effect.fn("ApiKeys.get")(function* (organizationId, mode, id) {
    const [row] = yield* sql<Row>`
      select * from api_keys
      where id = ${id} and organization_id = ${organizationId} and mode = ${mode} and not is_session`
    return row === undefined ? yield* new ApiKeyNotFound({ id }) : fromRow(row)
  })

  /** Announces a key and the sessions that act for it, which end with it. */
  const changed = Effect.fnUntraced(function* (id: string, rows: ReadonlyArray<Row>) {
    const row = rows.find((one) => one.id === id)
    if (row === undefined) return yield* new ApiKeyNotFound({ id })
    yield* Effect.forEach(rows, ({ digest }) => announce(digest), { discard: true })
    return fromRow(row)
  })

  const endBy: ApiKeys["Service"]["endBy"] = Effect.fn("ApiKeys.endBy")(function* (id, atMillis) {
    const rows = yield* sql<Row>`
      update api_keys set expires_at = least(expires_at, ${new Date(atMillis)})
      where id = ${id} or parent_id = ${id} returning *`
    return yield* changed(id, rows)
  }, sql.withTransaction)

  const revoke: ApiKeys["Service"]["revoke"] = Effect.fn("ApiKeys.revoke")(function* (id) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const rows = yield* sql<Row>`
      update api_keys set active = false, revoked_at = coalesce(revoked_at, ${now})
      where id = ${id} or parent_id = ${id} returning *`
    return yield* changed(id, rows)
  }, sql.withTransaction)

  const removeAll: ApiKeys["Service"]["removeAll"] = Effect.fn("ApiKeys.removeAll")(function* (organizationId) {
    const gone = yield* sql<{ readonly digest: string }>`
      delete from api_keys where organization_id = ${organizationId} returning digest`
    yield* Effect.forEach(gone, ({ digest }) => announce(digest), { discard: true })
  }, sql.withTransaction)

  return { get, endBy, revoke, removeAll }
}

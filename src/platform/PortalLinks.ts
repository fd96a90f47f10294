/**
 * Stores the links of portals (docs/platform.md, 6.14), as digests only. A link opens one session of the console, which
 * sees the webhook endpoints of one label. It ends with the key that made it. `ConsoleSessions` opens it. Needs
 * `SqlClient`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest } from "../common/identifiers.ts"
import type { Portal, Principal, Scope } from "./model.ts"

/** The life of a link, at most. */
export const portalLinkMillis = 60 * 60_000

/** The life of a portal, from its link on: by default, and at most. */
export const defaultPortalMillis = 8 * 60 * 60_000
export const maximumPortalMillis = 24 * 60 * 60_000

/** Unused links of an organization, and open portals. The oldest is removed for a new one. */
export const maximumPortalLinks = 1_000
export const maximumPortals = 1_000

/** The scopes of a portal's session, within its label. */
export const portalScopes: ReadonlyArray<Scope> = ["platform:webhooks:read", "platform:webhooks:manage"]

export const portalLinkPrefix = "pl_"

/** The prefix, and 128 bits in hexadecimal. */
const linkPattern = /^pl_[0-9a-f]{32}$/

/** A link that was made. Times are milliseconds since the Unix epoch. */
export interface PortalLink extends Portal {
  /** Until then it opens a session. */
  readonly linkExpiresAt: number
  /** The end of the session. */
  readonly expiresAt: number
}

/** A session that a link opens. */
export interface OpenedPortal {
  readonly organizationId: string
  readonly parentId: string
  readonly mode: Principal["mode"]
  readonly portal: Portal
  readonly endsAtMillis: number
}

export class PortalLinks extends Context.Service<
  PortalLinks,
  {
    /**
     * Stores a link whose text the caller has made; the same text again is the same link. It ends with the caller's
     * key. Joins the caller's transaction.
     */
    readonly create: (
      principal: Principal,
      text: string,
      portal: Portal,
      expiresAtMillis: number
    ) => Effect.Effect<PortalLink, SqlError.SqlError>
  }
>()("sluice/platform/PortalLinks") {
  static readonly layer: Layer.Layer<PortalLinks, never, SqlClient.SqlClient> = Layer.effect(
    PortalLinks,
    Effect.map(SqlClient.SqlClient, (sql) =>
      PortalLinks.of({ create: Effect.fn("PortalLinks.create")(makeCreate(sql), sql.withTransaction) })
    )
  )
}

const makeCreate = (sql: SqlClient.SqlClient) =>
  function* ({ keyId, mode, organizationId }: Principal, text: string, portal: Portal, expiresAtMillis: number) {
    const { label, types } = portal
    const now = yield* Clock.currentTimeMillis
    yield* sql`
      delete from portal_links where organization_id = ${organizationId} and (expires_at <= ${new Date(now)}
        or digest not in (select digest from portal_links where organization_id = ${organizationId}
          order by created_at desc, digest limit ${maximumPortalLinks - 1}))`
    const linkExpiresAt = Math.min(now + portalLinkMillis, expiresAtMillis)
    const [row] = yield* sql<{ readonly expires_at: Date; readonly session_ends_at: Date }>`
      insert into portal_links as l (digest, organization_id, parent_id, mode, label, types, created_at, expires_at,
        session_ends_at)
      values (${keyDigest(text)}, ${organizationId}, ${keyId}, ${mode}, ${label}, ${[...types]}, ${new Date(now)},
        ${new Date(linkExpiresAt)}, ${new Date(expiresAtMillis)})
      on conflict (digest) do update set digest = l.digest
      returning expires_at, session_ends_at`
    return { ...portal, linkExpiresAt: row!.expires_at.getTime(), expiresAt: row!.session_ends_at.getTime() }
  }

/** Uses a link, which then opens no other session; undefined for one that is not good, or whose key has ended. */
export const takePortalLink = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, link: string, now: number) {
  if (!linkPattern.test(link)) return undefined
  const [row] = yield* sql<{
    readonly organization_id: string
    readonly parent_id: string
    readonly mode: Principal["mode"]
    readonly label: string
    readonly types: ReadonlyArray<string>
    readonly ends_at: Date
  }>`
    delete from portal_links l using organizations o, api_keys k
    where l.digest = ${keyDigest(link)} and l.expires_at > ${new Date(now)}
      and o.id = l.organization_id and o.deleted_at is null
      and k.id = l.parent_id and k.active and (k.expires_at is null or k.expires_at > ${new Date(now)})
    returning l.organization_id, l.parent_id, l.mode, l.label, l.types,
      least(l.session_ends_at, k.expires_at) as ends_at`
  if (row === undefined) return undefined
  const { label, mode, organization_id: organizationId, parent_id: parentId, types } = row
  return { organizationId, parentId, mode, portal: { label, types }, endsAtMillis: row.ends_at.getTime() }
})

/**
 * Finds what a mailed link, or another organization of the same address, opens for a member (docs/platform.md, 2.13).
 * `ConsoleSessions` opens the sessions. Needs `SqlClient`.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { keyDigest } from "../../common/identifiers.ts"
import type { Role } from "../model.ts"
import { memberLinkPrefix } from "./Members.ts"
import { memberLinksTable } from "./memberTables.ts"
import { isGoodLink, type LinkKind } from "./rules.ts"

const linkPattern = new RegExp(`^${memberLinkPrefix}[A-Za-z0-9]{22}$`)

/** Organizations that one address is shown, at most. */
export const maximumOrganizations = 100

/** A member for whom a session can be opened. */
export interface OpeningMember {
  readonly id: string
  readonly organizationId: string
  readonly organizationName: string
  readonly email: string
  readonly role: Role
}

interface MemberRow {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly email: string
  readonly role: Role
}

const fromRow = ({ email, id, name, organization_id: organizationId, role }: MemberRow): OpeningMember => ({
  id,
  organizationId,
  organizationName: name,
  email,
  role
})

/** The memberships of an address that were accepted, in the order in which they were. */
export const membershipsOf = (sql: SqlClient.SqlClient, email: string) =>
  Effect.map(
    sql<MemberRow>`
      select m.id, m.organization_id, o.name, m.email, m.role
      from members m join organizations o on o.id = m.organization_id
      where m.email = ${email} and m.joined_at is not null and o.deleted_at is null
      order by m.joined_at, m.id limit ${maximumOrganizations}`,
    (rows) => rows.map(fromRow)
  )

interface LinkRow {
  readonly kind: LinkKind
  readonly member_id: string | null
  readonly email: string
  readonly is_shown: boolean
  readonly expires_at: string
  readonly ended_at: string | null
}

/**
 * Uses a link, which then opens nothing more: an invitation makes its member join, a sign-in opens the first
 * organization of its address. Undefined for a link that is not good. Part of the caller's transaction.
 */
export const takeMemberLink = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, text: string) {
  if (!linkPattern.test(text)) return undefined
  const now = yield* Clock.currentTimeMillis
  // Two requests with one link wait for each other here, and the second one sees it used.
  const [link] = yield* sql<LinkRow>`
    select * from ${sql(memberLinksTable)} where digest = ${keyDigest(text)} for update`
  if (link === undefined) return undefined
  const times = { expiresAt: Number(link.expires_at), endedAt: link.ended_at === null ? null : Number(link.ended_at) }
  if (!isGoodLink(times, now)) return undefined
  yield* sql`update ${sql(memberLinksTable)} set ended_at = ${now} where digest = ${keyDigest(text)}`
  const isProven = !link.is_shown
  if (link.kind === "sign_in") {
    const [member] = yield* membershipsOf(sql, link.email)
    return member === undefined ? undefined : { member, isProven, isNew: false }
  }
  const [row] = yield* sql<MemberRow>`
    update members m set joined_at = ${now} from organizations o
    where m.id = ${link.member_id} and m.joined_at is null and o.id = m.organization_id and o.deleted_at is null
    returning m.id, m.organization_id, o.name, m.email, m.role`
  return row === undefined ? undefined : { member: fromRow(row), isProven, isNew: true }
})

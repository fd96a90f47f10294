/**
 * Stores the members of organizations and the links that open the console for them (docs/platform.md, 2.13). Acts on
 * the members of one organization wait for each other, so that two owners cannot remove each other. A link's text is
 * stored as a digest only. Needs `SqlClient`, `Notifications` and `Organizations`; mails by `MemberMail`.
 */
import { Clock, Context, Data, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest, randomText } from "../../common/identifiers.ts"
import { Notifications } from "../../postgres/Notifications.ts"
import { keysChannel } from "../ApiKeys.ts"
import type { Role } from "../model.ts"
import { OrganizationNotFound, Organizations } from "../Organizations.ts"
import { ConsoleAddress, MemberMail } from "./MemberMail.ts"
import { invitationMail } from "./memberMails.ts"
import { memberLinksTable } from "./memberTables.ts"
import {
  addressLimits,
  type Delivery,
  type LinkKind,
  linkLifeMillis,
  linkWaitMillis,
  type MemberAct,
  organizationLimits,
  refusalOf,
  rightsOf
} from "./rules.ts"

/** The prefix of a mailed link. */
export const memberLinkPrefix = "ml_"

/** A member of an organization, or somebody who is invited. */
export interface Member {
  /** `mem_…` */
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly state: "invited" | "active"
  /** Unix milliseconds. */
  readonly invitedAt: number
  readonly joinedAt: number | null
}

/** An invitation. Where it was not mailed, `link` opens the console once: it is shown this one time. */
export interface Invited {
  readonly member: Member
  readonly delivery: Delivery
  readonly link: string | null
}

/** No member of the organization has this id. */
export class MemberNotFound extends Data.TaggedError("MemberNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No member has the id ${JSON.stringify(this.id)}.`
  }
}

/** The act does not fit the members of the organization. */
export class MemberConflict extends Data.TaggedError("MemberConflict")<{
  readonly reason: "AlreadyMember" | "AlreadyJoined" | "TooManyMembers" | "LastOwner"
}> {
  override get message(): string {
    return conflictWords[this.reason]
  }
}

const conflictWords = {
  AlreadyMember: "This address is a member already, or is invited. Change the role, or send the invitation again.",
  AlreadyJoined: "This member has accepted the invitation already.",
  TooManyMembers: "The organization has 200 members already. Remove one first.",
  LastOwner: "This is the last owner. Make somebody else an owner first."
} as const

/** So many links were made that the next one must wait. */
export class TooManyLinks extends Data.TaggedError("TooManyLinks")<{ readonly waitMillis: number }> {}

type SomeSqlError = SqlError.SqlError

export class Members extends Context.Service<
  Members,
  {
    /** The oldest first. */
    readonly list: (organizationId: string) => Effect.Effect<ReadonlyArray<Member>, OrganizationNotFound | SomeSqlError>
    readonly get: (organizationId: string, id: string) => Effect.Effect<Member, MemberNotFound | SomeSqlError>
    /** The organization of a member. */
    readonly organizationOf: (id: string) => Effect.Effect<string, MemberNotFound | SomeSqlError>
    readonly invite: (
      organizationId: string,
      email: string,
      role: Role
    ) => Effect.Effect<Invited, OrganizationNotFound | MemberConflict | TooManyLinks | SomeSqlError>
    /** Makes another link, and ends the one before. */
    readonly resend: (
      organizationId: string,
      id: string
    ) => Effect.Effect<Invited, OrganizationNotFound | MemberNotFound | MemberConflict | TooManyLinks | SomeSqlError>
    /** Changes a role. `changed` are the digests of the sessions whose rights have changed. */
    readonly setRole: (
      organizationId: string,
      id: string,
      role: Role
    ) => Effect.Effect<
      { readonly member: Member; readonly changed: ReadonlyArray<string> },
      OrganizationNotFound | MemberNotFound | MemberConflict | SomeSqlError
    >
    /** Removes a member, or revokes an invitation. `ended` are the digests of the sessions that are over. */
    readonly remove: (
      organizationId: string,
      id: string
    ) => Effect.Effect<
      { readonly member: Member; readonly ended: ReadonlyArray<string> },
      OrganizationNotFound | MemberNotFound | MemberConflict | SomeSqlError
    >
  }
>()("sluice/platform/Members") {
  static readonly layer: Layer.Layer<Members, never, SqlClient.SqlClient | Notifications | Organizations> =
    Layer.effect(
      Members,
      Effect.suspend(() => make)
    )
}

interface Row {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly invited_at: string
  readonly joined_at: string | null
}

const fromRow = ({ email, id, invited_at, joined_at, role }: Row): Member => ({
  id,
  email,
  role,
  state: joined_at === null ? "invited" : "active",
  invitedAt: Number(invited_at),
  joinedAt: joined_at === null ? null : Number(joined_at)
})

/** Stores a link, unless too many were made, and returns its text. Part of the caller's transaction. */
export const makeLink = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  kind: LinkKind,
  { email, id }: Pick<Member, "email" | "id">,
  organizationId: string
) {
  const now = yield* Clock.currentTimeMillis
  // Two requests for one address wait for each other, or both would count the same links.
  yield* sql`select pg_advisory_xact_lock(${linksLock}, hashtext(${email}))`
  const madeAt = (rows: ReadonlyArray<{ readonly at: string }>) => rows.map(({ at }) => Number(at))
  const since = now - 24 * 60 * 60_000
  const ofAddress = madeAt(
    yield* sql<{ readonly at: string }>`
      select made_at as at from ${sql(memberLinksTable)}
      where email = ${email} and kind = ${kind} and made_at > ${since} order by made_at desc limit 100`
  )
  const ofOrganization =
    kind === "sign_in"
      ? []
      : madeAt(
          yield* sql<{ readonly at: string }>`
            select made_at as at from ${sql(memberLinksTable)}
            where organization_id = ${organizationId} and kind = ${kind} and made_at > ${since}
            order by made_at desc limit 200`
        )
  const waitMillis = Math.max(
    linkWaitMillis(addressLimits[kind], ofAddress, now),
    linkWaitMillis(organizationLimits, ofOrganization, now)
  )
  if (waitMillis > 0) return yield* new TooManyLinks({ waitMillis })
  const text = `${memberLinkPrefix}${randomText()}`
  yield* sql`
    insert into ${sql(memberLinksTable)} (digest, kind, organization_id, member_id, email, made_at, expires_at)
    values (${keyDigest(text)}, ${kind}, ${organizationId}, ${id}, ${email}, ${now}, ${now + linkLifeMillis[kind]})`
  return text
})

/** Names the advisory locks of addresses among all locks of the database. */
const linksLock = 7_305_554

/** Reads the members of an organization under its lock, and fails where an act is refused. */
const makeDecide = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (organizationId: string, act: MemberAct) {
    const [organization] = yield* sql<{ readonly name: string }>`
      select name from organizations where id = ${organizationId} and deleted_at is null for no key update`
    if (organization === undefined) return yield* new OrganizationNotFound({ id: organizationId })
    const rows = yield* sql<Row>`select * from members where organization_id = ${organizationId}`
    const members = rows.map((row) => ({ ...fromRow(row), isJoined: row.joined_at !== null }))
    const reason = refusalOf(members, act)
    if (reason === "NoSuchMember") return yield* new MemberNotFound({ id: "id" in act ? act.id : "" })
    if (reason !== undefined) return yield* new MemberConflict({ reason })
    return { name: organization.name }
  })

/** Invites people, and sends invitations again. */
const makeInvitations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const mail = yield* MemberMail
  const address = yield* ConsoleAddress
  const decide = makeDecide(sql)

  /** Mails a stored link; where that cannot be, the link itself is the answer, and proves no address any more. */
  const delivered = Effect.fnUntraced(function* (organizationId: string, name: string, member: Member, text: string) {
    const link = `${address()}/console#link=${text}`
    const shown = (delivery: Invited["delivery"]) =>
      Effect.as(sql`update ${sql(memberLinksTable)} set is_shown = true where digest = ${keyDigest(text)}`, {
        member,
        delivery,
        link
      })
    if (!mail.isPossible) return yield* shown("no_relay")
    return yield* mail
      .send({
        id: `inv_${randomText()}`,
        organization: organizationId,
        to: member.email,
        ...invitationMail(name, member.role, link)
      })
      .pipe(
        Effect.as<Invited>({ member, delivery: "mailed", link: null }),
        Effect.catchTag("MemberMailFailed", (error) =>
          Effect.andThen(Effect.logWarning("An invitation could not be mailed", error), shown("failed"))
        )
      )
  })

  const invite: Members["Service"]["invite"] = Effect.fn("Members.invite")(function* (organizationId, email, role) {
    const { member, name, text } = yield* sql.withTransaction(
      Effect.gen(function* () {
        // An invitation has no id yet.
        const { name } = yield* Effect.catchTag(
          decide(organizationId, { _tag: "Invite", email, role }),
          "MemberNotFound",
          Effect.die
        )
        const [row] = yield* sql<Row>`
          insert into members (id, organization_id, email, role, invited_at)
          values (${`mem_${randomText()}`}, ${organizationId}, ${email}, ${role}, ${yield* Clock.currentTimeMillis})
          returning *`
        const member = fromRow(row!)
        return { member, name, text: yield* makeLink(sql, "invitation", member, organizationId) }
      })
    )
    return yield* delivered(organizationId, name, member, text)
  })

  const resend: Members["Service"]["resend"] = Effect.fn("Members.resend")(function* (organizationId, id) {
    const { member, name, text } = yield* sql.withTransaction(
      Effect.gen(function* () {
        const { name } = yield* decide(organizationId, { _tag: "Resend", id })
        const now = yield* Clock.currentTimeMillis
        yield* sql`
          update ${sql(memberLinksTable)} set ended_at = ${now} where member_id = ${id} and ended_at is null`
        const [row] = yield* sql<Row>`update members set invited_at = ${now} where id = ${id} returning *`
        const member = fromRow(row!)
        return { member, name, text: yield* makeLink(sql, "invitation", member, organizationId) }
      })
    )
    return yield* delivered(organizationId, name, member, text)
  })

  return { invite, resend }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notifications = yield* Notifications
  const organizations = yield* Organizations
  const decide = makeDecide(sql)
  // A digest is far below the longest payload.
  const announce = (digest: string) =>
    notifications.notify(keysChannel, digest).pipe(Effect.catchTag("NotificationTooLong", Effect.die))

  const announced = Effect.fnUntraced(function* (sessions: ReadonlyArray<{ readonly digest: string }>) {
    yield* Effect.forEach(sessions, ({ digest }) => announce(digest), { discard: true })
    return sessions.map(({ digest }) => digest)
  })

  return Members.of({
    ...(yield* makeInvitations),
    list: Effect.fn("Members.list")(function* (organizationId) {
      yield* organizations.get(organizationId)
      const rows = yield* sql<Row>`
        select * from members where organization_id = ${organizationId} order by invited_at, id`
      return rows.map(fromRow)
    }),
    get: Effect.fn("Members.get")(function* (organizationId, id) {
      const [row] = yield* sql<Row>`select * from members where id = ${id} and organization_id = ${organizationId}`
      return row === undefined ? yield* new MemberNotFound({ id }) : fromRow(row)
    }),
    organizationOf: Effect.fn("Members.organizationOf")(function* (id) {
      const [row] = yield* sql<{ readonly organization_id: string }>`
        select organization_id from members where id = ${id}`
      return row === undefined ? yield* new MemberNotFound({ id }) : row.organization_id
    }),
    setRole: Effect.fn("Members.setRole")(function* (organizationId, id, role) {
      yield* decide(organizationId, { _tag: "SetRole", id, role })
      const [row] = yield* sql<Row>`update members set role = ${role} where id = ${id} returning *`
      const { scopes, services } = rightsOf[role]
      const changed = yield* sql<{ readonly digest: string }>`
        update api_keys set services = ${[...services]}, scopes = ${[...scopes]} where member_id = ${id}
        returning digest`
      return { member: fromRow(row!), changed: yield* announced(changed) }
    }, sql.withTransaction),
    remove: Effect.fn("Members.remove")(function* (organizationId, id) {
      yield* decide(organizationId, { _tag: "Remove", id })
      // With the portals that were opened from its sessions.
      const ended = yield* sql<{ readonly digest: string }>`
        delete from api_keys where is_session and (member_id = ${id}
          or parent_id in (select id from api_keys where member_id = ${id})) returning digest`
      const [row] = yield* sql<Row>`delete from members where id = ${id} returning *`
      return { member: fromRow(row!), ended: yield* announced(ended) }
    }, sql.withTransaction)
  })
})

/**
 * Opens and ends sessions of the console (docs/platform.md, 12.1). A session is a short-lived key of its own with
 * exactly the rights of the key that signed in, and ends with it; its text is in a cookie and, as a digest, in the
 * table of keys. A link opens one session once; the link of a portal opens one that sees the webhook endpoints of one
 * label, the link of a member one with the rights of its role, in both modes. Needs `SqlClient`, `Notifications`,
 * `Authentication` and `Organizations`.
 */
import { Clock, Context, Data, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest, randomText } from "../common/identifiers.ts"
import { Notifications } from "../postgres/Notifications.ts"
import { keysChannel } from "./ApiKeys.ts"
import { Authentication, type KeyUncheckable } from "./Authentication.ts"
import { livePrefix, sessionPrefix, testPrefix } from "./consoleCookie.ts"
import type { Portal, Principal, Rights, Scope, Service } from "./model.ts"
import { type OrganizationNotFound, Organizations } from "./Organizations.ts"
import { maximumPortalMillis, maximumPortals, portalLinkPrefix, portalScopes, takePortalLink } from "./PortalLinks.ts"
import { memberLinkPrefix } from "./people/Members.ts"
import { membershipsOf, type OpeningMember, takeMemberLink } from "./people/memberSessions.ts"
import { rightsOf } from "./people/rules.ts"

/** The life of a session. */
export const sessionMillis = 8 * 60 * 60_000

/** The life of a link, by default and at most, in seconds. */
export const defaultLinkSeconds = 600
export const maximumLinkSeconds = 86_400

/** Sessions of an organization, and its unused links. The oldest is removed for a new one. */
export const maximumSessions = 100
export const maximumLinks = 100

/** Sessions of one member. The oldest is removed for a new one. */
export const maximumMemberSessions = 10

/** Concurrent look-ups of links, and look-ups that may wait: they need no authentication. */
const maximumLookups = 4
const maximumWaiting = 64
const lookupTimeoutMillis = 5_000

const linkPrefix = "cl_"
const linkPattern = /^cl_[A-Za-z0-9]{22}$/

/** The key, or the link, opens no session. */
export class SignInRefused extends Data.TaggedError("SignInRefused")<{ readonly message: string }> {}

/** The key or link cannot be checked now. */
export class SignInUnavailable extends Data.TaggedError("SignInUnavailable") {}

/** The rights of a link's session. */
export interface LinkRights extends Rights {
  readonly mode: "live" | "test"
}

/** Where a session is opened from, for the list of sessions. */
export interface SessionOrigin {
  /** The network address. */
  readonly address: string | null
  /** In words. */
  readonly browser: string | null
}

const unknownOrigin: SessionOrigin = { address: null, browser: null }

/** An opened session. */
export interface OpenedSession {
  /** Its text, for the cookie only. */
  readonly text: string
  readonly organizationId: string
  readonly expiresAtMillis: number
  /** Only for a member. */
  readonly member?: {
    readonly id: string
    /** Whether the member has joined with it. */
    readonly isNew: boolean
  }
}

type SignInError = SignInRefused | SignInUnavailable | SqlError.SqlError

export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    readonly openWithKey: (key: string, from?: SessionOrigin) => Effect.Effect<OpenedSession, SignInError>
    /** Uses the link, of the console, a portal or a member, which then opens no other session. */
    readonly openWithLink: (link: string, from?: SessionOrigin) => Effect.Effect<OpenedSession, SignInError>
    /**
     * Ends a member's session and opens one in another organization of the same address. Refused where the address is
     * no member, and for a session that does not prove its address.
     */
    readonly openInOrganization: (
      principal: Principal,
      organizationId: string,
      from?: SessionOrigin
    ) => Effect.Effect<OpenedSession, SignInRefused | SqlError.SqlError>
    /** Ends a session: here before it returns, on every other node within a second. */
    readonly close: (sessionId: string) => Effect.Effect<void, SqlError.SqlError>
  }
>()("sluice/platform/ConsoleSessions") {
  static readonly layer: Layer.Layer<ConsoleSessions, never, SqlClient.SqlClient | Notifications | Authentication> =
    Layer.effect(
      ConsoleSessions,
      Effect.suspend(() => make)
    )
}

/** Makes links, for operators (docs/platform.md, 12.1). */
export class ConsoleLinks extends Context.Service<
  ConsoleLinks,
  {
    /** `link` is its text, which is shown once. */
    readonly create: (
      organizationId: string,
      rights: LinkRights,
      lifeSeconds?: number
    ) => Effect.Effect<
      { readonly link: string; readonly expiresAtMillis: number },
      OrganizationNotFound | SqlError.SqlError
    >
  }
>()("sluice/platform/ConsoleLinks") {
  static readonly layer: Layer.Layer<ConsoleLinks, never, SqlClient.SqlClient | Organizations> = Layer.effect(
    ConsoleLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organizations = yield* Organizations
      return ConsoleLinks.of({
        create: Effect.fn("ConsoleLinks.create")(function* (organizationId, rights, lifeSeconds = defaultLinkSeconds) {
          yield* organizations.get(organizationId)
          const now = yield* Clock.currentTimeMillis
          const link = `${linkPrefix}${randomText()}`
          const expiresAtMillis = now + lifeSeconds * 1_000
          yield* sql`
            delete from console_links where organization_id = ${organizationId} and (expires_at <= ${new Date(now)}
              or digest not in (select digest from console_links where organization_id = ${organizationId}
                order by created_at desc limit ${maximumLinks - 1}))`
          yield* sql`
            insert into console_links (digest, organization_id, mode, services, scopes, created_at, expires_at)
            values (${keyDigest(link)}, ${organizationId}, ${rights.mode}, ${[...rights.services]},
              ${[...rights.scopes]}, ${new Date(now)}, ${new Date(expiresAtMillis)})`
          return { link, expiresAtMillis }
        }, sql.withTransaction)
      })
    })
  )
}

/** The content of a new session. */
interface NewSession extends LinkRights {
  readonly organizationId: string
  readonly parentId: string | null
  readonly name: string
  readonly endsAtMillis: number | null
  readonly portal?: Portal
  readonly from: SessionOrigin
}

interface LinkRow {
  readonly organization_id: string
  readonly mode: LinkRights["mode"]
  readonly services: ReadonlyArray<Service>
  readonly scopes: ReadonlyArray<Scope>
}

type Announce = (digest: string) => Effect.Effect<void, SqlError.SqlError>

/** Removes sessions, and the portals that were opened from them, and returns their digests. */
const removeSessions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  announce: Announce,
  ids: ReadonlyArray<string>
) {
  const gone = yield* sql<{ readonly digest: string }>`
    delete from api_keys where is_session and (id = any(${[...ids]}::text[]) or parent_id = any(${[...ids]}::text[]))
    returning digest`
  yield* Effect.forEach(gone, ({ digest }) => announce(digest), { discard: true })
  return gone.map(({ digest }) => digest)
})

const makeOpen = (sql: SqlClient.SqlClient, announce: Announce) =>
  Effect.fnUntraced(function* (session: NewSession, now: number) {
    const { endsAtMillis, from, mode, name, organizationId, parentId, portal, scopes, services } = session
    const [longestMillis, most] =
      portal === undefined ? [sessionMillis, maximumSessions] : [maximumPortalMillis, maximumPortals]
    const text = `${sessionPrefix}${mode}_${randomText()}`
    const expiresAtMillis = Math.min(now + longestMillis, endsAtMillis ?? Number.POSITIVE_INFINITY)
    // Portals and members take no places of the organization's own sessions.
    const ofKind = sql`organization_id = ${organizationId} and is_session and member_id is null
      and (portal_label is null) = ${portal === undefined}`
    // Expired sessions, and the oldest beyond the bound.
    const gone = yield* sql<{ readonly id: string }>`
      select id from api_keys where ${ofKind} and (expires_at <= ${new Date(now)} or not active or id not in (
        select id from api_keys where ${ofKind} order by created_at desc, id limit ${most - 1}))`
    if (gone.length > 0)
      yield* removeSessions(
        sql,
        announce,
        gone.map(({ id }) => id)
      )
    yield* sql`
      insert into api_keys (id, organization_id, name, prefix, digest, mode, services, scopes, created_at, expires_at,
        is_session, parent_id, portal_label, portal_types, opened_from, browser)
      values (${`ses_${randomText()}`}, ${organizationId}, ${name}, ${text.slice(0, 12)}, ${keyDigest(text)}, ${mode},
        ${[...services]}, ${[...scopes]}, ${new Date(now)}, ${new Date(expiresAtMillis)}, true, ${parentId},
        ${portal?.label ?? null}, ${portal === undefined ? null : [...portal.types]}, ${from.address}, ${from.browser})`
    return { text, organizationId, expiresAtMillis }
  })

/** Opens the session of a member: one row for each mode, whose texts differ in their prefix alone. */
const makeOpenMember = (sql: SqlClient.SqlClient, announce: Announce) =>
  Effect.fnUntraced(function* (member: OpeningMember, isProven: boolean, from: SessionOrigin) {
    const now = yield* Clock.currentTimeMillis
    const ofMember = sql`member_id = ${member.id} and parent_id is null`
    const gone = yield* sql<{ readonly id: string }>`
      select id from api_keys where ${ofMember} and (expires_at <= ${new Date(now)} or id not in (
        select id from api_keys where ${ofMember} order by created_at desc, id limit ${maximumMemberSessions - 1}))`
    yield* removeSessions(
      sql,
      announce,
      gone.map(({ id }) => id)
    )
    const { scopes, services } = rightsOf[member.role]
    const secret = randomText()
    const expiresAtMillis = now + sessionMillis
    const id = `ses_${randomText()}`
    for (const [mode, prefix] of [
      ["live", livePrefix],
      ["test", testPrefix]
    ] as const)
      yield* sql`
        insert into api_keys (id, organization_id, name, prefix, digest, mode, services, scopes, created_at, expires_at,
          is_session, parent_id, member_id, is_proven, opened_from, browser)
        values (${mode === "live" ? id : `ses_${randomText()}`}, ${member.organizationId}, 'member', ${prefix},
          ${keyDigest(`${prefix}${secret}`)}, ${mode}, ${[...services]}, ${[...scopes]}, ${new Date(now)},
          ${new Date(expiresAtMillis)}, true, ${mode === "live" ? null : id}, ${member.id}, ${isProven},
          ${from.address}, ${from.browser})`
    return { text: `${livePrefix}${secret}`, organizationId: member.organizationId, expiresAtMillis }
  })

/** Limits unauthenticated look-ups. */
const makeBounded = Effect.gen(function* () {
  const lookups = yield* Semaphore.make(maximumLookups)
  let waiting = 0
  return <A>(effect: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError | SignInUnavailable> =>
    Effect.suspend(() => {
      if (waiting >= maximumWaiting) return Effect.fail(new SignInUnavailable())
      waiting++
      return effect.pipe(
        lookups.withPermit,
        Effect.timeoutOrElse({ duration: lookupTimeoutMillis, orElse: () => Effect.fail(new SignInUnavailable()) }),
        Effect.ensuring(Effect.sync(() => waiting--))
      )
    })
})

/** Uses a link of any kind; undefined for one that is not good. Part of the caller's transaction. */
const makeUseLink = (
  sql: SqlClient.SqlClient,
  open: ReturnType<typeof makeOpen>,
  openMember: ReturnType<typeof makeOpenMember>
) =>
  Effect.fnUntraced(function* (
    link: string,
    from: SessionOrigin
  ): Effect.fn.Return<OpenedSession | undefined, SqlError.SqlError> {
    const now = yield* Clock.currentTimeMillis
    if (link.startsWith(portalLinkPrefix)) {
      const taken = yield* takePortalLink(sql, link, now)
      if (taken === undefined) return undefined
      return yield* open({ ...taken, services: [], scopes: portalScopes, name: "portal", from }, now)
    }
    if (link.startsWith(memberLinkPrefix)) {
      const taken = yield* takeMemberLink(sql, link)
      if (taken === undefined) return undefined
      const { isNew, isProven, member } = taken
      return { ...(yield* openMember(member, isProven, from)), member: { id: member.id, isNew } }
    }
    const [row] = yield* sql<LinkRow>`
      delete from console_links l using organizations o
      where l.digest = ${keyDigest(link)} and l.expires_at > ${new Date(now)}
        and o.id = l.organization_id and o.deleted_at is null
      returning l.organization_id, l.mode, l.services, l.scopes`
    if (row === undefined) return undefined
    const { mode, organization_id: organizationId, scopes, services } = row
    const rights = { mode, services, scopes, from }
    return yield* open({ ...rights, organizationId, parentId: null, name: "link", endsAtMillis: null }, now)
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notifications = yield* Notifications
  const authentication = yield* Authentication
  const bounded = yield* makeBounded
  // A digest is far below the longest payload.
  const announce = (digest: string) =>
    notifications.notify(keysChannel, digest).pipe(Effect.catchTag("NotificationTooLong", Effect.die))
  const open = makeOpen(sql, announce)
  const openMember = makeOpenMember(sql, announce)
  const useLink = makeUseLink(sql, open, openMember)
  const uncheckable = (_: KeyUncheckable) => Effect.fail(new SignInUnavailable())

  /** A key itself, not a session that acts for one. */
  const isKey = (principal: Principal | null): principal is Principal => principal !== null && !principal.session

  return ConsoleSessions.of({
    openWithKey: Effect.fn("ConsoleSessions.openWithKey")(function* (key, from = unknownOrigin) {
      const principal = yield* Effect.catch(authentication.verify(key), uncheckable)
      if (!isKey(principal)) return yield* new SignInRefused({ message: "Invalid or missing API key" })
      const { expiresAtMillis, keyId, mode, organizationId, scopes, services } = principal
      const now = yield* Clock.currentTimeMillis
      return yield* sql.withTransaction(
        open(
          {
            organizationId,
            mode,
            // The principal's services come from its row.
            services: [...services] as ReadonlyArray<Service>,
            scopes: [...scopes] as ReadonlyArray<Scope>,
            parentId: keyId,
            name: "console",
            endsAtMillis: expiresAtMillis,
            from
          },
          now
        )
      )
    }),
    openWithLink: Effect.fn("ConsoleSessions.openWithLink")(function* (link, from = unknownOrigin) {
      const refused = new SignInRefused({
        message: "This link is not good, or not any more: it opens the console once, and not for long."
      })
      const isOther = link.startsWith(portalLinkPrefix) || link.startsWith(memberLinkPrefix)
      if (!isOther && !linkPattern.test(link)) return yield* refused
      return (yield* bounded(sql.withTransaction(useLink(link, from)))) ?? (yield* refused)
    }),
    openInOrganization: Effect.fn("ConsoleSessions.openInOrganization")(function* (
      { session },
      organizationId,
      from = unknownOrigin
    ) {
      const refused = new SignInRefused({ message: `You are no member of ${organizationId}.` })
      const member = session?.member
      if (session === undefined || member?.isProven !== true) return yield* refused
      const { gone, opened } = yield* sql.withTransaction(
        Effect.gen(function* () {
          const others = yield* membershipsOf(sql, member.email)
          const other = others.find((one) => one.organizationId === organizationId)
          if (other === undefined) return yield* refused
          const gone = yield* removeSessions(sql, announce, [session.id])
          return { gone, opened: { ...(yield* openMember(other, true, from)), member: { id: other.id, isNew: false } } }
        })
      )
      for (const digest of gone) authentication.forget(digest)
      return opened
    }),
    close: Effect.fn("ConsoleSessions.close")(function* (sessionId) {
      const gone = yield* sql.withTransaction(removeSessions(sql, announce, [sessionId]))
      // The announcements may arrive after the answer, and the sessions must be closed by then.
      for (const digest of gone) authentication.forget(digest)
    })
  })
})

/**
 * Handles the console's sessions (docs/platform.md, 12.1). Needs `ConsoleSessions`, `SessionList`, `SignInLinks`,
 * `AuditLog` and `Organizations`; the access middleware gives the principal.
 */
import { Clock, Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { SqlClient, type SqlError } from "effect/sql"
import { baseApi } from "../http/baseApi.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { RequestState, retryAfter, retryAfterMillis } from "../http/RequestState.ts"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { makeAddressRate } from "./AddressRate.ts"
import { CurrentPrincipal } from "./access.ts"
import { AuditLog } from "./audit/AuditLog.ts"
import { ConsoleSessions, type OpenedSession, type SessionOrigin } from "./ConsoleSessions.ts"
import { ConsoleApi } from "./consoleApi.ts"
import { consoleHeader, cookieText, sessionCookie } from "./consoleCookie.ts"
import type { Principal, Scope, Service } from "./model.ts"
import { Organizations } from "./Organizations.ts"
import { browserOf } from "./people/browserOf.ts"
import { membershipsOf, type OpeningMember } from "./people/memberSessions.ts"
import { SessionList } from "./people/SessionList.ts"
import { SignInLinks } from "./people/SignInLinks.ts"

const away = EnvelopeUnavailable.of("The session cannot be checked right now; the request is safe to repeat")
const unavailable = (error: SqlError.SqlError) => databaseFailed(error, Effect.fail(away))

const withCookie = <A>(body: A, cookie: string) =>
  HttpApiSchema.withHeaders({ body, headers: { "set-cookie": cookie } })

/** Requests for links to sign in, from one network in a minute. */
const linksPerMinute = 10

const bothModes = ["live", "test"] as const

const shown = (
  { expiresAtMillis, keyId, mode, scopes, services, session }: Principal,
  { id, name, plan, sendPlan }: { id: string; name: string; plan: Principal["plan"]; sendPlan: Principal["sendPlan"] },
  organizations: ReadonlyArray<OpeningMember>
) => ({
  organization: { id, name, plan, sendPlan },
  keyId,
  mode,
  modes: session?.member === undefined ? [mode] : bothModes,
  member:
    session?.member === undefined
      ? null
      : { id: session.member.id, email: session.member.email, role: session.member.role },
  organizations: organizations.map(({ organizationId, organizationName, role }) => ({
    id: organizationId,
    name: organizationName,
    role
  })),
  // The principal's services come from its row.
  services: [...services] as ReadonlyArray<Service>,
  scopes: [...scopes] as ReadonlyArray<Scope>,
  expiresAt: expiresAtMillis
})

/** Where a request comes from, for the list of sessions. */
const originOf = (userAgent: string | undefined) =>
  Effect.map(
    HttpServerRequest.HttpServerRequest,
    ({ remoteAddress }): SessionOrigin => ({
      address: Option.getOrNull(remoteAddress),
      browser: browserOf(userAgent)
    })
  )

/** Keeps that a member has joined, or has signed in. */
const signInKept = (
  audit: AuditLog["Service"],
  { member, organizationId }: OpenedSession,
  address: string | null
): Effect.Effect<void> =>
  member === undefined
    ? Effect.void
    : Effect.withFiber((fiber) =>
        audit.record({
          organizationId,
          act: member.isNew ? "member.joined" : "member.signed_in",
          mode: null,
          actor: { type: "member", id: member.id },
          address,
          object: member.id,
          requestId: Context.getUnsafe(fiber.context, RequestState).requestId
        })
      )

/** The answer that sets the cookie of a new session. */
const opened = Effect.fnUntraced(function* ({ expiresAtMillis, organizationId, text }: OpenedSession, origin?: string) {
  const seconds = Math.max(1, Math.floor((expiresAtMillis - (yield* Clock.currentTimeMillis)) / 1_000))
  return withCookie(
    { organizationId, expiresAt: expiresAtMillis },
    cookieText(sessionCookie, text, { origin, seconds })
  )
})

/** Handles the sessions of members: links to sign in, the list, and the choice of an organization. */
const makeMemberHandlers = Effect.gen(function* () {
  const sessions = yield* ConsoleSessions
  const links = yield* SignInLinks
  const sessionList = yield* SessionList
  const audit = yield* AuditLog
  const rate = makeAddressRate(linksPerMinute)
  return {
    signInLink: ({ payload }: { readonly payload: { readonly email: string } }) =>
      Effect.andThen(rate, links.order(payload.email.toLowerCase())).pipe(
        Effect.as({ accepted: true as const }),
        Effect.catchTags({
          LinksNotMailed: () =>
            Effect.fail(
              EnvelopeStateConflict.of(
                "This platform mails no links, because it has no relay. Ask its operator for a link, or sign in with a key."
              )
            ),
          SignInBusy: () => Effect.andThen(retryAfter(retryAfterMillis), Effect.fail(away))
        })
      ),
    list: ({
      query
    }: {
      readonly query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }
    }) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        sessionList.list(principal, { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
      ).pipe(
        Effect.catchTags({
          InvalidCursor: () =>
            Effect.fail(
              EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")
            ),
          SqlError: unavailable
        })
      ),
    end: ({ params }: { readonly params: { readonly id: string } }) =>
      Effect.flatMap(CurrentPrincipal, (principal) => sessionList.end(principal, params.id)).pipe(
        Effect.catchTags({
          SessionNotFound: ({ message }) => Effect.fail(EnvelopeNotFound.of(message)),
          SqlError: unavailable
        })
      ),
    organization: ({
      headers,
      payload
    }: {
      readonly headers: { readonly origin?: string | undefined; readonly "user-agent"?: string | undefined }
      readonly payload: { readonly organizationId: string }
    }) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const from = yield* originOf(headers["user-agent"])
        const session = yield* sessions.openInOrganization(principal, payload.organizationId, from)
        yield* signInKept(audit, session, from.address)
        return yield* opened(session, headers.origin)
      }).pipe(
        Effect.catchTags({
          SignInRefused: ({ message }) => Effect.fail(EnvelopeNotFound.of(message)),
          SqlError: unavailable
        })
      )
  }
})

export const layerConsole = HttpApiBuilder.group(
  baseApi.add(ConsoleApi),
  "console",
  Effect.fn(function* (handlers) {
    const sessions = yield* ConsoleSessions
    const organizations = yield* Organizations
    const audit = yield* AuditLog
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      ...(yield* makeMemberHandlers),
      open: ({ headers, payload: { key, link } }) =>
        Effect.gen(function* () {
          if (headers[consoleHeader] === undefined)
            return yield* EnvelopeForbidden.of("Signing in needs the header X-Sluice-Console, with any value.")
          const from = yield* originOf(headers["user-agent"])
          const opening =
            key !== undefined && link === undefined
              ? sessions.openWithKey(key, from)
              : link !== undefined && key === undefined
                ? sessions.openWithLink(link, from)
                : undefined
          if (opening === undefined) return yield* EnvelopeInvalidRequest.of("Expected one of 'key' and 'link'.")
          const session = yield* opening
          yield* signInKept(audit, session, from.address)
          return yield* opened(session, headers.origin)
        }).pipe(
          Effect.catchTags({
            SignInRefused: ({ message }) => Effect.fail(EnvelopeUnauthorized.of(message)),
            SignInUnavailable: () => Effect.fail(away),
            SqlError: unavailable
          })
        ),
      get: () =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const member = principal.session?.member
          const others = member === undefined ? [] : yield* membershipsOf(sql, member.email)
          return shown(
            principal,
            yield* organizations.get(principal.organizationId),
            // A link that was shown to somebody proves no address, and leads nowhere else.
            others.filter(({ id }) => member?.isProven === true || id === member?.id)
          )
        }).pipe(
          Effect.catchTags({
            // It was deleted a moment ago.
            OrganizationNotFound: () => Effect.fail(away),
            SqlError: unavailable
          })
        ),
      portal: () =>
        Effect.gen(function* () {
          const { expiresAtMillis, mode, organizationId, session } = yield* CurrentPrincipal
          if (session?.portal === undefined) return yield* EnvelopeNotFound.of("This is no session of a portal.")
          const { name } = yield* organizations.get(organizationId)
          const { label, types } = session.portal
          // Each session has an end.
          return { label, organization: { name }, mode, types, expiresAt: expiresAtMillis ?? 0 }
        }).pipe(
          Effect.catchTags({
            // It was deleted a moment ago.
            OrganizationNotFound: () => Effect.fail(away),
            SqlError: unavailable
          })
        ),
      close: ({ headers }) =>
        Effect.gen(function* () {
          const { session } = yield* CurrentPrincipal
          if (session === undefined) return yield* EnvelopeNotFound.of("This is a key and no session.")
          yield* sessions.close(session.id)
          return withCookie(
            { closed: true as const },
            cookieText(sessionCookie, "", { origin: headers.origin, seconds: 0 })
          )
        }).pipe(Effect.catchTag("SqlError", unavailable))
    })
  })
)

/**
 * Handles the console's sessions (docs/platform.md, 12.1). Needs `ConsoleSessions` and `Organizations`; the access
 * middleware gives the principal.
 */
import { Clock, Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { baseApi } from "../http/baseApi.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { CurrentPrincipal } from "./access.ts"
import { ConsoleSessions } from "./ConsoleSessions.ts"
import { ConsoleApi } from "./consoleApi.ts"
import { consoleHeader, cookieText, sessionCookie } from "./consoleCookie.ts"
import type { Principal, Scope, Service } from "./model.ts"
import { Organizations } from "./Organizations.ts"

const away = EnvelopeUnavailable.of("The session cannot be checked right now; the request is safe to repeat")
const unavailable = (error: SqlError.SqlError) => databaseFailed(error, Effect.fail(away))

const withCookie = <A>(body: A, cookie: string) =>
  HttpApiSchema.withHeaders({ body, headers: { "set-cookie": cookie } })

const shown = (
  { expiresAtMillis, keyId, mode, scopes, services }: Principal,
  { id, name, plan, sendPlan }: { id: string; name: string; plan: Principal["plan"]; sendPlan: Principal["sendPlan"] }
) => ({
  organization: { id, name, plan, sendPlan },
  keyId,
  mode,
  // The principal's services come from its row.
  services: [...services] as ReadonlyArray<Service>,
  scopes: [...scopes] as ReadonlyArray<Scope>,
  expiresAt: expiresAtMillis
})

export const layerConsole = HttpApiBuilder.group(
  baseApi.add(ConsoleApi),
  "console",
  Effect.fn(function* (handlers) {
    const sessions = yield* ConsoleSessions
    const organizations = yield* Organizations
    return handlers.handleAll({
      open: ({ headers, payload: { key, link } }) =>
        Effect.gen(function* () {
          if (headers[consoleHeader] === undefined)
            return yield* EnvelopeForbidden.of("Signing in needs the header X-Sluice-Console, with any value.")
          const opening =
            key !== undefined && link === undefined
              ? sessions.openWithKey(key)
              : link !== undefined && key === undefined
                ? sessions.openWithLink(link)
                : undefined
          if (opening === undefined) return yield* EnvelopeInvalidRequest.of("Expected one of 'key' and 'link'.")
          const { expiresAtMillis, organizationId, text } = yield* opening
          const seconds = Math.max(1, Math.floor((expiresAtMillis - (yield* Clock.currentTimeMillis)) / 1_000))
          return withCookie(
            { organizationId, expiresAt: expiresAtMillis },
            cookieText(sessionCookie, text, { origin: headers.origin, seconds })
          )
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
          return shown(principal, yield* organizations.get(principal.organizationId))
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

/**
 * Defines the console's sessions as an HttpApi group (docs/platform.md, 12.1): paths, bodies, answers and errors.
 * Definitions only; `consoleHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeStateConflict,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { KeysAccess, OpenToPortals, OpenToViewers } from "./access.ts"
import { platformPlans, roles, scopes, sendPlans, services } from "./model.ts"
import { personAddress } from "./people/membersApi.ts"

const Cookie = { "set-cookie": Schema.optional(Schema.String) }

const consoleHeaders = {
  "x-sluice-console": Schema.optional(Schema.String).annotate({
    description: "Any value: no page of another site can send it"
  }),
  origin: Schema.optional(Schema.String),
  "user-agent": Schema.optional(Schema.String)
}

const time = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

/** The signed-in session. */
export const ConsoleSession = Schema.Struct({
  organization: Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    plan: Schema.Literals(platformPlans),
    sendPlan: Schema.Literals(sendPlans)
  }),
  keyId: Schema.String.annotate({ description: "The key that signed in, or the session itself where a link did" }),
  mode: Schema.Literals(["live", "test"]),
  modes: Schema.Array(Schema.Literals(["live", "test"])).annotate({
    description: "The modes in which it may act: both for a member, who chooses by `X-Sluice-Console: test`"
  }),
  member: Schema.NullOr(
    Schema.Struct({ id: Schema.String, email: Schema.String, role: Schema.Literals(roles) })
  ).annotate({
    description: "Who is signed in; null for a key, and for a session that a key or an operator's link opened"
  }),
  organizations: Schema.Array(
    Schema.Struct({ id: Schema.String, name: Schema.String, role: Schema.Literals(roles) })
  ).annotate({ description: "The organizations of the same address, this one too; empty without a member" }),
  services: Schema.Array(Schema.Literals(services)),
  scopes: Schema.Array(Schema.Literals(scopes)),
  expiresAt: Schema.NullOr(Schema.Int).annotate({
    description: "End of the session, or of the key that asks, milliseconds since the Unix epoch; null for none"
  })
}).annotate({ identifier: "ConsoleSession" })
export type ConsoleSession = typeof ConsoleSession.Type

const open = HttpApiEndpoint.post("open", "/v1/console/sessions", {
  headers: consoleHeaders,
  payload: Schema.Struct({
    key: Schema.optionalKey(Schema.String).annotate({ description: "An API key; this or `link`" }),
    link: Schema.optionalKey(Schema.String).annotate({
      description: "The part of a link behind `#link=`: of the console, of a portal, or mailed to a member"
    })
  }).annotate({ identifier: "OpenConsoleSession" }),
  success: HttpApiSchema.WithHeaders(
    Schema.Struct({ organizationId: Schema.String, expiresAt: Schema.Int })
      .pipe(HttpApiSchema.status(201))
      .annotate({ identifier: "OpenedConsoleSession" }),
    Cookie
  ),
  error: [EnvelopeInvalidRequest, EnvelopeUnauthorized, EnvelopeForbidden, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Sign in to the console",
    description:
      "With an API key, or once with a link. The answer sets a cookie that stands for the key wherever one is asked for, together with the header `X-Sluice-Console`; it lives eight hours, and no longer than the key."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/console/session", {
  success: ConsoleSession,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Tell whose the session, or the key, is and what it may do",
      description: "The organization, the mode, and the services and scopes of whoever asks."
    })
  )

/** The signed-in portal. */
export const ConsolePortal = Schema.Struct({
  label: Schema.String.annotate({ description: "The label of the webhook endpoints that it shows" }),
  organization: Schema.Struct({ name: Schema.String }),
  mode: Schema.Literals(["live", "test"]),
  types: Schema.Array(Schema.String).annotate({
    description: "Patterns of the events to which its endpoints may subscribe"
  }),
  expiresAt: Schema.Int.annotate({ description: "End of the session, milliseconds since the Unix epoch" })
}).annotate({ identifier: "ConsolePortal" })
export type ConsolePortal = typeof ConsolePortal.Type

const portal = HttpApiEndpoint.get("portal", "/v1/console/portal", {
  success: ConsolePortal,
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotate(OpenToPortals, true)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Describe the signed-in portal",
      description: "404 for a key, and for a session that is no portal's."
    })
  )

const close = HttpApiEndpoint.delete("close", "/v1/console/session", {
  headers: { origin: Schema.optional(Schema.String) },
  success: HttpApiSchema.WithHeaders(
    Schema.Struct({ closed: Schema.Literal(true) }).annotate({ identifier: "ClosedConsoleSession" }),
    Cookie
  ),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotate(OpenToPortals, true)
  .annotate(OpenToViewers, true)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Sign out of the console",
      description: "The session ends on every node within a second."
    })
  )

const signInLink = HttpApiEndpoint.post("signInLink", "/v1/console/sign-in-links", {
  payload: Schema.Struct({ email: personAddress }).annotate({ identifier: "OrderSignInLink" }),
  success: Schema.Struct({ accepted: Schema.Literal(true) })
    .pipe(HttpApiSchema.status(202))
    .annotate({ identifier: "SignInLinkOrdered" }),
  error: [EnvelopeInvalidRequest, EnvelopeStateConflict, EnvelopeRateLimited, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Ask for a link to sign in",
    description:
      "Mails a link to a member of an organization, which works once, for 15 minutes. The answer is the same whether the address is a member's or nobody's. 409 where the platform mails no links."
  })
)

/** A session of the console, in the list of sessions. */
export const ConsoleSessionShown = Schema.Struct({
  id: Schema.String.annotate({ description: "ses_…" }),
  member: Schema.NullOr(
    Schema.Struct({ id: Schema.String, email: Schema.String, role: Schema.Literals(roles) })
  ).annotate({ description: "Null where a key or an operator's link signed in" }),
  keyId: Schema.NullOr(Schema.String).annotate({ description: "The key that signed in" }),
  mode: Schema.NullOr(Schema.Literals(["live", "test"])).annotate({ description: "Null for a member, who has both" }),
  createdAt: time,
  lastUsedAt: Schema.NullOr(time).annotate({ description: "To the minute" }),
  expiresAt: time,
  address: Schema.NullOr(Schema.String).annotate({ description: "The network address that it was opened from" }),
  browser: Schema.NullOr(Schema.String).annotate({ description: "For example Firefox on Linux" }),
  current: Schema.Boolean.annotate({ description: "Whether it is the one that asks" })
}).annotate({ identifier: "ConsoleSessionListed" })

const list = HttpApiEndpoint.get("list", "/v1/console/sessions", {
  query: {
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: Schema.Struct({
    data: Schema.Array(ConsoleSessionShown),
    pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
  }).annotate({ identifier: "ConsoleSessionPage" }),
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List sessions of the console, newest first",
      description: "One's own; with the scope `platform:people:manage` those of the whole organization."
    })
  )

const end = HttpApiEndpoint.delete("end", "/v1/console/sessions/:id", {
  params: {
    id: Schema.String.check(Schema.isPattern(/^ses_[A-Za-z0-9]{1,64}$/, { message: "Expected an id of a session" }))
  },
  success: ConsoleSessionShown,
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotate(OpenToViewers, true)
  .annotateMerge(OpenApi.annotations({ summary: "End a session", description: "On every node within a second." }))

const organization = HttpApiEndpoint.post("organization", "/v1/console/session/organization", {
  headers: { origin: Schema.optional(Schema.String), "user-agent": Schema.optional(Schema.String) },
  payload: Schema.Struct({ organizationId: Schema.String }).annotate({ identifier: "ChooseOrganization" }),
  success: HttpApiSchema.WithHeaders(
    Schema.Struct({ organizationId: Schema.String, expiresAt: Schema.Int })
      .pipe(HttpApiSchema.status(201))
      .annotate({ identifier: "ChosenOrganization" }),
    Cookie
  ),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .middleware(KeysAccess)
  .annotate(OpenToViewers, true)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Go on in another organization",
      description:
        "For a member of several: opens a session there, and ends this one. The address must be a member of it, and the session must come from a link that was mailed."
    })
  )

/** All endpoints of the console's sessions. */
export class ConsoleApi extends HttpApiGroup.make("console")
  .add(open, get, portal, close, signInLink, list, end, organization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Console",
      description: "Sessions of the console at `/console`, which shows in a browser what the API knows."
    })
  ) {}

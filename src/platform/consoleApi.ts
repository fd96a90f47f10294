/**
 * Defines the console's sessions as an HttpApi group (docs/platform.md, 12.1): paths, bodies, answers and errors.
 * Definitions only; `consoleHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { KeysAccess, OpenToPortals } from "./access.ts"
import { platformPlans, scopes, sendPlans, services } from "./model.ts"

const Cookie = { "set-cookie": Schema.optional(Schema.String) }

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
  services: Schema.Array(Schema.Literals(services)),
  scopes: Schema.Array(Schema.Literals(scopes)),
  expiresAt: Schema.NullOr(Schema.Int).annotate({
    description: "End of the session, or of the key that asks, milliseconds since the Unix epoch; null for none"
  })
}).annotate({ identifier: "ConsoleSession" })
export type ConsoleSession = typeof ConsoleSession.Type

const open = HttpApiEndpoint.post("open", "/v1/console/sessions", {
  headers: {
    "x-sluice-console": Schema.optional(Schema.String).annotate({
      description: "Any value: no page of another site can send it"
    }),
    origin: Schema.optional(Schema.String)
  },
  payload: Schema.Struct({
    key: Schema.optionalKey(Schema.String).annotate({ description: "An API key; this or `link`" }),
    link: Schema.optionalKey(Schema.String).annotate({
      description: "The part of a link behind `#link=`, of the console or of a portal"
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
  .annotateMerge(
    OpenApi.annotations({
      summary: "Sign out of the console",
      description: "The session ends on every node within a second."
    })
  )

/** All endpoints of the console's sessions. */
export class ConsoleApi extends HttpApiGroup.make("console")
  .add(open, get, portal, close)
  .annotateMerge(
    OpenApi.annotations({
      title: "Console",
      description: "Sessions of the console at `/console`, which shows in a browser what the API knows."
    })
  ) {}

/**
 * Describes the part of the admin API for the console (docs/platform.md, 12): operators' sessions, links for
 * organizations, and the data of an operator's first page.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { integerParameter } from "../http/parameters.ts"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { defaultLinkSeconds, maximumLinkSeconds } from "../platform/ConsoleSessions.ts"
import { scopes, services } from "../platform/model.ts"
import { AdminAccess } from "./access.ts"
import { organizationId } from "./organizationId.ts"

const Cookie = { "set-cookie": Schema.optional(Schema.String) }
const time = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

/** Nobody is signed in yet, so this group has no access. */
export const signInGroup = HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.post("open", "/admin/v1/console/sessions", {
      headers: {
        "x-sluice-console": Schema.optional(Schema.String).annotate({
          description: "Any value: no page of another site can send it"
        }),
        origin: Schema.optional(Schema.String)
      },
      payload: Schema.Struct({
        key: Schema.String.annotate({ description: "The admin credential" })
      }).annotate({ identifier: "OpenOperatorSession" }),
      success: HttpApiSchema.WithHeaders(
        Schema.Struct({ expiresAt: time })
          .pipe(HttpApiSchema.status(201))
          .annotate({ identifier: "OpenedOperatorSession" }),
        Cookie
      ),
      error: [EnvelopeInvalidRequest, EnvelopeUnauthorized, EnvelopeForbidden]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Sign in to the operator's console",
        description:
          "The answer sets a cookie that stands for the credential here, together with the header `X-Sluice-Console`, for an hour or until a restart."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Sign-in" }))

const Figures = Schema.Struct({
  partition: Schema.Int,
  status: Schema.String,
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why it does not serve" }),
  epoch: Schema.Int,
  sequence: Schema.Int.annotate({ description: "The last frame" }),
  frame: Schema.Int.annotate({ description: "Its number within the epoch" }),
  decidedAt: time,
  log: Schema.NullOr(
    Schema.Struct({
      firstSequence: Schema.Int,
      lastSequence: Schema.Int,
      bytes: Schema.Int,
      maximumBytes: Schema.Int
    })
  ).annotate({ description: "Null where NATS does not answer" }),
  checkpointSequence: Schema.NullOr(Schema.Int),
  reactors: Schema.Array(
    Schema.Struct({
      reactor: Schema.String,
      sequence: Schema.Int,
      lag: Schema.Int.annotate({ description: "Frames that it has still to read" })
    })
  ),
  mailbox: Schema.Int.annotate({ description: "Commands that wait" }),
  actors: Schema.Int.annotate({ description: "Actors in memory" }),
  timers: Schema.Int,
  quarantined: Schema.Array(Schema.Struct({ organization: Schema.String, reason: Schema.String }))
}).annotate({ identifier: "PartitionFigures" })

const session = HttpApiEndpoint.get("session", "/admin/v1/console/session", {
  success: Schema.Struct({
    expiresAt: Schema.NullOr(Schema.Int).annotate({
      description: "End of the session, milliseconds since the Unix epoch; null for the bearer of the credential"
    }),
    version: Schema.String,
    actorKinds: Schema.Array(Schema.String).annotate({ description: "Kinds of actors that can be inspected" })
  }).annotate({ identifier: "OperatorSession" })
}).annotateMerge(OpenApi.annotations({ summary: "Tell who is signed in" }))

const close = HttpApiEndpoint.delete("close", "/admin/v1/console/session", {
  headers: { origin: Schema.optional(Schema.String) },
  success: HttpApiSchema.WithHeaders(Schema.Struct({ closed: Schema.Boolean }), Cookie)
}).annotateMerge(OpenApi.annotations({ summary: "Sign out of the operator's console" }))

const link = HttpApiEndpoint.post("link", "/admin/v1/console-links", {
  payload: Schema.Struct({
    organization: organizationId,
    mode: Schema.optionalKey(Schema.Literals(["live", "test"])).annotate({ description: "Default: live" }),
    services: Schema.optionalKey(
      Schema.Array(Schema.Literals(services)).check(Schema.isMaxLength(services.length))
    ).annotate({ description: "Default: all" }),
    scopes: Schema.optionalKey(Schema.Array(Schema.Literals(scopes)).check(Schema.isMaxLength(scopes.length))).annotate(
      { description: "Default: all" }
    ),
    lifeSeconds: Schema.optionalKey(
      Schema.Int.check(
        Schema.isBetween(
          { minimum: 1, maximum: maximumLinkSeconds },
          { message: `Expected a whole number from 1 to ${maximumLinkSeconds}` }
        )
      )
    ).annotate({ description: `How long the link is good; default: ${defaultLinkSeconds}` })
  }).annotate({ identifier: "CreateConsoleLink" }),
  success: Schema.Struct({
    url: Schema.String.annotate({
      description: "Opens the console once; only its path where the API's address is not known here"
    }),
    expiresAt: time
  })
    .pipe(HttpApiSchema.status(201))
    .annotate({ identifier: "ConsoleLink" }),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make a link into an organization's console",
    description: "It signs one browser in, for eight hours. Whoever has it is in: hand it over like a key."
  })
)

const status = HttpApiEndpoint.get("status", "/admin/v1/status", {
  success: Schema.Struct({
    version: Schema.String,
    ready: Schema.Boolean,
    checks: Schema.Record(Schema.String, Schema.Struct({ ok: Schema.Boolean, detail: Schema.optional(Schema.String) }))
  }).annotate({ identifier: "PlatformStatus" }),
  error: [EnvelopeUnavailable]
}).annotateMerge(OpenApi.annotations({ summary: "Tell how the platform is, as `/readyz` does" }))

const partitions = HttpApiEndpoint.get("partitions", "/admin/v1/partitions", {
  success: Schema.Struct({ data: Schema.Array(Figures) }),
  error: [EnvelopeNotFound]
}).annotateMerge(OpenApi.annotations({ summary: "List the partitions that this process serves, with their figures" }))

const frame = HttpApiEndpoint.get("frame", "/admin/v1/partitions/:partition/frames/:sequence", {
  params: { partition: integerParameter(0), sequence: integerParameter(1) },
  success: Schema.Unknown,
  error: [EnvelopeInvalidRequest, EnvelopeNotFound]
}).annotateMerge(
  OpenApi.annotations({ summary: "Show a frame of a partition's log, with the records of every organization" })
)

export const consoleGroup = HttpApiGroup.make("console")
  .add(session, close, link, status, partitions, frame)
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "Console", description: "Endpoints of the operator's console at `/console`." })
  )

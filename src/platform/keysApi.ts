/**
 * Defines an organization's own keys as an HttpApi group (docs/platform.md, 2.10): paths, bodies, answers and errors.
 * Definitions only; `keysHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { IdempotencyKey } from "../http/idempotency.ts"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import {
  EnvelopeConflict,
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { KeysAccess, RequiredScopes } from "./access.ts"
import { ApiKey, scopes, services } from "./model.ts"

/** How long a rotated key works beside its successor, in seconds. */
export const defaultOverlapSeconds = 86_400
const maximumOverlapSeconds = 604_800

/** The end of the year 9999, the latest time that every system involved can write. */
const latestTimeMillis = 253_402_300_799_999

const id = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_]{1,64}$/, { message: "Expected an id of a key" }))

const name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,200}$/u, { message: "Expected 1 to 200 characters" })
)

const Created = Schema.Struct({
  ...ApiKey.fields,
  key: Schema.String.annotate({ description: "The key itself; only this answer, and its repeats for a day, show it" })
}).annotate({ identifier: "OwnApiKeyCreated" })

const idempotent = { "idempotency-key": Schema.optional(IdempotencyKey) }
const Replayed = { "idempotency-replayed": Schema.optional(Schema.String) }
const created = HttpApiSchema.WithHeaders(Created.pipe(HttpApiSchema.status(201)), Replayed)

const list = HttpApiEndpoint.get("list", "/v1/keys", {
  query: {
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: Schema.Struct({
    data: Schema.Array(ApiKey),
    pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
  }).annotate({ identifier: "ApiKeyPage" }),
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List keys, newest first, revoked ones too",
    description: "The keys of the mode of the key that asks, without the keys themselves."
  })
)

const create = HttpApiEndpoint.post("create", "/v1/keys", {
  headers: idempotent,
  payload: Schema.Struct({
    name: Schema.optionalKey(Schema.NullOr(name)),
    services: Schema.Array(Schema.Literals(services)).check(Schema.isMaxLength(services.length)),
    scopes: Schema.Array(Schema.Literals(scopes)).check(Schema.isMaxLength(scopes.length)),
    expiresAt: Schema.optionalKey(
      Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: latestTimeMillis })))
    ).annotate({
      description: "Milliseconds since the Unix epoch; the end of the key that makes it where it is left out"
    })
  }).annotate({ identifier: "CreateOwnApiKey" }),
  success: created,
  error: [EnvelopeInvalidRequest, EnvelopeForbidden, EnvelopeConflict, EnvelopeStateConflict, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make a key",
    description:
      "Of the mode of the key that asks, with services and scopes that it has itself, and at most for as long as it lives."
  })
)

const rotate = HttpApiEndpoint.post("rotate", "/v1/keys/:id/rotate", {
  params: { id },
  headers: idempotent,
  payload: Schema.Struct({
    overlapSeconds: Schema.optionalKey(
      Schema.Int.check(
        Schema.isBetween(
          { minimum: 0, maximum: maximumOverlapSeconds },
          { message: `Expected a whole number from 0 to ${maximumOverlapSeconds}` }
        )
      )
    ).annotate({ description: "How long the old key goes on; 86400 where it is left out, 0 ends it at once" })
  }).annotate({ identifier: "RotateApiKey" }),
  success: created,
  error: [
    EnvelopeInvalidRequest,
    EnvelopeForbidden,
    EnvelopeNotFound,
    EnvelopeConflict,
    EnvelopeStateConflict,
    EnvelopeUnavailable
  ]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Rotate a key",
    description: "Answers its successor, which may do what the old one may."
  })
)

const revoke = HttpApiEndpoint.delete("revoke", "/v1/keys/:id", {
  params: { id },
  success: ApiKey,
  error: [EnvelopeInvalidRequest, EnvelopeForbidden, EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({ summary: "Revoke a key", description: "It stops working on every node within a second." })
)

/** All endpoints for an organization's own keys. */
export class KeysApi extends HttpApiGroup.make("ownKeys")
  .add(list, create, rotate, revoke)
  .middleware(KeysAccess)
  .annotateEndpoints(RequiredScopes, ["platform:keys:manage"])
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "An organization's own keys, of the mode of the key that asks."
    })
  ) {}

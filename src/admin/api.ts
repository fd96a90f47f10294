/**
 * The admin API, `/admin/v1`: what the command line does to a running platform, for operators' own tools too. It has a
 * listener of its own (loopback by default) and a credential of its own (`Authorization: Bearer adm_…`); customers' keys
 * are nothing here (decisions, "Tenancy, keys, scopes"). Errors have the generic envelope.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "effect/http-api"
import { IngestionEvent, IngestionRecord } from "../directory/ingestionSchema.ts"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import {
  EnvelopeConflict,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { IdempotencyKey } from "../platform/idempotency.ts"
import { ApiKey, Organization, platformPlans, risks, scopes, sendPlans, services } from "../platform/model.ts"
import { version } from "../version.ts"

/** The admin credential; without it nothing is answered. */
export class AdminAccess extends HttpApiMiddleware.Service<AdminAccess>()("sluice/admin/AdminAccess", {
  error: [EnvelopeUnauthorized, EnvelopeUnavailable]
}) {}

const name = Schema.String.check(Schema.isPattern(/^[^\p{Cc}]{1,200}$/u, { message: "Expected 1 to 200 characters" }))

const email = Schema.String.check(
  Schema.isPattern(/^[^\s@]{1,64}@[^\s@]{1,190}$/, { message: "Expected an email address" })
)

/** What an organization is made from; plans default to the smallest. */
export const CreateOrganization = Schema.Struct({
  name,
  email: Schema.optional(Schema.NullOr(email)),
  plan: Schema.optional(Schema.Literals(platformPlans)),
  sendPlan: Schema.optional(Schema.Literals(sendPlans)),
  risk: Schema.optional(Schema.Literals(risks))
}).annotate({ identifier: "CreateOrganization" })

/** What a key is made from. */
export const CreateApiKey = Schema.Struct({
  name: Schema.optional(Schema.NullOr(name)),
  mode: Schema.optional(Schema.Literals(["live", "test"])),
  services: Schema.Array(Schema.Literals(services)).check(Schema.isMaxLength(services.length)),
  scopes: Schema.Array(Schema.Literals(scopes)).check(Schema.isMaxLength(scopes.length)),
  expiresAt: Schema.optional(Schema.NullOr(Schema.Int)).annotate({
    description: "Milliseconds since the Unix epoch after which the key is refused"
  })
}).annotate({ identifier: "CreateApiKey" })

/** A new key with its text, which is shown in this answer only; null in the answer to a repeated request. */
export const CreatedApiKey = Schema.Struct({
  ...ApiKey.fields,
  key: Schema.NullOr(Schema.String).annotate({ description: "The key itself; not to be had again" })
}).annotate({ identifier: "CreatedApiKey" })

const pagination = Schema.Struct({
  hasMore: Schema.Boolean,
  nextCursor: Schema.optional(Schema.String)
})

const cursorPage = {
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String)
}

const idempotent = { "idempotency-key": Schema.optional(IdempotencyKey) }

const Replayed = { "idempotency-replayed": Schema.optional(Schema.String) }

const organizations = HttpApiGroup.make("organizations")
  .add(
    HttpApiEndpoint.post("create", "/admin/v1/organizations", {
      headers: idempotent,
      payload: CreateOrganization,
      success: HttpApiSchema.WithHeaders(Organization.pipe(HttpApiSchema.status(201)), Replayed),
      error: [EnvelopeInvalidRequest, EnvelopeConflict, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("list", "/admin/v1/organizations", {
      query: cursorPage,
      success: Schema.Struct({ data: Schema.Array(Organization), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("get", "/admin/v1/organizations/:id", {
      params: { id: Schema.String },
      success: Organization,
      error: [EnvelopeNotFound, EnvelopeUnavailable]
    })
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Organizations" }))

const keys = HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/admin/v1/organizations/:id/keys", {
      params: { id: Schema.String },
      headers: idempotent,
      payload: CreateApiKey,
      success: HttpApiSchema.WithHeaders(CreatedApiKey.pipe(HttpApiSchema.status(201)), Replayed),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeConflict, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/keys", {
      params: { id: Schema.String },
      query: cursorPage,
      success: Schema.Struct({ data: Schema.Array(ApiKey), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.delete("revoke", "/admin/v1/keys/:id", {
      params: { id: Schema.String },
      success: ApiKey,
      error: [EnvelopeNotFound, EnvelopeUnavailable]
    })
  )
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "A revoked key stops working on every node within a second."
    })
  )

/** Most files or addresses in one request to ingest. */
export const maximumSources = 20

const ingestions = HttpApiGroup.make("ingestions")
  .add(
    HttpApiEndpoint.post("run", "/admin/v1/ingestions", {
      payload: Schema.Struct({
        sources: Schema.NonEmptyArray(Schema.String.check(Schema.isMaxLength(4096))).check(
          Schema.isMaxLength(maximumSources)
        ),
        dryRun: Schema.optional(Schema.Boolean)
      }),
      success: HttpApiSchema.StreamNdjson({ schema: IngestionEvent }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Ingest published numbering files",
        description:
          "Paths as the server sees them, or addresses. The answer reports progress and ends with a summary a file."
      })
    ),
    HttpApiEndpoint.get("list", "/admin/v1/ingestions", {
      query: {
        limit: Schema.optional(integerParameter(1, maximumPageSize)),
        before: Schema.optional(integerParameter(1))
      },
      success: Schema.Struct({ data: Schema.Array(IngestionRecord) }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List ingestions, newest first",
        description: "`before` takes the id of the last one listed and continues from there."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Ingestions" }))

export class AdminApi extends HttpApi.make("sluice-admin")
  .add(organizations)
  .add(keys)
  .add(ingestions)
  .annotateMerge(OpenApi.annotations({ title: "Sluice admin", version, license: { name: "MIT" } })) {}

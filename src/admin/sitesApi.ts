/** Describes the part of the admin API for credentials of other products' sites (docs/platform.md, 2.8). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EnvelopeConflict, EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { SiteCredential } from "../platform/SiteCredentials.ts"
import { AdminAccess } from "./access.ts"
import { cursorPage, idempotent, name, pagination, Replayed } from "./forms.ts"
import { organizationId as id } from "./organizationId.ts"

const CreateSiteCredential = Schema.Struct({ name: Schema.optional(Schema.NullOr(name)) }).annotate({
  identifier: "CreateSiteCredential"
})

/** A new site credential with its text, which only this answer shows; null in the answer to a repeated request. */
const CreatedSiteCredential = Schema.Struct({
  ...SiteCredential.fields,
  credential: Schema.NullOr(Schema.String).annotate({ description: "The credential itself; not to be had again" })
}).annotate({ identifier: "CreatedSiteCredential" })

export const sitesGroup = HttpApiGroup.make("sites")
  .add(
    HttpApiEndpoint.post("create", "/admin/v1/organizations/:id/site-credentials", {
      params: { id },
      headers: idempotent,
      payload: CreateSiteCredential,
      success: HttpApiSchema.WithHeaders(CreatedSiteCredential.pipe(HttpApiSchema.status(201)), Replayed),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeConflict, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/site-credentials", {
      params: { id },
      query: cursorPage,
      success: Schema.Struct({ data: Schema.Array(SiteCredential), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.delete("revoke", "/admin/v1/site-credentials/:id", {
      params: { id },
      success: SiteCredential,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    })
  )
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Site credentials",
      description: "By which another product's site speaks for an organization. A revoked one stops working at once."
    })
  )

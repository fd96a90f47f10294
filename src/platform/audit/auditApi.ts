/**
 * Describes the audit log as an HttpApi group (docs/platform.md, 2.11). Definitions only; `auditHttp.ts` implements them
 * and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { KeysAccess, RequiredScopes } from "../access.ts"
import { actorTypes } from "./AuditLog.ts"

const nullable = (description: string) => Schema.NullOr(Schema.String).annotate({ description })

export const AuditEntryShown = Schema.Struct({
  id: Schema.String.annotate({ description: "aud_…" }),
  at: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
  act: Schema.String.annotate({ description: "For example key.created" }),
  mode: Schema.NullOr(Schema.Literals(["live", "test"])).annotate({ description: "Null for an act of neither mode" }),
  actor: Schema.Struct({
    type: Schema.Literals(actorTypes),
    id: nullable("The id of the key, the session or the member; null for operators")
  }),
  address: nullable("The network address that the request came from"),
  object: nullable("The id of the thing that it was done to"),
  requestId: nullable("The X-Request-Id of the request")
}).annotate({ identifier: "AuditEntry" })

export const AuditEntryPage = Schema.Struct({
  data: Schema.Array(AuditEntryShown),
  pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
}).annotate({ identifier: "AuditEntryPage" })

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

/** The filters and the page of a list of entries. */
export const auditQuery = {
  act: Schema.optional(
    Schema.String.check(Schema.isPattern(/^[a-z_.]{1,64}$/, { message: "Expected an act" }))
  ).annotate({
    description: "Entries of this act alone, such as key.created"
  }),
  since: time("Entries from this time on, milliseconds since the Unix epoch"),
  until: time("Entries before this time, milliseconds since the Unix epoch"),
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
}

const list = HttpApiEndpoint.get("list", "/v1/audit", {
  query: auditQuery,
  success: AuditEntryPage,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List acts, newest first",
    description:
      "Who changed keys, members, webhook endpoints, domains, senders, suppressions and the subscription, and what operators did: of the mode of the key that asks, and of neither mode. Kept for 400 days."
  })
)

/** The endpoint of the audit log. */
export class AuditApi extends HttpApiGroup.make("audit")
  .add(list)
  .middleware(KeysAccess)
  .annotateEndpoints(RequiredScopes, ["platform:audit:read"])
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who did what to an organization." })) {}

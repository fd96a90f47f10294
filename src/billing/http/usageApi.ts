/**
 * Describes usage as HttpApi groups (docs/platform.md, 11.7 to 11.9): an organization's view of it, and the reports of
 * another product's site. Definitions only; `usageHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { IdempotencyKey } from "../../http/idempotency.ts"
import { EnvelopeConflict, EnvelopeInvalidRequest, EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { BillingAccess, RequiredScopes } from "../../platform/access.ts"
import { services } from "../../platform/model.ts"
import { SiteAccess } from "../../platform/siteAccess.ts"
import { maximumQuantity, usageTypes } from "../usage/model.ts"

const expectedProduct = `Expected one of ${services.join(", ")}`
const Product = Schema.Literals(services).annotate({ message: expectedProduct })

const figure = (description: string) => Schema.Int.annotate({ description })

const Entitlement = Schema.Struct({
  hasAccess: Schema.Boolean.annotate({ description: "Whether a plan in force includes the product" }),
  product: Schema.Literals(services),
  limits: Schema.Struct({
    apiCalls: Schema.NullOr(Schema.Int).annotate({ description: "Always null: plans limit a rate, not an amount" }),
    emails: Schema.NullOr(Schema.Int).annotate({ description: "A calendar month; null for no limit" })
  }),
  usage: Schema.Struct({
    apiCalls: figure("Calls of the product in this calendar month"),
    emails: figure("Emails of the product in this calendar month")
  })
}).annotate({ identifier: "Entitlement" })

const UsageShown = Schema.Struct({
  period: Schema.Struct({
    start: Schema.String.annotate({ description: "ISO 8601, UTC" }),
    end: Schema.String.annotate({ description: "ISO 8601, UTC; the first instant behind it" })
  }),
  usage: Schema.Struct({
    apiCalls: figure("Calls of all products"),
    emails: figure("Emails that were taken"),
    storage: figure("Bytes of contents of emails that are kept, and bytes that sites have reported")
  })
}).annotate({ identifier: "Usage" })

const entitlement = HttpApiEndpoint.get("entitlement", "/v1/billing/entitlement", {
  query: { product: Product },
  success: Entitlement,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "See what the plans in force allow of a product",
    description: "Whether the plans include a product, its limits, and what this month has used of them."
  })
)

const usage = HttpApiEndpoint.get("usage", "/v1/billing/usage", {
  query: {
    period: Schema.optional(Schema.String).annotate({
      description: "`current`, the default, or a calendar month such as `2026-07` (UTC)"
    })
  },
  success: UsageShown,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({ summary: "See what was used", description: "Figures follow what happens within seconds." })
)

/** An organization's view of its usage. */
export class UsageApi extends HttpApiGroup.make("usage")
  .add(entitlement, usage)
  .middleware(BillingAccess)
  .annotateEndpoints(RequiredScopes, ["platform:billing:read"])
  .annotateMerge(OpenApi.annotations({ title: "Usage", description: "Usage, and the limits of the plans." })) {}

const expectedQuantity = `Expected a whole number from 1 to ${maximumQuantity}`

const report = HttpApiEndpoint.post("report", "/api/billing/usage", {
  headers: { "idempotency-key": Schema.optional(IdempotencyKey) },
  payload: Schema.Struct({
    product: Product,
    usageType: Schema.Literals(usageTypes).annotate({ message: `Expected one of ${usageTypes.join(", ")}` }),
    quantity: Schema.Int.annotate({ message: expectedQuantity }).check(
      Schema.isBetween({ minimum: 1, maximum: maximumQuantity }, { message: expectedQuantity })
    )
  }).annotate({ identifier: "UsageReport" }),
  success: HttpApiSchema.WithHeaders(
    Schema.Struct({
      success: Schema.Literal(true),
      data: Schema.Struct({
        product: Schema.Literals(services),
        usageType: Schema.Literals(usageTypes),
        quantity: Schema.Int,
        total: figure("Reports of all sites in this calendar month, with this one")
      })
    })
      .annotate({ identifier: "UsageReported" })
      .pipe(HttpApiSchema.status(202)),
    { "idempotency-replayed": Schema.optional(Schema.String) }
  ),
  error: [EnvelopeInvalidRequest, EnvelopeConflict, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Report usage from another product's site",
    description:
      "With a site credential, `Authorization: Bearer site_…`, for the organization that it speaks for. It feeds usage figures and never limits; a repeat under the same `Idempotency-Key` counts once."
  })
)

/** The reports of other products' sites. */
export class UsageReportsApi extends HttpApiGroup.make("usageReports")
  .add(report)
  .middleware(SiteAccess)
  .annotateMerge(OpenApi.annotations({ title: "Usage reports", description: "From other products' sites." })) {}

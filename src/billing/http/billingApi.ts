/**
 * Describes billing's endpoints as an HttpApi group (docs/platform.md, 11): paths, bodies, answers and errors.
 * Definitions only; `billingHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { subscriptionPayload } from "../../events/index.ts"
import { IdempotencyKey } from "../../http/idempotency.ts"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import {
  EnvelopeConflict,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../../http/wireErrors.ts"
import { BillingAccess, RequiredScopes } from "../../platform/access.ts"
import { Price } from "../prices.ts"

/** The events have the same one. */
const Subscription = subscriptionPayload.annotate({ identifier: "Subscription" })

const Invoice = Schema.Struct({
  id: Schema.String.annotate({ description: "in_…" }),
  amount: Schema.Int.annotate({ description: "In the currency's minor unit" }),
  currency: Schema.String.annotate({ description: "ISO 4217, in lower case", examples: ["usd"] }),
  status: Schema.Literals(["draft", "open", "paid", "void", "uncollectible"]),
  createdAt: Schema.String.annotate({ description: "ISO 8601" }),
  pdfUrl: Schema.String.annotate({ description: "Address of the invoice as PDF, good for an hour" })
}).annotate({ identifier: "Invoice" })

const subscription = HttpApiEndpoint.get("subscription", "/v1/billing/subscription", {
  success: Subscription,
  error: EnvelopeUnavailable
})
  .annotate(RequiredScopes, ["platform:billing:read"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get the subscription",
      description:
        "Without one it is `sub_free_…`, with the plans in force and the calendar month (UTC). Its plans are those that are paid for; an operator may have set others."
    })
  )

const invoices = HttpApiEndpoint.get("invoices", "/v1/billing/invoices", {
  query: {
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: Schema.Struct({
    data: Schema.Array(Invoice),
    pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
  }).annotate({ identifier: "InvoicePage" }),
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
})
  .annotate(RequiredScopes, ["platform:billing:read"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "List invoices, newest first",
      description: "The invoices of the organization, with links to their documents."
    })
  )

const checkout = HttpApiEndpoint.post("checkout", "/v1/billing/checkout", {
  headers: { "idempotency-key": Schema.optional(IdempotencyKey) },
  payload: Schema.Struct({
    priceId: Schema.String.annotate({ description: "A price of the catalogue", examples: ["team_pro"] }),
    successUrl: Schema.String.annotate({ description: "Where the customer goes on; https" }),
    cancelUrl: Schema.String.annotate({ description: "Where the customer goes who does not pay; https" })
  }).annotate({ identifier: "CheckoutRequest" }),
  success: HttpApiSchema.WithHeaders(
    Schema.Struct({
      url: Schema.String.annotate({ description: "The page on which the customer pays; good for 24 hours" })
    })
      .annotate({ identifier: "CheckoutCreated" })
      .pipe(HttpApiSchema.status(200)),
    { "idempotency-replayed": Schema.optional(Schema.String) }
  ),
  error: [EnvelopeInvalidRequest, EnvelopeConflict, EnvelopeStateConflict, EnvelopeUnavailable]
})
  .annotate(RequiredScopes, ["platform:billing:manage"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Begin a checkout",
      description:
        "The plans of the price are in force with the next decision after its payment. One subscription per organization: a change begins a new period at the full price."
    })
  )

const cancel = HttpApiEndpoint.post("cancel", "/v1/billing/cancel", {
  payload: Schema.Struct({
    atPeriodEnd: Schema.optionalKey(Schema.Boolean).annotate({
      description: "Whether the plans hold until the period is over, which is the default; false ends them at once"
    })
  }).annotate({ identifier: "CancelSubscription" }),
  success: Subscription.pipe(HttpApiSchema.status(200)),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .annotate(RequiredScopes, ["platform:billing:manage"])
  .annotateMerge(
    OpenApi.annotations({ summary: "Cancel the subscription", description: "Answers the subscription after that." })
  )

const resume = HttpApiEndpoint.post("resume", "/v1/billing/resume", {
  success: Subscription.pipe(HttpApiSchema.status(200)),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
})
  .annotate(RequiredScopes, ["platform:billing:manage"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Take a cancellation back",
      description:
        "While the period lasts: the subscription renews again. Of one that was not canceled nothing changes. Answers the subscription after that."
    })
  )

const prices = HttpApiEndpoint.get("prices", "/v1/billing/prices", {
  success: Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        ...Price.fields,
        amount: Schema.Int.annotate({ description: "In the currency's minor unit" }),
        requestsPerMinute: Schema.Int.annotate({ description: "Of the platform plan" }),
        emailsPerMonth: Schema.NullOr(Schema.Int).annotate({ description: "Of the send plan; null for no limit" })
      }).annotate({ identifier: "Price" })
    )
  }).annotate({ identifier: "PriceList" }),
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
})
  .annotate(RequiredScopes, ["platform:billing:read"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "List the subscriptions on sale",
      description: "Each with its price a period, and the plans that it brings."
    })
  )

/** All endpoints of billing. */
export class BillingApi extends HttpApiGroup.make("billing")
  .add(subscription, invoices, checkout, cancel, resume, prices)
  .middleware(BillingAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "Billing", description: "Subscription, invoices, and the way to another plan." })
  ) {}

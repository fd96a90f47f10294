/** Handles requests to billing. Needs `Billing`; the access middleware gives the principal. */
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { defaultCursorPageSize } from "../../http/PageCursors.ts"
import { builtWith } from "../../http/smallContext.ts"
import {
  EnvelopeConflict,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict
} from "../../http/wireErrors.ts"
import { BillingAccess, CurrentPrincipal } from "../../platform/access.ts"
import { IdempotentRequests } from "../../platform/IdempotentRequests.ts"
import { ownerOf } from "../../platform/model.ts"
import { Billing } from "../Billing.ts"
import type { CheckoutRefused, NoSubscription } from "../errors.ts"
import { BillingApi } from "./billingApi.ts"
import { available } from "./failures.ts"

const organization = Effect.map(CurrentPrincipal, ({ organizationId }) => organizationId)

const refused = ({ message }: CheckoutRefused) => Effect.fail(EnvelopeInvalidRequest.of(message))
const nothing = ({ message }: NoSubscription) => Effect.fail(EnvelopeNotFound.of(message))
const invalidCursor = () =>
  Effect.fail(EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave."))

export const layerBilling = HttpApiBuilder.group(
  baseApi.add(BillingApi),
  "billing",
  Effect.fn(function* (handlers) {
    const billing = yield* Billing
    const requests = yield* IdempotentRequests
    return handlers.handleAll({
      subscription: () => available(Effect.flatMap(organization, billing.subscription)),
      invoices: ({ query: { cursor, limit = defaultCursorPageSize } }) =>
        Effect.flatMap(organization, (id) => billing.invoices(id, { cursor, limit })).pipe(
          Effect.map(({ data, pagination }) => ({
            data: data.map(({ amount, createdAt, currency, id, pdfUrl, status }) => ({
              id,
              amount,
              currency,
              status,
              createdAt: new Date(createdAt).toISOString(),
              pdfUrl
            })),
            pagination
          })),
          available,
          Effect.catchTag("InvalidCursor", invalidCursor)
        ),
      checkout: ({ headers, payload }) =>
        Effect.flatMap(CurrentPrincipal, (principal) =>
          requests.once(
            ownerOf(principal),
            idempotentRequest(headers["idempotency-key"], { operation: "checkout", ...payload }),
            {
              choose: () => null,
              // Another page for what nobody has seen is no harm: each is paid once, and of several the last one
              // counts.
              act: () => billing.checkout(principal.organizationId, principal.mode, payload),
              isRejection: ({ _tag }) => _tag === "CheckoutRefused"
            }
          )
        ).pipe(
          Effect.map(({ answer, isReplayed }) =>
            HttpApiSchema.withHeaders({ body: answer, headers: isReplayed ? { "idempotency-replayed": "true" } : {} })
          ),
          available,
          Effect.catchTags({
            CheckoutRefused: refused,
            IdempotencyConflict: ({ message }) => Effect.fail(EnvelopeConflict.of(message)),
            RequestUnderWay: ({ message }) => Effect.fail(EnvelopeStateConflict.of(message))
          })
        ),
      cancel: ({ payload: { atPeriodEnd = true } }) =>
        Effect.flatMap(organization, (id) => billing.cancel(id, atPeriodEnd)).pipe(
          available,
          Effect.catchTag("NoSubscription", nothing)
        ),
      resume: () =>
        Effect.flatMap(organization, billing.resume).pipe(available, Effect.catchTag("NoSubscription", nothing)),
      prices: () => Effect.succeed({ data: billing.prices })
    })
  })
).pipe(builtWith(Billing, IdempotentRequests, BillingAccess))

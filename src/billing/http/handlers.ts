/** Handlers of billing. Needs `Billing`; the access middleware gives the principal. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { builtWith } from "../../http/lean.ts"
import { defaultCursorPageSize } from "../../http/PageCursors.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound } from "../../http/wireErrors.ts"
import { BillingAccess, CurrentPrincipal } from "../../platform/access.ts"
import { Billing } from "../Billing.ts"
import type { CheckoutRefused, NoSubscription } from "../errors.ts"
import { BillingApi } from "./api.ts"
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
      checkout: ({ payload }) =>
        Effect.flatMap(organization, (id) => billing.checkout(id, payload)).pipe(
          available,
          Effect.catchTag("CheckoutRefused", refused)
        ),
      cancel: ({ payload: { atPeriodEnd = true } }) =>
        Effect.flatMap(organization, (id) => billing.cancel(id, atPeriodEnd)).pipe(
          available,
          Effect.catchTag("NoSubscription", nothing)
        )
    })
  })
).pipe(builtWith(Billing, BillingAccess))

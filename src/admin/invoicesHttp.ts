/**
 * Handles requests to the admin API's group for invoices. Needs `Invoices`, `Subscriptions`, `Organizations` and
 * `AdminActs`.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InvoiceSettled, Invoices, Subscriptions } from "../billing/index.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { EnvelopeStateConflict } from "../http/wireErrors.ts"
import { Organizations } from "../platform/Organizations.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { invalidCursor, notFound, repeatable, unavailable } from "./failures.ts"

export const layerInvoices = HttpApiBuilder.group(
  AdminApi,
  "invoices",
  Effect.fn(function* (handlers) {
    const invoices = yield* Invoices
    const subscriptions = yield* Subscriptions
    const organizations = yield* Organizations
    const acts = yield* AdminActs
    /** Makes the decision, then records the act. */
    const settle = (id: string, outcome: "paid" | "failed") =>
      Effect.gen(function* () {
        const { organizationId } = yield* invoices.get(id)
        yield* subscriptions.ask(organizationId, { _tag: "SettleInvoice", id, outcome }).pipe(
          Effect.catchTag("InvoiceNotOpen", () => Effect.fail(new InvoiceSettled({ id }))),
          // The rules have no other rejection for this.
          Effect.catchTags({
            CheckoutGone: Effect.die,
            TooManyInvoices: Effect.die,
            NoSubscription: Effect.die,
            StripeChanged: Effect.die
          })
        )
        yield* acts.record(`invoice.${outcome}`, id, { organizationId }, organizationId)
        return { id, outcome }
      }).pipe(
        Effect.catchTags({
          InvoiceNotFound: (error) => Effect.fail(notFound(error)),
          InvoiceSettled: ({ message }) => Effect.fail(EnvelopeStateConflict.of(message)),
          BillingUnavailable: repeatable,
          SqlError: unavailable
        })
      )
    return handlers.handleAll({
      open: ({ query }) =>
        invoices
          .open({ limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
          .pipe(Effect.catchTags({ InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable })),
      list: ({ params, query }) =>
        Effect.andThen(
          organizations.get(params.id),
          invoices.list(params.id, { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
        ).pipe(
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            InvalidCursor: () => Effect.fail(invalidCursor()),
            SqlError: unavailable
          })
        ),
      pay: ({ params }) => settle(params.id, "paid"),
      fail: ({ params }) => settle(params.id, "failed")
    })
  })
)

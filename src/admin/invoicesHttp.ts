/**
 * Handles requests to the admin API's group for invoices. Needs `Invoices`, `Subscriptions`, `Organizations` and
 * `AdminActs`.
 */
import { Effect, Stream } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InvoiceSettled, Invoices, invoiceDocument, Subscriptions } from "../billing/index.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { EnvelopeNotFound, EnvelopeStateConflict, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { Organizations } from "../platform/Organizations.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { invalidCursor, notFound, repeatable, unavailable } from "./failures.ts"

const missing = { InvoiceNotFound: (error: Error) => Effect.fail(notFound(error)), SqlError: unavailable }

/** The times of a month of UTC, such as 2026-11. */
const spanOf = (month: string | undefined) => {
  if (month === undefined) return {}
  const [year, number] = month.split("-").map(Number) as [number, number]
  return { since: Date.UTC(year, number - 1), until: Date.UTC(year, number) }
}

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
      all: ({ query: { cursor, limit = defaultCursorPageSize, month, status = "open" } }) =>
        invoices
          .all({ limit, cursor, status: status === "any" ? undefined : status, ...spanOf(month) })
          .pipe(Effect.catchTags({ InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable })),
      get: ({ params: { id } }) => invoices.get(id).pipe(Effect.catchTags(missing)),
      document: ({ params: { id } }) =>
        Effect.gen(function* () {
          const invoice = yield* invoices.get(id).pipe(Effect.catchTags(missing))
          if (invoice.pdfUrl !== null)
            return yield* EnvelopeNotFound.of("The service that takes payments makes this document: see pdfUrl.")
          const document = Effect.catch(invoiceDocument(invoice), (error) =>
            Effect.andThen(
              Effect.logWarning("An invoice could not be shown", error),
              Effect.fail(EnvelopeUnavailable.of("The invoice cannot be made right now; the request is safe to repeat"))
            )
          )
          return Stream.succeed(yield* document)
        }),
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

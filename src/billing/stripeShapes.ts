/** Maps objects of Stripe to ours (docs/platform.md, 11.10). Pure; only the types are of the package `stripe`. */
import type { Stripe } from "stripe"
import type { InvoiceStatus, StripeInvoice, StripeSubscription } from "./model.ts"
import type { PriceCatalogue } from "./prices.ts"

const statusOf = (status: string): StripeSubscription["status"] | undefined => {
  switch (status) {
    case "active":
    case "trialing":
    case "past_due":
      return status
    case "unpaid":
      return "past_due"
    case "canceled":
    case "incomplete_expired":
    case "paused":
      return "ended"
    // Its first payment is under way.
    default:
      return undefined
  }
}

/** Maps a subscription of Stripe's; undefined if it is none of the catalogue's, or has not begun. */
export const subscriptionOf = (
  found: Stripe.Subscription,
  catalogue: PriceCatalogue
): StripeSubscription | undefined => {
  const status = statusOf(found.status)
  const [item] = found.items.data
  if (status === undefined || item === undefined) return undefined
  const entry = [...catalogue.prices.values()].find(({ stripePrice }) => stripePrice === item.price.id)
  if (entry === undefined) return undefined
  return {
    id: found.id,
    price: entry.price,
    status,
    createdAt: found.created * 1_000,
    start: item.current_period_start * 1_000,
    end: item.current_period_end * 1_000,
    cancelAtPeriodEnd: found.cancel_at_period_end
  }
}

/**
 * Hundredths of a unit that has none by ISO 4217, and units that have hundredths: what Stripe keeps to for
 * compatibility.
 */
const stripeHundredths = new Set(["isk", "ugx"])
const stripeUnits = new Set(["mga"])

/** An amount of Stripe's in the minor unit of ISO 4217. */
export const minorUnitAmount = (amount: number, currency: string): number => {
  if (stripeHundredths.has(currency)) return Math.round(amount / 100)
  return stripeUnits.has(currency) ? amount * 100 : amount
}

const invoiceStatuses: ReadonlySet<string> = new Set(["draft", "open", "paid", "void", "uncollectible"])

/** Maps an invoice of Stripe's. */
export const invoiceOf = (found: Stripe.Invoice): StripeInvoice => ({
  id: found.id,
  amount: minorUnitAmount(found.total, found.currency),
  currency: found.currency,
  status: (invoiceStatuses.has(found.status ?? "") ? found.status : "draft") as InvoiceStatus,
  failed: found.status === "open" && found.attempted,
  description: found.lines.data[0]?.description ?? "",
  createdAt: found.created * 1_000,
  pdfUrl: found.invoice_pdf ?? found.hosted_invoice_url ?? null
})

/**
 * Defines the billing of an organization (docs/platform.md, 11): commands, facts and state of its actor, and the public
 * shapes of a subscription and an invoice. Definitions alone; `rules.ts` decides. Times are Unix milliseconds.
 */
import { Schema } from "effect"
import type { catalogue } from "../events/index.ts"
import { Price, plansFields } from "./prices.ts"

const time = Schema.Int

/**
 * Most checkouts of an organization that are open or were paid within their life; and most invoices that wait for
 * payment.
 */
export const maximumCheckouts = 20
export const maximumOpenInvoices = 20

/** How an invoice is paid. */
export const settlements = ["at once", "by operator", "by stripe"] as const
export type Settlement = (typeof settlements)[number]

/**
 * Under which terms something is bought. They go with the subscription, so that a later setting changes none that runs.
 */
export const Terms = Schema.Struct({
  settlement: Schema.Literals(settlements),
  /** How long a subscription whose payment has failed goes on. */
  graceMillis: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** How long an invoice may wait for its payment before that counts as failed. */
  dueMillis: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
})
export type Terms = typeof Terms.Type

export const Subscription = Schema.Struct({
  id: Schema.String,
  price: Price,
  status: Schema.Literals(["active", "trialing", "past_due"]),
  /** When its first period began, and how many periods were over before this one. */
  anchor: time,
  number: Schema.Int,
  start: time,
  end: time,
  cancelAtPeriodEnd: Schema.Boolean,
  terms: Terms,
  /** Until when it goes on without payment; null while all is paid. */
  graceEndsAt: Schema.NullOr(time)
})
export type Subscription = typeof Subscription.Type

/** An invoice that waits for payment. */
export const OpenInvoice = Schema.Struct({
  id: Schema.String,
  /** The number on the document, counted per organization. */
  number: Schema.Int,
  price: Price,
  terms: Terms,
  /** The checkout that it came from; null for a renewal. */
  checkout: Schema.NullOr(Schema.String),
  createdAt: time,
  dueAt: time,
  failedAt: Schema.NullOr(time)
})
export type OpenInvoice = typeof OpenInvoice.Type

export const Checkout = Schema.Struct({
  /** Derived from its address and does not give it away. */
  id: Schema.String,
  price: Price,
  expiresAt: time,
  state: Schema.Literals(["open", "submitted", "paid"])
})
export type Checkout = typeof Checkout.Type

const invoiceStatus = Schema.Literals(["draft", "open", "paid", "void", "uncollectible"])

/** Most invoices of Stripe whose status is remembered, so that each event about one is emitted once. */
export const maximumStripeInvoices = 24

/** A subscription as Stripe has it. */
export const StripeSubscription = Schema.Struct({
  id: Schema.String,
  price: Price,
  status: Schema.Literals(["active", "trialing", "past_due", "ended"]),
  createdAt: time,
  start: time,
  end: time,
  cancelAtPeriodEnd: Schema.Boolean
})
export type StripeSubscription = typeof StripeSubscription.Type

/** An invoice as Stripe has it. */
export const StripeInvoice = Schema.Struct({
  id: Schema.String,
  amount: Schema.Int,
  currency: Schema.String,
  status: invoiceStatus,
  /** Whether a payment was tried and it is still open. */
  failed: Schema.Boolean,
  description: Schema.String,
  createdAt: time,
  pdfUrl: Schema.NullOr(Schema.String)
})
export type StripeInvoice = typeof StripeInvoice.Type

export const BillingState = Schema.Struct({
  subscription: Schema.NullOr(Subscription),
  invoices: Schema.Array(OpenInvoice),
  checkouts: Schema.Array(Checkout),
  /** Invoices that were ever made. */
  made: Schema.Int,
  /** If Stripe takes payments: how often its objects have changed something, and its newest invoices. */
  stripe: Schema.optionalKey(
    Schema.Struct({
      version: Schema.Int,
      invoices: Schema.Array(Schema.Struct({ id: Schema.String, status: invoiceStatus, failed: Schema.Boolean }))
    })
  )
})
export type BillingState = typeof BillingState.Type

export const initialBilling: BillingState = { subscription: null, invoices: [], checkouts: [], made: 0 }

export const BillingCommand = Schema.Union([
  Schema.TaggedStruct("OpenCheckout", { id: Schema.String, price: Price, expiresAt: time }),
  /** The customer's word that they want to pay. */
  Schema.TaggedStruct("SubmitCheckout", { id: Schema.String, terms: Terms }),
  Schema.TaggedStruct("SettleInvoice", { id: Schema.String, outcome: Schema.Literals(["paid", "failed"]) }),
  Schema.TaggedStruct("Cancel", { atPeriodEnd: Schema.Boolean }),
  /** Takes a cancellation back while its period lasts. */
  Schema.TaggedStruct("Resume", {}),
  /** The organization is deleted: nobody pays anything any more, and nothing is due. */
  Schema.TaggedStruct("Close", {}),
  /**
   * Stripe's present object. It was read after this organization's billing had this version, so it is newer than what
   * is known.
   */
  Schema.TaggedStruct("SyncStripe", {
    version: Schema.Int,
    terms: Terms,
    subscription: Schema.optionalKey(StripeSubscription),
    invoice: Schema.optionalKey(StripeInvoice)
  }),
  /** Changes nothing. */
  Schema.TaggedStruct("Look", { checkout: Schema.optionalKey(Schema.String) })
])
export type BillingCommand = typeof BillingCommand.Type

export const endReasons = ["canceled", "unpaid"] as const

export const BillingFact = Schema.Union([
  Schema.TaggedStruct("CheckoutOpened", { at: time, checkout: Checkout }),
  Schema.TaggedStruct("InvoiceOpened", { at: time, invoice: OpenInvoice }),
  Schema.TaggedStruct("InvoicePaid", { at: time, id: Schema.String }),
  /** The payment has failed, and the invoice stays open. */
  Schema.TaggedStruct("InvoiceFailed", { at: time, id: Schema.String }),
  /** Nobody will pay it any more. */
  Schema.TaggedStruct("InvoiceClosed", {
    at: time,
    id: Schema.String,
    status: Schema.Literals(["void", "uncollectible"])
  }),
  Schema.TaggedStruct("SubscriptionSet", { at: time, subscription: Subscription }),
  Schema.TaggedStruct("StripeSynced", { at: time, invoice: Schema.optionalKey(StripeInvoice) }),
  Schema.TaggedStruct("SubscriptionEnded", { at: time, id: Schema.String, reason: Schema.Literals(endReasons) })
])
export type BillingFact = typeof BillingFact.Type

export const BillingRejection = Schema.Union([
  /** No such checkout is open: it has expired, or never was. */
  Schema.TaggedStruct("CheckoutGone", {}),
  Schema.TaggedStruct("TooManyInvoices", { maximum: Schema.Int }),
  /** The invoice does not wait for payment: it is settled, or not this organization's. */
  Schema.TaggedStruct("InvoiceNotOpen", { id: Schema.String }),
  Schema.TaggedStruct("NoSubscription", {}),
  /** Something newer has come from Stripe meanwhile: read again. */
  Schema.TaggedStruct("StripeChanged", {})
])
export type BillingRejection = typeof BillingRejection.Type

/** An organization's billing after a command. */
export const BillingReply = Schema.Struct({
  subscription: Schema.NullOr(Subscription),
  /** The present plans, from an operator or a subscription; null if the log knows none yet. */
  plan: Schema.NullOr(plansFields.plan),
  sendPlan: Schema.NullOr(plansFields.sendPlan),
  stripeVersion: Schema.Int,
  /** The checkout that the command was about, if there is one. */
  checkout: Schema.NullOr(Checkout)
})
export type BillingReply = typeof BillingReply.Type

/** A subscription and an invoice as the API and the events show them. */
export type ShownSubscription = (typeof catalogue)["subscription.created"]["example"]
export type InvoiceStatus = "draft" | "open" | "paid" | "void" | "uncollectible"

const iso = (at: number): string => new Date(at).toISOString()

export const shownSubscription = (
  { cancelAtPeriodEnd, end, id, price, start, status }: Subscription,
  as: ShownSubscription["status"] = status
): ShownSubscription => ({
  id,
  plan: price.plan,
  sendPlan: price.sendPlan,
  status: as,
  currentPeriodStart: iso(start),
  currentPeriodEnd: iso(end),
  cancelAtPeriodEnd
})

export const shownInvoice = ({ createdAt, id, price }: OpenInvoice, status: InvoiceStatus) => ({
  id,
  amount: price.amount,
  currency: price.currency,
  status,
  createdAt: iso(createdAt),
  pdfUrl: null
})

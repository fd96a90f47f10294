/** Collects a decision of billing: the facts so far, the state after them, and the events that report them. Pure. */
import * as Actor from "../engine/Actor.ts"
import { publicEvent } from "../events/index.ts"
import { freePlans, OrganizationActor, subscribing } from "../platform/OrganizationActor.ts"
import {
  type BillingFact,
  type BillingRejection,
  type BillingReply,
  type BillingState,
  type Checkout,
  maximumCheckouts,
  maximumStripeInvoices,
  type OpenInvoice,
  type StripeInvoice,
  type Subscription,
  shownInvoice,
  shownSubscription,
  type Terms
} from "./model.ts"
import type { Price } from "./prices.ts"

export type BillingDecision = Actor.Decision<BillingFact, BillingReply, BillingRejection>

const withCheckout = (state: BillingState, id: string | null, as: Checkout["state"]): BillingState["checkouts"] =>
  state.checkouts.map((one) => (one.id === id ? { ...one, state: as } : one))

const without = (state: BillingState, id: string): BillingState["invoices"] =>
  state.invoices.filter((one) => one.id !== id)

export const evolve = (state: BillingState, fact: BillingFact): BillingState => {
  switch (fact._tag) {
    case "CheckoutOpened": {
      const living = state.checkouts.filter(({ expiresAt }) => expiresAt > fact.at)
      return { ...state, checkouts: [...living.slice(1 - maximumCheckouts), fact.checkout] }
    }
    case "InvoiceOpened": {
      const checkouts = withCheckout(state, fact.invoice.checkout, "submitted")
      return { ...state, checkouts, invoices: [...state.invoices, fact.invoice], made: fact.invoice.number }
    }
    case "InvoicePaid": {
      const checkout = state.invoices.find(({ id }) => id === fact.id)?.checkout ?? null
      return { ...state, checkouts: withCheckout(state, checkout, "paid"), invoices: without(state, fact.id) }
    }
    case "InvoiceFailed":
      return {
        ...state,
        invoices: state.invoices.map((one) => (one.id === fact.id ? { ...one, failedAt: fact.at } : one))
      }
    case "InvoiceClosed": {
      const checkout = state.invoices.find(({ id }) => id === fact.id)?.checkout ?? null
      const checkouts = state.checkouts.filter(({ id }) => id !== checkout)
      return { ...state, checkouts, invoices: without(state, fact.id) }
    }
    case "SubscriptionSet":
      return { ...state, subscription: fact.subscription }
    case "SubscriptionEnded":
      return { ...state, subscription: null }
    case "StripeSynced": {
      const { invoices, version } = state.stripe ?? { invoices: [], version: 0 }
      if (fact.invoice === undefined) return { ...state, stripe: { invoices, version: version + 1 } }
      const { failed, id, status } = fact.invoice
      const others = invoices.filter((one) => one.id !== id).slice(1 - maximumStripeInvoices)
      return { ...state, stripe: { invoices: [...others, { id, status, failed }], version: version + 1 } }
    }
  }
}

const shortId = (prefix: string, uuid: string): string => `${prefix}_${uuid.replaceAll("-", "")}`

/** A decision as it is made: what has happened so far, and what it has made of the state. */
export class Draft {
  state: BillingState
  private readonly facts: Array<BillingFact> = []
  private readonly events: Array<Actor.PublicEvent> = []
  private readonly context: Actor.DecideContext
  private ids = 0

  constructor(state: BillingState, context: Actor.DecideContext) {
    this.state = state
    this.context = context
  }

  get now(): number {
    return this.context.now
  }

  id(prefix: string): string {
    return shortId(prefix, this.context.id(this.ids++))
  }

  add(fact: BillingFact): void {
    this.facts.push(fact)
    this.state = evolve(this.state, fact)
  }

  set(subscription: Subscription): void {
    const type = this.state.subscription === null ? "subscription.created" : "subscription.updated"
    this.add({ _tag: "SubscriptionSet", at: this.now, subscription })
    this.events.push(publicEvent(type, shownSubscription(subscription), true))
  }

  end(subscription: Subscription, reason: "canceled" | "unpaid"): void {
    // Somebody may still be paying a checkout.
    for (const { checkout, id } of this.state.invoices)
      if (checkout === null) this.close(id, reason === "unpaid" ? "uncollectible" : "void")
    this.add({ _tag: "SubscriptionEnded", at: this.now, id: subscription.id, reason })
    this.events.push(publicEvent("subscription.canceled", shownSubscription(subscription, "canceled"), true))
  }

  open(price: Price, terms: Terms, checkout: string | null): OpenInvoice {
    const invoice: OpenInvoice = {
      id: this.id("in"),
      number: this.state.made + 1,
      price,
      terms,
      checkout,
      createdAt: this.now,
      dueAt: this.now + terms.dueMillis,
      failedAt: null
    }
    this.add({ _tag: "InvoiceOpened", at: this.now, invoice })
    return invoice
  }

  pay(invoice: OpenInvoice): void {
    this.add({ _tag: "InvoicePaid", at: this.now, id: invoice.id })
    this.events.push(publicEvent("invoice.paid", shownInvoice(invoice, "paid"), true))
  }

  fail(invoice: OpenInvoice): void {
    if (invoice.checkout === null) this.add({ _tag: "InvoiceFailed", at: this.now, id: invoice.id })
    else this.close(invoice.id, "void")
    this.events.push(
      publicEvent("invoice.failed", shownInvoice(invoice, invoice.checkout === null ? "open" : "void"), true)
    )
  }

  /** Records Stripe's state of an invoice, with its event, if any. */
  synced(invoice?: StripeInvoice, event?: "invoice.paid" | "invoice.failed"): void {
    this.add({ _tag: "StripeSynced", at: this.now, ...(invoice === undefined ? {} : { invoice }) })
    if (invoice === undefined || event === undefined) return
    const { amount, createdAt, currency, id, status } = invoice
    const shown = { id, amount, currency, status, createdAt: new Date(createdAt).toISOString(), pdfUrl: null }
    this.events.push(publicEvent(event, shown, true))
  }

  close(id: string, status: "void" | "uncollectible"): void {
    this.add({ _tag: "InvoiceClosed", at: this.now, id, status })
  }

  /** The decision, with what it does to the organization's plans. */
  decided(about?: string): BillingDecision {
    const organization = this.context.read(OrganizationActor)
    const { subscription } = this.state
    const paid =
      subscription === null ? freePlans : { plan: subscription.price.plan, sendPlan: subscription.price.sendPlan }
    const change = this.facts.length === 0 ? undefined : subscribing(organization, paid)
    const { plan, sendPlan } = change?._tag === "PlansSubscribed" ? change : organization
    return Actor.decided({
      facts: this.facts,
      events: this.events,
      others: change === undefined ? [] : [OrganizationActor.facts("", [change])],
      reply: {
        subscription,
        plan,
        sendPlan,
        stripeVersion: this.state.stripe?.version ?? 0,
        checkout: this.state.checkouts.find(({ id }) => id === about) ?? null
      }
    })
  }
}

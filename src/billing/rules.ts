/**
 * Decides the billing of an organization as an actor (docs/platform.md, 11): the effect of a checkout, a payment or a
 * cancellation on the subscription, and, in the same decision, the present plans. Its time comes when a period ends, an
 * invoice is due, or the grace of an unpaid subscription is over. Pure.
 */
import * as Actor from "../engine/Actor.ts"
import { OrganizationActor } from "../platform/OrganizationActor.ts"
import { type BillingDecision, Draft, evolve } from "./draft.ts"
import {
  BillingCommand,
  BillingFact,
  BillingRejection,
  BillingReply,
  BillingState,
  initialBilling,
  maximumOpenInvoices,
  type OpenInvoice,
  type Subscription,
  type Terms
} from "./model.ts"
import { periodOf } from "./periods.ts"
import type { Price } from "./prices.ts"
import { syncStripe } from "./stripeRules.ts"

/** Begins a subscription, or gives the one there is another price: from now on, for a whole period. */
const subscribe = (draft: Draft, price: Price, terms: Terms): void => {
  const { now } = draft
  const { subscription } = draft.state
  // An invoice that a renewal or another checkout still waits for is part of no present plan.
  for (const { id } of draft.state.invoices) draft.close(id, "void")
  draft.set({
    id: subscription?.id ?? draft.id("sub"),
    price,
    status: "active",
    anchor: now,
    number: 0,
    ...periodOf(now, price.interval, 0),
    cancelAtPeriodEnd: false,
    terms,
    graceEndsAt: null
  })
}

/** The effect of a paid renewal on a subscription that was past due. */
const recover = (draft: Draft): void => {
  const { invoices, subscription } = draft.state
  if (subscription?.status !== "past_due" || invoices.some(({ failedAt }) => failedAt !== null)) return
  draft.set({ ...subscription, status: "active", graceEndsAt: null })
}

const settlePaid = (draft: Draft, invoice: OpenInvoice): void => {
  draft.pay(invoice)
  if (invoice.checkout === null) recover(draft)
  else subscribe(draft, invoice.price, invoice.terms)
}

const settleFailed = (draft: Draft, invoice: OpenInvoice): void => {
  // Failing once more changes nothing.
  if (invoice.failedAt !== null) return
  draft.fail(invoice)
  const { subscription } = draft.state
  if (invoice.checkout !== null || subscription === null || subscription.status === "past_due") return
  const graceEndsAt = draft.now + subscription.terms.graceMillis
  draft.set({ ...subscription, status: "past_due", graceEndsAt })
}

const paysItself = (price: Price, { settlement }: Terms): boolean => settlement === "at once" || price.amount === 0

const submit = (draft: Draft, id: string, terms: Terms): BillingDecision => {
  const checkout = draft.state.checkouts.find((one) => one.id === id)
  if (checkout === undefined) return Actor.rejected({ _tag: "CheckoutGone" })
  // A repeat pays nothing.
  if (checkout.state !== "open") return draft.decided(id)
  if (checkout.expiresAt <= draft.now) return Actor.rejected({ _tag: "CheckoutGone" })
  // Of several checkouts the last one counts.
  for (const invoice of draft.state.invoices) if (invoice.checkout !== null) draft.close(invoice.id, "void")
  if (draft.state.invoices.length >= maximumOpenInvoices)
    return Actor.rejected({ _tag: "TooManyInvoices", maximum: maximumOpenInvoices })
  const invoice = draft.open(checkout.price, terms, id)
  if (paysItself(checkout.price, terms)) settlePaid(draft, invoice)
  return draft.decided(id)
}

const cancel = (draft: Draft, atPeriodEnd: boolean): BillingDecision => {
  const { subscription } = draft.state
  if (subscription === null) return Actor.rejected({ _tag: "NoSubscription" })
  if (!atPeriodEnd) draft.end(subscription, "canceled")
  else if (!subscription.cancelAtPeriodEnd) draft.set({ ...subscription, cancelAtPeriodEnd: true })
  return draft.decided()
}

/** Lets the subscription renew again; of one that was not canceled nothing changes. */
const resume = (draft: Draft): BillingDecision => {
  const { subscription } = draft.state
  if (subscription === null) return Actor.rejected({ _tag: "NoSubscription" })
  if (subscription.cancelAtPeriodEnd) draft.set({ ...subscription, cancelAtPeriodEnd: false })
  return draft.decided()
}

const decide = (state: BillingState, command: BillingCommand, context: Actor.DecideContext): BillingDecision => {
  const draft = new Draft(state, context)
  switch (command._tag) {
    case "OpenCheckout": {
      const { expiresAt, id, price } = command
      if (!state.checkouts.some((one) => one.id === id))
        draft.add({ _tag: "CheckoutOpened", at: context.now, checkout: { id, price, expiresAt, state: "open" } })
      return draft.decided(id)
    }
    case "SubmitCheckout":
      return submit(draft, command.id, command.terms)
    case "SettleInvoice": {
      const invoice = state.invoices.find(({ id }) => id === command.id)
      if (invoice === undefined) return Actor.rejected({ _tag: "InvoiceNotOpen", id: command.id })
      if (command.outcome === "paid") settlePaid(draft, invoice)
      else settleFailed(draft, invoice)
      return draft.decided(invoice.checkout ?? undefined)
    }
    case "Cancel":
      return cancel(draft, command.atPeriodEnd)
    case "Resume":
      return resume(draft)
    case "Close":
      for (const { id } of state.invoices) draft.close(id, "void")
      if (state.subscription !== null) draft.end(state.subscription, "canceled")
      return draft.decided()
    case "SyncStripe":
      return syncStripe(draft, command)
    case "Look":
      return draft.decided(command.checkout)
  }
}

/** Something whose time comes. */
type Due =
  | { readonly at: number; readonly _tag: "Period" | "Grace"; readonly subscription: Subscription }
  | { readonly at: number; readonly _tag: "Invoice"; readonly invoice: OpenInvoice }

/** Finds the first due date; of several at one instant the end of a grace, then that of a period. */
const firstDue = ({ invoices, subscription }: BillingState): Due | undefined => {
  const due: Array<Due> = []
  if (subscription !== null) {
    if (subscription.graceEndsAt !== null) due.push({ at: subscription.graceEndsAt, _tag: "Grace", subscription })
    if (subscription.terms.settlement !== "by stripe") due.push({ at: subscription.end, _tag: "Period", subscription })
  }
  for (const invoice of invoices)
    if (invoice.failedAt === null) due.push({ at: invoice.dueAt, _tag: "Invoice", invoice })
  return due.reduce<Due | undefined>(
    (first, one) => (first === undefined || one.at < first.at ? one : first),
    undefined
  )
}

/** Begins the next period and asks for its payment. */
const renew = (draft: Draft, subscription: Subscription): void => {
  const { anchor, price, terms } = subscription
  const number = subscription.number + 1
  if (draft.state.invoices.length >= maximumOpenInvoices) {
    draft.end(subscription, "unpaid")
    return
  }
  const invoice = draft.open(price, terms, null)
  if (paysItself(price, terms)) draft.pay(invoice)
  draft.set({ ...subscription, number, ...periodOf(anchor, price.interval, number) })
}

const wake = (state: BillingState, context: Actor.DecideContext): BillingDecision => {
  const draft = new Draft(state, context)
  const due = firstDue(state)
  if (due === undefined || due.at > context.now) return draft.decided()
  if (due._tag === "Invoice") settleFailed(draft, due.invoice)
  else if (due._tag === "Grace") draft.end(due.subscription, "unpaid")
  else if (due.subscription.cancelAtPeriodEnd) draft.end(due.subscription, "canceled")
  else renew(draft, due.subscription)
  return draft.decided()
}

/** One per organization, for both modes: plans and money are shared. */
export const BillingActor: Actor.Actor<BillingCommand, BillingFact, BillingState, BillingReply, BillingRejection> =
  Actor.make<BillingCommand, BillingFact, BillingState, BillingReply, BillingRejection>({
    kind: "billing",
    command: BillingCommand,
    fact: BillingFact,
    state: BillingState,
    reply: BillingReply,
    rejection: BillingRejection,
    initial: () => initialBilling,
    evolve,
    decide,
    touches: () => [OrganizationActor.at()],
    wakeAt: (state) => firstDue(state)?.at,
    wakeTouches: () => [OrganizationActor.at()],
    wake
  })

/**
 * Applies Stripe's objects to a subscription (docs/platform.md, 11.10). Notices come more than once and in any order,
 * so each is only a reason to read the object again, and only the object counts: the same object twice changes nothing,
 * and one older than the last is refused. Pure.
 */
import * as Actor from "../engine/Actor.ts"
import type { BillingDecision, Draft } from "./draft.ts"
import type { BillingCommand, StripeInvoice, StripeSubscription, Subscription, Terms } from "./model.ts"

const subscriptionOf = (
  { cancelAtPeriodEnd, createdAt, end, id, price, start }: StripeSubscription,
  status: Subscription["status"],
  terms: Terms,
  graceEndsAt: number | null
): Subscription => ({
  id,
  price,
  status,
  anchor: createdAt,
  number: 0,
  start,
  end,
  cancelAtPeriodEnd,
  terms,
  graceEndsAt
})

const isSame = (one: Subscription, other: Subscription): boolean => JSON.stringify(one) === JSON.stringify(other)

const syncSubscription = (draft: Draft, given: StripeSubscription, terms: Terms): void => {
  const { subscription: current } = draft.state
  const isCurrent = current?.id === given.id
  if (given.status === "ended") {
    if (!isCurrent) return
    draft.synced()
    draft.end(current, "canceled")
    return
  }
  // An unpaid subscription begins nothing: one past its grace comes back when it is paid. Of two the later one counts.
  if (!isCurrent && (given.status === "past_due" || (current !== null && current.anchor > given.createdAt))) return
  const graceEndsAt = given.status === "past_due" ? (current?.graceEndsAt ?? draft.now + terms.graceMillis) : null
  const next = subscriptionOf(given, given.status, isCurrent ? current.terms : terms, graceEndsAt)
  if (isCurrent && isSame(current, next)) return
  draft.synced()
  if (current !== null && !isCurrent) draft.end(current, "canceled")
  draft.set(next)
}

const syncInvoice = (draft: Draft, invoice: StripeInvoice): void => {
  const before = draft.state.stripe?.invoices.find(({ id }) => id === invoice.id)
  if (before?.status === invoice.status && before.failed === invoice.failed) return
  if (invoice.status === "paid") draft.synced(invoice, before?.status === "paid" ? undefined : "invoice.paid")
  else draft.synced(invoice, invoice.failed && before?.failed !== true ? "invoice.failed" : undefined)
}

export const syncStripe = (
  draft: Draft,
  { invoice, subscription, terms, version }: Extract<BillingCommand, { readonly _tag: "SyncStripe" }>
): BillingDecision => {
  // An object read before the last one may be older than that.
  if (version !== (draft.state.stripe?.version ?? 0)) return Actor.rejected({ _tag: "StripeChanged" })
  if (subscription !== undefined) syncSubscription(draft, subscription, terms)
  if (invoice !== undefined) syncInvoice(draft, invoice)
  return draft.decided()
}

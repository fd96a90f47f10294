/** A checkout, a payment, a cancellation and the passing of time change a subscription (docs/platform.md, 11). */
import { describe, expect, it } from "@effect/vitest"
import type { Settlement, Terms } from "../../src/billing/model.ts"
import { maximumCheckouts } from "../../src/billing/model.ts"
import { builtInCatalogue, type Price } from "../../src/billing/prices.ts"
import { Life } from "./given.ts"

const day = 86_400_000
const start = Date.UTC(2026, 0, 31, 10, 30)
const priceOf = (id: string): Price => builtInCatalogue.prices.get(id)!.price
const terms = (settlement: Settlement): Terms => ({ settlement, graceMillis: 7 * day, dueMillis: 14 * day })

/** A checkout whose button was pressed. */
const ordered = (life: Life, id: string, price: string, at: number, settlement: Settlement = "at once") => {
  life.ask({ _tag: "OpenCheckout", id, price: priceOf(price), expiresAt: at + day }, at)
  return life.ask({ _tag: "SubmitCheckout", id, terms: terms(settlement) }, at)
}

const subscribed = (price = "team_pro", settlement: Settlement = "at once"): Life => {
  const life = new Life()
  ordered(life, "co_1", price, start, settlement)
  if (settlement === "by operator")
    life.ask({ _tag: "SettleInvoice", id: life.billing.invoices[0]!.id, outcome: "paid" }, start)
  return life
}

const typesOf = (decision: { readonly events: ReadonlyArray<{ readonly type: string }> }) =>
  decision.events.map(({ type }) => type)

describe("a checkout", () => {
  it("given nothing, when it is paid, then a subscription begins and its plans are in force in the same decision", () => {
    const life = new Life()
    const decision = ordered(life, "co_1", "team_pro", start)
    expect(typesOf(decision)).toEqual(["invoice.paid", "subscription.created"])
    expect(decision.others).toHaveLength(1)
    expect(life.plans).toEqual(["team", "pro"])
    expect(life.billing.subscription).toMatchObject({ status: "active", start, end: Date.UTC(2026, 1, 28, 10, 30) })
  })

  it("given a paid one, when it is submitted again, then nothing happens", () => {
    const life = subscribed()
    const again = life.ask({ _tag: "SubmitCheckout", id: "co_1", terms: terms("at once") }, start + 1)
    expect([again.accepted, again.facts, again.events]).toEqual([true, [], []])
    expect(again.reply?.checkout?.state).toBe("paid")
  })

  it("given an expired one, or none, when it is submitted, then it is gone", () => {
    const life = new Life()
    life.ask({ _tag: "OpenCheckout", id: "co_1", price: priceOf("team_pro"), expiresAt: start + day }, start)
    for (const [id, at] of [
      ["co_1", start + day],
      ["co_2", start]
    ] as const)
      expect(life.ask({ _tag: "SubmitCheckout", id, terms: terms("at once") }, at).rejection).toEqual({
        _tag: "CheckoutGone"
      })
  })

  it("given more than are kept, when another one is opened, then the oldest gives way", () => {
    const life = new Life()
    for (let n = 0; n <= maximumCheckouts; n++)
      life.ask({ _tag: "OpenCheckout", id: `co_${n}`, price: priceOf("team_pro"), expiresAt: start + day }, start)
    expect(life.billing.checkouts).toHaveLength(maximumCheckouts)
    expect(life.billing.checkouts[0]?.id).toBe("co_1")
  })

  it("given one that waits for its payment, when another one is submitted, then the first is void", () => {
    const life = new Life()
    ordered(life, "co_1", "team_pro", start, "by operator")
    const first = life.billing.invoices[0]!.id
    ordered(life, "co_2", "early_adopter_pro", start, "by operator")
    expect(life.billing.invoices.map(({ checkout }) => checkout)).toEqual(["co_2"])
    expect(life.ask({ _tag: "SettleInvoice", id: first, outcome: "paid" }, start).rejection).toEqual({
      _tag: "InvoiceNotOpen",
      id: first
    })
    expect(life.plans).toEqual(["free", "hobby"])
  })

  it("given a price of nothing, when it is submitted, then no operator need confirm it", () => {
    const life = new Life()
    const price = { ...priceOf("team_pro"), id: "gift", amount: 0 }
    life.ask({ _tag: "OpenCheckout", id: "co_1", price, expiresAt: start + day }, start)
    life.ask({ _tag: "SubmitCheckout", id: "co_1", terms: terms("by operator") }, start)
    expect(life.plans).toEqual(["team", "pro"])
  })

  it("given one whose payment failed, then its invoice is void and no plan has changed", () => {
    const life = new Life()
    ordered(life, "co_1", "team_pro", start, "by operator")
    const failed = life.ask({ _tag: "SettleInvoice", id: life.billing.invoices[0]!.id, outcome: "failed" }, start)
    expect(failed.events).toMatchObject([{ type: "invoice.failed", data: { status: "void" } }])
    expect([life.billing.subscription, life.billing.invoices, life.plans]).toEqual([null, [], ["free", "hobby"]])
  })

  it("given one that nobody confirms, when it is due, then it is void", () => {
    const life = new Life()
    ordered(life, "co_1", "team_pro", start, "by operator")
    expect(life.passTo(start + 14 * day - 1)).toEqual([])
    expect(life.passTo(start + 14 * day)).toEqual(["invoice.failed"])
    expect([life.billing.invoices, life.wakesAt]).toEqual([[], undefined])
  })
})

describe("a subscription", () => {
  it("given payments by themselves, when its period ends, then the next one begins on the same day of the month", () => {
    const life = subscribed()
    const ends = []
    for (let month = 0; month < 4; month++) {
      ends.push(new Date(life.billing.subscription!.end).toISOString())
      expect(life.passTo(life.billing.subscription!.end)).toEqual(["invoice.paid", "subscription.updated"])
    }
    expect(ends).toEqual([
      "2026-02-28T10:30:00.000Z",
      "2026-03-31T10:30:00.000Z",
      "2026-04-30T10:30:00.000Z",
      "2026-05-31T10:30:00.000Z"
    ])
    expect(life.billing.made).toBe(5)
  })

  it("[platform 11.2] given another price, when that is paid, then the plans change and a whole period begins", () => {
    const life = subscribed("early_adopter_hobby")
    const { id } = life.billing.subscription!
    const decision = ordered(life, "co_2", "team_pro", start + 3 * day)
    expect(typesOf(decision)).toEqual(["invoice.paid", "subscription.updated"])
    expect(life.billing.subscription).toMatchObject({ id, start: start + 3 * day, number: 0 })
    expect(life.plans).toEqual(["team", "pro"])
  })

  it("given a cancellation with its period, when that ends, then the free plans are in force", () => {
    const life = subscribed()
    expect(typesOf(life.ask({ _tag: "Cancel", atPeriodEnd: true }, start + day))).toEqual(["subscription.updated"])
    expect(life.ask({ _tag: "Cancel", atPeriodEnd: true }, start + day).facts).toEqual([])
    expect(typesOf(life.ask({ _tag: "Resume" }, start + day))).toEqual(["subscription.updated"])
    expect(life.ask({ _tag: "Resume" }, start + day).facts).toEqual([])
    expect(life.billing.subscription?.cancelAtPeriodEnd).toBe(false)
    life.ask({ _tag: "Cancel", atPeriodEnd: true }, start + day)
    const { end } = life.billing.subscription!
    expect(life.passTo(end - 1)).toEqual([])
    expect(life.plans).toEqual(["team", "pro"])
    expect(life.passTo(end)).toEqual(["subscription.canceled"])
    expect([life.plans, life.wakesAt]).toEqual([["free", "hobby"], undefined])
  })

  it("given a cancellation at once, then the free plans are in force in that decision", () => {
    const life = subscribed()
    const decision = life.ask({ _tag: "Cancel", atPeriodEnd: false }, start + day)
    expect(decision.events).toMatchObject([
      { type: "subscription.canceled", data: { status: "canceled", plan: "team" } }
    ])
    expect(life.plans).toEqual(["free", "hobby"])
    expect(life.ask({ _tag: "Cancel", atPeriodEnd: false }, start + day).rejection).toEqual({ _tag: "NoSubscription" })
  })

  it("[platform 11.2] given a failed renewal, then it is past due for its grace, and after that canceled", () => {
    const life = subscribed("team_pro", "by operator")
    const { end } = life.billing.subscription!
    expect(life.passTo(end)).toEqual(["subscription.updated"])
    const invoice = life.billing.invoices[0]!
    const failed = life.ask({ _tag: "SettleInvoice", id: invoice.id, outcome: "failed" }, end + day)
    expect(typesOf(failed)).toEqual(["invoice.failed", "subscription.updated"])
    expect(life.billing.subscription).toMatchObject({ status: "past_due", graceEndsAt: end + 8 * day })
    expect(life.plans).toEqual(["team", "pro"])
    expect(life.ask({ _tag: "SettleInvoice", id: invoice.id, outcome: "failed" }, end + 2 * day).facts).toEqual([])
    expect(life.passTo(end + 8 * day - 1)).toEqual([])
    const canceled = life.ask({ _tag: "Look" }, end + 8 * day - 1)
    expect(canceled.reply?.subscription?.status).toBe("past_due")
    expect(life.passTo(end + 8 * day)).toEqual(["subscription.canceled"])
    expect([life.plans, life.billing.invoices]).toEqual([["free", "hobby"], []])
  })

  it("given a failed renewal, when it is paid within the grace, then it is active again", () => {
    const life = subscribed("team_pro", "by operator")
    const { end } = life.billing.subscription!
    life.passTo(end + 14 * day)
    expect(life.billing.subscription?.status).toBe("past_due")
    const paid = life.ask({ _tag: "SettleInvoice", id: life.billing.invoices[0]!.id, outcome: "paid" }, end + 15 * day)
    expect(typesOf(paid)).toEqual(["invoice.paid", "subscription.updated"])
    expect(life.billing.subscription).toMatchObject({ status: "active", graceEndsAt: null })
  })
})

describe("a plan that an operator has set", () => {
  it("[platform 11.2] stands while a subscription begins, changes and ends, until it is to follow again", () => {
    const life = new Life()
    life.setPlans({ plan: "free" }, start)
    ordered(life, "co_1", "team_pro", start)
    expect(life.plans).toEqual(["free", "pro"])
    life.follow(start)
    expect(life.plans).toEqual(["team", "pro"])
    life.setPlans({ plan: "team", sendPlan: "pro" }, start)
    life.ask({ _tag: "Cancel", atPeriodEnd: false }, start)
    expect(life.plans).toEqual(["team", "pro"])
    life.follow(start)
    expect(life.plans).toEqual(["free", "hobby"])
  })

  it("is what a larger plan is that stood in the log before there was billing", () => {
    const life = new Life()
    life.organization = { plan: "team", sendPlan: "hobby", limits: { requestsPerMinute: null } }
    ordered(life, "co_1", "early_adopter_pro", start)
    expect(life.plans).toEqual(["team", "pro"])
  })
})

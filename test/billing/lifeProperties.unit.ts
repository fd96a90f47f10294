/** The life of a subscription against a naive model that goes through the calendar second by second of interest (docs/platform.md, 11). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { builtInCatalogue } from "../../src/billing/prices.ts"
import { often } from "../support/often.ts"
import { Life } from "./given.ts"

const day = 86_400_000
const start = Date.UTC(2028, 0, 30, 23, 30)
const prices = ["team_pro", "early_adopter_hobby", "free_pro"] as const

const Step = Schema.Union([
  Schema.TaggedStruct("Buy", { price: Schema.Literals(prices) }),
  Schema.TaggedStruct("Settle", { outcome: Schema.Literals(["paid", "paid", "failed"]), last: Schema.Boolean }),
  Schema.TaggedStruct("Cancel", { atPeriodEnd: Schema.Boolean }),
  Schema.TaggedStruct("Resume", {}),
  Schema.TaggedStruct("Operate", { plan: Schema.Literals(["free", "team"]) }),
  Schema.TaggedStruct("Follow", {}),
  Schema.TaggedStruct("Pass", { days: Schema.Literals([1, 3, 8, 15, 31, 31, 62]) })
])
type Step = typeof Step.Type
const beginning: ReadonlyArray<Step> = [
  { _tag: "Buy", price: "team_pro" },
  { _tag: "Settle", outcome: "paid", last: false },
  { _tag: "Pass", days: 31 }
]
const graceDays = Schema.Literals([0, 5, 20])
const settlements = Schema.Literals(["at once", "by operator"])

interface NaiveInvoice {
  readonly isRenewal: boolean
  readonly price: (typeof prices)[number]
  readonly due: number
  failed: boolean
}

/** The months of a subscription, each found by walking on from its first day. */
const boundary = (anchor: number, month: number): number => {
  const from = new Date(anchor)
  const days = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + month + 1, 0)).getUTCDate()
  const midnight = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + month, Math.min(from.getUTCDate(), days))
  return midnight + (anchor % day)
}

/** Keeps everything as plain variables, and looks at each day's every event in order. */
class Naive {
  price: (typeof prices)[number] | undefined
  anchor = 0
  month = 0
  cancels = false
  graceEnds: number | undefined
  invoices: Array<NaiveInvoice> = []
  operator: "free" | "team" | undefined
  private readonly grace: number
  private readonly isAutomatic: boolean

  constructor(graceDays: number, isAutomatic: boolean) {
    this.grace = graceDays * day
    this.isAutomatic = isAutomatic
  }

  buy(price: (typeof prices)[number], now: number): void {
    this.invoices = this.invoices.filter(({ isRenewal }) => isRenewal)
    const invoice = { isRenewal: false, price, due: now + 14 * day, failed: false }
    this.invoices.push(invoice)
    if (this.isAutomatic) this.settle(invoice, "paid", now)
  }

  settle(invoice: NaiveInvoice, outcome: "paid" | "failed", now: number): void {
    const rest = this.invoices.filter((one) => one !== invoice)
    if (outcome === "paid") {
      this.invoices = invoice.isRenewal ? rest : []
      if (!invoice.isRenewal) {
        this.price = invoice.price
        this.anchor = now
        this.month = 0
        this.cancels = false
        this.graceEnds = undefined
      } else if (!rest.some(({ failed }) => failed)) this.graceEnds = undefined
    } else if (!invoice.isRenewal) this.invoices = rest
    else if (!invoice.failed) {
      invoice.failed = true
      this.graceEnds ??= now + this.grace
    }
  }

  end(): void {
    this.price = undefined
    this.graceEnds = undefined
    this.invoices = this.invoices.filter(({ isRenewal }) => !isRenewal)
  }

  /** What happens by itself until then, earliest first. */
  pass(now: number): void {
    for (;;) {
      const due: Array<readonly [number, number, () => void]> = this.invoices
        .filter(({ failed }) => !failed)
        .map((one) => [one.due, 2, () => this.settle(one, "failed", one.due)])
      const { graceEnds, price } = this
      if (price !== undefined) {
        const end = boundary(this.anchor, this.month + 1)
        if (graceEnds !== undefined) due.push([graceEnds, 0, () => this.end()])
        due.push([
          end,
          1,
          () => {
            if (this.cancels) {
              this.end()
              return
            }
            this.month++
            if (!this.isAutomatic) this.invoices.push({ isRenewal: true, price, due: end + 14 * day, failed: false })
          }
        ])
      }
      const [first] = due.sort(([one, a], [other, b]) => one - other || a - b)
      if (first === undefined || first[0] > now) return
      first[2]()
    }
  }

  get plans(): ReadonlyArray<string> {
    const { plan, sendPlan } = this.price === undefined ? { plan: "free", sendPlan: "hobby" } : priceOf(this.price)
    return [this.operator ?? plan, sendPlan]
  }
}

const priceOf = (id: string) => builtInCatalogue.prices.get(id)!.price

describe("the life of a subscription", () => {
  it.prop(
    "is that of the naive model, and its plans are in force whatever has happened",
    { graceDays, settlement: settlements, steps: Schema.Array(Step).check(Schema.isMaxLength(25)) },
    ({ graceDays, settlement, steps }) => {
      const life = new Life()
      const naive = new Naive(graceDays, settlement === "at once")
      const terms = { settlement, graceMillis: graceDays * day, dueMillis: 14 * day }
      let now = start
      // A life begins with a subscription and its first renewal, which drawn steps alone seldom reach.
      for (const [at, step] of [...beginning, ...steps].entries()) {
        // No two things happen at one instant, so that the order of steps is the order in time.
        now += 1_000 * (at + 1)
        life.passTo(now)
        naive.pass(now)
        play(life, naive, step, now, `co_${at}`, terms)
        const { subscription } = life.billing
        expect(life.plans).toEqual(naive.plans)
        expect(subscription?.price.id).toBe(naive.price)
        expect(subscription === null ? undefined : subscription.end).toBe(
          naive.price === undefined ? undefined : boundary(naive.anchor, naive.month + 1)
        )
        expect(subscription?.status ?? "none").toBe(
          naive.price === undefined ? "none" : naive.graceEnds === undefined ? "active" : "past_due"
        )
        expect(life.billing.invoices.map(({ failedAt }) => failedAt !== null)).toEqual(
          naive.invoices.map(({ failed }) => failed)
        )
        if (step._tag === "Pass") now += step.days * day
      }
    },
    { arbitrary: { runs: often(400) } }
  )
})

type Terms = {
  readonly settlement: "at once" | "by operator"
  readonly graceMillis: number
  readonly dueMillis: number
}

const play = (life: Life, naive: Naive, step: Step, now: number, id: string, terms: Terms): void => {
  switch (step._tag) {
    case "Buy":
      life.ask({ _tag: "OpenCheckout", id, price: priceOf(step.price), expiresAt: now + day }, now)
      life.ask({ _tag: "SubmitCheckout", id, terms }, now)
      naive.buy(step.price, now)
      return
    case "Settle": {
      const invoice = life.billing.invoices.at(step.last ? -1 : 0)
      if (invoice === undefined) return
      life.ask({ _tag: "SettleInvoice", id: invoice.id, outcome: step.outcome }, now)
      naive.settle(naive.invoices.at(step.last ? -1 : 0)!, step.outcome, now)
      return
    }
    case "Cancel": {
      const { accepted } = life.ask({ _tag: "Cancel", atPeriodEnd: step.atPeriodEnd }, now)
      expect(accepted).toBe(naive.price !== undefined)
      if (!accepted) return
      if (step.atPeriodEnd) naive.cancels = true
      else naive.end()
      return
    }
    case "Resume":
      expect(life.ask({ _tag: "Resume" }, now).accepted).toBe(naive.price !== undefined)
      naive.cancels = false
      return
    case "Operate":
      life.setPlans({ plan: step.plan }, now)
      naive.operator = step.plan
      return
    case "Follow":
      life.follow(now)
      naive.operator = undefined
      return
    case "Pass":
      return
  }
}

/**
 * Serves an organization's view of its billing (docs/platform.md, 11): subscription, entitlements, invoices, and the
 * way to another plan. Needs `Subscriptions`, `BillingProvider`, `Invoices` and `Organizations`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Engine } from "../engine/Engine.ts"
import type { InvalidCursor } from "../http/PageCursors.ts"
import { quote } from "../http/parameters.ts"
import { retryAfterMillis } from "../http/RequestState.ts"
import { requestsPerMinuteByPlan } from "../limits/plans.ts"
import type { Service } from "../platform/model.ts"
import { type OrganizationNotFound, Organizations, type Page } from "../platform/Organizations.ts"
import { SendAccount, SendLimits } from "../send/index.ts"
import { BillingProvider } from "./BillingProvider.ts"
import { BillingUnavailable, CheckoutRefused, type NoSubscription } from "./errors.ts"
import { type Invoice, Invoices } from "./Invoices.ts"
import { type BillingReply, type ShownSubscription, shownSubscription } from "./model.ts"
import { monthAt } from "./periods.ts"
import type { Plans, Price, PriceCatalogue } from "./prices.ts"
import { Subscriptions } from "./Subscriptions.ts"

/** Longest address that a customer is sent back to. */
const maximumUrlLength = 2_048

export interface BillingOptions {
  readonly catalogue: PriceCatalogue
  /** Whether customers may be sent back to http addresses of this machine, as in development. */
  readonly allowsLoopback: boolean
  /** The address at which customers reach this server. */
  readonly publicUrl: () => string
}

type Down = BillingUnavailable | SqlError.SqlError

/** A price, with what its plans allow. */
export interface ShownPrice extends Price {
  readonly requestsPerMinute: number
  /** Null for no limit. */
  readonly emailsPerMonth: number | null
}

export class Billing extends Context.Service<
  Billing,
  {
    readonly subscription: (organizationId: string) => Effect.Effect<ShownSubscription, Down>
    /** Whether the plans in force include a product, and how many emails a month they take; null for no limit. */
    readonly entitlement: (
      organizationId: string,
      product: Service
    ) => Effect.Effect<{ readonly hasAccess: boolean; readonly emails: number | null }, Down>
    readonly invoices: (
      organizationId: string,
      options: { readonly limit: number; readonly cursor: string | undefined }
    ) => Effect.Effect<Page<Omit<Invoice, "pdfUrl"> & { readonly pdfUrl: string }>, InvalidCursor | SqlError.SqlError>
    readonly checkout: (
      organizationId: string,
      mode: "live" | "test",
      request: { readonly priceId: string; readonly successUrl: string; readonly cancelUrl: string }
    ) => Effect.Effect<{ readonly url: string }, CheckoutRefused | Down>
    /** Answers the subscription after that: the canceled one, or the free one. */
    readonly cancel: (
      organizationId: string,
      atPeriodEnd: boolean
    ) => Effect.Effect<ShownSubscription, NoSubscription | Down>
    /** Takes a cancellation with the period back, and answers the subscription after that. */
    readonly resume: (organizationId: string) => Effect.Effect<ShownSubscription, NoSubscription | Down>
    /** The subscriptions on sale, in the order of the catalogue. */
    readonly prices: ReadonlyArray<ShownPrice>
  }
>()("sluice/billing/Billing") {
  static readonly layer = (options: BillingOptions) =>
    Layer.effect(
      Billing,
      Effect.suspend(() => make(options))
    )
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** The fault of an address to which a customer returns; undefined if it has none. */
export const returnUrlProblem = (text: string, allowsLoopback: boolean): string | undefined => {
  const url = URL.parse(text)
  if (url === null || text.length > maximumUrlLength) return "Expected an address"
  if (url.username !== "" || url.password !== "") return "Expected an address without user and password"
  if (url.protocol === "https:" || (allowsLoopback && url.protocol === "http:" && loopback.test(url.hostname)))
    return undefined
  return "Expected an https address"
}

/** An organization's plans, and the limit on its emails. */
const makeStanding = Effect.gen(function* () {
  const subscriptions = yield* Subscriptions
  const organizations = yield* Organizations
  const engine = yield* Engine

  const look = (organizationId: string) =>
    subscriptions
      .ask(organizationId, { _tag: "Look" })
      .pipe(Effect.catch((error) => (error._tag === "BillingUnavailable" ? Effect.fail(error) : Effect.die(error))))

  /** The plans in force. The log knows none of an organization from a version without an engine. */
  const plansOf = Effect.fnUntraced(function* (organizationId: string, { plan, sendPlan }: BillingReply) {
    if (plan !== null && sendPlan !== null) return { plan, sendPlan }
    const row = yield* Effect.catchTag(
      organizations.get(organizationId),
      "OrganizationNotFound",
      // The key that asks belongs to it.
      (error: OrganizationNotFound) => Effect.die(error)
    )
    return { plan: plan ?? row.plan, sendPlan: sendPlan ?? row.sendPlan }
  })

  const shown = Effect.fnUntraced(function* (organizationId: string, reply: BillingReply) {
    if (reply.subscription !== null) return shownSubscription(reply.subscription)
    const { end, start } = monthAt(yield* Clock.currentTimeMillis)
    const free: ShownSubscription = {
      id: `sub_free_${organizationId.replace(/^org_/, "")}`,
      ...(yield* plansOf(organizationId, reply)),
      status: "active",
      currentPeriodStart: new Date(start).toISOString(),
      currentPeriodEnd: new Date(end).toISOString(),
      cancelAtPeriodEnd: false
    }
    return free
  })

  /** An operator's own limit goes before the plan's. */
  const emailsPerMonth = Effect.fnUntraced(function* (organization: string, { sendPlan }: Plans) {
    const { look: found } = yield* engine
      .ask(SendAccount, { organization, key: "live" }, { _tag: "Look" })
      .pipe(Effect.mapError(() => limitsUnknown))
    const limit = found?.custom.emailsPerMonth ?? SendLimits.emailsPerMonthByPlan[sendPlan]
    return limit === "unlimited" ? null : limit
  })

  return { look, plansOf, shown, emailsPerMonth }
})

const limitsUnknown = new BillingUnavailable({
  message: "The limits cannot be read right now; the request is safe to repeat",
  retryAfterMillis
})

const shownPrice = (price: Price): ShownPrice => {
  const emails = SendLimits.emailsPerMonthByPlan[price.sendPlan]
  return {
    ...price,
    requestsPerMinute: requestsPerMinuteByPlan[price.plan],
    emailsPerMonth: emails === "unlimited" ? null : emails
  }
}

const make = ({ allowsLoopback, catalogue, publicUrl }: BillingOptions) =>
  Effect.gen(function* () {
    const provider = yield* BillingProvider
    const invoices = yield* Invoices
    const { emailsPerMonth, look, plansOf, shown } = yield* makeStanding
    return Billing.of({
      subscription: Effect.fn("Billing.subscription")((organizationId) =>
        Effect.flatMap(look(organizationId), (reply) => shown(organizationId, reply))
      ),
      entitlement: Effect.fn("Billing.entitlement")(function* (organizationId, product) {
        const plans = yield* plansOf(organizationId, yield* look(organizationId))
        const emails = yield* emailsPerMonth(organizationId, plans)
        return { hasAccess: catalogue.includes(plans, product), emails }
      }),
      invoices: Effect.fn("Billing.invoices")(function* (organizationId, options) {
        const { data, pagination } = yield* invoices.list(organizationId, options)
        const url = publicUrl()
        const shownInvoices = yield* Effect.forEach(data, (invoice) =>
          Effect.map(invoices.documentUrl(invoice, url), (pdfUrl) => ({ ...invoice, pdfUrl }))
        )
        return { data: shownInvoices, pagination }
      }),
      checkout: Effect.fn("Billing.checkout")(function* (organizationId, mode, { cancelUrl, priceId, successUrl }) {
        const entry = catalogue.prices.get(priceId)
        if (entry === undefined) {
          const known = [...catalogue.prices.keys()].join(", ")
          return yield* new CheckoutRefused({
            message: `Unknown price ${quote(priceId)}. Expected one of ${known || "none: the catalogue is empty"}.`
          })
        }
        for (const [field, url] of [
          ["successUrl", successUrl],
          ["cancelUrl", cancelUrl]
        ] as const) {
          // The console, which is served here, is as encrypted as the checkout's page itself.
          const isOwn = URL.parse(url)?.origin === URL.parse(publicUrl())?.origin && /^https?:/.test(url)
          const problem = returnUrlProblem(isOwn ? url.replace(/^http:/, "https:") : url, allowsLoopback)
          if (problem !== undefined)
            return yield* new CheckoutRefused({ message: `Invalid field '${field}'. ${problem}.` })
        }
        return yield* provider.checkout({ organizationId, mode, entry, successUrl, cancelUrl })
      }),
      cancel: Effect.fn("Billing.cancel")(function* (organizationId, atPeriodEnd) {
        return yield* shown(organizationId, yield* provider.cancel(organizationId, atPeriodEnd))
      }),
      resume: Effect.fn("Billing.resume")(function* (organizationId) {
        return yield* shown(organizationId, yield* provider.resume(organizationId))
      }),
      prices: [...catalogue.prices.values()].map(({ price }) => shownPrice(price))
    })
  })

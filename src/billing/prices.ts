/**
 * Reads the price catalogue (docs/platform.md, 11.3): the subscriptions on sale, and the products that a plan includes.
 * It is configuration, given as JSON; the built-in one sells the platform plans together with the send plans. Pure.
 */
import { Option, Schema } from "effect"
import {
  type PlatformPlan,
  platformPlans,
  type SendPlan,
  type Service,
  sendPlans,
  services
} from "../platform/model.ts"
import { intervals } from "./periods.ts"

/** Most prices of a catalogue. */
export const maximumPrices = 100
/** The largest amount: it fits PostgreSQL's int8 and JSON's numbers with room to add. */
export const maximumAmount = 1_000_000_000_000

const text = (maximum: number) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maximum}}$`, "u")))

export const PriceId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/))

export const plansFields = { plan: Schema.Literals(platformPlans), sendPlan: Schema.Literals(sendPlans) }

/** A price as it is sold, and as a subscription keeps it: a later change of the catalogue changes no subscription. */
export const Price = Schema.Struct({
  id: PriceId,
  name: text(80),
  ...plansFields,
  amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumAmount })),
  currency: Schema.String.check(Schema.isPattern(/^[a-z]{3}$/)),
  interval: Schema.Literals(intervals)
})
export type Price = typeof Price.Type

/** A price in configuration. It names one plan or both; the other one is the free one. */
const ConfiguredPrice = Schema.Struct({
  ...Price.fields,
  plan: Schema.optionalKey(plansFields.plan),
  sendPlan: Schema.optionalKey(plansFields.sendPlan),
  interval: Schema.optionalKey(Price.fields.interval),
  /** The price's id at Stripe, where Stripe takes the payments. */
  stripePrice: Schema.optionalKey(text(255))
})

const Products = Schema.Array(Schema.Literals(services))

const ConfiguredCatalogue = Schema.Struct({
  prices: Schema.Array(ConfiguredPrice).check(Schema.isMaxLength(maximumPrices)),
  products: Schema.optionalKey(
    Schema.Struct({
      free: Schema.optionalKey(Products),
      early_adopter: Schema.optionalKey(Products),
      team: Schema.optionalKey(Products),
      hobby: Schema.optionalKey(Products),
      pro: Schema.optionalKey(Products),
      enterprise: Schema.optionalKey(Products)
    })
  )
})

export interface Plans {
  readonly plan: PlatformPlan
  readonly sendPlan: SendPlan
}

/** A price of the catalogue with its id at Stripe, undefined where it has none. */
export interface CatalogueEntry {
  readonly price: Price
  readonly stripePrice: string | undefined
}

export interface PriceCatalogue {
  /** By their ids, in the order of the configuration. */
  readonly prices: ReadonlyMap<string, CatalogueEntry>
  /** Whether one of the plans in force includes a product. */
  readonly includes: (plans: Plans, product: Service) => boolean
}

const made = ({ prices, products = {} }: typeof ConfiguredCatalogue.Type): PriceCatalogue | string => {
  const entries = new Map<string, CatalogueEntry>()
  for (const { stripePrice, ...given } of prices) {
    if (given.plan === undefined && given.sendPlan === undefined) return `the price ${given.id} names no plan`
    if (entries.has(given.id)) return `two prices have the id ${given.id}`
    const { plan = "free", sendPlan = "hobby", interval = "month" } = given
    entries.set(given.id, { price: { ...given, plan, sendPlan, interval }, stripePrice })
  }
  return {
    prices: entries,
    // A plan of which nothing is said includes every product.
    includes: ({ plan, sendPlan }: Plans, product: Service) =>
      (products[plan]?.includes(product) ?? true) ||
      (products[sendPlan]?.includes(product) ?? products[plan] === undefined)
  }
}

/** Reads a catalogue from JSON; a text says what is wrong with it. */
export const parseCatalogue = (json: string): PriceCatalogue | string => {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return "it is not JSON"
  }
  try {
    return made(Schema.decodeUnknownSync(ConfiguredCatalogue, { onExcessProperty: "error" })(value))
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(/\s+/g, " ").slice(0, 300) : String(error)
  }
}

const builtInPrice = (id: string, name: string, plan: PlatformPlan, sendPlan: SendPlan, amount: number) => ({
  id,
  name,
  plan,
  sendPlan,
  amount,
  currency: "usd"
})

/** Amounts in cents a month. Free with Hobby costs nothing and is what one has without a subscription. */
const builtIn = made({
  prices: [
    builtInPrice("free_pro", "Free with Pro", "free", "pro", 2_000),
    builtInPrice("early_adopter_hobby", "Early Adopter with Hobby", "early_adopter", "hobby", 2_900),
    builtInPrice("early_adopter_pro", "Early Adopter with Pro", "early_adopter", "pro", 4_900),
    builtInPrice("team_hobby", "Team with Hobby", "team", "hobby", 9_900),
    builtInPrice("team_pro", "Team with Pro", "team", "pro", 11_900)
  ]
})

/** The catalogue without a setting. */
export const builtInCatalogue: PriceCatalogue = builtIn as PriceCatalogue

export const priceOf = (catalogue: PriceCatalogue, id: string): Option.Option<CatalogueEntry> =>
  Option.fromUndefinedOr(catalogue.prices.get(id))

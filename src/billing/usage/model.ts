/**
 * Defines the units of usage (docs/platform.md, 11.8), and the actors that record usage without another fact: calls
 * that made none, and the reports of other products' sites. Pure.
 */
import { Schema } from "effect"
import * as Actor from "../../engine/Actor.ts"
import { type CountedProduct, countedProducts } from "../../platform/CallCounts.ts"
import { monthAt } from "../periods.ts"

/** The types of usage that sites report and usage shows. */
export const usageTypes = ["apiCalls", "emails", "storage"] as const
export type UsageType = (typeof usageTypes)[number]

/**
 * The types that the log records. `contents` is the change of the stored bytes against the hour before; the others are
 * sums of the hour.
 */
export type CountedType = UsageType | "contents"

export const hourMillis = 60 * 60 * 1000
export const hourOf = (at: number): number => at - (at % hourMillis)

/** The largest quantity of one report. */
export const maximumQuantity = 1_000_000_000

const product = Schema.Literals(countedProducts)
const usageType = Schema.Literals(usageTypes)
const quantity = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumQuantity }))
const calls = Schema.Array(Schema.Tuple([product, Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))])).check(
  Schema.isMaxLength(countedProducts.length)
)

/** Calls of each product that a node has allowed since its last report. */
export type Calls = ReadonlyArray<readonly [product: CountedProduct, calls: number]>

const Counted = Schema.TaggedStruct("CallsCounted", { hour: Schema.Int, calls })
export type CountedFact = typeof Counted.Type

/** Its decisions are facts and nothing else: what was counted is only ever added up. */
export const CallCountsActor = Actor.makeStateless({
  kind: "call-counts",
  command: Schema.TaggedStruct("CountCalls", { calls }),
  fact: Counted,
  reply: Schema.Null,
  decide: (command, { now }) =>
    Actor.decided({
      facts: [{ _tag: "CallsCounted" as const, hour: hourOf(now), calls: command.calls }],
      reply: null
    })
})

const Reported = Schema.TaggedStruct("UsageReported", { at: Schema.Int, product, usageType, quantity })
export type ReportedFact = typeof Reported.Type

/** The reports of sites in a month: the month's start, and the sum for each product and usage type. */
const ReportsState = Schema.Struct({
  month: Schema.Int,
  sums: Schema.Array(Schema.Struct({ product, usageType, sum: Schema.Int }))
})
export type ReportsState = typeof ReportsState.Type

const sumOf = ({ sums }: ReportsState, of: Pick<ReportedFact, "product" | "usageType">): number =>
  sums.find((one) => one.product === of.product && one.usageType === of.usageType)?.sum ?? 0

const evolve = (state: ReportsState, fact: ReportedFact): ReportsState => {
  const month = monthAt(fact.at).start
  const before = month === state.month ? state : { month, sums: [] }
  const sum = Math.min(Number.MAX_SAFE_INTEGER, sumOf(before, fact) + fact.quantity)
  const others = before.sums.filter((one) => one.product !== fact.product || one.usageType !== fact.usageType)
  return { month, sums: [...others, { product: fact.product, usageType: fact.usageType, sum }] }
}

/** One per organization. It answers what was reported in this calendar month, with this report. */
export const UsageReportsActor = Actor.make({
  kind: "usage-reports",
  command: Schema.TaggedStruct("ReportUsage", { product, usageType, quantity }),
  fact: Reported,
  state: ReportsState,
  reply: Schema.Int,
  initial: (): ReportsState => ({ month: 0, sums: [] }),
  evolve,
  decide: (state, { product, quantity, usageType }, { now }) => {
    const fact: ReportedFact = { _tag: "UsageReported", at: now, product, usageType, quantity }
    return Actor.decided({ facts: [fact], reply: sumOf(evolve(state, fact), fact) })
  }
})

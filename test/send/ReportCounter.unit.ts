/** Reports about recipients as metrics: the number of series has a bound, under any names of complaints. */
import { Context, Metric } from "effect"
import { expect, it } from "vitest"
import { ReportCounter } from "../../src/send/ReportCounter.ts"

const seriesOf = (context: Context.Context<never>): ReadonlyMap<string, number> =>
  new Map(
    Metric.snapshotUnsafe(context).flatMap((one) =>
      one.type === "Counter"
        ? [[`${one.attributes?.what} ${one.attributes?.kind} ${one.attributes?.by}`, Number(one.state.count)] as const]
        : []
    )
  )

it("counts complaints of made-up kinds as `other`, and shows zeros before", () => {
  const context = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  const counter = new ReportCounter("feedback", context)
  expect(seriesOf(context)).toEqual(
    new Map([
      ["bounced permanent feedback", 0],
      ["complained abuse feedback", 0]
    ])
  )
  for (let at = 0; at < 1_000; at++) counter.count({ what: "complained", kind: `made-up-${at}` })
  counter.count({ what: "complained", kind: "abuse" })
  counter.count({ what: "bounced", kind: "permanent" })
  expect(seriesOf(context)).toEqual(
    new Map([
      ["bounced permanent feedback", 1],
      ["complained abuse feedback", 1],
      ["complained other feedback", 1_000]
    ])
  )
})

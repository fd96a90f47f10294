/** Shows how the attempts of an endpoint went over time. */
import { type Answer, get } from "../api.ts"
import { durationOf, Figures, queryOf, RangeSelect, rangeGiven, shareOf } from "../ui/figures.tsx"
import { useLoad, usePolling } from "../usePages.ts"

type Metrics = Answer<"GET", "/v1/webhooks/:id/metrics">

const count = (value: number): string => value.toLocaleString()

const chartOf = ({ series }: Metrics) => [
  { label: "succeeded", colour: "--bar-good", values: series.map(({ succeeded }) => succeeded) },
  { label: "failed, tried again", colour: "--bar-warn", values: series.map(({ retried }) => retried) },
  { label: "failed for good", colour: "--bar-bad", values: series.map(({ failed, retried }) => failed - retried) }
]

const totalsOf = ({ totals }: Metrics) =>
  [
    ["Attempts", count(totals.attempts)],
    ["Succeeded", shareOf(totals.successRate), count(totals.succeeded)],
    ["Failed", count(totals.failed), `${count(totals.retried)} of them tried again`],
    ["Answered within", durationOf(totals.latency.p50), `95 of 100 within ${durationOf(totals.latency.p95)}`]
  ] as const

export const AttemptFigures = ({ id }: { readonly id: string }) => {
  const range = rangeGiven()
  const loaded = useLoad(() => get("/v1/webhooks/:id/metrics", { params: { id }, query: queryOf(range) }), [id, range])
  usePolling(10_000, loaded.reload)
  return (
    <Figures
      title="Attempts over time"
      label="Attempts by the time at which they began"
      loaded={loaded}
      actions={<RangeSelect />}
      nothing={({ totals }) => (totals.attempts === 0 ? "Nothing was sent in this time." : undefined)}
      totals={totalsOf}
      chart={chartOf}
      columns={[
        { head: "Attempts", isFigure: true, cell: (one) => count(one.attempts) },
        { head: "Succeeded", isFigure: true, cell: (one) => count(one.succeeded) },
        { head: "Failed", isFigure: true, cell: (one) => count(one.failed) },
        { head: "Tried again", isFigure: true, cell: (one) => count(one.retried) },
        { head: "Success", isFigure: true, cell: (one) => shareOf(one.successRate) },
        { head: "p50", isFigure: true, cell: (one) => durationOf(one.latency.p50) },
        { head: "p95", isFigure: true, cell: (one) => durationOf(one.latency.p95) }
      ]}
    />
  )
}

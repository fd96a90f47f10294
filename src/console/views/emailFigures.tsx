/** Shows what became of the account's emails over time. */
import { type Answer, get } from "../api.ts"
import { search, setSearch } from "../router.ts"
import { Select } from "../ui/basics.tsx"
import { durationOf, Figures, queryOf, RangeSelect, rangeGiven, shareOf } from "../ui/figures.tsx"
import { useLoad, useRefresh } from "../usePages.ts"

type Metrics = Answer<"GET", "/v1/send/metrics">
type Counts = Metrics["totals"]

/** Parts of the accepted emails that have none in common. */
const chartOf = ({ series }: Metrics) => {
  const values = (of: (counts: Counts) => number) => series.map((one) => Math.max(0, of(one)))
  return [
    { label: "sent, not bounced", colour: "--bar-good", values: values(({ bounced, sent }) => sent - bounced) },
    { label: "bounced", colour: "--bar-bad", values: values(({ bounced }) => bounced) },
    { label: "not sent", colour: "--bar-warn", values: values(({ accepted, sent }) => accepted - sent) }
  ]
}

const count = (value: number): string => value.toLocaleString()

const totalsOf = ({ totals }: Metrics) => {
  const { rates, timeToHandOver } = totals
  return [
    ["Accepted", count(totals.accepted), `${count(totals.held)} of them held`],
    ["Delivered", shareOf(rates.delivered), `${count(totals.delivered)} of ${count(totals.sent)} sent`],
    ["Bounced", shareOf(rates.bounced), count(totals.bounced)],
    ["Complained", shareOf(rates.complained), count(totals.complained)],
    ["Time to hand-over", durationOf(timeToHandOver.p50), `95 of 100 within ${durationOf(timeToHandOver.p95)}`]
  ] as const
}

const Domains = () => {
  const { data } = useLoad(() => get("/v1/send/domains", { query: { limit: 100 } }), [])
  const names = [...new Set((data?.data ?? []).map(({ name }) => name))]
  const given = search.value.get("domain") ?? ""
  return (
    <Select
      label="Domain"
      value={given}
      options={[
        ["", "All domains"],
        ...(given === "" || names.includes(given) ? names : [given, ...names]).map((one) => [one, one] as const)
      ]}
      onChange={(domain) => setSearch({ domain })}
    />
  )
}

export const EmailFigures = ({ hasDomains = false }: { readonly hasDomains?: boolean }) => {
  const range = rangeGiven()
  const domain = hasDomains ? (search.value.get("domain") ?? "") : ""
  const loaded = useLoad(() => get("/v1/send/metrics", { query: { ...queryOf(range), domain } }), [range, domain])
  useRefresh(["send."], loaded.reload)
  return (
    <Figures
      title="Emails over time"
      label="Emails by the time of their acceptance"
      loaded={loaded}
      actions={
        <>
          {hasDomains && <Domains />}
          <RangeSelect />
        </>
      }
      nothing={({ totals }) => (totals.accepted === 0 ? "No email was accepted in this time." : undefined)}
      totals={totalsOf}
      chart={chartOf}
      columns={[
        { head: "Accepted", isFigure: true, cell: (one) => count(one.accepted) },
        { head: "Held", isFigure: true, cell: (one) => count(one.held) },
        { head: "Sent", isFigure: true, cell: (one) => count(one.sent) },
        { head: "Delivered", isFigure: true, cell: (one) => count(one.delivered) },
        { head: "Bounced", isFigure: true, cell: (one) => count(one.bounced) },
        { head: "Complained", isFigure: true, cell: (one) => count(one.complained) },
        { head: "Suppressed", isFigure: true, cell: (one) => count(one.suppressed) },
        { head: "Failed", isFigure: true, cell: (one) => count(one.failed) },
        { head: "p50", isFigure: true, cell: (one) => durationOf(one.timeToHandOver.p50) },
        { head: "p95", isFigure: true, cell: (one) => durationOf(one.timeToHandOver.p95) }
      ]}
    />
  )
}

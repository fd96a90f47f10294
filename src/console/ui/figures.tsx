/** Shows figures over time: a range to choose, the totals, a chart, and the same figures as a table. */
import type { ComponentChildren } from "preact"
import { search, setSearch } from "../router.ts"
import type { Loaded } from "../usePages.ts"
import { Fault, Loading, Part, Select } from "./basics.tsx"
import { Chart, type Series } from "./chart.tsx"
import { type Column, Table } from "./lists.tsx"
import { dayOf, momentOf, span } from "./time.ts"

const hourMillis = 3_600_000

/** The ranges, by their names in the address. */
const ranges = {
  "": { word: "Last 24 hours", hours: 24, interval: "hour" },
  week: { word: "Last 7 days", hours: 168, interval: "hour" },
  month: { word: "Last 30 days", hours: 720, interval: "day" }
} as const

const isRange = (name: string): name is keyof typeof ranges => Object.hasOwn(ranges, name)

/** The range in the address of the view. */
export const rangeGiven = (): keyof typeof ranges => {
  const name = search.value.get("range") ?? ""
  return isRange(name) ? name : ""
}

/** The parameters of a request for the figures of a range. */
export const queryOf = (name: keyof typeof ranges) => {
  const { hours, interval } = ranges[name]
  return { interval, since: Date.now() - hours * hourMillis }
}

export const RangeSelect = () => (
  <Select
    label="Range"
    value={rangeGiven()}
    options={Object.entries(ranges).map(([name, { word }]) => [name, word] as const)}
    onChange={(range) => setSearch({ range })}
  />
)

/** A share in words, such as 98.4 %. */
export const shareOf = (rate: number | null): string =>
  rate === null ? "–" : `${(rate * 100).toLocaleString("en", { maximumFractionDigits: 1 })} %`

/** A duration in words. */
export const durationOf = (millis: number | null): string => (millis === null ? "–" : span(millis))

export interface FiguresShown {
  readonly interval: "hour" | "day"
  readonly series: ReadonlyArray<{ readonly at: number }>
}

/** Figures, whatever they count. A part that loads or is unknown has the height of the figures to come. */
export const Figures = <Shown extends FiguresShown>({
  actions,
  chart,
  columns,
  label,
  loaded,
  nothing,
  title,
  totals
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly label: string
  readonly loaded: Loaded<Shown>
  readonly totals: (shown: Shown) => ReadonlyArray<readonly [name: string, value: string, note?: string]>
  readonly chart: (shown: Shown) => ReadonlyArray<Series>
  readonly columns: ReadonlyArray<Column<Shown["series"][number]>>
  /** Where nothing was counted, why there is nothing to see; undefined where there is. */
  readonly nothing: (shown: Shown) => ComponentChildren | undefined
}) => {
  const { data, error, reload } = loaded
  const time = (at: number) => (data?.interval === "day" ? dayOf(at) : momentOf(at))
  const empty = data === undefined ? undefined : nothing(data)
  return (
    <Part title={title} actions={actions}>
      <div class="figures-over-time">
        {error !== undefined && <Fault error={error} retry={reload} />}
        {data === undefined && error === undefined && <Loading />}
        {empty !== undefined && <p class="note">{empty}</p>}
        {data !== undefined && empty === undefined && (
          <>
            <dl class="glance">
              {totals(data).map(([name, value, note]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    {value}
                    {note !== undefined && <span class="note">{note}</span>}
                  </dd>
                </div>
              ))}
            </dl>
            <Chart label={label} times={data.series.map(({ at }) => at)} series={chart(data)} />
            <details class="more">
              <summary>The same as a table</summary>
              <Table
                caption={label}
                items={data.series.toReversed()}
                keyOf={({ at }) => String(at)}
                columns={[
                  {
                    head: data.interval === "day" ? "Day (UTC)" : "Hour",
                    isName: true,
                    cell: ({ at }) => time(at)
                  },
                  ...columns
                ]}
              />
            </details>
          </>
        )}
      </div>
    </Part>
  )
}

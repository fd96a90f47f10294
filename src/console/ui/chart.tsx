/**
 * Draws counts over time as columns. The values of a column show under a pointer, and by the arrow keys to readers
 * without one.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import type uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { isDark } from "../theme.ts"
import { clockTime, dayOf, momentOf } from "./time.ts"

export interface Series {
  readonly label: string
  /** The name of a colour of the style. */
  readonly colour: string
  readonly values: ReadonlyArray<number>
}

const heightPixels = 150
const widestBarPixels = 22
const dayMillis = 86_400_000

const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Values of later series on top of earlier ones. */
const stacked = (series: ReadonlyArray<Series>): Array<Array<number>> => {
  const sums: Array<Array<number>> = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, at) => value + (below?.[at] ?? 0)))
  }
  return sums
}

/** The library that draws is loaded with the first chart. */
const library = () => import("uplot")

const stepOf = (times: ReadonlyArray<number>): number =>
  times.length < 2 ? 60_000 : ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (times.length - 1)

/** The time of a column in words: columns of days are days of UTC. */
const wordsOf = (times: ReadonlyArray<number>, at: number): string =>
  stepOf(times) < dayMillis ? momentOf(times[at] ?? 0) : dayOf(times[at] ?? 0)

/** The room of the longest label beside the axis. */
const axisWidth = (labels: ReadonlyArray<string> | null): number =>
  Math.max(34, ...(labels ?? []).map(({ length }) => 14 + 7 * length))

const optionsOf = (
  plots: typeof uPlot,
  series: ReadonlyArray<Series>,
  width: number,
  times: ReadonlyArray<number>,
  onColumn: (at: number | null) => void
): uPlot.Options => {
  const [first, last] = [(times[0] ?? 0) / 1_000, (times.at(-1) ?? 0) / 1_000]
  const step = stepOf(times) / 1_000
  const isLong = last - first > dayMillis / 1_000
  const line = colourOf("--line")
  const text = colourOf("--quiet")
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" }
  return {
    width,
    height: heightPixels,
    legend: { show: false },
    cursor: { x: true, y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onColumn(cursor.idx ?? null)] },
    scales: {
      x: { time: true, range: () => [first - step / 2, last + step / 2] },
      y: { range: (_, __, highest) => [0, Math.max(highest * 1.05, 4)] }
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 4,
        values: (_, at) => at.map((one) => (isLong ? dayOf(one * 1_000) : clockTime(one * 1_000).slice(0, 5)))
      },
      {
        ...axis,
        size: (_, labels) => axisWidth(labels),
        values: (_, at) => at.map((one) => one.toLocaleString()),
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7]
      }
    ],
    series: [
      {},
      ...series.toReversed().map(({ colour, label }) => ({
        label,
        stroke: colourOf(colour),
        fill: colourOf(colour),
        width: 0,
        points: { show: false },
        paths: plots.paths.bars!({ size: [0.8, widestBarPixels] })
      }))
    ]
  }
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }

/** The column to which a key leads; undefined for any other key. */
const columnAfter = (key: string, at: number | null, columns: number): number | undefined => {
  if (key === "Home") return 0
  if (key === "End") return columns - 1
  const step = steps[key]
  if (step === undefined) return undefined
  return at === null ? (step < 0 ? columns - 1 : 0) : Math.max(0, Math.min(columns - 1, at + step))
}

/** Draws into an element while it is there, and names the column under the pointer. */
const useDrawing = (
  times: ReadonlyArray<number>,
  series: ReadonlyArray<Series>,
  onColumn: (at: number | null) => void
) => {
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot | undefined>(undefined)
  const key = JSON.stringify([times, series])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const data: uPlot.AlignedData = [times.map((at) => at / 1_000), ...stacked(series).toReversed()]
    let isOver = false
    let remove = () => {}
    void library().then(({ default: plots }) => {
      if (isOver) return
      const plot = new plots(optionsOf(plots, series, element.clientWidth, times, onColumn), data, element)
      drawn.current = plot
      const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPixels }))
      watch.observe(element)
      remove = () => {
        drawn.current = undefined
        watch.disconnect()
        plot.destroy()
      }
    })
    return () => {
      isOver = true
      remove()
    }
  }, [key, isDark.value])
  return { place, drawn }
}

export const Chart = ({
  label,
  times,
  series
}: {
  readonly label: string
  /** Unix milliseconds, in order. */
  readonly times: ReadonlyArray<number>
  readonly series: ReadonlyArray<Series>
}) => {
  const [chosen, choose] = useState<number | null>(null)
  const { drawn, place } = useDrawing(times, series, choose)
  const at = chosen === null ? null : Math.min(chosen, times.length - 1)
  const readout =
    at === null
      ? ""
      : `${wordsOf(times, at)}: ${series.map(({ label: name, values }) => `${(values[at] ?? 0).toLocaleString()} ${name}`).join(", ")}`
  const press = (event: KeyboardEvent) => {
    const next = columnAfter(event.key, at, times.length)
    if (next === undefined) return
    event.preventDefault()
    choose(next)
    const plot = drawn.current
    plot?.setCursor({ left: plot.valToPos((times[next] ?? 0) / 1_000, "x"), top: 0 })
  }
  const total = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0)
  return (
    <figure class="chart">
      <figcaption>
        {label}
        {series.map(({ colour, label: name, values }) => (
          <span key={name} class="key">
            <span class="swatch" style={{ background: `var(${colour})` }} aria-hidden="true" />
            {name} {total(values).toLocaleString()}
          </span>
        ))}
      </figcaption>
      <div
        class="columns-of-chart"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: columns`}
        aria-valuemin={1}
        aria-valuemax={times.length}
        aria-valuenow={(at ?? times.length - 1) + 1}
        aria-valuetext={readout === "" ? `${times.length} columns; the arrow keys choose one` : readout}
        onKeyDown={press}
      >
        <div ref={place} aria-hidden="true" style={{ minHeight: `${heightPixels}px` }} />
      </div>
      <p class="readout" aria-hidden="true">
        {readout === "" ? "Point at a column for its values" : readout}
      </p>
    </figure>
  )
}

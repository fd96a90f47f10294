/** Draws counts over time as columns. A table beside it has the same figures, for readers who cannot see it. */
import { useEffect, useRef } from "preact/hooks"
import type uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { theme } from "../theme.ts"
import { clockTime } from "./time.ts"

export interface Series {
  readonly label: string
  /** The name of a colour of the style. */
  readonly colour: string
  readonly values: ReadonlyArray<number>
}

const heightPixels = 150
const widestBarPixels = 22

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

const optionsOf = (
  plots: typeof uPlot,
  series: ReadonlyArray<Series>,
  width: number,
  times: ReadonlyArray<number>
): uPlot.Options => {
  const [first, last] = [(times[0] ?? 0) / 1_000, (times.at(-1) ?? 0) / 1_000]
  const step = times.length < 2 ? 60 : (last - first) / (times.length - 1)
  const line = colourOf("--line")
  const text = colourOf("--quiet")
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" }
  return {
    width,
    height: heightPixels,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: () => [first - step / 2, last + step / 2] },
      y: { range: (_, __, highest) => [0, Math.max(highest, 4)] }
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 4,
        values: (_, at) => at.map((one) => clockTime(one * 1_000).slice(0, 5))
      },
      { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] }
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
  const place = useRef<HTMLDivElement>(null)
  const key = JSON.stringify([times, series])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const data: uPlot.AlignedData = [times.map((at) => at / 1_000), ...stacked(series).toReversed()]
    let isOver = false
    let remove = () => {}
    void library().then(({ default: plots }) => {
      if (isOver) return
      const plot = new plots(optionsOf(plots, series, element.clientWidth, times), data, element)
      const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPixels }))
      watch.observe(element)
      remove = () => {
        watch.disconnect()
        plot.destroy()
      }
    })
    return () => {
      isOver = true
      remove()
    }
  }, [key, theme.value])
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
      <div ref={place} aria-hidden="true" style={{ minHeight: `${heightPixels}px` }} />
    </figure>
  )
}

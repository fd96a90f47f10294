/**
 * Shows the process in `/metrics` (docs/platform.md, 8.2): the build, CPU, memory, and how busy the event loop is. The
 * registry reads the values when metrics are requested, so an idle process spends nothing on them. Processes and
 * runtimes have the names that Prometheus gives them. Needs no service.
 */
import { readdirSync } from "node:fs"
import { type EventLoopUtilization, performance } from "node:perf_hooks"
import { Context, Effect, Layer, Metric } from "effect"
import { build } from "../common/version.ts"

/** Registries that have the series. A second platform of the process shows the same ones. */
const shown = new WeakSet<object>()

const ignore = () => {}

/** How long one reading of the memory counts: several series of a scrape share it. */
const readingMillis = 100

/** Makes a function that calls `read` at most once in each interval. */
const shared = <A>(read: () => A): (() => A) => {
  let value: A
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - readAt > readingMillis) {
      value = read()
      readAt = now
    }
    return value
  }
}

/** Counts the open files of the process; undefined on a system that does not list them. */
const openFiles = (): number | undefined => {
  try {
    return readdirSync("/proc/self/fd").length
  } catch {
    return undefined
  }
}

const show = (context: Context.Context<never>): void => {
  const gauge = (metric: Metric.Gauge<number>, value: () => number) =>
    Metric.registerUnsafe(metric, context, { get: () => ({ value: value() }), update: ignore, modify: ignore })
  const counter = (metric: Metric.Counter<number>, count: () => number) =>
    Metric.registerUnsafe(metric, context, {
      get: () => ({ count: count(), incremental: true }),
      update: ignore,
      modify: ignore
    })
  const memory = shared(() => process.memoryUsage())
  const loop = shared((): EventLoopUtilization => performance.eventLoopUtilization())
  const startedAt = performance.timeOrigin / 1_000

  gauge(
    Metric.gauge("sluice_build_info", {
      description:
        "Always 1; the labels name the version of the program, with its commit where it is known, and of Node",
      attributes: { version: build(), node: process.versions.node }
    }),
    () => 1
  )
  gauge(
    Metric.gauge("process_start_time_seconds", { description: "When the process began, seconds since 1970" }),
    () => startedAt
  )
  counter(
    Metric.counter("process_cpu_seconds_total", {
      description: "CPU time of the process, seconds",
      incremental: true
    }),
    () => {
      const { system, user } = process.cpuUsage()
      return (system + user) / 1_000_000
    }
  )
  gauge(
    Metric.gauge("process_resident_memory_bytes", { description: "Memory of the process in RAM, bytes" }),
    () => memory().rss
  )
  gauge(
    Metric.gauge("nodejs_heap_size_used_bytes", { description: "Used part of the heap of JavaScript, bytes" }),
    () => memory().heapUsed
  )
  gauge(
    Metric.gauge("nodejs_external_memory_bytes", { description: "Buffers and other memory outside the heap, bytes" }),
    () => memory().external
  )
  counter(
    Metric.counter("nodejs_eventloop_active_seconds_total", {
      description: "Time that the event loop has worked, seconds; its rate is 1 where it never waits",
      incremental: true
    }),
    () => loop().active / 1_000
  )
  if (openFiles() !== undefined)
    gauge(
      Metric.gauge("process_open_fds", { description: "Open files and connections of the process" }),
      () => openFiles() ?? 0
    )
}

/** Shows the process in the metrics for as long as it runs. */
export const layerProcessMetrics: Layer.Layer<never> = Layer.effectDiscard(
  Effect.map(Effect.context<never>(), (context) => {
    const registry = Context.get(context, Metric.MetricRegistry)
    if (shown.has(registry)) return
    shown.add(registry)
    show(context)
  })
)

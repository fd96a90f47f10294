/**
 * Counts and times answered requests. The figures are plain numbers here, and the metric registry reads them when
 * metrics are requested. So a request pays for an addition and no look-up, and the figures shown are current. Servers
 * with one registry share one meter, because a series can be registered once only.
 */
import { Context, Metric } from "effect"

/** In seconds, from a fast read in memory to the longest allowed request. */
const durationBoundaries: ReadonlyArray<number> = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
]

const ignore = () => {}

/** A series whose state is read, never pushed. */
const register = <Input, State>(
  metric: Metric.Metric<Input, State>,
  context: Context.Context<never>,
  get: () => State
) => Metric.registerUnsafe(metric, context, { get, update: ignore, modify: ignore })

class Durations {
  private readonly counts = new Float64Array(durationBoundaries.length + 1)
  private count = 0
  private sum = 0
  private min = Number.MAX_VALUE
  private max = -Number.MAX_VALUE

  private readonly route: string
  private readonly context: Context.Context<never>

  constructor(route: string, context: Context.Context<never>) {
    this.route = route
    this.context = context
  }

  add(seconds: number): void {
    let at = 0
    while (at < durationBoundaries.length && seconds > durationBoundaries[at]!) at++
    this.counts[at]!++
    if (this.count === 0) this.register()
    this.count++
    this.sum += seconds
    if (seconds < this.min) this.min = seconds
    if (seconds > this.max) this.max = seconds
  }

  /** Registers the series at the first request, so that unused routes do not show. */
  private register(): void {
    const metric = Metric.histogram("sluice_http_request_duration_seconds", {
      description: "Time from the first byte handled to the answer, by route",
      boundaries: durationBoundaries,
      attributes: { route: this.route }
    })
    register(metric, this.context, () => this.state)
  }

  private get state(): Metric.HistogramState {
    let below = 0
    const buckets = durationBoundaries.map((boundary, at): [number, number] => {
      below += this.counts[at]!
      return [boundary, below]
    })
    return { buckets, count: this.count, min: this.min, max: this.max, sum: this.sum }
  }
}

/** The counts of one method on one route. A route has few statuses, so the API itself bounds the map. */
export class RouteSeries {
  private readonly method: string
  private readonly route: string
  private readonly durations: Durations
  private readonly context: Context.Context<never>
  private readonly totals = new Map<number, { count: number }>()

  constructor(method: string, route: string, durations: Durations, context: Context.Context<never>) {
    this.method = method
    this.route = route
    this.durations = durations
    this.context = context
  }

  add(status: number, seconds: number): void {
    const total = this.totals.get(status) ?? this.total(status)
    total.count++
    this.durations.add(seconds)
  }

  private total(status: number): { count: number } {
    // A metric of its own for each series: `Metric.withAttributes` would merge the attributes at each update.
    const metric = Metric.counter("sluice_http_requests_total", {
      description: "Requests answered, by route, method and status",
      incremental: true,
      attributes: { method: this.method, route: this.route, status: String(status) }
    })
    const total = { count: 0 }
    register(metric, this.context, () => ({ count: total.count, incremental: true }))
    this.totals.set(status, total)
    return total
  }
}

export class RequestMeter {
  private readonly context: Context.Context<never>
  private readonly routes = new Map<
    string,
    { readonly durations: Durations; readonly methods: Map<string, RouteSeries> }
  >()

  private constructor(context: Context.Context<never>) {
    this.context = context
  }

  private static readonly meters = new WeakMap<object, RequestMeter>()

  /** The meter of the context's registry. */
  static of(context: Context.Context<never>): RequestMeter {
    const registry = Context.get(context, Metric.MetricRegistry)
    let meter = RequestMeter.meters.get(registry)
    if (meter === undefined) {
      meter = new RequestMeter(context)
      RequestMeter.meters.set(registry, meter)
    }
    return meter
  }

  /** Routes are those of the API, and methods those that Node knows. */
  series(method: string, route: string): RouteSeries {
    let known = this.routes.get(route)
    if (known === undefined) {
      known = { durations: new Durations(route, this.context), methods: new Map() }
      this.routes.set(route, known)
    }
    let series = known.methods.get(method)
    if (series === undefined) {
      series = new RouteSeries(method, route, known.durations, this.context)
      known.methods.set(method, series)
    }
    return series
  }
}

/** Records the dispatcher's metrics. Updated synchronously. All names begin with `sluice_webhook_`. */
import { type Context, Metric } from "effect"
import { deliveryStatuses } from "../delivery/model.ts"
import type { AttemptPlace } from "./DispatchQueue.ts"

const milliseconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

/** How attempts end: with the delivery's status, with another attempt due, or given back without an attempt. */
export const recordedOutcomes = [
  ...deliveryStatuses.filter((status) => status !== "pending"),
  "retried",
  "returned"
] as const
export type RecordedOutcome = (typeof recordedOutcomes)[number]

export class DispatchMetrics {
  private readonly context: Context.Context<never>
  private readonly outcomes: ReadonlyMap<RecordedOutcome, Metric.Counter<number>>
  private readonly latencies = Metric.histogram("sluice_webhook_attempt_millis", {
    description: "Time until an attempt had its answer or was given up, milliseconds",
    boundaries: milliseconds
  })
  private readonly inFlight = Metric.gauge("sluice_webhook_attempts_in_flight", { description: "Attempts in flight" })
  private readonly inFlightAt: Readonly<Record<AttemptPlace, Metric.Gauge<number>>> = {
    main: Metric.gauge("sluice_webhook_main_places", { description: "Places taken by attempts of quick endpoints" }),
    slow: Metric.gauge("sluice_webhook_slow_places", { description: "Places taken by attempts of slow endpoints" }),
    overdue: Metric.gauge("sluice_webhook_attempts_overdue", {
      description: "Attempts without a place, because their quick endpoint does not answer"
    })
  }
  private readonly held = Metric.gauge("sluice_webhook_deliveries_held", { description: "Deliveries held in memory" })
  private readonly unrecorded = Metric.gauge("sluice_webhook_deliveries_unrecorded", {
    description: "Deliveries of acknowledged frames that have no row yet; their outcome is in memory"
  })

  constructor(context: Context.Context<never>) {
    this.context = context
    this.outcomes = new Map(
      recordedOutcomes.map((outcome) => [
        outcome,
        Metric.counter("sluice_webhook_deliveries_total", {
          description: "Outcomes of deliveries and their attempts",
          incremental: true,
          attributes: { outcome }
        })
      ])
    )
    for (const counter of this.outcomes.values()) counter.updateUnsafe(0, context)
  }

  outcome(outcome: RecordedOutcome, count = 1): void {
    this.outcomes.get(outcome)!.updateUnsafe(count, this.context)
  }

  latency(millis: number): void {
    this.latencies.updateUnsafe(millis, this.context)
  }

  /** Sets the attempts in flight, the deliveries in memory, and those of them that have no row yet. */
  load(inFlight: Readonly<Record<AttemptPlace, number>>, held: number, unrecorded: number): void {
    this.unrecorded.updateUnsafe(unrecorded, this.context)
    this.inFlight.updateUnsafe(inFlight.main + inFlight.slow + inFlight.overdue, this.context)
    for (const place of ["main", "slow", "overdue"] as const)
      this.inFlightAt[place].updateUnsafe(inFlight[place], this.context)
    this.held.updateUnsafe(held, this.context)
  }

  /** Sets the backlog of one partition. The age is that of the delivery that has been due for longest, in seconds. */
  backlog(
    partition: number,
    of: { readonly pending: number; readonly oldestSeconds: number; readonly paused: number }
  ) {
    const attributes = { partition: String(partition) }
    const gauge = (name: string, description: string, value: number) =>
      Metric.gauge(name, { description, attributes }).updateUnsafe(value, this.context)
    gauge("sluice_webhook_backlog", "Deliveries that wait or are being attempted", of.pending)
    gauge("sluice_webhook_oldest_due_seconds", "How long the oldest pending delivery has been due", of.oldestSeconds)
    gauge("sluice_webhook_paused_endpoints", "Endpoints that are paused", of.paused)
  }
}

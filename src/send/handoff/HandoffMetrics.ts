/** Records the metrics of the hand-off. Updated synchronously. All names begin with `sluice_send_`. */
import { type Context, Metric } from "effect"
import { ReportCounter } from "../ReportCounter.ts"
import type { HandoffPurpose } from "./jobs.ts"

const seconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 43_200, 259_200]

/** How attempts end. */
const handoffOutcomes = ["handed_over", "delayed", "refused", "expired", "unknown", "failed", "account"] as const
export type HandoffOutcome = (typeof handoffOutcomes)[number]

export class HandoffMetrics {
  private readonly context: Context.Context<never>
  private readonly latencies = Metric.histogram("sluice_send_handoff_seconds", {
    description: "Time from acceptance until an email was handed over, seconds",
    boundaries: seconds
  })

  private readonly unrecordedMails = Metric.gauge("sluice_send_emails_unrecorded", {
    description: "Emails of acknowledged frames that have no row yet, while they are handed over from memory"
  })

  private readonly reported: ReportCounter

  constructor(context: Context.Context<never>) {
    this.context = context
    this.reported = new ReportCounter("relay", context)
  }

  /** Shows the outcomes at a transport before there is one: a rate needs the zero that it rises from. */
  begin(transport: string, purpose: HandoffPurpose): void {
    for (const outcome of handoffOutcomes) this.outcomes(outcome, transport, purpose, 0)
  }

  /** Counts how an attempt at a transport ended. */
  outcome(outcome: HandoffOutcome, transport: string, purpose: HandoffPurpose): void {
    this.outcomes(outcome, transport, purpose, 1)
  }

  private outcomes(outcome: HandoffOutcome, transport: string, purpose: HandoffPurpose, attempts: number): void {
    Metric.counter("sluice_send_handoffs_total", {
      description: "Attempts to hand mail over, by outcome and kind of transport",
      incremental: true,
      attributes: { outcome, transport, purpose }
    }).updateUnsafe(attempts, this.context)
  }

  /** Counts recipients whom the relay has refused. */
  bounces(reports: ReadonlyArray<{ readonly what: string; readonly kind?: string }>): void {
    for (const { kind = "permanent", what } of reports) if (what === "bounced") this.reported.count({ what, kind })
  }

  latency(millis: number): void {
    this.latencies.updateUnsafe(Math.max(0, millis) / 1000, this.context)
  }

  /** Sets the number of emails of acknowledged frames that have no row yet. */
  unrecorded(emails: number): void {
    this.unrecordedMails.updateUnsafe(emails, this.context)
  }

  /** Sets the backlog of one partition. The age is that of the mail that has been due for longest, in seconds. */
  backlog(partition: number, of: { readonly pending: number; readonly oldestSeconds: number }): void {
    const attributes = { partition: String(partition) }
    const gauge = (name: string, description: string, value: number) =>
      Metric.gauge(name, { description, attributes }).updateUnsafe(value, this.context)
    gauge("sluice_send_queued", "Mails that wait to be handed over or are being handed over", of.pending)
    gauge("sluice_send_oldest_due_seconds", "How long the oldest waiting mail has been due", of.oldestSeconds)
  }
}

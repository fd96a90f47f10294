/** Records the metrics of submission by SMTP (docs/handoff.md, 5). Updated synchronously. */
import { type Context, Metric } from "effect"

/** Why a connection was ended or refused by the listener. */
export type EndReason = "full" | "logins" | "slow" | "old" | "stopping"

export class SubmissionMetrics {
  private readonly context: Context.Context<never>
  private readonly open = Metric.gauge("sluice_submission_connections", {
    description: "Open connections of clients that submit mail by SMTP"
  })

  constructor(context: Context.Context<never>) {
    this.context = context
    this.open.updateUnsafe(0, context)
    for (const outcome of ["accepted", "repeated"]) this.mails(outcome, 0)
  }

  connections(count: number): void {
    this.open.updateUnsafe(count, this.context)
  }

  /** Counts a mail by how it was answered. */
  mails(outcome: string, count = 1): void {
    Metric.counter("sluice_submission_mails_total", {
      description: "Mails submitted by SMTP, by outcome: accepted, repeated, or the error code of the API",
      incremental: true,
      attributes: { outcome }
    }).updateUnsafe(count, this.context)
  }

  /** Counts a connection that the listener has ended. */
  ended(reason: EndReason): void {
    Metric.counter("sluice_submission_ended_total", {
      description: "Connections of SMTP clients that the platform ended, by reason",
      incremental: true,
      attributes: { reason }
    }).updateUnsafe(1, this.context)
  }
}

/**
 * Counts reports about recipients (docs/handoff.md, 4). The kind of a complaint is a text of its reporter, so only the
 * registered kinds are labels: the number of series has a bound. Updated synchronously.
 */
import { type Context, Metric } from "effect"

/** The reporter: the relay itself, or another mail system afterwards. */
export type Reporter = "relay" | "feedback"

/** The kinds of complaints that RFC 5965 and its registry know. */
const complaintKinds: ReadonlySet<string> = new Set([
  "abuse",
  "auth-failure",
  "dmarc",
  "fraud",
  "not-spam",
  "opt-out",
  "virus"
])

export class ReportCounter {
  private readonly by: Reporter
  private readonly context: Context.Context<never>

  constructor(by: Reporter, context: Context.Context<never>) {
    this.by = by
    this.context = context
    // A rate needs the zero that it rises from.
    this.update("bounced", "permanent", 0)
    if (by === "feedback") this.update("complained", "abuse", 0)
  }

  /** Counts one report of a recipient. */
  count({ kind = "", what }: { readonly what: string; readonly kind?: string }): void {
    this.update(what, what === "complained" && !complaintKinds.has(kind) ? "other" : kind, 1)
  }

  private update(what: string, kind: string, reports: number): void {
    Metric.counter("sluice_send_reports_total", {
      description: "Reports about recipients, by the relay itself or by other mail systems; repeats included",
      incremental: true,
      attributes: { what, kind, by: this.by }
    }).updateUnsafe(reports, this.context)
  }
}

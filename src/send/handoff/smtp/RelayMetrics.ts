/** The metrics of a relay. Updated synchronously. */
import { type Context, Metric } from "effect"
import type { RelayTrouble } from "./outcomes.ts"

export class RelayMetrics {
  private readonly context: Context.Context<never>

  constructor(context: Context.Context<never>) {
    this.context = context
  }

  /** Counts trouble with the relay itself, which says nothing of any mail. */
  error(kind: RelayTrouble): void {
    Metric.counter("sluice_send_relay_errors_total", {
      description: "Times that the relay could not be reached or used, by kind",
      incremental: true,
      attributes: { kind }
    }).updateUnsafe(1, this.context)
  }
}

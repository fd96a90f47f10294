/** Records the metrics of one worker (docs/workers.md, "Metrics"). Needs no service. */
import { type Context, Metric } from "effect"
import type { JobFigures } from "../ports/WorkerJobs.ts"

export class WorkerMetrics {
  private readonly context: Context.Context<never>
  private readonly done: Metric.Counter<number>
  private readonly failed: Metric.Counter<number>
  private readonly retried: Metric.Counter<number>
  private readonly rejected: Metric.Counter<number>
  private readonly runningJobs: Metric.Gauge<number>
  private readonly waitingJobs: Metric.Gauge<number>
  private readonly failedJobs: Metric.Gauge<number>
  private readonly oldest: Metric.Gauge<number>

  constructor(worker: string, context: Context.Context<never>) {
    this.context = context
    const attributes = { job: worker }
    const counted = (description: string) => ({ description, incremental: true, attributes }) as const
    this.done = Metric.counter("sluice_jobs_done_total", counted("Jobs of a worker that are done"))
    this.failed = Metric.counter("sluice_jobs_failed_total", counted("Jobs of a worker that have failed for good"))
    this.retried = Metric.counter("sluice_jobs_retried_total", counted("Attempts that are followed by another one"))
    this.rejected = Metric.counter(
      "sluice_jobs_replies_rejected_total",
      counted("Replies of a worker that their actors rejected")
    )
    const gauge = (name: string, description: string) => Metric.gauge(name, { description, attributes })
    this.runningJobs = gauge("sluice_jobs_running", "Jobs that a worker of this process works on")
    this.waitingJobs = gauge("sluice_jobs_waiting", "Jobs of a worker that wait, on the partitions of this process")
    this.failedJobs = gauge("sluice_jobs_failed", "Failed jobs of a worker that wait for an operator")
    this.oldest = gauge("sluice_jobs_oldest_seconds", "How long the oldest job of a worker has been due, seconds")
    // The rate of a counter that appears with its first count misses that count.
    for (const one of [this.done, this.failed, this.retried, this.rejected]) one.updateUnsafe(0, context)
    this.running(0)
  }

  running(jobs: number): void {
    this.runningJobs.updateUnsafe(jobs, this.context)
  }

  finished(): void {
    this.done.updateUnsafe(1, this.context)
  }

  gaveUp(): void {
    this.failed.updateUnsafe(1, this.context)
  }

  again(): void {
    this.retried.updateUnsafe(1, this.context)
  }

  replyRejected(): void {
    this.rejected.updateUnsafe(1, this.context)
  }

  /** Shows the rows of the partitions of this process. `running` of the open ones are being worked on. */
  figures({ failed, oldestDueAt, open }: JobFigures, running: number, now: number): void {
    this.waitingJobs.updateUnsafe(Math.max(0, open - running), this.context)
    this.failedJobs.updateUnsafe(failed, this.context)
    this.oldest.updateUnsafe(oldestDueAt === undefined ? 0 : Math.max(0, now - oldestDueAt) / 1000, this.context)
  }
}

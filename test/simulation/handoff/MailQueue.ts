/** The work queue of the hand-off in memory, with the meaning of the one in PostgreSQL. Needs no service. */
import type { JobOutcome, NewJob, PartitionClaim, TakenJob } from "../../../src/postgres/WorkQueue.ts"
import type { DueLane } from "../../../src/postgres/workQueueModel.ts"
import { handoffLanes } from "../../../src/send/handoff/jobs.ts"

export interface QueuedJob {
  readonly id: string
  readonly group: string
  readonly partition: number
  lane: number
  /** When it may be taken; for a taken job, when its lease ends. */
  dueAt: number
  attempts: number
  payload: string
  isParked: boolean
}

export class MailQueue {
  readonly jobs = new Map<string, QueuedJob>()

  put({ dueAt, group, id, lane, leasedUntil, partition, payload }: NewJob): void {
    if (this.jobs.has(id)) return
    const attempts = leasedUntil === undefined ? 0 : 1
    this.jobs.set(id, { id, group, partition, lane, dueAt: leasedUntil ?? dueAt, attempts, payload, isParked: false })
  }

  due(): ReadonlyArray<DueLane> {
    const lanes = new Map<string, DueLane>()
    for (const { dueAt, group, isParked, lane } of this.jobs.values()) {
      if (isParked) continue
      const known = lanes.get(`${group} ${lane}`)
      if (known === undefined || known.dueAt > dueAt) lanes.set(`${group} ${lane}`, { group, lane, dueAt })
    }
    return [...lanes.values()]
  }

  take(claims: ReadonlyArray<PartitionClaim>, now: number, leasedUntil: number): ReadonlyArray<TakenJob> {
    return claims.flatMap(({ group, lane, limit }) =>
      [...this.jobs.values()]
        .filter((job) => job.group === group && job.lane === lane && !job.isParked && job.dueAt <= now)
        .sort((one, other) => one.dueAt - other.dueAt)
        .slice(0, limit)
        .map((job) => {
          job.dueAt = leasedUntil
          job.attempts++
          return { id: job.id, group, lane, attempt: job.attempts, leasedUntil, expiresAt: null, payload: job.payload }
        })
    )
  }

  settle(outcomes: ReadonlyArray<JobOutcome>): ReadonlySet<string> {
    const counted = new Set<string>()
    for (const outcome of outcomes) {
      const job = this.jobs.get(outcome.id)
      if (job === undefined || job.isParked || job.attempts !== outcome.attempt) continue
      counted.add(job.id)
      if (outcome._tag === "Done") this.jobs.delete(job.id)
      else if (outcome._tag === "Parked") job.isParked = true
      else {
        job.dueAt = outcome.dueAt
        job.lane = outcome.lane ?? job.lane
        job.payload = outcome.payload ?? job.payload
        if (outcome._tag === "Returned") job.attempts--
      }
    }
    return counted
  }

  /** Lets the mails go that wait for the end of a pause, as `goOn` does. */
  goOn(group: string, at: number): void {
    for (const job of this.jobs.values())
      if (job.group === group && job.lane === handoffLanes.paused && !job.isParked) {
        job.dueAt = Math.min(job.dueAt, at)
        job.lane = handoffLanes.first
      }
  }
}

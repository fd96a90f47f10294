/**
 * Keeps workers' jobs in memory, lost with the process. A worker has at most 10,000 open ones, so its reactor waits for
 * room, and at most 10,000 failed ones, of which the organization with the most loses its oldest. Needs no service.
 */
import { Effect, Layer } from "effect"
import { ReactorTransaction } from "../ports/Cursors.ts"
import {
  type DueOrganization,
  type FailedJobSelection,
  type JobClaim,
  type JobLease,
  type NewWorkerJob,
  retryRounds,
  retrySpan,
  type TakenWorkerJob,
  type WorkerJobOutcome,
  WorkerJobs,
  WorkerJobsUnavailable
} from "../ports/WorkerJobs.ts"

/** A job, as it is kept. See {@link engineCheckers}. */
export interface MemoryJob extends NewWorkerJob {
  dueAt: number
  payload: string
  attempts: number
  /** Set while it waits for an operator; its `dueAt` means nothing then. */
  error: string | undefined
  isFailed: boolean
}

/** Most open jobs of a worker, and most failed ones. */
export const maximumMemoryJobs = 10_000

/** The jobs of one worker, in the order in which they came. See {@link engineCheckers}. */
export class WorkerQueue {
  readonly jobs = new Map<string, MemoryJob>()
  failed = 0

  get open(): number {
    return this.jobs.size - this.failed
  }

  put(jobs: ReadonlyArray<NewWorkerJob>): void {
    for (const job of jobs)
      if (!this.jobs.has(job.id)) this.jobs.set(job.id, { ...job, attempts: 0, error: undefined, isFailed: false })
  }

  /** The next job of each organization of a partition. */
  heads(partition: number, isOrdered: boolean): ReadonlyMap<string, MemoryJob> {
    const heads = new Map<string, MemoryJob>()
    for (const job of this.jobs.values()) {
      if (job.isFailed || job.partition !== partition) continue
      const head = heads.get(job.organization)
      if (head === undefined || isBefore(job, head, isOrdered)) heads.set(job.organization, job)
    }
    return heads
  }

  take(
    { limit, organization, partition }: JobClaim,
    { isOrdered, leasedUntil, now }: JobLease
  ): ReadonlyArray<MemoryJob> {
    const own = [...this.jobs.values()]
      .filter((job) => !job.isFailed && job.organization === organization && job.partition === partition)
      .sort((left, right) => (isBefore(left, right, isOrdered) ? -1 : 1))
    // A time behind the end of a lease that began now is a pause: it keeps nobody.
    const mayBeHeld = ({ attempts, dueAt }: MemoryJob) => attempts > 0 && dueAt > now && dueAt <= leasedUntil
    if (isOrdered && own.some(mayBeHeld)) return []
    const due = (isOrdered ? own.slice(0, 1) : own).filter(({ dueAt }) => dueAt <= now).slice(0, limit)
    for (const job of due) {
      job.attempts++
      job.dueAt = leasedUntil
    }
    return due
  }

  settle(outcome: WorkerJobOutcome): boolean {
    const job = this.jobs.get(outcome.id)
    if (job === undefined || job.isFailed || job.attempts !== outcome.attempt) return false
    switch (outcome._tag) {
      case "Done":
        this.jobs.delete(job.id)
        break
      case "Again":
        job.dueAt = outcome.dueAt
        job.error = outcome.error
        break
      case "Returned":
        job.dueAt = outcome.dueAt
        job.attempts--
        break
      case "Kept":
        job.dueAt = outcome.leasedUntil
        job.payload = outcome.payload
        break
      case "Failed":
        Object.assign(job, { error: outcome.error, payload: outcome.payload, isFailed: true })
        this.failed++
        if (this.failed > maximumMemoryJobs) this.dropFailed()
    }
    return true
  }

  selected({ id, limit, organization }: FailedJobSelection): ReadonlyArray<MemoryJob> {
    return [...this.jobs.values()]
      .filter(
        (job) =>
          job.isFailed &&
          (id === undefined || job.id === id) &&
          (organization === undefined || job.organization === organization)
      )
      .sort((left, right) => (left.id < right.id ? -1 : 1))
      .slice(0, limit)
  }

  retry(selection: FailedJobSelection, dueAt: number): number {
    const jobs = this.selected(selection)
    for (const job of jobs) {
      const round = (Math.floor(job.attempts / retrySpan) + 1) % retryRounds
      Object.assign(job, { dueAt, attempts: round * retrySpan, error: undefined, isFailed: false })
    }
    this.failed -= jobs.length
    return jobs.length
  }

  dismiss(selection: FailedJobSelection): number {
    const jobs = this.selected(selection)
    for (const { id } of jobs) this.jobs.delete(id)
    this.failed -= jobs.length
    return jobs.length
  }

  private dropFailed(): void {
    const failed = this.selected({ limit: Number.POSITIVE_INFINITY })
    const groups = [...Map.groupBy(failed, ({ organization }) => organization).values()]
    const [most] = groups.sort((left, right) => right.length - left.length)
    const oldest = most!.reduce((left, right) => (isBefore(right, left, true) ? right : left))
    this.jobs.delete(oldest.id)
    this.failed--
  }
}

/** Whether a job comes before another one of its organization. */
const isBefore = (left: MemoryJob, right: MemoryJob, isOrdered: boolean): boolean =>
  isOrdered
    ? left.sequence < right.sequence || (left.sequence === right.sequence && left.index < right.index)
    : left.dueAt < right.dueAt

const compare = (left: DueOrganization, right: DueOrganization): number =>
  left.partition - right.partition || (left.organization < right.organization ? -1 : 1)

/** The content of a deployment's jobs. Tests may share it between engines. See {@link engineCheckers}. */
export type WorkerJobsStore = Map<string, WorkerQueue>

export const makeStore = (): WorkerJobsStore => new Map()

const takenOf = ({ attempts, id, organization, payload }: MemoryJob): TakenWorkerJob => ({
  id,
  organization,
  attempt: attempts,
  payload
})

/** The port over a store. */
export const make = (store: WorkerJobsStore): WorkerJobs["Service"] => {
  const queueOf = (worker: string) => {
    const queue = store.get(worker) ?? new WorkerQueue()
    store.set(worker, queue)
    return queue
  }
  const once = <A>(worker: string, use: (queue: WorkerQueue) => A) => Effect.sync(() => use(queueOf(worker)))
  return WorkerJobs.of({
    put: (worker, jobs) =>
      Effect.flatMap(ReactorTransaction, ({ onCommit }) => {
        const queue = queueOf(worker)
        if (queue.open > 0 && queue.open + jobs.length > maximumMemoryJobs)
          return Effect.fail(new WorkerJobsUnavailable({ message: `worker ${worker} has ${queue.open} jobs already` }))
        onCommit(() => queue.put(jobs))
        return Effect.void
      }),
    due: (worker, partitions, { isOrdered, limit }) =>
      once(worker, (queue) =>
        partitions.flatMap(({ after, partition }) =>
          [...queue.heads(partition, isOrdered).values()]
            .map(({ dueAt, organization }) => ({ partition, organization, dueAt }))
            .filter(({ organization }) => organization > after)
            .sort(compare)
            .slice(0, limit)
        )
      ),
    take: (worker, claims, lease) =>
      once(worker, (queue) => claims.flatMap((claim) => queue.take(claim, lease)).map(takenOf)),
    settle: (worker, outcome) => once(worker, (queue) => queue.settle(outcome)),
    failed: (worker, { after = "", limit, organization }) =>
      once(worker, (queue) =>
        queue
          .selected({ organization, limit: Number.POSITIVE_INFINITY })
          .filter(({ id }) => id > after)
          .slice(0, limit)
          .map(({ attempts, error, id, organization, partition, payload }) => ({
            id,
            partition,
            organization,
            attempts,
            payload,
            error: error ?? ""
          }))
      ),
    retry: (worker, selection, dueAt) => once(worker, (queue) => queue.retry(selection, dueAt)),
    dismiss: (worker, selection) => once(worker, (queue) => queue.dismiss(selection)),
    figures: (worker, partitions) =>
      once(worker, (queue) => {
        const own = [...queue.jobs.values()].filter(({ partition }) => partitions.includes(partition))
        const open = own.filter(({ isFailed }) => !isFailed)
        const oldestDueAt = open.reduce((oldest, { dueAt }) => Math.min(oldest, dueAt), Number.POSITIVE_INFINITY)
        return {
          open: open.length,
          failed: own.length - open.length,
          oldestDueAt: open.length === 0 ? undefined : oldestDueAt
        }
      })
  })
}

export const layer: Layer.Layer<WorkerJobs> = Layer.sync(WorkerJobs, () => make(makeStore()))

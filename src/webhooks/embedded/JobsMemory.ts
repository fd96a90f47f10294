/**
 * Implements the work queue in memory, with the meaning of the one in PostgreSQL (`postgres/WorkQueue.ts`): jobs of a
 * lane are in the order in which they are due, a job is taken for a time, and an outcome counts for one attempt only.
 * Needs no service.
 */
import type { NewJob } from "../../postgres/WorkQueue.ts"
import { type JobPayload, jobLanes } from "../delivery/model.ts"

/** A job; times in milliseconds since the Unix epoch. */
export interface Job extends JobPayload {
  readonly id: string
  readonly partition: number
  readonly endpointId: string
  lane: number
  /** When it may be taken; for a taken job, when the lease ends. */
  dueAt: number
  attempts: number
  readonly expiresAt: number
  /** Its line and its place there, at an endpoint with an order. */
  readonly line?: NonNullable<NewJob["line"]> | undefined
}

interface Waiting {
  readonly dueAt: number
  readonly order: number
  readonly job: Job
}

/** A lane of a group: its jobs, the earliest first. */
export class JobLane {
  readonly endpointId: string
  readonly partition: number
  readonly lane: number
  readonly waiting: Array<Waiting> = []

  constructor(partition: number, endpointId: string, lane: number) {
    this.partition = partition
    this.endpointId = endpointId
    this.lane = lane
  }
}

/** In the order of PostgreSQL's collation "C". */
export const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const byPlace = ({ line: one }: Job, { line: other }: Job): number =>
  one!.place - other!.place || one!.index - other!.index

export class JobsMemory {
  readonly jobs = new Map<string, Job>()
  /** By endpoint, then by lane; lanes without a job are not there. */
  readonly groups = new Map<string, Map<number, JobLane>>()
  private readonly places = new Map<string, Waiting>()
  private puts = 0

  get size(): number {
    return this.jobs.size
  }

  /** Puts a job in; one of the same id changes nothing. Returns whether it is new. */
  put(job: Job): boolean {
    if (this.jobs.has(job.id)) return false
    this.jobs.set(job.id, job)
    this.insert(job)
    return true
  }

  remove(job: Job): void {
    this.jobs.delete(job.id)
    this.withdraw(job)
  }

  /** Changes when a job is due, and where it waits. */
  move(job: Job, dueAt: number, lane: number = job.lane): void {
    this.withdraw(job)
    job.dueAt = dueAt
    job.lane = lane
    this.insert(job)
  }

  lane(endpointId: string, lane: number): JobLane | undefined {
    return this.groups.get(endpointId)?.get(lane)
  }

  /** The jobs of each line of an endpoint, in order; the lines in order too. */
  lines(endpointId: string): ReadonlyArray<readonly [string, ReadonlyArray<Job>]> {
    const lines = new Map<string, Array<Job>>()
    for (const { job } of this.lane(endpointId, jobLanes.line)?.waiting ?? []) {
      const jobs = lines.get(job.line!.name) ?? []
      lines.set(job.line!.name, jobs)
      jobs.push(job)
    }
    for (const jobs of lines.values()) jobs.sort(byPlace)
    return [...lines].sort(([one], [other]) => byText(one, other))
  }

  /** The job of an attempt, unless it was taken again since or is gone. */
  at(id: string, attempt: number): Job | undefined {
    const job = this.jobs.get(id)
    return job?.attempts === attempt ? job : undefined
  }

  private insert(job: Job): void {
    const { dueAt, endpointId, id, lane: number, partition } = job
    const group = this.groups.get(endpointId) ?? new Map<number, JobLane>()
    this.groups.set(endpointId, group)
    const lane = group.get(number) ?? new JobLane(partition, endpointId, number)
    group.set(number, lane)
    const place: Waiting = { dueAt, order: this.puts++, job }
    lane.waiting.splice(indexOf(lane.waiting, place), 0, place)
    this.places.set(id, place)
  }

  private withdraw({ endpointId, id, lane: number }: Job): void {
    const place = this.places.get(id)
    const group = this.groups.get(endpointId)
    const lane = group?.get(number)
    if (place === undefined || group === undefined || lane === undefined) return
    this.places.delete(id)
    lane.waiting.splice(indexOf(lane.waiting, place), 1)
    if (lane.waiting.length === 0) group.delete(number)
    if (group.size === 0) this.groups.delete(endpointId)
  }
}

/** The place of a job in its lane. */
const indexOf = (waiting: ReadonlyArray<Waiting>, { dueAt, order }: Waiting): number => {
  let low = 0
  let high = waiting.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = waiting[middle]!
    if (other.dueAt < dueAt || (other.dueAt === dueAt && other.order < order)) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Finds the emails of acknowledged frames that may be handed over now, and offers them to the workers of this process
 * before a row of them is written (docs/architecture.md, rule 11; docs/handoff.md, 2). The account still says of each
 * whether it may go. An email that waits for a time, a place or a retry goes by way of the queue. Needs no service.
 */
import type { Tracer } from "effect"
import { BoundedMap } from "../../common/BoundedMap.ts"
import type { CommittedFrame, FactRecord, LogRecord, UnreadableRecord } from "../../engine/records.ts"
import { TaskBounds } from "../../engine/tasks/TaskBounds.ts"
import { type Task, TaskRegister, type WrittenTask } from "../../engine/tasks/TaskRegister.ts"
import type { LifeOfTasks, TaskLife, TaskSource } from "../../engine/tasks/TaskSource.ts"
import type { JobOutcome, NewJob, TakenJob } from "../../postgres/WorkQueue.ts"
import { type EmailFact, SendEmail } from "../account/actors/index.ts"
import type { HandoffGroup, HandoffWorkers } from "./HandoffWorkers.ts"
import { type EmailJob, emailJobId, encodeEmailJob, groupOf, handoffLanes } from "./jobs.ts"
import { maximumOffered, maximumOfferedOfAccount, maximumUnderWay } from "./limits.ts"

/** An email whose admission has given it the right to go. Nobody needs to be asked. */
export interface DirectMail {
  readonly email: EmailJob
  readonly sender: string
  /** The recipients that are suppressed, as a mask. */
  readonly suppressed: number
}

/** A job that was taken from memory or from the queue. */
export interface MailJob extends TakenJob {
  readonly direct?: DirectMail | undefined
}

/** An email that may be handed over now, as its job. */
export interface OfferedMail {
  readonly partition: number
  readonly group: string
  /** The id and payload of its job. */
  readonly id: string
  readonly payload: string
  readonly direct: DirectMail | undefined
  readonly cause?: Tracer.AnySpan
  /** How long its attempt may take, once it has begun. The job that a transaction writes meanwhile has the same time. */
  leasedUntil: number
}

type Register = TaskRegister<OfferedMail, JobOutcome>
type MailTask = Task<OfferedMail, JobOutcome>

/** The view of an offered email that a transaction writes. */
export type WrittenMail = WrittenTask<OfferedMail, JobOutcome>

/** An email of its life, which waits or is under way. */
interface Known {
  readonly register: Register
  readonly task: MailTask
}

/** The job of an email that may go when it is accepted; undefined for any other record. */
export const jobOfAccepted = (record: LogRecord): NewJob | undefined => {
  if (record._tag !== "Fact" || record.kind !== SendEmail.kind) return undefined
  // A record of an actor's kind holds what the actor's own schema has decoded.
  const fact = record.fact as EmailFact
  if (fact._tag !== "Accepted" || fact.state !== "queued") return undefined
  const { key: email, organization, partition } = record
  return {
    id: emailJobId(organization, email),
    partition,
    group: groupOf(organization, fact.mode),
    lane: handoffLanes.first,
    dueAt: fact.at,
    expiresAt: null,
    payload: encodeEmailJob({ email, pointer: fact.pointer, acceptedAt: fact.at })
  }
}

/** The right of an email to go, where its admission gave it: in the fact behind its acceptance. */
const directOf = (accepted: LogRecord, next: LogRecord | UnreadableRecord | undefined): DirectMail | undefined => {
  if (next?._tag !== "Fact" || next.kind !== SendEmail.kind || next.key !== accepted.key) return undefined
  const [{ at, pointer, sender }, fact] = [
    (accepted as FactRecord).fact as Extract<EmailFact, { readonly _tag: "Accepted" }>,
    next.fact as EmailFact
  ]
  if (fact._tag !== "Dispatched") return undefined
  return { email: { email: accepted.key, pointer, acceptedAt: at }, sender, suppressed: fact.suppressed ?? 0 }
}

/** The job that a transaction writes of an email: none where nothing is left to do. */
export const jobWritten = (job: NewJob, written: WrittenMail | undefined): NewJob | undefined => {
  if (written === undefined || written._tag === "Left") return job
  if (written._tag === "Running") return { ...job, leasedUntil: written.task.payload.leasedUntil }
  const { outcome } = written
  switch (outcome._tag) {
    case "Done":
      return undefined
    case "Again": {
      const { dueAt, error, lane, payload = job.payload } = outcome
      // As if it had been taken: the first attempt is over, and the next one is due then.
      return { ...job, lane, leasedUntil: dueAt, payload, error }
    }
    case "Returned": {
      const { dueAt, lane = job.lane, payload = job.payload } = outcome
      return { ...job, lane, dueAt, payload }
    }
    // Its next taker finds the same fault, and parks it.
    case "Parked":
      return job
  }
}

export class MailTasks implements TaskSource {
  private readonly workers: () => HandoffWorkers | undefined
  private readonly bounds: TaskBounds
  private readonly registers = new Map<number, Register>()
  /** Emails that wait for room, by group. Some of them may have been left meanwhile. */
  private readonly waiting = new Map<string, Array<Known>>()
  private waitingCount = 0
  private leftCount = 0
  /** Emails under way, by the ids of their jobs. More are never taken. */
  private readonly underWay = new BoundedMap<string, Known>(2 * maximumUnderWay)

  constructor(workers: () => HandoffWorkers | undefined, bounds = new TaskBounds()) {
    this.workers = workers
    this.bounds = bounds
  }

  /** Emails that are not recorded yet. */
  get unrecorded(): number {
    return this.bounds.used
  }

  readonly open = (life: TaskLife): LifeOfTasks => {
    const register: Register = new TaskRegister<OfferedMail, JobOutcome>(
      this.bounds,
      ({ payload }, outcome) => this.workers()?.late(payload, outcome),
      (sequence, hasEnded) => {
        if (!hasEnded) this.leftCount++
        life.settled(sequence, hasEnded)
      }
    )
    this.registers.set(life.partition, register)
    return {
      followed: (frame) => this.follow(life, register, frame),
      isSettled: (sequence) => register.isSettled(sequence),
      open: () => register.open,
      recorded: (sequence) => register.recorded(sequence),
      // The account decides whether an email goes, and reads no row. One whose record is parked goes too: once the
      // record is written, its job is found to be over.
      exclude: () => undefined,
      allow: () => undefined,
      resumed: () => undefined,
      close: () => {
        register.close()
        if (this.registers.get(life.partition) === register) this.registers.delete(life.partition)
      }
    }
  }

  /** Answers the view of the email that a record accepts, for a transaction; undefined where it was not offered. */
  written({ index, partition, sequence }: LogRecord): WrittenMail | undefined {
    return this.registers.get(partition)?.write(sequence, index, "")
  }

  /** Whether this process serves a partition. */
  isOpen(partition: number): boolean {
    return this.registers.has(partition)
  }

  /** How many emails of a group wait here. */
  waitingOf(group: string): number {
    return this.waiting.get(group)?.length ?? 0
  }

  /** Begins emails of a group, the longest waiting first. */
  take(group: string, limit: number, leasedUntil: number): ReadonlyArray<MailJob> {
    const waiting = this.waiting.get(group)
    const taken: Array<MailJob> = []
    if (waiting === undefined) return taken
    let at = 0
    for (; at < waiting.length && taken.length < limit; at++) {
      const known = waiting[at]!
      const { direct, id, payload } = known.task.payload
      if (!known.register.run(known.task)) {
        this.leftCount--
        continue
      }
      known.task.payload.leasedUntil = leasedUntil
      this.underWay.set(id, known)
      taken.push({ id, group, lane: handoffLanes.first, attempt: 1, leasedUntil, expiresAt: null, payload, direct })
    }
    this.waitingCount -= at
    if (at < waiting.length) waiting.splice(0, at)
    else this.waiting.delete(group)
    return taken
  }

  /**
   * Whether an attempt of this job, begun from memory in an earlier life of its partition, is under way at this time.
   * Its outcome settles the job.
   */
  isUnderWay(id: string, now: number): boolean {
    const known = this.underWay.get(id)
    return known !== undefined && known.task.payload.leasedUntil > now
  }

  /** Ends emails that were taken here. Returns the outcomes that belong into the queue, those of other jobs among them. */
  end(outcomes: ReadonlyArray<JobOutcome>): ReadonlyArray<JobOutcome> {
    return outcomes.filter((outcome) => {
      const known = outcome.attempt === 1 ? this.underWay.get(outcome.id) : undefined
      if (known === undefined) return true
      this.underWay.delete(outcome.id)
      return !known.register.end(known.task, outcome)
    })
  }

  /** Whether the queue has the job of an email, so that it can be changed there. */
  isInQueue(id: string): boolean {
    const known = this.underWay.get(id)
    return known === undefined || known.register.isQueued(known.task)
  }

  /** Leaves the waiting emails of a group to the queue. */
  leave(group: string): void {
    for (const { register, task } of this.waiting.get(group) ?? []) {
      register.leave(task)
      this.leftCount--
      this.waitingCount--
    }
    this.waiting.delete(group)
  }

  private follow(life: TaskLife, register: Register, { records, sequence }: CommittedFrame): void {
    const workers = this.workers()
    const groups = new Map<string, HandoffGroup>()
    for (const [at, record] of records.entries()) {
      if (record._tag === "Unreadable") continue
      const job = jobOfAccepted(record)
      if (job === undefined) continue
      const { group, id, partition, payload } = job
      const cause = life.spanOf(sequence)
      const where = cause === undefined ? { partition, group } : { partition, group, cause }
      const mail: OfferedMail = { ...where, id, payload, direct: directOf(record, records[at + 1]), leasedUntil: 0 }
      const { index, organization } = record
      const task = register.add({ organization, sequence, index, key: "" }, mail, payload.length)
      if (task === undefined) continue
      if (workers === undefined || !this.keep({ register, task })) register.leave(task)
      else groups.set(group, where)
    }
    if (groups.size > 0) workers?.offered([...groups.values()])
  }

  /** Keeps an email until its account has room; false where too many wait. */
  private keep(known: Known): boolean {
    if (this.leftCount > this.waitingCount / 2) this.sweep()
    const { group } = known.task.payload
    const waiting = this.waiting.get(group) ?? []
    if (this.waitingCount >= maximumOffered || waiting.length >= maximumOfferedOfAccount) return false
    waiting.push(known)
    this.waiting.set(group, waiting)
    this.waitingCount++
    return true
  }

  /** Forgets emails that were left meanwhile. */
  private sweep(): void {
    this.waitingCount = 0
    this.leftCount = 0
    for (const [group, all] of this.waiting) {
      const left = all.filter(({ task }) => task.status === "waiting")
      this.waitingCount += left.length
      if (left.length === 0) this.waiting.delete(group)
      else this.waiting.set(group, left)
    }
  }
}

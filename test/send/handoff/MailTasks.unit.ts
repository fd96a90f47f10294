/** The mails of acknowledged frames: a specification of what is offered, taken and written (docs/handoff.md, 2). */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { CommittedFrame, FactRecord } from "../../../src/engine/records.ts"
import type { JobOutcome, TakenJob } from "../../../src/postgres/WorkQueue.ts"
import { SendEmail } from "../../../src/send/account/actors/index.ts"
import { defaultHandoffSettings } from "../../../src/send/handoff/Handoff.ts"
import { handoffLanes } from "../../../src/send/handoff/jobs.ts"
import { maximumOffered, maximumOfferedOfAccount } from "../../../src/send/handoff/limits.ts"
import { jobOfAccepted, jobWritten, MailTasks } from "../../../src/send/handoff/MailTasks.ts"
import { takeJobs } from "../../../src/send/handoff/makeGroups.ts"

const group = "org_1/live"
const leasedUntil = 60_000

const accepted = (sequence: number, state = "queued", organization = "org_1"): FactRecord => ({
  _tag: "Fact",
  partition: 0,
  sequence,
  index: 0,
  now: 1_000,
  organization,
  kind: SendEmail.kind,
  key: `em_${sequence}`,
  fact: {
    _tag: "Accepted",
    at: 1_000,
    state,
    mode: "live",
    sender: "one.test",
    place: null,
    scheduledAt: null,
    pointer: "1.0"
  }
})

const frameOf = (record: FactRecord): CommittedFrame => ({
  sequence: record.sequence,
  hash: "",
  number: record.sequence,
  epoch: 1,
  now: record.now,
  bytes: 1,
  records: [record]
})

const make = () => {
  const offered: Array<string> = []
  const late: Array<JobOutcome> = []
  const settled: Array<number> = []
  const tasks = new MailTasks(() => ({
    committed: () => undefined,
    offered: (groups) => void offered.push(...groups.map((one) => one.group)),
    roomOf: () => 0,
    late: (_, outcome) => void late.push(outcome),
    drain: Effect.void
  }))
  const open = () =>
    tasks.open({
      partition: 0,
      framesAfter: () => undefined,
      spanOf: () => undefined,
      settled: (sequence) => void settled.push(sequence)
    })
  const life = open()
  const accept = (sequence: number, state?: string, organization?: string) => {
    const record = accepted(sequence, state, organization)
    life.followed(frameOf(record))
    return record
  }
  /** The job that a transaction writes of a record. */
  const write = (record: FactRecord) => {
    const job = jobOfAccepted(record)
    return job && jobWritten(job, tasks.written(record))
  }
  return { tasks, life, open, offered, late, settled, accept, write }
}

const done = ({ attempt, id }: TakenJob): JobOutcome => ({ _tag: "Done", id, attempt })

describe("an email of an acknowledged frame", () => {
  it("given that it may go, then it is offered, and once it has gone nothing is written", () => {
    const { accept, late, offered, settled, tasks, write } = make()
    const record = accept(1)
    expect(offered).toEqual([group])
    const [job] = tasks.take(group, 30, leasedUntil)
    expect(job).toMatchObject({ id: "org_1/em_1", lane: handoffLanes.first, attempt: 1, leasedUntil })
    expect(tasks.end([done(job!)])).toEqual([])
    expect([write(record), settled, late]).toEqual([undefined, [1], []])
  })

  it("given the right to go with its admission, then it is offered with that, and without recipients who are suppressed", () => {
    const { life, tasks } = make()
    const record = accepted(1)
    const dispatched = { ...record, index: 1, fact: { _tag: "Dispatched", at: 1_000, suppressed: 2 } }
    const other = { ...accepted(1), index: 2, key: "em_2" }
    const ofThird = { ...dispatched, index: 3, key: "em_3" }
    life.followed({ ...frameOf(record), records: [record, dispatched, other, ofThird] })
    expect(tasks.take(group, 30, leasedUntil).map(({ direct }) => direct)).toEqual([
      { email: { email: "em_1", pointer: "1.0", acceptedAt: 1_000 }, sender: "one.test", suppressed: 2 },
      undefined
    ])
  })

  it("given that it is scheduled, held or suppressed, then it is not offered", () => {
    const { accept, offered, write } = make()
    for (const [index, state] of ["scheduled", "held", "suppressed"].entries())
      expect(write(accept(index + 1, state))).toBeUndefined()
    expect(offered).toEqual([])
  })

  it("given that it is under way as its frame is written, then its job has its lease, and its outcome goes to the queue", () => {
    const { accept, late, life, tasks, write } = make()
    const [before, after] = [accept(1), accept(2)]
    const [first, second] = tasks.take(group, 30, leasedUntil)
    expect([write(before), write(after)].map((job) => job?.leasedUntil)).toEqual([leasedUntil, leasedUntil])
    expect(tasks.isInQueue(second!.id)).toBe(false)
    // One ends before the process knows of the commit, the other one after.
    expect(tasks.end([done(first!)])).toEqual([])
    life.recorded(2)
    expect(late).toEqual([done(first!)])
    expect(tasks.isInQueue(second!.id)).toBe(true)
    expect(tasks.end([done(second!)])).toEqual([done(second!)])
  })

  it("given that it waits as its frame is written, then the queue has it, and memory does not begin it", () => {
    const { accept, tasks, write } = make()
    const job = write(accept(1))
    expect([job?.leasedUntil, job?.dueAt]).toEqual([undefined, 1_000])
    expect(tasks.take(group, 30, leasedUntil)).toEqual([])
  })

  it("given a first attempt that is to be repeated, then its job is due at that time, with one attempt made", () => {
    const { accept, tasks, write } = make()
    const records = [accept(1), accept(2)]
    const [again, returned] = tasks.take(group, 30, leasedUntil)
    tasks.end([
      {
        _tag: "Again",
        id: again!.id,
        attempt: 1,
        dueAt: 61_000,
        lane: handoffLanes.again,
        payload: "less",
        error: "450"
      },
      { _tag: "Returned", id: returned!.id, attempt: 1, dueAt: 5_000, lane: handoffLanes.paused, payload: "refused" }
    ])
    expect(records.map(write)).toMatchObject([
      { lane: handoffLanes.again, leasedUntil: 61_000, payload: "less", error: "450" },
      { lane: handoffLanes.paused, dueAt: 5_000, payload: "refused" }
    ])
  })

  it("given the end of its partition's life, then its job is left to the attempt that goes on, until that has no time left", async () => {
    const { accept, life, open, tasks, write } = make()
    const record = accept(1)
    const [job] = tasks.take(group, 30, leasedUntil)
    life.close()
    open()
    expect(write(record)?.leasedUntil).toBeUndefined()
    const context = { settings: defaultHandoffSettings, tasks, take: () => Effect.succeed([job!]) }
    const taken = takeJobs(context, { partition: 0, group }, [30, 10, 10], true)
    const atTime = Effect.provideService(Clock.Clock, {
      ...Clock.Clock.defaultValue(),
      currentTimeMillis: Effect.succeed(1)
    })
    expect((await Effect.runPromise(atTime(taken))).jobs).toEqual([])
    expect((await Effect.runPromise(taken)).jobs).toEqual([job])
    expect([tasks.isUnderWay(job!.id, leasedUntil - 1), tasks.isUnderWay(job!.id, leasedUntil)]).toEqual([true, false])
    expect(tasks.end([done(job!)])).toEqual([done(job!)])
    expect(tasks.isUnderWay(job!.id, 0)).toBe(false)
  })

  it("given that nobody hands mail over here, then the queue gets it", () => {
    const tasks = new MailTasks(() => undefined)
    const life = tasks.open({
      partition: 0,
      framesAfter: () => undefined,
      spanOf: () => undefined,
      settled: () => undefined
    })
    life.followed(frameOf(accepted(1)))
    expect([life.isSettled(1), tasks.waitingOf(group)]).toEqual([true, 0])
  })
})

describe("emails that wait in memory", () => {
  it("are bounded for an account and for all, and those that the queue has leave room", () => {
    const { accept, life, tasks, write } = make()
    let sequence = 0
    const accounts = maximumOffered / maximumOfferedOfAccount + 2
    for (let account = 0; account < accounts; account++)
      for (let count = 0; count <= maximumOfferedOfAccount; count++) accept(++sequence, "queued", `org_${account}`)
    let waiting = 0
    for (let account = 0; account < accounts; account++) {
      const own = tasks.take(`org_${account}/live`, Number.POSITIVE_INFINITY, leasedUntil).length
      expect(own).toBeLessThanOrEqual(maximumOfferedOfAccount)
      waiting += own
    }
    expect(waiting).toBe(maximumOffered)
    life.recorded(sequence)
    for (let count = 0; count < 3 * maximumOfferedOfAccount; count++) {
      // Written before it is begun.
      write(accept(++sequence))
      life.recorded(sequence)
    }
    accept(++sequence)
    expect(tasks.take(group, 30, leasedUntil).map(({ id }) => id)).toEqual([`org_1/em_${sequence}`])
  })

  it("leave half of their account's room to those in the queue", async () => {
    const { accept, tasks } = make()
    for (let sequence = 1; sequence <= 40; sequence++) accept(sequence)
    const asked: Array<number> = []
    const context = {
      settings: defaultHandoffSettings,
      tasks,
      take: (claims: ReadonlyArray<{ readonly limit: number }>) => {
        asked.push(...claims.map(({ limit }) => limit))
        return Effect.succeed([])
      }
    }
    const one = { partition: 0, group }
    const both = await Effect.runPromise(takeJobs(context, one, [30, 10, 10], true))
    expect([both.jobs.length, asked]).toEqual([15, [15, 10, 10]])
    const alone = await Effect.runPromise(takeJobs(context, one, [30, 10, 10], false))
    expect([alone.jobs.length, asked.length]).toEqual([25, 3])
  })
})

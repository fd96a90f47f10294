/** Outcomes of jobs and their replies, over an engine in memory (docs/workers.md): each counts once, whatever is lost, late or replaced. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Engine from "../../../src/engine/Engine.ts"
import * as WorkerJobsMemory from "../../../src/engine/memory/WorkerJobsMemory.ts"
import { type WorkerJobOutcome, WorkerJobsUnavailable } from "../../../src/engine/ports/WorkerJobs.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { Payments, shop } from "../support/charges.ts"
import { type Deployment, elapse, makeDeployment } from "../support/deployment.ts"
import { makeFaultyLog } from "../support/faultyLog.ts"
import { measured, metricOf } from "../support/purses.ts"

/** Pauses of a second, ten and a hundred, unshortened. */
const retry = { pausesMillis: [1_000, 10_000, 100_000], jitter: 0 }

const as = (engine: Engine.Engine["Service"]) => Effect.provideService(Engine.Engine, engine)

describe("a reply", () => {
  it.effect("that its actor rejects is final, and counted", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = () => Effect.succeed("refused")
      const { engine, place, seen } = yield* shop(makeDeployment(), payments)
      yield* place("acme", "1", 300)
      yield* elapse(60)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300"])
      assert.lengthOf(payments.calls, 1)
      assert.deepStrictEqual((yield* as(engine)(Worker.list("charge", { limit: 9 }))).jobs, [])
      for (const name of ["sluice_jobs_replies_rejected_total", "sluice_jobs_done_total"])
        assert.deepStrictEqual(
          (yield* metricOf(name)).map(({ value }) => value),
          [1]
        )
    }).pipe(measured)
  )

  it.effect(
    "on which its actor's rule throws fails the job, which an operator has replied again and not run again",
    () =>
      Effect.gen(function* () {
        const payments = new Payments()
        payments.answer = () => Effect.succeed("broken")
        const { engine, place } = yield* shop(makeDeployment(), payments, { retry })
        yield* place("acme", "1", 300)
        yield* elapse(30)
        const { jobs } = yield* as(engine)(Worker.list("charge", { limit: 9 }))
        assert.include(jobs[0]!.error, "its reply failed")
        yield* as(engine)(Worker.retry("charge"))
        yield* elapse(30)
        assert.lengthOf(payments.calls, 1)
        assert.lengthOf((yield* as(engine)(Worker.list("charge", { limit: 9 }))).jobs, 1)
      })
  )

  it.effect("counts once if the process dies between it and the end of its job, and the effect is not repeated", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      // Twice all four tries are in vain.
      const lost = { ends: 8 }
      const settle = (worker: string, outcome: WorkerJobOutcome) => {
        const isEnd = outcome._tag === "Done" || outcome._tag === "Failed"
        if (isEnd && lost.ends-- > 0) return Effect.fail(new WorkerJobsUnavailable({ message: "died" }))
        return real.settle(worker, outcome)
      }
      const { place, seen } = yield* shop(deployment, payments, { retry }, { workerJobs: { ...real, settle } })
      yield* place("acme", "1", 300)
      // The job comes back when its lease ends.
      yield* elapse(180)
      assert.isBelow(lost.ends, 0)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "receipt 300"])
      assert.lengthOf(payments.calls, 1)
      assert.strictEqual((yield* real.figures("charge", [0])).open, 0)
    })
  )

  it.effect("waits with its job while the log is away, also over a restart", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const jobs = WorkerJobsMemory.make(deployment.workerJobs)
      payments.answer = () =>
        Effect.sync(() => {
          faulty.disconnected = true
          return "receipt"
        })
      const first = yield* shop(deployment, payments, { retry }, { journalLayer: faulty.layer })
      yield* first.place("acme", "1", 300)
      yield* elapse(40)
      assert.strictEqual((yield* jobs.figures("charge", [0])).open, 1)
      const stopping = yield* Effect.forkScoped(first.stop)
      yield* elapse(30)
      yield* Fiber.join(stopping)
      faulty.disconnected = false
      const second = yield* shop(deployment, payments, { retry })
      yield* elapse(60)
      assert.deepStrictEqual(yield* second.seen("acme", "1"), ["placed 300", "receipt"])
      assert.lengthOf(payments.calls, 1)
    })
  )
})

/** A process whose worker takes nothing. */
const takingNothing = (deployment: Deployment) => {
  const jobs = WorkerJobsMemory.make(deployment.workerJobs)
  return { ...jobs, take: () => Effect.succeed([]) }
}

describe("a process that was replaced and does not know yet", () => {
  it.effect("ends no job by a rejection of its old state", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      payments.answer = ({ attempt, cents }) =>
        cents === 1 && attempt === 1 ? Effect.fail("busy") : Effect.succeed(cents === 1 ? "refused" : "once placed")
      const old = yield* shop(deployment, payments, { retry })
      // The pause of this job lets the old process look again while its proof is fresh.
      yield* old.place("acme", "1", 1)
      yield* elapse(0.5, 100)
      const other = yield* shop(deployment, payments, {}, { workerJobs: takingNothing(deployment) })
      yield* other.place("bolt", "1", 300)
      yield* elapse(60, 100)
      assert.deepStrictEqual(yield* other.seen("bolt", "1"), ["placed 300", "once placed"])
      assert.strictEqual((yield* WorkerJobsMemory.make(deployment.workerJobs).figures("charge", [0])).open, 0)
    })
  )
})

describe("an outcome", () => {
  it.effect("is counted once though the answer of the store was lost", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      const lost = new Set<string>()
      const settle = (worker: string, outcome: WorkerJobOutcome) =>
        Effect.gen(function* () {
          const counted = yield* real.settle(worker, outcome)
          if (lost.has(outcome._tag)) return counted
          lost.add(outcome._tag)
          return yield* new WorkerJobsUnavailable({ message: "the connection broke" })
        })
      payments.answer = ({ cents }) => (cents === 1 ? Worker.giveUp("declined") : Effect.succeed("receipt"))
      const { place } = yield* shop(deployment, payments, {}, { workerJobs: { ...real, settle } })
      for (const cents of [1, 2]) yield* place("acme", "1", cents)
      yield* elapse(30, 100)
      assert.includeMembers([...lost], ["Done", "Failed"])
      for (const name of ["sluice_jobs_failed_total", "sluice_jobs_done_total"])
        assert.deepStrictEqual(
          (yield* metricOf(name)).map(({ value }) => value),
          [1]
        )
    }).pipe(measured)
  )

  it.effect("that is offered once more behind an operator's retry takes the new attempt from nobody", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      let isLost = false
      const settle = (worker: string, outcome: WorkerJobOutcome) =>
        Effect.gen(function* () {
          const counted = yield* real.settle(worker, outcome)
          if (outcome._tag !== "Failed" || isLost) return counted
          isLost = true
          // An operator sees the failure before the worker hears that it is stored.
          yield* real.retry(worker, { limit: 1 }, 0)
          return yield* new WorkerJobsUnavailable({ message: "the connection broke" })
        })
      payments.answer = () =>
        payments.calls.length === 1 ? Worker.giveUp("declined") : Effect.delay(Effect.succeed("receipt"), "9 seconds")
      const { place, seen } = yield* shop(deployment, payments, {}, { workerJobs: { ...real, settle } })
      yield* place("acme", "1", 300)
      yield* place("acme", "2", 0)
      yield* elapse(40, 100)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "not paid: declined (1)", "receipt"])
      assert.deepStrictEqual(yield* real.figures("charge", [0]), { open: 0, failed: 0, oldestDueAt: undefined })
    })
  )

  it.effect("that the store does not take at first is recorded a moment later, and the effect is not repeated", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      const faults = { left: 2 }
      const settle = (worker: string, outcome: WorkerJobOutcome) =>
        faults.left-- > 0
          ? Effect.fail(new WorkerJobsUnavailable({ message: "it restarts" }))
          : real.settle(worker, outcome)
      const { place, seen } = yield* shop(deployment, payments, { retry }, { workerJobs: { ...real, settle } })
      yield* place("acme", "1", 300)
      yield* elapse(5, 100)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "receipt 300"])
      assert.lengthOf(payments.calls, 1)
      assert.strictEqual((yield* real.figures("charge", [0])).open, 0)
    })
  )
})

describe("the metrics of jobs", () => {
  it.effect("show the rows though they take long to count", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      const figures = (worker: string, partitions: ReadonlyArray<number>) =>
        Effect.delay(real.figures(worker, partitions), "20 seconds")
      payments.answer = ({ cents }) => (cents === 1 ? Worker.giveUp("declined") : Effect.fail("away"))
      const { place } = yield* shop(
        deployment,
        payments,
        { retry: { pausesMillis: [900_000] } },
        { workerJobs: { ...real, figures } }
      )
      for (const cents of [1, 2]) yield* place("acme", "1", cents)
      yield* elapse(460, 5_000)
      for (const name of ["sluice_jobs_failed", "sluice_jobs_waiting"])
        assert.deepStrictEqual(
          (yield* metricOf(name)).map(({ value }) => value),
          [1]
        )
    }).pipe(measured)
  )
})

/** The contract of `WorkerJobs`, for every implementation. Each test has a worker of its own. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, type Layer } from "effect"
import {
  attemptOf,
  type JobLease,
  type NewWorkerJob,
  type TakenWorkerJob,
  type WorkerJobOutcome,
  type WorkerJobs
} from "../../../src/engine/ports/WorkerJobs.ts"
import { patienceMillis } from "../../support/patience.ts"

export class WorkerJobsHarness extends Context.Service<
  WorkerJobsHarness,
  {
    readonly jobs: WorkerJobs["Service"]
    /** Puts jobs in with a transaction that is committed, or rolled back. */
    readonly put: (
      worker: string,
      jobs: ReadonlyArray<NewWorkerJob>,
      end?: "commit" | "roll back"
    ) => Effect.Effect<void, unknown>
  }
>()("test/WorkerJobsHarness") {}

let nextWorker = 0

const open = Effect.gen(function* () {
  const { jobs, put } = yield* WorkerJobsHarness
  const worker = `own${nextWorker++}`
  const idOf = (name: string) => `${worker}.${name}`
  const job = (name: string, more: Partial<NewWorkerJob> = {}): NewWorkerJob => ({
    id: idOf(name),
    partition: 0,
    organization: "acme",
    sequence: 1,
    index: 0,
    dueAt: 1_000,
    payload: `payload of ${name}`,
    ...more
  })
  const lease: JobLease = { now: 1_000, leasedUntil: 2_000, isOrdered: false }
  const take = (more: Partial<JobLease> = {}, limit = 10) =>
    jobs.take(worker, [{ partition: 0, organization: "acme", limit }], { ...lease, ...more })
  const settle = ({ attempt, id }: TakenWorkerJob, outcome: object) =>
    // Each test gives a whole outcome.
    jobs.settle(worker, { ...outcome, id, attempt } as WorkerJobOutcome)
  const fail = (taken: TakenWorkerJob) => settle(taken, { _tag: "Failed", error: "no", payload: "failed" })
  return { jobs, worker, put: put.bind(undefined, worker), idOf, job, take, settle, fail }
})

const sorted = (jobs: ReadonlyArray<{ readonly id: string }>) =>
  jobs.map(({ id }) => id.slice(id.indexOf(".") + 1)).sort()

export const workerJobsContract = <E>(name: string, harness: Layer.Layer<WorkerJobsHarness, E>): void => {
  layer(harness, { excludeTestServices: true, timeout: patienceMillis })(`WorkerJobs: ${name}`, (it) => {
    takingJobs(it)
    orderedJobs(it)
    failedJobs(it)
    retriedJobs(it)
    seeing(it)
  })
}

const takingJobs = (it: Vitest.MethodsNonLive<WorkerJobsHarness>): void => {
  it.effect("a job is put in with its transaction, once for its id, and taken when it is due", () =>
    Effect.gen(function* () {
      const { job, jobs, put, take, worker } = yield* open
      const payload = `{"job":"'\\"\\n🐎"}`
      yield* put([job("gone")], "roll back")
      yield* put([job("a", { payload }), job("a")])
      yield* put([job("a", { payload: "another" })])
      assert.deepStrictEqual(yield* take({ now: 999 }), [])
      const taken = yield* take()
      assert.deepStrictEqual(taken, [{ id: job("a").id, organization: "acme", attempt: 1, payload }])
      assert.deepStrictEqual(yield* take(), [])
      assert.deepStrictEqual(
        yield* jobs.take("another", [{ partition: 0, organization: "acme", limit: 9 }], {
          now: 9_000,
          leasedUntil: 9_999,
          isOrdered: false
        }),
        []
      )
      assert.strictEqual((yield* jobs.figures(worker, [0])).open, 1)
    })
  )

  it.effect("a taken job comes back when its lease ends, and the outcome of its first taker does not count", () =>
    Effect.gen(function* () {
      const { job, jobs, put, settle, take, worker } = yield* open
      yield* put([job("a")])
      const [first] = yield* take({ leasedUntil: 2_000 })
      assert.deepStrictEqual(yield* take({ now: 1_999 }), [])
      const [second] = yield* take({ now: 2_000, leasedUntil: 3_000 })
      assert.deepStrictEqual(second, { ...first!, attempt: 2 })
      for (const outcome of [
        { _tag: "Done" },
        { _tag: "Again", dueAt: 0, error: "late" },
        { _tag: "Kept", leasedUntil: 9_000, payload: "late" },
        { _tag: "Failed", error: "late", payload: "late" }
      ])
        assert.isFalse(yield* settle(first!, outcome))
      const both = [settle(first!, { _tag: "Done" }), settle(second!, { _tag: "Done" })]
      assert.deepStrictEqual(yield* Effect.all(both, { concurrency: "unbounded" }), [false, true])
      assert.isFalse(yield* settle(second!, { _tag: "Done" }))
      assert.strictEqual((yield* jobs.figures(worker, [0])).open, 0)
    })
  )

  it.effect(
    "a job waits after an attempt, keeps its count unless it was returned, and a kept one its new payload",
    () =>
      Effect.gen(function* () {
        const { job, put, settle, take } = yield* open
        yield* put([job("a")])
        const [first] = yield* take()
        assert.isTrue(yield* settle(first!, { _tag: "Again", dueAt: 5_000, error: "not now" }))
        assert.deepStrictEqual(yield* take({ now: 4_999 }), [])
        const [second] = yield* take({ now: 5_000, leasedUntil: 6_000 })
        assert.strictEqual(second?.attempt, 2)
        assert.isTrue(yield* settle(second!, { _tag: "Returned", dueAt: 5_500 }))
        const [third] = yield* take({ now: 5_500, leasedUntil: 6_000 })
        assert.strictEqual(third?.attempt, 2)
        assert.isTrue(yield* settle(third!, { _tag: "Kept", leasedUntil: 8_000, payload: "answered" }))
        assert.deepStrictEqual(yield* take({ now: 7_999 }), [])
        const [fourth] = yield* take({ now: 8_000, leasedUntil: 9_000 })
        assert.deepStrictEqual([fourth?.attempt, fourth?.payload], [3, "answered"])
      })
  )

  it.effect("two takers share the jobs, and each claim has its limit", () =>
    Effect.gen(function* () {
      const { job, put, take } = yield* open
      yield* put(["a", "b", "c", "d", "e"].map((name, at) => job(name, { dueAt: 1_000 - at, sequence: at })))
      const taken = yield* Effect.all([take({}, 2), take({}, 2)], { concurrency: "unbounded" })
      for (const part of taken) assert.isAtMost(part.length, 2)
      const rest = yield* take({ now: 1_999 })
      assert.deepStrictEqual(sorted([...taken.flat(), ...rest]), ["a", "b", "c", "d", "e"])
    })
  )
}

const orderedJobs = (it: Vitest.MethodsNonLive<WorkerJobsHarness>): void => {
  it.effect("only the first job of the log is taken where that is wanted, and a failed one holds up none", () =>
    Effect.gen(function* () {
      const { fail, job, jobs, put, settle, take, worker } = yield* open
      const isOrdered = true
      yield* put([
        job("c", { sequence: 12, dueAt: 1 }),
        job("a", { sequence: 9, index: 1, dueAt: 900 }),
        job("b", { sequence: 9, index: 2, dueAt: 1 })
      ])
      const [first, ...others] = yield* take({ isOrdered })
      assert.deepStrictEqual([sorted([first!]), others], [["a"], []])
      assert.deepStrictEqual(yield* take({ isOrdered }), [])
      // Its pause holds up the later ones, which are due.
      yield* settle(first!, { _tag: "Again", dueAt: 3_000, error: "not now" })
      assert.deepStrictEqual(yield* take({ isOrdered, now: 2_999 }), [])
      const due = yield* jobs.due(worker, [{ partition: 0, after: "" }], { isOrdered, limit: 10 })
      assert.deepStrictEqual(due, [{ partition: 0, organization: "acme", dueAt: 3_000 }])
      const [again] = yield* take({ isOrdered, now: 3_000, leasedUntil: 4_000 })
      yield* fail(again!)
      const [second] = yield* take({ isOrdered, now: 3_000, leasedUntil: 4_000 })
      assert.deepStrictEqual(sorted([second!]), ["b"])
    })
  )

  it.effect("one of two takers of a line gets its first job, and the other one nothing", () =>
    Effect.gen(function* () {
      const { job, put, take } = yield* open
      yield* put(["a", "b", "c"].map((name, at) => job(name, { sequence: at + 1 })))
      const takers = Array.from({ length: 4 }, () => take({ isOrdered: true }))
      const taken = yield* Effect.all(takers, { concurrency: "unbounded" })
      assert.deepStrictEqual(sorted(taken.flat()), ["a"])
    })
  )
}

const failedJobs = (it: Vitest.MethodsNonLive<WorkerJobsHarness>): void => {
  it.effect("failed jobs are listed with their errors in pages, and are not taken", () =>
    Effect.gen(function* () {
      const { fail, job, jobs, put, take, worker } = yield* open
      yield* put([job("a"), job("b"), job("c"), job("d", { organization: "bolt" })])
      for (const taken of yield* take()) yield* fail(taken)
      assert.deepStrictEqual(yield* take({ now: 9_999 }), [])
      const [first, second, ...others] = yield* jobs.failed(worker, { limit: 2 })
      assert.deepStrictEqual(first, {
        id: job("a").id,
        partition: 0,
        organization: "acme",
        attempts: 1,
        payload: "failed",
        error: "no"
      })
      assert.lengthOf(others, 0)
      assert.deepStrictEqual(sorted(yield* jobs.failed(worker, { after: second!.id, limit: 9 })), ["c"])
      assert.deepStrictEqual(yield* jobs.failed(worker, { organization: "bolt", limit: 9 }), [])
      assert.deepStrictEqual(yield* jobs.failed("another", { limit: 9 }), [])
    })
  )

  it.effect("failed jobs are tried again with new counts, or dismissed, those that are meant and no others", () =>
    Effect.gen(function* () {
      const { fail, idOf, job, jobs, put, take, worker } = yield* open
      yield* put([job("a"), job("b"), job("c"), job("d")])
      for (const taken of yield* take({}, 3)) yield* fail(taken)
      const failed = yield* jobs.failed(worker, { limit: 9 })
      const one = failed[0]!.id
      assert.strictEqual(yield* jobs.retry(worker, { id: one, organization: "bolt", limit: 9 }, 0), 0)
      assert.strictEqual(yield* jobs.retry("another", { id: one, limit: 9 }, 0), 0)
      assert.strictEqual(yield* jobs.retry(worker, { id: one, limit: 9 }, 0), 1)
      assert.strictEqual(yield* jobs.dismiss(worker, { organization: "bolt", limit: 9 }), 0)
      assert.strictEqual(yield* jobs.dismiss(worker, { organization: "acme", limit: 1 }), 1)
      assert.strictEqual(yield* jobs.dismiss(worker, { id: one, limit: 9 }), 0)
      assert.deepStrictEqual((yield* jobs.figures(worker, [0])).failed, 1)
      const taken = yield* take()
      assert.deepStrictEqual(
        taken.map(({ attempt, id }) => [id, attemptOf(attempt)]).sort(),
        [[one, 1], ["a", "b", "c", "d"].map(idOf).find((id) => !failed.some((other) => other.id === id))!]
          .map((found) => (typeof found === "string" ? [found, 1] : found))
          .sort()
      )
    })
  )
}

const retriedJobs = (it: Vitest.MethodsNonLive<WorkerJobsHarness>): void => {
  it.effect(
    "an outcome that is recorded again, since its answer was lost, does not count behind an operator's retry",
    () =>
      Effect.gen(function* () {
        const { fail, idOf, job, jobs, put, take, worker } = yield* open
        yield* put([job("a")])
        const [first] = yield* take()
        assert.isTrue(yield* fail(first!))
        for (const attempts of [1, 2]) {
          assert.strictEqual(yield* jobs.retry(worker, { limit: 9 }, 0), 1)
          assert.isFalse(yield* fail(first!))
          const [again] = yield* take()
          assert.strictEqual(attemptOf(again!.attempt), 1)
          assert.isFalse(yield* fail(first!))
          assert.deepStrictEqual((yield* jobs.figures(worker, [0])).failed, 0)
          if (attempts === 1) assert.isTrue(yield* fail(again!))
        }
        assert.deepStrictEqual(
          (yield* take({ now: 2_000 })).map(({ attempt, id }) => [id, attemptOf(attempt)]),
          [[idOf("a"), 2]]
        )
      })
  )

  it.effect("an ordered job that is tried again waits for a later one that somebody has, and for no pause", () =>
    Effect.gen(function* () {
      const { fail, job, jobs, put, settle, take, worker } = yield* open
      yield* put([job("first"), job("second", { sequence: 2 })])
      yield* fail((yield* take({ isOrdered: true }))[0]!)
      const [second] = yield* take({ isOrdered: true })
      yield* jobs.retry(worker, { limit: 9 }, 1_000)
      assert.deepStrictEqual(yield* take({ isOrdered: true }), [])
      yield* settle(second!, { _tag: "Again", dueAt: 3_000, error: "busy" })
      assert.deepStrictEqual(sorted(yield* take({ isOrdered: true })), ["first"])
    })
  )
}

const seeing = (it: Vitest.MethodsNonLive<WorkerJobsHarness>): void => {
  it.effect(
    "organizations with jobs are seen page by page, each with its next job, of the partitions that are asked",
    () =>
      Effect.gen(function* () {
        const { job, jobs, put, worker } = yield* open
        yield* put([
          job("1", { organization: "b", dueAt: 7 }),
          job("2", { organization: "b", dueAt: 3 }),
          job("3", { organization: "a", dueAt: 9 }),
          job("4", { organization: "c", dueAt: 1 }),
          job("5", { organization: "z", partition: 1 }),
          job("6", { organization: "y", partition: 2 })
        ])
        const due = (after: string, limit: number) =>
          jobs.due(
            worker,
            [
              { partition: 0, after },
              { partition: 1, after: "" }
            ],
            { isOrdered: false, limit }
          )
        assert.deepStrictEqual(yield* due("", 2), [
          { partition: 0, organization: "a", dueAt: 9 },
          { partition: 0, organization: "b", dueAt: 3 },
          { partition: 1, organization: "z", dueAt: 1_000 }
        ])
        assert.deepStrictEqual(
          (yield* due("b", 2)).map(({ organization }) => organization),
          ["c", "z"]
        )
        assert.deepStrictEqual(yield* jobs.figures(worker, [0, 1]), { open: 5, failed: 0, oldestDueAt: 1 })
        assert.deepStrictEqual(yield* jobs.figures(worker, [3]), { open: 0, failed: 0, oldestDueAt: undefined })
      })
  )
}

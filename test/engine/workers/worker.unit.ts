/** Workers over an engine in memory (docs/workers.md): each record has one job, which is tried until its outcome is known, and whose reply counts once. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { partitionOf } from "../../../src/engine/address.ts"
import * as Engine from "../../../src/engine/Engine.ts"
import * as WorkerJobsMemory from "../../../src/engine/memory/WorkerJobsMemory.ts"
import * as Parked from "../../../src/engine/Parked.ts"
import { Placement } from "../../../src/engine/ports/Placement.ts"
import { type WorkerJobOutcome, WorkerJobsUnavailable } from "../../../src/engine/ports/WorkerJobs.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { Payments, shop } from "../support/charges.ts"
import { elapse, makeDeployment } from "../support/deployment.ts"
import { measured, metricOf } from "../support/purses.ts"

/** Pauses of a second, ten and a hundred, unshortened. */
const retry = { pausesMillis: [1_000, 10_000, 100_000], jitter: 0 }

const as = (engine: Engine.Engine["Service"]) => Effect.provideService(Engine.Engine, engine)

const keysOf = (payments: Payments) => new Set(payments.calls.map(({ key }) => key))

describe("a job", () => {
  it.effect("exists once for each record that means one, and its reply reaches its actor", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const { place, seen } = yield* shop(makeDeployment(), payments)
      for (const cents of [0, 300, 300]) yield* place("acme", "1", cents)
      yield* place("bolt", "1", 500)
      yield* elapse(1, 100)
      assert.deepStrictEqual(yield* seen("acme", "1"), [
        "placed 0",
        "placed 300",
        "placed 300",
        "receipt 300",
        "receipt 300"
      ])
      assert.deepStrictEqual(yield* seen("bolt", "1"), ["placed 500", "receipt 500"])
      assert.lengthOf(payments.calls, 3)
      assert.strictEqual(keysOf(payments).size, 3)
      for (const { key } of payments.calls) assert.match(key, /^charge\.[A-Za-z0-9._-]{1,120}$/)
    })
  )

  it.effect("is tried again after each pause under the same key, then given up, and shown", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = () => Effect.fail(new Error("the service is away"))
      const { engine, place, seen } = yield* shop(makeDeployment(), payments, { retry })
      yield* place("acme", "1", 300)
      yield* elapse(120, 100)
      assert.deepStrictEqual(
        payments.calls.map(({ attempt }) => attempt),
        [1, 2, 3, 4]
      )
      const waits = payments.calls.slice(1).map(({ at }, index) => at - payments.calls[index]!.at)
      for (const [index, pause] of retry.pausesMillis.entries()) assert.closeTo(waits[index]!, pause, 300)
      assert.strictEqual(keysOf(payments).size, 1)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "not paid: the service is away (4)"])
      const { hasMore, jobs } = yield* as(engine)(Worker.list("charge", { limit: 10 }))
      assert.isFalse(hasMore)
      assert.deepStrictEqual(jobs, [
        {
          key: payments.calls[0]!.key,
          partition: 0,
          organization: "acme",
          job: { order: "1", cents: 300 },
          attempts: 4,
          error: "the service is away"
        }
      ])
    })
  )

  it.effect("ends at once where the effect gives up, or where its error is final, and waits as long as it asks", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = ({ attempt, cents }) => {
        if (cents === 1) return Worker.giveUp("the card was declined")
        if (cents === 2) return Effect.fail("expired")
        return attempt === 1 ? Worker.tryLater("busy", 60_000) : Effect.succeed("receipt")
      }
      const { place, seen } = yield* shop(makeDeployment(), payments, {
        retry,
        isFinal: (error) => error === "expired"
      })
      for (const cents of [1, 2, 3]) yield* place("acme", String(cents), cents)
      yield* elapse(50)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 1", "not paid: the card was declined (1)"])
      assert.deepStrictEqual(yield* seen("acme", "2"), ["placed 2", "not paid: expired (1)"])
      assert.deepStrictEqual(yield* seen("acme", "3"), ["placed 3"])
      yield* elapse(20)
      assert.deepStrictEqual(yield* seen("acme", "3"), ["placed 3", "receipt"])
    })
  )

  it.effect("is interrupted at its deadline, and tried again", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = ({ attempt }) => (attempt === 1 ? Effect.never : Effect.succeed("receipt"))
      const { place, seen } = yield* shop(makeDeployment(), payments, { retry, timeoutMillis: 5_000 })
      yield* place("acme", "1", 300)
      yield* elapse(4)
      assert.strictEqual(payments.interrupted, 0)
      yield* elapse(4)
      assert.strictEqual(payments.interrupted, 1)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "receipt"])
    })
  )

  it.effect("that cannot be made parks its record, and holds up no other organization", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      let wrong: number | undefined = 13
      const { engine, place, seen } = yield* shop(makeDeployment(), payments, { wrongCents: () => wrong })
      yield* place("acme", "1", 13)
      yield* place("bolt", "1", 300)
      yield* elapse(10)
      assert.deepStrictEqual(yield* seen("bolt", "1"), ["placed 300", "receipt 300"])
      const [parked] = yield* as(engine)(Parked.show("sluice.worker.charge", "acme", 1))
      assert.include(parked!.error, "no price")
      wrong = undefined
      yield* as(engine)(Parked.retry("sluice.worker.charge", "acme"))
      yield* elapse(10)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 13", "receipt 13"])
    })
  )
})

describe("a failed job", () => {
  it.effect("is tried again under its key after a retry, and its new outcome is replied too", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = () => Worker.giveUp("the account is closed")
      const { engine, place, seen } = yield* shop(makeDeployment(), payments)
      yield* place("acme", "1", 300)
      yield* place("bolt", "1", 300)
      yield* elapse(1, 100)
      payments.answer = () => Effect.succeed("receipt")
      assert.strictEqual(yield* as(engine)(Worker.retry("charge", { organization: "acme" })), 1)
      yield* elapse(1, 100)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "not paid: the account is closed (1)", "receipt"])
      assert.lengthOf(payments.calls, 3)
      assert.strictEqual(keysOf(payments).size, 2)
      const { jobs } = yield* as(engine)(Worker.list("charge", { limit: 9 }))
      assert.deepStrictEqual(
        jobs.map(({ organization }) => organization),
        ["bolt"]
      )
      const [{ key }] = jobs as [Worker.FailedJob]
      // Another organization's key means none.
      assert.strictEqual(yield* as(engine)(Worker.dismiss("charge", { key, organization: "acme" })), 0)
      assert.strictEqual(yield* as(engine)(Worker.dismiss("charge", { key })), 1)
      assert.deepStrictEqual((yield* as(engine)(Worker.list("charge", { limit: 9 }))).jobs, [])
      assert.deepStrictEqual(yield* seen("bolt", "1"), ["placed 300", "not paid: the account is closed (1)"])
    })
  )

  it.effect("whose row cannot be read is shown, and holds up no other one", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const { engine, place, seen } = yield* shop(deployment, payments, { isOrdered: true })
      yield* place("acme", "1", 1)
      yield* elapse(1, 100)
      const [first] = [{ id: "charge.0", partition: 0, organization: "acme", sequence: 0, index: 0, dueAt: 0 }]
      deployment.workerJobs.get("charge")!.put([{ ...first!, payload: "{}" }])
      yield* place("acme", "2", 2)
      yield* elapse(1, 100)
      assert.deepStrictEqual(yield* seen("acme", "2"), ["placed 2", "receipt 2"])
      const { jobs } = yield* as(engine)(Worker.list("charge", { limit: 9 }))
      assert.deepStrictEqual(
        jobs.map(({ error, key }) => [key, error]),
        [["charge.0", "the stored job cannot be read"]]
      )
    })
  )

  it.effect("of a worker that is not there is refused by name", () =>
    Effect.gen(function* () {
      const { engine } = yield* shop(makeDeployment(), new Payments())
      const refused = yield* Effect.flip(as(engine)(Worker.list("refund", { limit: 9 })))
      assert.strictEqual(refused.message, "no worker is named refund")
    })
  )

  it.effect("is listed in pages of at least one", () =>
    Effect.gen(function* () {
      const { engine } = yield* shop(makeDeployment(), new Payments())
      for (const limit of [0, -5, 1.5, Number.NaN]) {
        const refused = yield* Effect.flip(as(engine)(Worker.list("charge", { limit })))
        assert.strictEqual(refused.message, `a page has 1 to 1000 jobs, not ${limit}`)
      }
    })
  )
})

describe("a worker", () => {
  it.effect("leaves a job to the process that has it, until the lease ends", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      payments.answer = ({ attempt }) => (attempt === 1 ? Effect.never : Effect.succeed("receipt"))
      const first = yield* shop(deployment, payments, { retry })
      yield* first.place("acme", "1", 300)
      yield* elapse(1, 100)
      // Another process takes the partition; the first one has the job still.
      const second = yield* shop(deployment, payments, { retry })
      yield* elapse(28)
      assert.lengthOf(payments.calls, 1)
      yield* elapse(60)
      assert.strictEqual(payments.mostOpen, 1)
      assert.deepStrictEqual(yield* second.seen("acme", "1"), ["placed 300", "receipt"])
    })
  )

  it.effect("of each of two processes does the jobs of its own partitions, and either one may retry all", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 2 })
      const names = ["org_1", "org_2", "org_3", "org_4"]
      const processes = yield* Effect.forEach([0, 1], (owned) => {
        const payments = new Payments()
        payments.answer = () => Worker.giveUp("closed")
        const placement = Placement.of({
          place: (_, serve) => Effect.asVoid(Effect.forkScoped(serve(owned), { startImmediately: true })),
          owns: () => Effect.succeed(true)
        })
        const placementLayer = Layer.succeed(Placement, placement)
        const more = { config: { partitions: 2 }, placementLayer }
        return Effect.map(shop(deployment, payments, { retry }, more), (running) => ({ ...running, payments }))
      })
      const ownerOf = (organization: string) => processes[partitionOf(organization, 2)]!
      for (const organization of names) yield* ownerOf(organization).place(organization, "1", 300)
      yield* elapse(1, 100)
      for (const { payments } of processes) payments.answer = () => Effect.succeed("receipt")
      assert.strictEqual(yield* as(processes[0]!.engine)(Worker.retry("charge")), names.length)
      yield* elapse(6, 100)
      for (const organization of names)
        assert.deepStrictEqual(yield* ownerOf(organization).seen(organization, "1"), [
          "placed 300",
          "not paid: closed (1)",
          "receipt"
        ])
      for (const [owned, { payments }] of processes.entries()) {
        const own = names.filter((organization) => partitionOf(organization, 2) === owned)
        assert.isAbove(own.length, 0)
        assert.deepStrictEqual([...new Set(payments.calls.map(({ organization }) => organization))].sort(), own)
        assert.lengthOf(payments.calls, 2 * own.length)
      }
    })
  )

  it.effect("finishes the attempts under way when it stops, and gives back those that take too long", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      payments.answer = ({ cents }) => (cents === 1 ? Effect.as(Effect.sleep("4 seconds"), "in time") : Effect.never)
      const first = yield* shop(deployment, payments, { retry })
      yield* first.place("acme", "1", 1)
      yield* first.place("acme", "2", 2)
      yield* elapse(1, 100)
      const stopping = yield* Effect.forkScoped(first.stop)
      yield* elapse(30)
      yield* Fiber.join(stopping)
      assert.strictEqual(payments.interrupted, 1)
      payments.answer = () => Effect.succeed("later")
      const second = yield* shop(deployment, payments, { retry })
      yield* elapse(2, 100)
      assert.deepStrictEqual(yield* second.seen("acme", "1"), ["placed 1", "in time"])
      assert.deepStrictEqual(yield* second.seen("acme", "2"), ["placed 2", "later"])
      // The interrupted attempt does not count.
      assert.deepStrictEqual(
        payments.calls.map(({ attempt }) => attempt),
        [1, 1, 1]
      )
    })
  )

  it.effect("leaves a job that it has given back to the next process, though the answer to that was lost", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const real = WorkerJobsMemory.make(deployment.workerJobs)
      const leasedUntil = 7_200_000
      const claim = [{ partition: 0, organization: "acme", limit: 1 }]
      let isLost = false
      const settle = (worker: string, outcome: WorkerJobOutcome) =>
        Effect.gen(function* () {
          const counted = yield* real.settle(worker, outcome)
          if (outcome._tag !== "Returned" || isLost) return counted
          isLost = true
          // Before there is an answer another process takes the job.
          yield* real.take(worker, claim, { now: outcome.dueAt, leasedUntil, isOrdered: false })
          return yield* new WorkerJobsUnavailable({ message: "the connection broke" })
        })
      payments.answer = () => Effect.never
      const { place, stop } = yield* shop(deployment, payments, { retry }, { workerJobs: { ...real, settle } })
      yield* place("acme", "1", 300)
      yield* elapse(1, 100)
      const stopping = yield* Effect.forkScoped(stop)
      yield* elapse(30)
      yield* Fiber.join(stopping)
      const due = yield* real.due("charge", [{ partition: 0, after: "" }], { isOrdered: false, limit: 1 })
      assert.deepStrictEqual(due, [{ partition: 0, organization: "acme", dueAt: leasedUntil }])
    })
  )

  it.effect("counts an attempt whose process died, and gives up after the last one without running it again", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const jobs = WorkerJobsMemory.make(deployment.workerJobs)
      payments.answer = () => Effect.fail("away")
      const { place, seen } = yield* shop(deployment, payments, { retry: { pausesMillis: [3_600_000], jitter: 0 } })
      yield* place("acme", "1", 300)
      yield* elapse(1, 100)
      // A process takes the second attempt, and dies.
      const claim = [{ partition: 0, organization: "acme", limit: 1 }]
      const lease = { now: 7_200_000, leasedUntil: 0, isOrdered: false }
      assert.lengthOf(yield* jobs.take("charge", claim, lease), 1)
      yield* elapse(10)
      assert.lengthOf(payments.calls, 1)
      assert.deepStrictEqual(yield* seen("acme", "1"), [
        "placed 300",
        "not paid: its last attempt ended without an outcome (2)"
      ])
    })
  )

  it.effect("keeps slots for other organizations while one has many jobs that take long", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const isOver = yield* Deferred.make<string>()
      payments.answer = ({ organization }) =>
        organization === "acme" ? Deferred.await(isOver) : Effect.succeed("receipt")
      const { place, seen } = yield* shop(makeDeployment(), payments, { concurrency: 4 })
      // Before the engine stops, which waits for them.
      yield* Effect.addFinalizer(() => Deferred.succeed(isOver, "receipt"))
      for (let order = 1; order <= 20; order++) yield* place("acme", String(order), order)
      yield* elapse(1, 100)
      for (const organization of ["bolt", "cask"]) yield* place(organization, "1", 300)
      yield* elapse(1, 100)
      for (const organization of ["bolt", "cask"])
        assert.deepStrictEqual(yield* seen(organization, "1"), ["placed 300", "receipt"])
      assert.lengthOf(
        payments.calls.filter(({ organization }) => organization === "acme"),
        2
      )
    })
  )

  it.effect("that is ordered does an organization's jobs one after the other, and others beside them", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = ({ attempt, cents, organization }) =>
        organization === "acme" && cents === 2 && attempt === 1
          ? Effect.fail("away")
          : Effect.as(Effect.sleep("100 millis"), "receipt")
      const { place } = yield* shop(makeDeployment(), payments, { isOrdered: true, retry })
      for (const cents of [1, 2, 3, 4])
        for (const organization of ["acme", "bolt"]) yield* place(organization, "1", cents)
      yield* elapse(1, 50)
      const of = (organization: string) =>
        payments.calls.filter((call) => call.organization === organization).map(({ cents }) => cents)
      assert.deepStrictEqual(of("bolt"), [1, 2, 3, 4])
      yield* elapse(3, 50)
      assert.deepStrictEqual(of("acme"), [1, 2, 2, 3, 4])
    })
  )

  it.effect("works on hundreds of organizations, more than one look reads", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const { engine, place } = yield* shop(makeDeployment(), payments, { concurrency: 64 })
      for (let number = 0; number < 600; number++) yield* place(`org_${number}`, "1", 1)
      const settling = yield* Effect.forkScoped(as(engine)(Worker.settled))
      yield* elapse(20, 100)
      yield* Fiber.join(settling)
      assert.strictEqual(keysOf(payments).size, 600)
      assert.lengthOf(payments.calls, 600)
    })
  )

  it.effect("finds a due job behind those of hundreds of organizations that are due later", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      payments.answer = ({ organization }) => (organization === "zed" ? Effect.succeed("receipt") : Effect.fail("away"))
      const pausesMillis = [86_400_000]
      const { place, seen } = yield* shop(makeDeployment(), payments, { concurrency: 64, retry: { pausesMillis } })
      for (let number = 0; number < 300; number++) yield* place(`org_${number}`, "1", 1)
      yield* elapse(3, 100)
      assert.lengthOf(payments.calls, 300)
      yield* place("zed", "1", 300)
      yield* elapse(1, 100)
      assert.deepStrictEqual(yield* seen("zed", "1"), ["placed 300", "receipt"])
    })
  )

  it.effect(
    "shows its jobs in the metrics: those that wait, run and have failed, and the age of the oldest due one",
    () =>
      Effect.gen(function* () {
        const payments = new Payments()
        const isOver = yield* Deferred.make<string>()
        payments.answer = ({ cents }) => (cents === 1 ? Worker.giveUp("declined") : Deferred.await(isOver))
        const timeoutMillis = 600_000
        const { place } = yield* shop(makeDeployment(), payments, { concurrency: 1, timeoutMillis })
        yield* Effect.addFinalizer(() => Deferred.succeed(isOver, "receipt"))
        yield* place("acme", "1", 1)
        yield* elapse(1, 100)
        for (const key of ["2", "3", "4"]) yield* place("acme", key, 300)
        yield* elapse(60)
        const shown = (name: string) => Effect.map(metricOf(name), ([metric]) => metric?.value)
        assert.strictEqual(yield* shown("sluice_jobs_running"), 1)
        assert.strictEqual(yield* shown("sluice_jobs_waiting"), 2)
        assert.strictEqual(yield* shown("sluice_jobs_failed"), 1)
        assert.strictEqual(yield* shown("sluice_jobs_failed_total"), 1)
        assert.isAtLeast((yield* shown("sluice_jobs_oldest_seconds")) as number, 45)
      }).pipe(measured)
  )

  it.effect("waits for room in a store that is full, and parks nothing", () =>
    Effect.gen(function* () {
      const payments = new Payments()
      const deployment = makeDeployment()
      const { engine, place, seen } = yield* shop(deployment, payments)
      // Jobs of a partition that nobody serves.
      const many = Array.from({ length: WorkerJobsMemory.maximumMemoryJobs }, (_, number) => ({
        id: `charge.${number}`,
        partition: 9,
        organization: "cask",
        sequence: number,
        index: 0,
        dueAt: 0,
        payload: "{}"
      }))
      yield* place("acme", "0", 100)
      yield* elapse(1, 100)
      const queue = deployment.workerJobs.get("charge")!
      queue.put(many)
      yield* place("acme", "1", 300)
      yield* elapse(30)
      assert.lengthOf(payments.calls, 1)
      assert.strictEqual((yield* as(engine)(Parked.list("sluice.worker.charge", { limit: 9 }))).records, 0)
      queue.jobs.clear()
      yield* elapse(10)
      assert.deepStrictEqual(yield* seen("acme", "1"), ["placed 300", "receipt 300"])
    })
  )
})

/**
 * Deliveries outlive the process (docs/platform.md, 7.6; docs/architecture.md, rule 11): what a crash interrupted is
 * attempted again, what was recorded is not, a shutdown gives back what it holds, a backlog is taken in piece by piece,
 * and what is too old ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Reactivity } from "effect/reactivity"
import type { LogRecord } from "../../../src/engine/records.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import { type DispatcherSettings, maximumHeld } from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import { answering, hanging, type Receiver, startReceiver } from "../receiver.ts"
import { until } from "../until.ts"
import { type Deployment, deploy, projectAgain, settings, startProcess } from "./dispatchSupport.ts"

/** Another connection to the deployment's database, as an operator has. */
const connection = (deployment: Deployment) =>
  Effect.orDie(Effect.provide(PgClient.make({ url: deployment.databaseUrl, maxConnections: 2 }), Reactivity.layer))

/**
 * A process that delivers one event, and dies when it has the answer to a second one and cannot record it: the jobs are locked. Answers the
 * ids of the two events.
 */
const crashAtRecord = (
  deployment: Deployment,
  receiver: Receiver,
  status: number,
  more: Partial<DispatcherSettings> = {}
) =>
  Effect.gen(function* () {
    const operator = yield* connection(deployment)
    const running = yield* startProcess(deployment, { settings: { ...more, drainMillis: 1, leaseMillis: 4_000 } })
    const organization = running.organization("org_1")
    yield* organization.create("we_1", receiver.url("/hook"))
    yield* organization.emit()
    yield* organization.settled("we_1")
    let answer = () => {}
    receiver.answer("/hook", (response) => {
      answer = () => response.writeHead(status).end()
    })
    yield* organization.emit()
    yield* until(Effect.sync(() => receiver.of("/hook").length === 2))
    // The attempt outlasts the wait for it, so its row and its job are written before its outcome.
    yield* until(Effect.map(Effect.orDie(operator`select 1 from webhook_jobs`), ({ length }) => length === 1))
    const locked = yield* Deferred.make<void>()
    const unlock = yield* Deferred.make<void>()
    const lock = yield* Effect.forkScoped(
      operator.withTransaction(
        Effect.gen(function* () {
          yield* operator`select 1 from webhook_jobs for update`
          yield* Deferred.succeed(locked, undefined)
          yield* Deferred.await(unlock)
        })
      )
    )
    yield* Deferred.await(locked)
    answer()
    yield* until(
      Effect.map(
        Effect.orDie(
          operator`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
        ),
        ({ length }) => length > 0
      )
    )
    yield* running.stop
    yield* Deferred.succeed(unlock, undefined)
    yield* Fiber.join(lock)
    const [recorded, lost] = receiver.of("/hook").map(({ headers }) => headers["x-platformwebhook-id"])
    return { recorded, lost }
  })

describe("a process", () => {
  it.live("[platform 7.6] that dies between the answer and its record has the delivery attempted again, once", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      const crash = yield* crashAtRecord(deployment, receiver, 200)
      receiver.answer("/hook", answering(200))
      const second = yield* startProcess(deployment)
      const deliveries = yield* second.organization("org_1").settled("we_1", 2)
      assert.deepStrictEqual(
        deliveries.map(({ attempts, status }) => [status, attempts]),
        [
          ["succeeded", 1],
          ["succeeded", 1]
        ]
      )
      const ids = receiver.of("/hook").map(({ headers }) => headers["x-platformwebhook-id"])
      assert.deepStrictEqual(ids, [crash.recorded, crash.lost, crash.lost])
    })
  )

  it.live("that dies after its last attempt has told the endpoint's actor, which counts the failure once", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      const schedule = { ...settings.schedule, delaysMillis: [] }
      yield* crashAtRecord(deployment, receiver, 500, { schedule })
      const idle = yield* startProcess(deployment, { isIdle: true })
      const [, pending] = yield* idle.organization("org_1").deliveries("we_1")
      assert.deepInclude(pending, { status: "pending", attempts: 0 })
      assert.strictEqual((yield* idle.organization("org_1").endpoint("we_1"))!.consecutiveFailures, 1)
      yield* idle.stop
      receiver.answer("/hook", answering(500))
      const second = yield* startProcess(deployment, { settings: { schedule } })
      const [, failed] = yield* second.organization("org_1").settled("we_1", 2)
      assert.deepInclude(failed, { status: "failed", attempts: 1 })
      assert.strictEqual((yield* second.organization("org_1").endpoint("we_1"))!.consecutiveFailures, 1)
    })
  )

  it.live("that is stopped gives back what it has not sent, and waits for what it has", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      // A lease that the test would not wait for.
      const first = yield* startProcess(deployment, {
        settings: { timeoutMillis: 60_000, leaseMillis: 600_000, drainMillis: 30_000 }
      })
      const answers: Array<() => void> = []
      receiver.answer("/hook", (response) => void answers.push(() => response.end()))
      yield* first.organization("org_1").create("we_1", receiver.url("/hook"))
      yield* first.organization("org_1").emit(50)
      yield* until(Effect.sync(() => answers.length === 4))
      const stopping = yield* Effect.forkScoped(first.stop)
      receiver.answer("/hook", answering(200))
      for (const answer of answers) answer()
      yield* Fiber.join(stopping)
      const second = yield* startProcess(deployment)
      const deliveries = yield* second.organization("org_1").settled("we_1", 50)
      assert.isTrue(deliveries.every(({ attempts, status }) => status === "succeeded" && attempts === 1))
      const ids = receiver.of("/hook").map(({ headers }) => headers["x-platformwebhook-id"])
      assert.lengthOf(ids, 50)
      assert.lengthOf(new Set(ids), 50)
    })
  )

  it.live(
    "[platform 7.6] whose database commits nothing goes on attempting, and writes afterwards what came of it",
    () =>
      Effect.gen(function* () {
        const receiver = yield* startReceiver
        const deployment = yield* deploy
        const operator = yield* connection(deployment)
        const running = yield* startProcess(deployment)
        const organization = running.organization("org_1")
        receiver.answer("/hook", answering(200))
        yield* organization.create("we_1", receiver.url("/hook"))
        yield* organization.emit()
        yield* organization.settled("we_1")
        const locked = yield* Deferred.make<void>()
        const unlock = yield* Deferred.make<void>()
        const lock = yield* Effect.forkScoped(
          operator.withTransaction(
            Effect.gen(function* () {
              yield* operator`select 1 from engine_cursors for update`
              yield* Deferred.succeed(locked, undefined)
              yield* Deferred.await(unlock)
            })
          )
        )
        yield* Deferred.await(locked)
        yield* organization.emit(30)
        yield* until(Effect.sync(() => receiver.of("/hook").length === 31))
        assert.lengthOf(yield* Effect.orDie(operator`select 1 from webhook_deliveries`), 1)
        yield* Deferred.succeed(unlock, undefined)
        yield* Fiber.join(lock)
        const deliveries = yield* organization.settled("we_1", 31)
        assert.isTrue(deliveries.every(({ attempts, status }) => status === "succeeded" && attempts === 1))
        assert.lengthOf(receiver.of("/hook"), 31)
        assert.lengthOf(yield* Effect.orDie(operator`select 1 from webhook_jobs`), 0)
      })
  )

  it.live("takes a backlog in piece by piece", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      const idle = yield* startProcess(deployment, { isIdle: true })
      for (const name of ["a", "b", "c"])
        yield* idle.organization("org_1").create(`we_${name}`, receiver.url(`/${name}`))
      const count = 2_000
      for (let sent = 0; sent < count; sent += 100) yield* idle.organization("org_1").emit(100)
      yield* until(Effect.map(idle.organization("org_1").deliveries("we_a"), ({ length }) => length === count))
      assert.deepStrictEqual(receiver.of("/a"), [])
      yield* idle.stop
      const running = yield* startProcess(deployment)
      let most = 0
      for (const name of ["a", "b", "c"])
        receiver.answer(`/${name}`, (response) => {
          most = Math.max(most, Effect.runSync(running.dispatcher.load).held)
          response.end()
        })
      for (const name of ["a", "b", "c"]) {
        const deliveries = yield* running.organization("org_1").settled(`we_${name}`, count)
        assert.isTrue(deliveries.every(({ status }) => status === "succeeded"))
        assert.lengthOf(receiver.of(`/${name}`), count)
      }
      assert.isAtMost(most, maximumHeld)
    })
  )

  it.live("gives an endpoint no longer than its time for an answer, and holds nobody up meanwhile", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const running = yield* startProcess(yield* deploy, { settings: { timeoutMillis: 500 } })
      const organization = running.organization("org_1")
      yield* organization.create("we_1", receiver.url("/hook"))
      receiver.answer("/hook", (response, received, count) =>
        count === 0 ? hanging(response, received, count) : response.end()
      )
      yield* organization.emit()
      const [delivery] = yield* organization.settled("we_1")
      assert.strictEqual(delivery!.status, "succeeded")
      assert.deepInclude(delivery!.attempt_log[0], {
        status: 0,
        response: null,
        error: "There was no answer within 0.5 s"
      })
      assert.isAtLeast(delivery!.attempt_log[0]!.duration, 500)
    })
  )

  it.live("retries each delivery at its own time, however rarely it looks through the store", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const running = yield* startProcess(yield* deploy, {
        settings: { scanMillis: 3_600_000, schedule: { ...settings.schedule, delaysMillis: [2_000] } }
      })
      const organization = running.organization("org_1")
      yield* organization.create("we_1", receiver.url("/hook"))
      // The second one is recorded behind the first one and due later.
      receiver.answer("/hook", (response, _, count) =>
        count === 0
          ? response.writeHead(500).end()
          : count === 1
            ? response.writeHead(503, { "retry-after": "4" }).end()
            : response.end()
      )
      yield* organization.emit()
      yield* until(Effect.map(organization.deliveries("we_1"), ([first]) => first?.attempts === 1))
      yield* organization.emit()
      const deliveries = yield* organization.settled("we_1", 2)
      assert.deepStrictEqual(
        deliveries.map(({ attempts, status }) => [attempts, status]),
        [
          [2, "succeeded"],
          [2, "succeeded"]
        ]
      )
    })
  )

  it.live("with little capacity serves healthy endpoints beside many that hang or refuse", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const running = yield* startProcess(yield* deploy, {
        settings: {
          timeoutMillis: 2_000,
          capacity: { main: 8, slow: 2 },
          schedule: { ...settings.schedule, delaysMillis: [60_000] }
        }
      })
      const bad = Array.from({ length: 12 }, (_, index) => running.organization(`org_bad${index}`))
      for (const [index, organization] of bad.entries()) {
        receiver.answer(`/bad${index}`, index % 2 === 0 ? hanging : (response) => response.destroy())
        yield* organization.create(`we_bad${index}`, receiver.url(`/bad${index}`))
      }
      for (const organization of bad) yield* organization.emit(20)
      const good = running.organization("org_good")
      yield* good.create("we_good", receiver.url("/good"))
      yield* good.emit(300)
      yield* good.settled("we_good", 300)
      assert.lengthOf(receiver.of("/good"), 300)
      // Of its first four.
      assert.isAtMost(receiver.mostAtOnce("/bad0"), 4)
    })
  )

  it.live("[platform 7.1] ends deliveries that are older than the event log, also of a paused endpoint", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const deployment = yield* deploy
      const idle = yield* startProcess(deployment, { isIdle: true })
      const organization = idle.organization("org_1")
      yield* organization.create("we_1", receiver.url("/hook"))
      yield* organization.emit(3)
      yield* until(Effect.map(organization.deliveries("we_1"), ({ length }) => length === 3))
      yield* organization.ask("we_1", { _tag: "RecordGone", origin: "event" })
      const operator = yield* connection(deployment)
      yield* operator`update webhook_jobs set expires_at = 1`
      yield* idle.stop
      const running = yield* startProcess(deployment)
      const deliveries = yield* running.organization("org_1").settled("we_1", 3)
      assert.deepStrictEqual(
        deliveries.map(({ attempts, status }) => [status, attempts]),
        Array.from({ length: 3 }, () => ["expired", 0])
      )
      assert.deepStrictEqual(receiver.of("/hook"), [])
      assert.strictEqual(yield* running.organization("org_1").jobs("we_1"), 0)
    })
  )

  it.live("that projects the same records a second time changes nothing", () =>
    Effect.gen(function* () {
      const deployment = yield* deploy
      const seen: Array<LogRecord> = []
      const idle = yield* startProcess(deployment, { isIdle: true, onRecords: (records) => seen.push(...records) })
      const organization = idle.organization("org_1")
      yield* organization.create("we_1", "https://example.com/")
      yield* organization.emit(3)
      yield* organization.ask("we_1", { _tag: "RequestTest" })
      yield* organization.ask("we_1", { _tag: "Update", isActive: false, targets: "any" })
      yield* organization.emit(2)
      yield* until(Effect.map(organization.skipped("we_1"), ({ length }) => length === 2))
      const operator = yield* connection(deployment)
      const tables = Effect.all({
        deliveries: operator`select * from webhook_deliveries order by id`,
        jobs: operator`select * from webhook_jobs order by id`,
        skipped: operator`select * from webhook_skipped order by event_id`,
        endpoints: operator`select * from webhook_endpoints order by id`
      })
      const before = yield* tables
      assert.lengthOf(before.deliveries, 4)
      assert.lengthOf(before.jobs, 4)
      yield* projectAgain(operator, seen)
      assert.deepStrictEqual(yield* tables, before)
    })
  )
})

/**
 * The effect of an endpoint's states on its deliveries, on real servers (docs/platform.md, 6.4): pauses, disabling,
 * deletion, and what is kept, skipped, resumed or cancelled.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { patienceMillis } from "../../support/patience.ts"
import { deploy, forgottenSecrets, type Process, settings, startProcess } from "../dispatcher/dispatchSupport.ts"
import { answering, hanging, type Receiver, startReceiver } from "../receiver.ts"
import { until } from "../until.ts"

class Subject extends Context.Service<Subject, { readonly running: Process; readonly receiver: Receiver }>()(
  "test/Subject"
) {}

const shared = Layer.effect(
  Subject,
  Effect.gen(function* () {
    const running = yield* startProcess(yield* deploy, {
      // The last attempt is the first retry.
      settings: { schedule: { ...settings.schedule, delaysMillis: [20] } }
    })
    return Subject.of({ receiver: yield* startReceiver, running })
  })
)

let names = 0

const fresh = Effect.gen(function* () {
  const { receiver, running } = yield* Subject
  const name = `${++names}`
  const id = `we_${name}`
  const path = `/${name}`
  const organization = running.organization(`org_${name}`)
  yield* organization.create(id, receiver.url(path), ["telco.*"])
  const isPaused = Effect.map(organization.endpoint(id), (endpoint) => endpoint!.paused !== null)
  return { organization, id, path, receiver, running, isPaused }
})

const patch = (isActive: boolean) => ({ _tag: "Update", isActive, targets: "any" }) as const

/** Answers with a far `Retry-After`, so that the delivery stays pending. */
const later = answering(503, { "Retry-After": "3000" })

layer(shared, { excludeTestServices: true, timeout: patienceMillis })("an endpoint", (it) => {
  it.effect("is warned about after 5 failed deliveries and paused after 10; what happens then is skipped", () =>
    Effect.gen(function* () {
      const { id, isPaused, organization, path, receiver } = yield* fresh
      yield* organization.create(`${id}w`, receiver.url(`${path}w`), ["platform.*"])
      receiver.answer(path, answering(500))
      for (let count = 1; count <= 10; count++) {
        assert.isFalse(yield* isPaused)
        yield* organization.emit()
        yield* organization.settled(id, count)
      }
      yield* until(isPaused)
      const data = { endpoint_id: id, url: receiver.url(path), last_delivery_status: 500 }
      yield* until(Effect.map(organization.deliveries(`${id}w`), ({ length }) => length === 2))
      const events = yield* organization.events("platform.%")
      assert.deepStrictEqual(
        events.map(({ body }) => JSON.parse(body)).map((event) => [event.type, event.data]),
        [
          ["platform.webhook.failing", { ...data, consecutive_failures: 5 }],
          ["platform.webhook.paused", { ...data, consecutive_failures: 10, reason: "failures" }]
        ]
      )
      assert.lengthOf(yield* organization.settled(`${id}w`, 2), 2)
      const attempts = receiver.of(path).length
      yield* organization.emit(2)
      yield* until(Effect.map(organization.skipped(id), ({ length }) => length === 2))
      assert.deepStrictEqual(
        (yield* organization.skipped(id)).map(({ reason }) => reason),
        ["paused", "paused"]
      )
      assert.lengthOf(yield* organization.deliveries(id), 10)
      assert.lengthOf(receiver.of(path), attempts)
    })
  )

  it.effect("is paused at once by 410; the delivery is kept and resumes after the unpause", () =>
    Effect.gen(function* () {
      const { id, isPaused, organization, path, receiver } = yield* fresh
      receiver.answer(path, answering(410))
      yield* organization.emit()
      yield* until(isPaused)
      yield* until(Effect.map(organization.events("platform.webhook.paused"), ({ length }) => length === 1))
      const [event] = yield* organization.events("platform.webhook.paused")
      assert.deepInclude(JSON.parse(event!.body).data, { reason: "gone", last_delivery_status: 410 })
      yield* until(Effect.map(organization.deliveries(id), ([delivery]) => delivery?.attempts === 1))
      const [pending] = yield* organization.deliveries(id)
      assert.deepInclude(pending, { status: "pending", attempts: 1 })
      receiver.answer(path, answering(200))
      yield* organization.ask(id, { _tag: "Unpause" })
      const [delivered] = yield* organization.settled(id)
      assert.deepInclude(delivered, { status: "succeeded", attempts: 2 })
    })
  )

  it.effect("gets a test and a retry that was asked for while it is Paused, but none of its pending deliveries", () =>
    Effect.gen(function* () {
      const { id, isPaused, organization, path, receiver } = yield* fresh
      receiver.answer(path, answering(410))
      yield* organization.emit()
      yield* until(isPaused)
      receiver.answer(path, answering(200))
      yield* organization.ask(id, { _tag: "RequestTest" })
      yield* until(
        Effect.map(organization.deliveries(id), (rows) =>
          rows.some(({ origin, status }) => origin === "test" && status === "succeeded")
        )
      )
      const test = (yield* organization.deliveries(id)).find(({ origin }) => origin === "test")!
      receiver.answer(path, answering(500))
      yield* organization.retry(id, test.id)
      yield* until(
        Effect.map(organization.deliveries(id), (rows) =>
          rows.some((row) => row.id === test.id && row.status === "failed" && row.attempts === 2)
        )
      )
      const [pending] = yield* organization.deliveries(id)
      assert.deepInclude(pending, { status: "pending", origin: "event" })
      assert.lengthOf(receiver.of(path), 3)
      assert.strictEqual((yield* organization.endpoint(id))!.consecutiveFailures, 0)
    })
  )

  it.effect("keeps what is pending while it is Disabled, misses what happens, and goes on when it is enabled", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh
      // What is in flight when the endpoint is disabled fails after it.
      const answer: Array<() => void> = []
      receiver.answer(path, (response) => void answer.push(() => response.writeHead(500).end()))
      yield* organization.emit(3)
      yield* until(Effect.sync(() => answer.length === 3))
      yield* organization.ask(id, patch(false))
      yield* organization.emit()
      yield* until(Effect.map(organization.skipped(id), ({ length }) => length === 1))
      receiver.answer(path, answering(200))
      for (const one of answer) one()
      yield* until(Effect.map(organization.deliveries(id), (rows) => rows.every(({ attempts }) => attempts === 1)))
      const refused = yield* Effect.flip(organization.ask(id, { _tag: "RequestTest" }))
      assert.deepInclude(refused, { _tag: "EndpointDisabled" })
      assert.strictEqual(yield* organization.jobs(id), 3)
      assert.lengthOf(receiver.of(path), 3)
      yield* organization.ask(id, patch(true))
      const deliveries = yield* organization.settled(id, 3)
      assert.deepStrictEqual(
        deliveries.map(({ attempts, status }) => [status, attempts]),
        [
          ["succeeded", 2],
          ["succeeded", 2],
          ["succeeded", 2]
        ]
      )
    })
  )

  it.effect("is delivered to at its new address after a change", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh
      receiver.answer(path, answering(500))
      yield* organization.emit()
      yield* until(Effect.sync(() => receiver.of(path).length > 0))
      yield* organization.ask(id, { _tag: "Update", url: receiver.url(`${path}new`), targets: "any" })
      yield* organization.settled(id)
      yield* organization.emit()
      yield* organization.settled(id, 2)
      assert.include(
        receiver.of(`${path}new`).map(({ body }) => JSON.parse(body).data.filters.rateCenter),
        "number 1"
      )
    })
  )

  it.effect("that is deleted has its pending deliveries cancelled, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver, running } = yield* fresh
      receiver.answer(path, later)
      yield* organization.emit(3)
      yield* until(Effect.map(organization.deliveries(id), (rows) => rows.some(({ attempts }) => attempts === 1)))
      yield* organization.ask(id, { _tag: "Delete" })
      const deliveries = yield* organization.settled(id, 3)
      assert.deepStrictEqual(
        deliveries.map(({ status }) => status),
        ["cancelled", "cancelled", "cancelled"]
      )
      assert.strictEqual(yield* organization.jobs(id), 0)
      yield* until(
        Effect.map(
          Effect.orDie(running.sql`select 1 from webhook_endpoints where id = ${id}`),
          ({ length }) => length === 0
        )
      )
      assert.isTrue(forgottenSecrets.has(`${id}-secret`))
      yield* organization.emit()
      yield* until(Effect.map(organization.events("telco.%"), ({ length }) => length === 4))
      assert.lengthOf(yield* organization.deliveries(id), 3)
    })
  )

  it.effect("that hangs does not keep others waiting", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh
      receiver.answer(path, hanging)
      yield* organization.create(`${id}ok`, receiver.url(`${path}ok`))
      yield* organization.emit(200)
      const healthy = yield* organization.settled(`${id}ok`, 200)
      assert.isTrue(healthy.every(({ attempts, status }) => status === "succeeded" && attempts === 1))
      const slow = yield* organization.deliveries(id)
      assert.isAbove(slow.filter(({ status }) => status === "pending").length, 150)
      yield* organization.ask(id, { _tag: "Delete" })
    })
  )
})

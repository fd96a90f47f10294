/**
 * From an event of a decision to a POST and its recorded outcome, on a real nats-server, PostgreSQL and receiver, with
 * a shortened schedule (docs/platform.md, 7): what is posted, what an answer means, and when the next attempt is made.
 */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { patienceMillis } from "../../support/patience.ts"
import { answering, expectedSignature, type Receiver, signaturesOf, startReceiver } from "../receiver.ts"
import { until } from "../until.ts"
import { deploy, forgottenSecrets, type Process, secretOf, settings, startProcess } from "./dispatchSupport.ts"

class Subject extends Context.Service<Subject, { readonly running: Process; readonly receiver: Receiver }>()(
  "test/Subject"
) {}

const shared = Layer.effect(
  Subject,
  Effect.gen(function* () {
    const resolve = (host: string) =>
      host === "localhost"
        ? Promise.resolve([{ address: "127.0.0.1", family: 4 }])
        : Promise.reject(Object.assign(new Error(host), { code: "ENOTFOUND" }))
    const running = yield* startProcess(yield* deploy, { resolve })
    return Subject.of({ receiver: yield* startReceiver, running })
  })
)

let names = 0

/** An organization of the test's own with an endpoint that receives what the catalogue calls telco. */
const fresh = (patterns: ReadonlyArray<string> = ["telco.*"]) =>
  Effect.gen(function* () {
    const { receiver, running } = yield* Subject
    const name = `${++names}`
    const id = `we_${name}`
    const path = `/${name}`
    const organization = running.organization(`org_${name}`)
    yield* organization.create(id, receiver.url(path), patterns)
    return { organization, id, path, receiver, running }
  })

/** Milliseconds between the attempts of a delivery, each from the end of one to the beginning of the next. */
const waitsOf = (log: ReadonlyArray<{ readonly at: number; readonly duration: number }>) =>
  log.slice(1).map(({ at }, index) => at - (log[index]!.at + log[index]!.duration))

layer(shared, { excludeTestServices: true, timeout: patienceMillis })("a delivery", (it) => {
  it.effect("[platform 7.2] is the event, signed, and its outcome is recorded", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      receiver.answer(path, answering(201, {}, "thanks"))
      yield* organization.emit()
      const [delivery, ...more] = yield* organization.settled(id)
      assert.deepStrictEqual(more, [])
      assert.deepInclude(delivery, { status: "succeeded", attempts: 1, origin: "event", next_attempt_at: null })
      assert.isNotNull(delivery!.settled_at)
      assert.deepInclude(delivery!.attempt_log[0], { status: 201, response: "thanks", error: null })
      const [posted, ...others] = receiver.of(path)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(posted!.method, "POST")
      assert.deepStrictEqual(signaturesOf(posted!), [expectedSignature(secretOf(`${id}-secret`), posted!)])
      assert.deepInclude(posted!.headers, {
        "content-type": "application/json",
        "user-agent": "PlatformWebhook/1.0",
        "x-platformwebhook-id": delivery!.event_id
      })
      const [logged] = yield* organization.events("telco.%")
      assert.strictEqual(posted!.body, logged!.body)
      assert.strictEqual(yield* organization.jobs(id), 0)
    })
  )

  it.effect("goes to every endpoint that subscribes, and to no other organization's", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      yield* organization.create(`${id}b`, receiver.url(`${path}b`), ["*"])
      yield* organization.create(`${id}c`, receiver.url(`${path}c`), ["platform.*"])
      const stranger = yield* fresh(["*"])
      yield* organization.emit(3)
      yield* organization.settled(id, 3)
      yield* organization.settled(`${id}b`, 3)
      const numbers = (at: string) => receiver.of(at).map(({ body }) => JSON.parse(body).data.filters.rateCenter)
      assert.sameMembers(numbers(path), ["number 0", "number 1", "number 2"])
      assert.sameMembers(numbers(`${path}b`), ["number 0", "number 1", "number 2"])
      assert.deepStrictEqual(receiver.of(`${path}c`), [])
      assert.deepStrictEqual(yield* stranger.organization.deliveries(stranger.id), [])
    })
  )

  it.effect("is matched as its endpoint was at that place in the log", () =>
    Effect.gen(function* () {
      const { id, organization } = yield* fresh(["platform.*"])
      yield* organization.emit(1)
      yield* organization.ask(id, { _tag: "Update", enabledEvents: ["telco.*"], targets: "any" })
      yield* organization.emit(2)
      yield* organization.ask(id, { _tag: "Update", enabledEvents: ["send.*"], targets: "any" })
      yield* organization.emit(4)
      yield* organization.ask(id, { _tag: "Update", isActive: false, targets: "any" })
      yield* organization.ask(id, { _tag: "Update", enabledEvents: ["telco.search.completed"], targets: "any" })
      yield* organization.emit(1)
      yield* until(Effect.map(organization.skipped(id), (rows) => rows.length > 0))
      yield* organization.ask(id, { _tag: "Update", isActive: true, targets: "any" })
      assert.lengthOf(yield* organization.settled(id, 2), 2)
      assert.deepStrictEqual(yield* organization.skipped(id), [
        { reason: "disabled", event_type: "telco.search.completed" }
      ])
    })
  )

  it.effect("keeps its connection for the next one", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      for (let count = 1; count <= 3; count++) {
        yield* organization.emit()
        yield* organization.settled(id, count)
      }
      assert.lengthOf(new Set(receiver.of(path).map(({ connection }) => connection)), 1)
    })
  )

  it.effect("is signed by both secrets during a rotation, the new one first", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      const rotate = (secretId: string, overlapSeconds: number) =>
        organization.ask(id, { _tag: "RotateSecret", secretId, overlapSeconds })
      const signedBy = (...secrets: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          yield* organization.emit()
          yield* organization.settled(id, receiver.of(path).length + 1)
          const posted = receiver.of(path).at(-1)!
          assert.deepStrictEqual(
            signaturesOf(posted),
            secrets.map((secret) => expectedSignature(secretOf(secret), posted))
          )
        })
      yield* signedBy(`${id}-secret`)
      yield* rotate(`${id}-second`, 3_600)
      yield* signedBy(`${id}-second`, `${id}-secret`)
      yield* rotate(`${id}-third`, 3_600)
      yield* signedBy(`${id}-third`, `${id}-second`)
      yield* rotate(`${id}-fourth`, 0)
      yield* signedBy(`${id}-fourth`)
      const forgotten = [`${id}-secret`, `${id}-second`, `${id}-third`]
      yield* until(Effect.sync(() => forgotten.every((secret) => forgottenSecrets.has(secret))))
      assert.isFalse(forgottenSecrets.has(`${id}-fourth`))
    })
  )

  it.effect("is attempted after each wait of the schedule, signed anew, until it succeeds", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      const { delaysMillis } = settings.schedule
      receiver.answer(path, (response, _, count) => response.writeHead(count < delaysMillis.length ? 500 : 204).end())
      yield* organization.emit()
      const [delivery] = yield* organization.settled(id)
      assert.deepInclude(delivery, { status: "succeeded", attempts: 6 })
      assert.deepStrictEqual(
        delivery!.attempt_log.map(({ status }) => status),
        [500, 500, 500, 500, 500, 204]
      )
      for (const [index, wait] of waitsOf(delivery!.attempt_log).entries()) assert.isAtLeast(wait, delaysMillis[index]!)
      const posted = receiver.of(path)
      assert.lengthOf(new Set(posted.map(({ headers }) => headers["x-platformwebhook-id"])), 1)
      for (const one of posted)
        assert.deepStrictEqual(signaturesOf(one), [expectedSignature(secretOf(`${id}-secret`), one)])
      const endpoint = yield* organization.endpoint(id)
      assert.strictEqual(endpoint!.consecutiveFailures, 0)
    })
  )

  it.effect("fails with its last attempt and counts once; a later success starts the count again", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      receiver.answer(path, answering(400, {}, "no"))
      yield* organization.emit(2)
      const failed = yield* organization.settled(id, 2)
      assert.deepStrictEqual(
        failed.map(({ attempts, status }) => [status, attempts]),
        [
          ["failed", 6],
          ["failed", 6]
        ]
      )
      assert.strictEqual((yield* organization.endpoint(id))!.consecutiveFailures, 2)
      receiver.answer(path, answering(200))
      yield* organization.emit()
      yield* organization.settled(id, 3)
      yield* until(Effect.map(organization.endpoint(id), (endpoint) => endpoint!.consecutiveFailures === 0))
    })
  )

  it.effect("waits for as long as Retry-After asks", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      receiver.answer(path, (response, _, count) =>
        count === 0 ? response.writeHead(503, { "Retry-After": "1" }).end() : response.end()
      )
      yield* organization.emit()
      const [delivery] = yield* organization.settled(id)
      assert.deepInclude(delivery, { status: "succeeded", attempts: 2 })
      assert.isAtLeast(waitsOf(delivery!.attempt_log)[0]!, 1_000)
    })
  )

  it.effect("does not follow a redirect", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      receiver.answer(path, answering(307, { Location: receiver.url(`${path}/elsewhere`) }))
      yield* organization.emit()
      const [delivery] = yield* organization.settled(id)
      assert.deepInclude(delivery, { status: "failed", attempts: 6 })
      assert.strictEqual(delivery!.attempt_log[0]!.status, 307)
      assert.deepStrictEqual(receiver.of(`${path}/elsewhere`), [])
    })
  )

  it.effect("[platform 7.4] reads a bounded part of the answer and shows less", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      let closedAfter = 0
      receiver.answer(path, (response) => {
        const chunk = Buffer.alloc(16_384, "é")
        const write = () => {
          while (!response.destroyed && response.write(chunk)) closedAfter += chunk.length
          closedAfter += chunk.length
        }
        response.on("drain", write)
        write()
      })
      yield* organization.emit()
      const [delivery] = yield* organization.settled(id)
      assert.deepInclude(delivery, { status: "succeeded", attempts: 1 })
      const { response } = delivery!.attempt_log[0]!
      assert.strictEqual(response, "é".repeat(512))
      // The server was still writing when the connection was closed: it has no end otherwise.
      const before = closedAfter
      yield* organization.emit()
      yield* organization.settled(id, 2)
      assert.isBelow(before, 10_000_000)
    })
  )

  it.effect("keeps an answer that is no text, and one without a body", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      receiver.answer(path, (response, _, count) =>
        count === 0 ? response.end(Buffer.from([0, 0xff, 0x41, 0x0a])) : response.writeHead(204).end()
      )
      yield* organization.emit()
      yield* organization.settled(id)
      yield* organization.emit()
      const deliveries = yield* organization.settled(id, 2)
      assert.deepStrictEqual(
        deliveries.map(({ attempt_log: [made] }) => made!.response),
        ["\ufffd\ufffdA\n", ""]
      )
    })
  )

  it.effect("to a closed port, an unknown name, a connection that breaks: each says why", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      // A port that was just free.
      const closed = yield* Effect.promise(
        () =>
          new Promise<number>((resolve) => {
            const socket = connect(receiver.port, "127.0.0.1", () => {
              resolve(socket.localPort!)
              socket.destroy()
            })
          })
      )
      receiver.answer(path, (response) => response.destroy())
      yield* organization.create(`${id}b`, `http://localhost:${closed}/`)
      yield* organization.create(`${id}c`, "https://no-such-name.invalid/")
      yield* organization.emit()
      const errorOf = (endpointId: string) =>
        Effect.map(organization.settled(endpointId), ([delivery]) => {
          assert.deepInclude(delivery, { status: "failed", attempts: 6 })
          assert.deepInclude(delivery!.attempt_log[0], { status: 0, response: null })
          return delivery!.attempt_log[0]!.error
        })
      assert.strictEqual(yield* errorOf(id), "The connection was closed without an answer")
      assert.strictEqual(yield* errorOf(`${id}b`), "The connection was refused")
      assert.strictEqual(yield* errorOf(`${id}c`), "The host name has no public address")
    })
  )

  it.effect("of a test goes to its own endpoint, once, and never counts", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh(["telco.*"])
      yield* organization.create(`${id}b`, receiver.url(`${path}b`), ["*"])
      receiver.answer(path, answering(500))
      const { eventId } = yield* organization.ask(id, { _tag: "RequestTest" })
      const [delivery] = yield* organization.settled(id)
      assert.deepInclude(delivery, { status: "failed", attempts: 1, origin: "test", event_id: eventId! })
      assert.strictEqual((yield* organization.endpoint(id))!.consecutiveFailures, 0)
      const [posted] = receiver.of(path)
      assert.deepInclude(JSON.parse(posted!.body), { type: "platform.test", livemode: false, eventId })
      const [logged] = yield* organization.events("platform.test")
      assert.strictEqual(logged!.body, posted!.body)
      assert.deepStrictEqual(receiver.of(`${path}b`), [])
    })
  )

  it.effect("shows in the metrics: outcomes, latency, backlog and its age, paused endpoints", () =>
    Effect.gen(function* () {
      const { id, organization, path, receiver } = yield* fresh()
      const outcomes = (outcome: string) =>
        Effect.map(Metric.snapshot, (metrics) =>
          metrics
            .filter(
              (metric) => metric.id === "sluice_webhook_deliveries_total" && metric.attributes?.outcome === outcome
            )
            .reduce((sum, metric) => sum + (metric.type === "Counter" ? Number(metric.state.count) : 0), 0)
        )
      const [succeeded, retried, failed] = yield* Effect.all(["succeeded", "retried", "failed"].map(outcomes))
      yield* organization.emit(2)
      yield* organization.settled(id, 2)
      receiver.answer(path, answering(500))
      yield* organization.emit()
      yield* organization.settled(id, 3)
      assert.strictEqual((yield* outcomes("succeeded")) - succeeded!, 2)
      assert.strictEqual((yield* outcomes("retried")) - retried!, 5)
      assert.strictEqual((yield* outcomes("failed")) - failed!, 1)
      const gauges = [
        "sluice_webhook_attempt_millis",
        "sluice_webhook_attempts_in_flight",
        "sluice_webhook_backlog",
        "sluice_webhook_deliveries_held",
        "sluice_webhook_oldest_due_seconds",
        "sluice_webhook_paused_endpoints"
      ]
      yield* until(
        Effect.map(Metric.snapshot, (metrics) => gauges.every((name) => metrics.some((metric) => metric.id === name)))
      )
    })
  )
})

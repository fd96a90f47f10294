/** The dispatcher embedded alone, in memory: it signs, retries, pauses and refuses as the platform does, on a virtual clock. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { DeliveryRequest } from "../../../src/webhooks/delivery/ports.ts"
import type { Attempt } from "../../../src/webhooks/delivery/schedule.ts"
import { type MemoryOptions, Webhooks } from "../../../src/webhooks/embedded/Webhooks.ts"
import { makeSecret, verifyWebhook } from "../../../src/webhooks/secret/signature.ts"
import { answering, startReceiver } from "../receiver.ts"

const secret = makeSecret()
const hook = { id: "orders", url: "https://example.com/hook", patterns: ["orders.*"], secret }

/** A receiver that answers what is asked of it, and everything that came. */
const scripted = (answer: (request: DeliveryRequest, count: number) => Attempt) => {
  const requests: Array<DeliveryRequest> = []
  return {
    requests,
    sender: {
      send: (request: DeliveryRequest) =>
        Effect.sync(() => {
          requests.push(request)
          return { attempt: answer(request, requests.length), response: "", error: null }
        })
    }
  }
}

const status =
  (code: number): (() => Attempt) =>
  () => ({ _tag: "Answered", status: code })

const provided = (options: MemoryOptions) =>
  Effect.provide(Layer.merge(Webhooks.layerMemory(options), Logger.layer([])))

const event = { type: "orders.created", data: { total: 7 } }

/** Lets so much time pass, in steps in which every fiber has its turn. */
const pass = (seconds: number) => Effect.repeat(TestClock.adjust("1 second"), { times: seconds - 1 })

describe("webhooks in memory", () => {
  it.effect("deliver what matches, signed, and nothing else", () => {
    const { requests, sender } = scripted(status(200))
    return Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const eventId = yield* webhooks.emit(event)
      yield* webhooks.emit({ type: "customers.created", data: {} })
      yield* webhooks.settled
      expect(requests).toHaveLength(1)
      const [{ body, headers, url }] = requests as [DeliveryRequest]
      expect(url).toBe(hook.url)
      const received = verifyWebhook(body, headers, secret, 300, 0)
      expect(received).toMatchObject({ eventId, type: "orders.created", service: "orders", data: { total: 7 } })
      expect(yield* webhooks.deliveries("orders")).toMatchObject([{ eventId, status: "succeeded", attemptCount: 1 }])
      expect(yield* webhooks.endpoint("orders")).toMatchObject({ status: "active", lastDeliveryStatus: 200 })
    }).pipe(provided({ endpoints: [hook], sender }))
  })

  it.effect("send an endpoint's own headers, also those that it gets later, and keep its rate", () => {
    const { requests, sender } = scripted(status(200))
    const rated = { ...hook, headers: { Authorization: "Bearer one" }, rateLimit: 2 }
    return Effect.gen(function* () {
      const webhooks = yield* Webhooks
      for (let count = 0; count < 3; count++) yield* webhooks.emit(event)
      yield* TestClock.adjust(100)
      expect(requests).toHaveLength(2)
      yield* webhooks.set({ ...rated, headers: { "X-Key": "two" } })
      yield* pass(2)
      yield* webhooks.settled
      yield* webhooks.set({ ...hook, headers: {}, rateLimit: null })
      for (let count = 0; count < 5; count++) yield* webhooks.emit(event)
      yield* TestClock.adjust(0)
      expect(requests.map(({ headers }) => headers.Authorization ?? headers["X-Key"] ?? null)).toEqual([
        "Bearer one",
        "Bearer one",
        "two",
        ...Array.from({ length: 5 }, () => null)
      ])
      expect(yield* webhooks.endpoint("orders")).toMatchObject({ headers: null, rateLimit: null })
      for (const refused of [{ headers: { Host: "example.com" } }, { rateLimit: 0 }])
        expect(yield* Effect.flip(webhooks.set({ ...hook, ...refused }))).toMatchObject({ _tag: "EndpointInvalid" })
    }).pipe(provided({ endpoints: [rated], sender }))
  })

  it.effect("retry by the schedule until it succeeds", () => {
    const { requests, sender } = scripted((_, count) => ({ _tag: "Answered", status: count < 3 ? 500 : 200 }))
    return Effect.gen(function* () {
      const webhooks = yield* Webhooks
      yield* webhooks.emit(event)
      yield* pass(4)
      expect(requests).toHaveLength(1)
      yield* pass(2 + 37)
      expect(requests).toHaveLength(3)
      yield* webhooks.settled
      const [delivery] = yield* webhooks.deliveries("orders")
      expect(delivery).toMatchObject({ status: "succeeded", attemptCount: 3 })
      const [first, second, third] = delivery!.attempts.map(({ at }) => at)
      expect(second! - first!).toBeGreaterThanOrEqual(5_000)
      expect(third! - second!).toBeGreaterThanOrEqual(30_000)
    }).pipe(provided({ endpoints: [hook], sender }))
  })

  it.effect(
    "pause an endpoint after ten failed deliveries, keep what is pending, and go on when it is unpaused",
    () => {
      let code = 500
      const { requests, sender } = scripted(() => ({ _tag: "Answered", status: code }))
      const schedule = { delaysMillis: [], jitter: 0, maximumRetryAfterMillis: 0 }
      return Effect.gen(function* () {
        const webhooks = yield* Webhooks
        for (let count = 0; count < 10; count++) yield* webhooks.emit(event)
        yield* webhooks.settled
        expect(yield* webhooks.endpoint("orders")).toMatchObject({ status: "paused", consecutiveFailures: 10 })
        yield* webhooks.emit(event)
        expect(requests).toHaveLength(10)
        code = 204
        yield* webhooks.unpause("orders")
        yield* webhooks.emit(event)
        yield* webhooks.settled
        expect(requests).toHaveLength(11)
        expect(yield* webhooks.endpoint("orders")).toMatchObject({ status: "active", consecutiveFailures: 0 })
        const failed = (yield* webhooks.deliveries("orders")).find((delivery) => delivery.status === "failed")!
        yield* webhooks.retry(failed.id)
        yield* webhooks.settled
        expect(requests).toHaveLength(12)
        expect(yield* Effect.flip(webhooks.retry("dlv_unknown"))).toMatchObject({ _tag: "NotRetryable" })
      }).pipe(provided({ endpoints: [hook], sender, settings: { schedule } }))
    }
  )

  it.effect("sign with both secrets during a rotation, with the new one alone when it is set", () => {
    const { requests, sender } = scripted(status(200))
    const [second, third] = [makeSecret(), makeSecret()]
    return Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const fits = (one: string) => {
        try {
          verifyWebhook(requests.at(-1)!.body, requests.at(-1)!.headers, one, Number.POSITIVE_INFINITY)
          return true
        } catch {
          return false
        }
      }
      const next = Effect.andThen(webhooks.emit(event), webhooks.settled)
      yield* webhooks.rotateSecret("orders", second, 60)
      yield* next
      expect([secret, second].map(fits)).toEqual([true, true])
      yield* pass(61)
      yield* next
      expect([secret, second].map(fits)).toEqual([false, true])
      yield* webhooks.set({ ...hook, secret: third })
      yield* next
      expect([second, third].map(fits)).toEqual([false, true])
    }).pipe(provided({ endpoints: [hook], sender }))
  })

  it.effect("deliver nothing to an endpoint that is disabled or removed; a test goes to a paused one", () => {
    const { requests, sender } = scripted(status(410))
    return Effect.gen(function* () {
      const webhooks = yield* Webhooks
      yield* webhooks.emit(event)
      yield* pass(1)
      expect(yield* webhooks.endpoint("orders")).toMatchObject({ status: "paused", paused: { reason: "gone" } })
      yield* webhooks.test("orders")
      yield* pass(1)
      expect(requests).toHaveLength(2)
      yield* webhooks.set({ ...hook, isActive: false })
      expect(yield* Effect.flip(webhooks.test("orders"))).toMatchObject({ _tag: "EndpointDisabled" })
      yield* webhooks.remove("orders")
      yield* webhooks.settled
      expect((yield* webhooks.deliveries("orders")).map((delivery) => delivery.status).toSorted()).toEqual([
        "cancelled",
        "failed"
      ])
      expect(yield* Effect.flip(webhooks.endpoint("orders"))).toMatchObject({ _tag: "EndpointNotFound" })
      expect(requests).toHaveLength(2)
    }).pipe(provided({ endpoints: [hook], sender }))
  })

  it.effect("refuse what they cannot take, in words", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      expect(yield* Effect.flip(webhooks.emit({ type: "Orders", data: {} }))).toMatchObject({ _tag: "EventRefused" })
      const cyclic: Record<string, unknown> = {}
      cyclic.self = cyclic
      expect(yield* Effect.flip(webhooks.emit({ ...event, data: cyclic }))).toMatchObject({ _tag: "EventRefused" })
      expect(yield* Effect.flip(webhooks.set({ ...hook, url: "http://example.com" }))).toMatchObject({
        _tag: "UrlRefused"
      })
      expect(yield* Effect.flip(webhooks.set({ ...hook, patterns: ["orders*"] }))).toMatchObject({
        _tag: "InvalidPattern"
      })
      expect(yield* Effect.flip(webhooks.set({ ...hook, id: "" }))).toMatchObject({ _tag: "EndpointInvalid" })
      yield* webhooks.emit(event)
      expect(yield* Effect.flip(webhooks.emit(event))).toMatchObject({ _tag: "WebhooksFull", maximumPending: 1 })
    }).pipe(provided({ endpoints: [hook], maximumPending: 1, sender: scripted(status(500)).sender }))
  )

  it.live("post over HTTP to a real receiver", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      receiver.answer("/hook", answering(201, {}, "thanks"))
      const endpoint = { ...hook, url: receiver.url("/hook") }
      yield* Effect.gen(function* () {
        const webhooks = yield* Webhooks
        yield* webhooks.emit(event)
        yield* webhooks.settled
        const [posted] = receiver.of("/hook")
        expect(verifyWebhook(posted!.body, posted!.headers, secret)).toMatchObject({ type: "orders.created" })
        expect((yield* webhooks.deliveries("orders"))[0]!.attempts[0]).toMatchObject({
          status: 201,
          response: "thanks"
        })
      }).pipe(provided({ endpoints: [endpoint], targets: "any" }))
    })
  )
})

describe("what a receiver imports", () => {
  /** The modules that an import loads. */
  const loadedBy = async (file: string) => {
    const program = `
      import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
      await import(${JSON.stringify(new URL(`../../../src/webhooks/${file}`, import.meta.url).href)})
      console.log(JSON.stringify(loaded))`
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      maxBuffer: 16 * 1024 * 1024
    })
    return JSON.parse(stdout) as ReadonlyArray<string>
  }

  it("does not load the engine, the dispatcher or a client of any server", async () => {
    const loaded = await loadedBy("index.ts")
    expect(loaded.some((url) => url.endsWith("/webhooks/secret/signature.ts"))).toBe(true)
    expect(
      loaded.filter((url) =>
        /\/src\/(engine|postgres|nats|http)\/|node_modules\/(pg|@effect\/sql-pg|undici|@nats-io)\//.test(url)
      )
    ).toEqual([])
  })

  it("and what a sender imports loads no client of PostgreSQL or NATS", async () => {
    const loaded = await loadedBy("embedded/index.ts")
    expect(loaded.some((url) => url.includes("/node_modules/undici/"))).toBe(true)
    expect(loaded.filter((url) => /\/src\/nats\/|node_modules\/(pg|@effect\/sql-pg|@nats-io)\//.test(url))).toEqual([])
  })
})

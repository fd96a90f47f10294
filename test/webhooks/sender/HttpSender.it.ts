/** Posting on real connections: where the guard says no nothing is connected to, whatever a name or an address pretends. */
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { DeliveryAnswer, DeliveryRequest } from "../../../src/webhooks/delivery/ports.ts"
import * as HttpSender from "../../../src/webhooks/sender/HttpSender.ts"
import { makeTargetGuard, type Resolve, type TargetPolicy } from "../../../src/webhooks/target/targets.ts"
import { answering, hanging, startReceiver } from "../receiver.ts"
import { until } from "../until.ts"

const loopback: Resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])

const request = (url: string, more: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
  url,
  organizationId: "org_1",
  headers: { "Content-Type": "application/json" },
  body: "{}",
  timeoutMillis: 10_000,
  ...more
})

const senderOf = (policy: TargetPolicy, resolve: Resolve = loopback) =>
  HttpSender.make(makeTargetGuard(policy, resolve))

const noAnswer = (error: string): DeliveryAnswer => ({ attempt: { _tag: "NoAnswer" }, response: null, error })

/** Counts connections to a port of this machine. */
const listening = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly count: () => number; readonly close: () => void }>((resume) => {
    let count = 0
    const server = createServer((socket) => {
      count++
      socket.destroy()
    }).listen(0, "127.0.0.1", () => {
      const address = server.address() as { port: number }
      resume(Effect.succeed({ port: address.port, count: () => count, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("the sender", () => {
  it.live("[platform 6.9] connects to no address that is not public, by name or by number", () =>
    Effect.gen(function* () {
      const { count, port } = yield* listening
      const sender = yield* senderOf("public", (host) =>
        Promise.resolve([
          ...(host === "mixed.example" ? [{ address: "93.184.215.14", family: 4 }] : []),
          { address: "127.0.0.1", family: 4 }
        ])
      )
      const refused = {
        "inside.example": "inside.example",
        "mixed.example": "mixed.example",
        "127.0.0.1": "127.0.0.1",
        "2130706433": "127.0.0.1",
        "[::1]": "::1",
        "[::ffff:127.0.0.1]": "::ffff:7f00:1"
      }
      for (const [host, shown] of Object.entries(refused))
        assert.deepStrictEqual(
          yield* sender.send(request(`https://${host}:${port}/`)),
          // Of a name nothing is said that a name which is not known would not be told too.
          noAnswer(
            host.endsWith(".example")
              ? "The host name has no public address"
              : `${shown} is not a public address, nothing is delivered there`
          )
        )
      assert.deepStrictEqual(
        yield* sender.send(request(`http://localhost:${port}/`)),
        noAnswer("Webhook URL must use HTTPS")
      )
      assert.strictEqual(count(), 0)
    })
  )

  it.live("says what is wrong with a connection, in words for its owner", () =>
    Effect.gen(function* () {
      const { port } = yield* listening
      const receiver = yield* startReceiver
      const sender = yield* senderOf("any")
      const errorOf = (url: string) => Effect.map(sender.send(request(url)), ({ error }) => error)
      assert.strictEqual(yield* errorOf(`https://localhost:${receiver.port}/`), "The TLS handshake failed")
      assert.match(
        String(yield* errorOf(`http://localhost:${port}/`)),
        /^The connection was (reset|closed without an answer)$/
      )
    })
  )

  it.live("answers with the status although the body never ends", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const sender = yield* senderOf("any")
      receiver.answer("/slow", (response) => {
        response.writeHead(202)
        response.write("beginning")
      })
      const answer = yield* sender.send(request(receiver.url("/slow"), { timeoutMillis: 300 }))
      assert.deepInclude(answer, { response: "beginning", error: "The answer did not end within 0.3 s" })
      assert.deepInclude(answer.attempt, { _tag: "Answered", status: 202 })
    })
  )

  it.live("gives its connection up when it is interrupted or out of time", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const sender = yield* senderOf("any")
      let closed = 0
      receiver.answer("/hang", (response, received, count) => {
        response.once("close", () => closed++)
        hanging(response, received, count)
      })
      const fiber = yield* Effect.forkChild(sender.send(request(receiver.url("/hang"))))
      yield* until(Effect.sync(() => receiver.of("/hang").length === 1))
      yield* Fiber.interrupt(fiber)
      yield* until(Effect.sync(() => closed === 1))
      const answer = yield* sender.send(request(receiver.url("/hang"), { timeoutMillis: 100 }))
      assert.deepStrictEqual(answer, {
        attempt: { _tag: "TimedOut" },
        response: null,
        error: "There was no answer within 0.1 s"
      })
      yield* until(Effect.sync(() => closed === 2))
      receiver.answer("/hang", answering(200))
      assert.deepInclude((yield* sender.send(request(receiver.url("/hang")))).attempt, {
        _tag: "Answered",
        status: 200
      })
    })
  )

  it.live("takes headers of an answer in bounds only", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const sender = yield* senderOf("any")
      receiver.answer("/large", answering(200, { "X-Large": "x".repeat(20_000) }))
      assert.deepStrictEqual(
        yield* sender.send(request(receiver.url("/large"))),
        noAnswer("The headers of the answer are too large")
      )
    })
  )
})

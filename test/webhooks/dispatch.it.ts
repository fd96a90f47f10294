/**
 * From an event of a decision to a POST and its recorded outcome, on a real nats-server, PostgreSQL and receiver (decisions, "Events and
 * webhooks").
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { deploy, secretOf, settled, startProcess } from "./dispatchSupport.ts"
import { answering, expectedSignature, signaturesOf, startReceiver } from "./receiver.ts"

describe("dispatch", () => {
  it.live("an event is posted, signed, and its outcome recorded", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const running = yield* startProcess(yield* deploy)
      yield* running.create("we_1", receiver.url("/hook?a=1"))
      receiver.answer("/hook?a=1", answering(201, {}, "thanks"))
      yield* running.emit()
      const [delivery] = yield* settled(running, "we_1")
      assert.deepInclude(delivery, { status: "succeeded", attempts: 1, origin: "event", next_attempt_at: null })
      assert.deepInclude(delivery!.attempt_log[0], { status: 201, response: "thanks", error: null })
      const [posted, ...others] = receiver.of("/hook?a=1")
      assert.deepStrictEqual(others, [])
      assert.strictEqual(posted!.method, "POST")
      assert.deepStrictEqual(signaturesOf(posted!), [expectedSignature(secretOf("we_1-secret"), posted!)])
      assert.deepInclude(posted!.headers, {
        "content-type": "application/json",
        "user-agent": "PlatformWebhook/1.0",
        "x-platformwebhook-id": delivery!.event_id
      })
      assert.strictEqual(JSON.parse(posted!.body).eventId, delivery!.event_id)
      assert.strictEqual(yield* running.jobs, 0)
    })
  )
})

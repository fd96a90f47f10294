/** Asks between processes over a real nats-server. */
import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import * as RemoteNats from "../../src/nats/RemoteNats.ts"
import { patienceMillis } from "../support/patience.ts"
import { connectTo, waitUntil } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"
import { proxyTo } from "./proxy.ts"

class Server extends Context.Service<Server, { readonly url: string }>()("test/Server") {}

let nextPartition = 0

/** Two processes and a partition that no other test uses. */
const twoProcesses = Effect.gen(function* () {
  const { url } = yield* Server
  const open = Effect.flatMap(connectTo(url), ({ client }) => RemoteNats.make(client))
  return { url, open, here: yield* open, there: yield* open, partition: nextPartition++ }
})

const text = (content: string): Uint8Array => Buffer.from(content)
const patient = { timeoutMillis: 10_000, accept: () => true }
const contentOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

layer(
  Layer.effect(
    Server,
    Effect.map(oneServer(), ({ url }) => Server.of({ url }))
  ),
  { excludeTestServices: true, timeout: patienceMillis }
)("asks between processes", (it) => {
  it.effect("the owner answers, byte for byte", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      yield* there.serve(partition, (payload) => Effect.sync(() => Buffer.concat([payload, payload])))
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const reply = yield* here.request(partition, bytes, patient)
      assert.deepStrictEqual([...reply], [...bytes, ...bytes])
    })
  )

  it.effect("the owner goes on to answer, however many it has answered", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      yield* there.serve(partition, (payload) => Effect.succeed(payload))
      const questions = Array.from({ length: 4_200 }, (_, index) => text(String(index)))
      const replies = yield* Effect.forEach(questions, (question) => here.request(partition, question, patient), {
        concurrency: 500
      })
      assert.deepStrictEqual(replies.map(contentOf), questions.map(contentOf))
    })
  )

  it.effect("without an owner the request was surely not sent", () =>
    Effect.gen(function* () {
      const { here, partition } = yield* twoProcesses
      const error = yield* Effect.flip(here.request(partition, text("x"), patient))
      assert.strictEqual(error.sent, false)
    })
  )

  it.effect("an owner that has ended is none", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      const scope = yield* Scope.make()
      yield* Scope.provide(
        there.serve(partition, () => Effect.succeed(text("yes"))),
        scope
      )
      assert.strictEqual(contentOf(yield* here.request(partition, text("x"), patient)), "yes")
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.flip(here.request(partition, text("x"), patient))
      assert.strictEqual(error.sent, false)
    })
  )

  it.effect("what was asked before an owner's end is answered", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      const scope = yield* Scope.make()
      const gate = yield* Deferred.make<void>()
      let asked = 0
      yield* Scope.provide(
        there.serve(partition, (payload) =>
          Effect.suspend(() => {
            asked++
            return Effect.as(Deferred.await(gate), payload)
          })
        ),
        scope
      )
      const fiber = yield* Effect.forkScoped(here.request(partition, text("asked"), patient))
      yield* waitUntil(Effect.sync(() => asked === 1))
      const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void))
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(contentOf(yield* Fiber.join(fiber)), "asked")
      yield* Fiber.join(closing)
    })
  )

  it.effect("an old owner's answer is passed over for the accepted one", () =>
    Effect.gen(function* () {
      const { here, open, partition, there } = yield* twoProcesses
      const old = yield* open
      let asked = 0
      yield* old.serve(partition, () =>
        Effect.sync(() => {
          asked++
          return text("epoch 1")
        })
      )
      // Answers only after the old one has.
      yield* there.serve(partition, () =>
        Effect.as(Effect.orDie(waitUntil(Effect.sync(() => asked > 0))), text("epoch 2"))
      )
      const reply = yield* here.request(partition, text("x"), {
        timeoutMillis: 10_000,
        accept: (bytes) => contentOf(bytes) === "epoch 2"
      })
      assert.strictEqual(contentOf(reply), "epoch 2")
    })
  )

  it.effect("without an accepted answer in time the outcome is not known", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      yield* there.serve(partition, () => Effect.succeed(text("epoch 1")))
      const error = yield* Effect.flip(here.request(partition, text("x"), { timeoutMillis: 100, accept: () => false }))
      assert.strictEqual(error.sent, true)
      assert.match(error.message, new RegExp(`partition ${partition} did not answer`))
    })
  )

  it.effect("a connection lost while waiting is told at once, and the outcome is not known", () =>
    Effect.gen(function* () {
      const { there, partition, url } = yield* twoProcesses
      const proxy = yield* proxyTo(url)
      const { client } = yield* connectTo(proxy.url)
      const here = yield* RemoteNats.make(client)
      let asked = false
      yield* there.serve(partition, () =>
        Effect.suspend(() => {
          asked = true
          return Effect.never
        })
      )
      const fiber = yield* Effect.forkScoped(
        Effect.flip(here.request(partition, text("x"), { timeoutMillis: 1_000_000, accept: () => true }))
      )
      yield* waitUntil(Effect.sync(() => asked))
      yield* proxy.cut
      assert.strictEqual((yield* Fiber.join(fiber)).sent, true)
    })
  )

  it.effect("an owner that was cut off serves again when it is back", () =>
    Effect.gen(function* () {
      const { here, partition, url } = yield* twoProcesses
      const proxy = yield* proxyTo(url)
      const { client } = yield* connectTo(proxy.url)
      const there = yield* RemoteNats.make(client)
      yield* there.serve(partition, () => Effect.succeed(text("yes")))
      yield* proxy.cut
      const answered = Effect.match(here.request(partition, text("x"), { ...patient, timeoutMillis: 300 }), {
        onFailure: () => false,
        onSuccess: () => true
      })
      yield* waitUntil(answered)
    })
  )

  it.effect("all requests are handed over as they come, while others are being handled", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      let running = 0
      const gate = yield* Deferred.make<void>()
      yield* there.serve(partition, (payload) =>
        Effect.suspend(() => {
          running++
          return Effect.as(Deferred.await(gate), payload)
        })
      )
      const questions = Array.from({ length: 5_000 }, (_, index) => text(String(index)))
      const fibers = yield* Effect.forEach(questions, (question) =>
        Effect.forkScoped(here.request(partition, question, patient))
      )
      yield* waitUntil(Effect.sync(() => running === questions.length))
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual((yield* Fiber.joinAll(fibers)).map(contentOf), questions.map(contentOf))
    })
  )

  it.effect("what is too large is not sent, and an answer that is too large leaves the asker waiting", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      yield* there.serve(partition, () => Effect.succeed(new Uint8Array(2 * 1024 * 1024)))
      const request = yield* Effect.flip(here.request(partition, new Uint8Array(2 * 1024 * 1024), patient))
      assert.strictEqual(request.sent, false)
      const answer = yield* Effect.flip(here.request(partition, text("x"), { ...patient, timeoutMillis: 200 }))
      assert.strictEqual(answer.sent, true)
    })
  )

  it.effect("an interrupted request takes no answer and disturbs nobody", () =>
    Effect.gen(function* () {
      const { here, partition, there } = yield* twoProcesses
      let asked = 0
      yield* there.serve(partition, (payload) =>
        Effect.suspend(() => {
          asked++
          return contentOf(payload) === "never" ? Effect.never : Effect.succeed(payload)
        })
      )
      const fiber = yield* Effect.forkScoped(here.request(partition, text("never"), patient))
      yield* waitUntil(Effect.sync(() => asked === 1))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(contentOf(yield* here.request(partition, text("again"), patient)), "again")
    })
  )
})

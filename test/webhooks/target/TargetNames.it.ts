/** Look-ups at a real name server: whose names are dead waits alone, and what is known is given while it is checked again. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as HttpSender from "../../../src/webhooks/sender/HttpSender.ts"
import { parseHosts } from "../../../src/webhooks/target/hosts.ts"
import { makeNames, type NameNotFound } from "../../../src/webhooks/target/TargetNames.ts"
import { makeTargetGuard, type ResolvedAddress, type TargetPolicy } from "../../../src/webhooks/target/targets.ts"
import { startNameServer } from "../../support/nameServer.ts"
import { startReceiver } from "../receiver.ts"
import { until } from "../until.ts"

const hosts = () => parseHosts("192.0.2.7 listed.example\n")

const starting = Effect.map(startNameServer, (server) => ({
  server,
  names: makeNames({ servers: [server.address], hosts })
}))

const codeOf = (find: Effect.Effect<ReadonlyArray<ResolvedAddress>, NameNotFound>) =>
  Effect.match(find, { onSuccess: () => "found", onFailure: ({ code }) => code })

/** Waits for what comes over a socket, while the test's clock stands still. */
const coming = <E>(condition: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.flatMap(condition, (isThere) =>
    isThere
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          Effect.suspend(() => coming(condition))
        )
  )

describe("a look-up", () => {
  it.live("gives the addresses of both families, or says why there are none", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      server.answer("both.example", { addresses: ["2001:db8::1", "192.0.2.1", "192.0.2.2"] })
      server.answer("six.example", { addresses: ["2001:db8::2"] })
      server.answer("failing.example", "failing")
      assert.deepStrictEqual(yield* names.find("both.example", "org_1"), [
        { address: "192.0.2.1", family: 4 },
        { address: "192.0.2.2", family: 4 },
        { address: "2001:db8::1", family: 6 }
      ])
      assert.deepStrictEqual(yield* names.find("six.example", "org_1"), [{ address: "2001:db8::2", family: 6 }])
      assert.strictEqual(yield* codeOf(names.find("unknown.example", "org_1")), "ENOTFOUND")
      assert.strictEqual(yield* codeOf(names.find("failing.example", "org_1")), "EAI_AGAIN")
    })
  )

  it.live("asks nobody for the hosts of the system and for localhost", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      assert.deepStrictEqual(yield* names.find("listed.example", "org_1"), [{ address: "192.0.2.7", family: 4 }])
      assert.deepStrictEqual(
        (yield* names.find("app.localhost", "org_1")).map(({ address }) => address),
        ["127.0.0.1", "::1"]
      )
      assert.deepStrictEqual([server.asked("listed.example"), server.asked("app.localhost")], [0, 0])
    })
  )

  it.live("of many who ask at once is one, and what it found is known without a fiber too", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      server.answer("a.example", { addresses: ["192.0.2.1"] })
      yield* Effect.all(
        Array.from({ length: 20 }, (_, number) => names.find("a.example", `org_${number}`)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* Effect.promise(() => names.resolve("A.example.")), [
        { address: "192.0.2.1", family: 4 }
      ])
      // A question may be repeated once.
      assert.isAtMost(server.asked("a.example"), 2)
    })
  )

  it.live("of another organization goes on while name servers are silent for the names of one", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      const dead = Array.from({ length: 40 }, (_, number) => `dead${number}.example`)
      for (const name of dead) server.answer(name, "silent")
      server.answer("alive.example", { addresses: ["192.0.2.1"] })
      const waiting = yield* Effect.forEach(dead, (name) => Effect.forkChild(codeOf(names.find(name, "org_1"))))
      yield* until(Effect.sync(() => dead.some((name) => server.asked(name) > 0)))
      assert.deepStrictEqual(yield* names.find("alive.example", "org_2"), [{ address: "192.0.2.1", family: 4 }])
      // None of those before it has come to its end.
      assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
      assert.isAtMost(dead.filter((name) => server.asked(name) > 0).length, 8)
      const codes = yield* Effect.forEach(waiting, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(new Set(codes), new Set(["EAI_AGAIN"]))
    })
  )
})

describe("an answer that is known", () => {
  it.effect("is good for its time, then is given at once while it is checked again", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      const find = Effect.map(names.find("a.example", "org_1"), (found) => found.map(({ address }) => address))
      server.answer("a.example", { addresses: ["192.0.2.1"], ttl: 60 })
      assert.deepStrictEqual(yield* find, ["192.0.2.1"])
      server.answer("a.example", { addresses: ["192.0.2.2"], ttl: 60 })
      const asked = server.asked("a.example")
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual([yield* find, server.asked("a.example")], [["192.0.2.1"], asked])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* find, ["192.0.2.1"])
      yield* coming(Effect.map(find, ([address]) => address === "192.0.2.2"))
      assert.isAbove(server.asked("a.example"), asked)
    })
  )

  it.effect("stays while name servers fail, and goes when they say that there is no such name", () =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      const find = names.find("a.example", "org_1")
      server.answer("a.example", { addresses: ["192.0.2.1"], ttl: 60 })
      yield* find
      const asked = server.asked("a.example")
      server.answer("a.example", "failing")
      yield* TestClock.adjust("2 minutes")
      assert.lengthOf(yield* find, 1)
      yield* coming(Effect.sync(() => server.asked("a.example") > asked))
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(yield* find, 1)
      server.answer("a.example", "unknown")
      yield* coming(
        Effect.andThen(
          TestClock.adjust("10 seconds"),
          Effect.map(codeOf(find), (code) => code === "ENOTFOUND")
        )
      )
    })
  )
})

describe("a delivery", () => {
  const senderOf = (policy: TargetPolicy) =>
    Effect.gen(function* () {
      const { names, server } = yield* starting
      const sender = yield* HttpSender.make(makeTargetGuard(policy, names))
      const send = (url: string, organizationId: string) =>
        sender.send({ url, organizationId, headers: {}, body: "{}", timeoutMillis: 15_000 })
      return { send, server }
    })

  it.live("goes to the address that was found, or says why there is none", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const { send, server } = yield* senderOf("any")
      server.answer("failing.example", "failing")
      assert.deepInclude((yield* send(`http://app.localhost:${receiver.port}/`, "org_1")).attempt, { status: 200 })
      assert.strictEqual(
        (yield* send("https://unknown.example/", "org_1")).error,
        "The host name has no public address"
      )
      assert.strictEqual(
        (yield* send("https://failing.example/", "org_1")).error,
        "The host name could not be looked up"
      )
    })
  )

  it.live("of another organization is attempted while the names of one are dead", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const { send, server } = yield* senderOf("any")
      const dead = Array.from({ length: 30 }, (_, number) => `dead${number}.example`)
      for (const name of dead) server.answer(name, "silent")
      server.answer("alive.example", { addresses: ["127.0.0.1"] })
      const waiting = yield* Effect.forEach(dead, (name) => Effect.forkChild(send(`https://${name}/`, "org_1")))
      yield* until(Effect.sync(() => dead.some((name) => server.asked(name) > 0)))
      // It comes as far as the receiver, which has no TLS.
      assert.strictEqual(
        (yield* send(`https://alive.example:${receiver.port}/`, "org_2")).error,
        "The TLS handshake failed"
      )
      assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
      const answers = yield* Effect.forEach(waiting, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(
        new Set(answers.map(({ error }) => error)),
        new Set(["The host name could not be looked up"])
      )
    })
  )

  it.live("is refused where one of the addresses leads inside, whatever was known before", () =>
    Effect.gen(function* () {
      const { send, server } = yield* senderOf("public")
      server.answer("inside.example", { addresses: ["8.8.8.8", "10.0.0.1"] })
      for (let count = 0; count < 2; count++)
        assert.strictEqual(
          (yield* send("https://inside.example/", "org_1")).error,
          "The host name has no public address"
        )
    })
  )
})

/** Whether somebody takes a domain's mail, asked at a real name server that may be silent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { RiskSignals } from "../../../../src/send/index.ts"
import { mailHostLookupsOfOrganization, mailHostsMillis } from "../../../../src/send/senders/risk/limits.ts"
import { startNameServer } from "../../../support/nameServer.ts"

const starting = Effect.gen(function* () {
  const server = yield* startNameServer
  const risk = yield* Effect.provide(RiskSignals, RiskSignals.layer({ nameServers: [server.address] }))
  const ofDomain = (domain: string, organizationId = "org_1") => risk.ofDomain(domain, organizationId)
  return { ofDomain, server }
})

/** Waits for what comes over a socket, while the test's clock stands still. */
const coming = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          coming(condition)
        )
  )

describe("a domain", () => {
  it.live("with a mail host or an address has no signal, one with neither has", () =>
    Effect.gen(function* () {
      const { ofDomain, server } = yield* starting
      server.answer("mx.example", { addresses: [], mailHosts: ["mail.mx.example"] })
      server.answer("four.example", { addresses: ["192.0.2.1"] })
      server.answer("six.example", { addresses: ["2001:db8::1"] })
      server.answer("empty.example", { addresses: [] })
      // It says itself that nobody takes its mail.
      server.answer("null.example", { addresses: [], mailHosts: [""] })
      server.answer("null-and-web.example", { addresses: ["192.0.2.1"], mailHosts: [""] })
      const domains = ["mx", "four", "six", "null-and-web", "empty", "null", "unknown"]
      const found = yield* Effect.forEach(domains, (name) => ofDomain(`${name}.example`))
      const nobody: (typeof found)[number] = ["no_mail_host"]
      assert.deepStrictEqual(found, [[], [], [], [], nobody, nobody, nobody])
    })
  )

  it.live.each([["failing"], ["refused"]] as const)("[platform 9.8] has no signal, name server: %s", ([answer]) =>
    Effect.gen(function* () {
      const { ofDomain, server } = yield* starting
      server.answer("one.example", answer)
      assert.deepStrictEqual(yield* ofDomain("one.example"), [])
      assert.isAbove(server.asked("one.example"), 0)
    })
  )

  it.live.each([["unknown"], ["failing"], ["refused"], [{ addresses: [] }]] as const)(
    "has no signal where its top-level domain is %j to the name server",
    ([answer]) =>
      Effect.gen(function* () {
        const { ofDomain, server } = yield* starting
        assert.deepStrictEqual(yield* ofDomain("one.example"), ["no_mail_host"])
        // Resolvers of closed networks answer so for every name.
        server.answer("example", answer)
        assert.deepStrictEqual(yield* ofDomain("one.example"), [])
      })
  )

  it.live("has no signal where nobody listens for questions", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(startNameServer)
      const risk = yield* Effect.provide(RiskSignals, RiskSignals.layer({ nameServers: [gone.address] }))
      assert.deepStrictEqual(yield* risk.ofDomain("one.example", "org_1"), [])
    })
  )

  it.effect("whose name server is silent has no signal once the deadline is over", () =>
    Effect.gen(function* () {
      const { ofDomain, server } = yield* starting
      server.answer("silent.example", "silent")
      const waiting = yield* Effect.forkChild(ofDomain("silent.example"))
      yield* coming(() => server.asked("silent.example") > 0)
      yield* TestClock.adjust(mailHostsMillis - 1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(waiting), [])
    })
  )

  it.effect("of another organization is looked at while one waits for many that are silent", () =>
    Effect.gen(function* () {
      const { ofDomain, server } = yield* starting
      const silent = Array.from({ length: 20 }, (_, number) => `silent${number}.example`)
      for (const name of silent) server.answer(name, "silent")
      const waiting = yield* Effect.forEach(silent, (name) => Effect.forkChild(ofDomain(name)))
      yield* coming(() => silent.some((name) => server.asked(name) > 0))
      assert.deepStrictEqual(yield* ofDomain("nobody.example", "org_2"), ["no_mail_host"])
      assert.isAtMost(silent.filter((name) => server.asked(name) > 0).length, mailHostLookupsOfOrganization)
      // Their deadline holds for the time before their turn, too.
      yield* TestClock.adjust(mailHostsMillis)
      const found = yield* Effect.forEach(waiting, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(found.flat(), [])
    })
  )
})

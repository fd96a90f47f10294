/** SPF and DMARC of a domain, asked at a real name server that may be silent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeNameServers } from "../../../../src/common/nameServers.ts"
import { checkAuthentication, type MailRoute } from "../../../../src/send/senders/authentication/checkAuthentication.ts"
import { authenticationMillis } from "../../../../src/send/senders/authentication/limits.ts"
import { parseRelaySpf } from "../../../../src/send/senders/authentication/relaySpf.ts"
import { startNameServer } from "../../../support/nameServer.ts"

const starting = Effect.gen(function* () {
  const server = yield* startNameServer
  const askServers = makeNameServers([server.address])
  const checking = (domain: string, route: MailRoute = {}) =>
    checkAuthentication(askServers, { domain, isSigned: true }, route)
  const statuses = (domain: string, route?: MailRoute) =>
    Effect.map(checking(domain, route), (verdicts) => verdicts.map(({ status }) => status))
  return { checking, server, statuses }
})

const text = (...texts: ReadonlyArray<string>) => ({ addresses: [], texts: texts.map((one) => [one]) })

describe("a domain", () => {
  it.live("is checked with all that its records refer to", () =>
    Effect.gen(function* () {
      const { server, statuses } = yield* starting
      server.answer("a.example", text("another text", "v=spf1 a:out.example mx:in.example include:b.example -all"))
      server.answer("out.example", { addresses: ["2001:db8::7"] })
      server.answer("in.example", { addresses: [], mailHosts: ["m.in.example"] })
      server.answer("b.example", text("v=spf1 include:c.example -all"))
      server.answer("c.example", text("v=spf1 ip4:203.0.113.0/24 -all"))
      server.answer("_dmarc.a.example", text("v=DMARC1; p=reject"))
      const relaySpf = parseRelaySpf("203.0.113.7, 2001:db8::7, include:c.example")!
      assert.deepStrictEqual(yield* statuses("a.example", { relaySpf }), ["pass", "pass"])
      const other = parseRelaySpf("include:d.example")!
      server.answer("bounces.example", text("v=spf1 include:b.example -all"))
      const route = { relaySpf: other, returnPath: "bounces.example" }
      assert.deepStrictEqual(yield* statuses("a.example", route), ["pass", "missing", "pass"])
    })
  )

  it.live("has its strings joined, and no record where there is no such name", () =>
    Effect.gen(function* () {
      const { server, statuses } = yield* starting
      server.answer("long.example", { addresses: [], texts: [["v=spf1 ip4:192.0", ".2.1 -all"]] })
      assert.deepStrictEqual(yield* statuses("long.example"), ["pass", "missing"])
      assert.deepStrictEqual(yield* statuses("nothing.example"), ["missing", "missing"])
    })
  )

  it.live("is not judged by a name server that fails", () =>
    Effect.gen(function* () {
      const { server, statuses } = yield* starting
      server.answer("failing.example", "failing")
      server.answer("_dmarc.failing.example", "refused")
      assert.deepStrictEqual(yield* statuses("failing.example"), ["unknown", "unknown"])
      server.answer("b.example", text("v=spf1 include:failing.example -all"))
      assert.deepStrictEqual(yield* statuses("b.example"), ["unknown", "missing"])
    })
  )

  it.effect("is unknown after the deadline, and what was answered before counts", () =>
    Effect.gen(function* () {
      const { checking, server } = yield* starting
      server.answer("slow.example", text("v=spf1 include:silent.example -all"))
      server.answer("silent.example", "silent")
      server.answer("_dmarc.slow.example", text("v=DMARC1; p=reject"))
      const fiber = yield* Effect.forkChild(checking("slow.example"))
      // The question of the included record is on its way once that of the record was answered.
      while (server.questions("silent.example") === 0)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust(authenticationMillis)
      const verdicts = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        verdicts.map(({ status }) => status),
        ["unknown", "pass"]
      )
    })
  )
})

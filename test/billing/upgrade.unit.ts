/** An upgrade and the limits of sending, on an engine in memory: what is paid for holds from the next decision (docs/platform.md, 11), and what was sent is counted from the log. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { BillingActor, builtInCatalogue, summed, type UsageCount, usedIn } from "../../src/billing/index.ts"
import { Engine, layerMemory } from "../../src/engine/Engine.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { OrganizationActor } from "../../src/platform/OrganizationActor.ts"
import { sendActors } from "../../src/send/index.ts"
import { begun, emails, organization, start } from "../send/account/actors/support.ts"

const day = 86_400_000
const caps = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }

describe("an account whose emails of the month are used up", () => {
  it.effect("[platform 9.1] sends again with the decision after its upgrade, and each email is counted once", () => {
    const uses: Array<UsageCount> = []
    const follower: Reactor = {
      name: "follower",
      handle: (records) => Effect.sync(() => void uses.push(...records.flatMap(usedIn)))
    }
    return Effect.gen(function* () {
      yield* TestClock.setTime(start)
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const { account, admit } = yield* begun()
        const test = yield* begun("test")
        yield* engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans", plan: "free", sendPlan: "hobby" })
        yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: caps } })
        for (let batch = 0; batch < 30; batch++) yield* admit(...emails(100, `b${batch}/`))
        expect(yield* Effect.flip(admit(...emails(1, "c")))).toMatchObject({
          code: "monthly_limit_reached",
          limit: 3_000
        })
        const { price } = builtInCatalogue.prices.get("free_pro")!
        yield* engine.ask(
          BillingActor,
          { organization },
          { _tag: "OpenCheckout", id: "co_1", price, expiresAt: start + day }
        )
        const terms = { settlement: "at once" as const, graceMillis: 0, dueMillis: 0 }
        yield* engine.ask(BillingActor, { organization }, { _tag: "SubmitCheckout", id: "co_1", terms })
        expect(yield* admit(...emails(1, "c"))).toHaveLength(1)
        yield* engine.ask(BillingActor, { organization }, { _tag: "Cancel", atPeriodEnd: false })
        expect(yield* Effect.flip(admit(...emails(1, "d")))).toMatchObject({ code: "monthly_limit_reached" })
        yield* test.admit(...emails(2, "t"))
        // The follower comes behind the decisions.
        while (uses.length < 63) yield* TestClock.adjust("10 millis")
      }).pipe(
        Effect.provide(layerMemory({ actors: [OrganizationActor, BillingActor, ...sendActors], reactors: [follower] }))
      )
      const found = summed(uses).map(({ product, quantity, usageType }) => [product, usageType, quantity])
      // Test keys' requests are calls, and their emails are none.
      expect(found.sort()).toEqual([
        ["send", "apiCalls", 32],
        ["send", "emails", 3_001]
      ])
    })
  })
})

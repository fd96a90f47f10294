/** The life of accepted mail: cancels, schedules, reports, pauses and lifts, caps and removed senders, decided by actors on an engine. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Engine } from "../../../../src/engine/Engine.ts"
import { OrganizationActor } from "../../../../src/platform/OrganizationActor.ts"
import { initialSender } from "../../../../src/send/account/actors/model.ts"
import { SenderDraft, verifying } from "../../../../src/send/account/actors/senderRules.ts"
import { SendLimits } from "../../../../src/send/index.ts"
import { begun, email, emails, onEngine, organization, sending, start } from "./support.ts"

const { dayMillis, hourMillis } = SendLimits
const midnight = start + dayMillis / 2
const ids = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

describe("accepted mail", () => {
  it.effect("is taken back while it waits, and makes room for what waits behind it", () =>
    Effect.gen(function* () {
      const { admit, cancel, dispatch, sender, senderState, stateOf } = yield* begun()
      yield* sender({ _tag: "SetDailyCap", cap: 2 })
      yield* admit(...emails(6, "a"), email("later", { scheduledAt: start + hourMillis }))
      expect((yield* senderState()).scheduled).toBe(1)
      for (const id of ["a0", "a2", "later"]) expect((yield* cancel(id)).state).toBe("canceled")
      expect(yield* Effect.flip(cancel("a2"))).toEqual({ _tag: "NotWaiting", state: "canceled" })
      expect((yield* senderState()).scheduled).toBe(0)
      expect(yield* dispatch(["a0", "a1", "a2", "a3"])).toEqual(["canceled", "sending", "canceled", "held"])
      yield* TestClock.setTime(midnight + hourMillis)
      expect(yield* dispatch(ids(6, "a"))).toEqual(["canceled", "sending", "canceled", "sending", "sending", "held"])
      expect((yield* stateOf("a5")).place).toBe(3)
      expect(yield* dispatch(["a1"], ["bob@two.test"], "else.test")).toEqual(["none"])
    }).pipe(onEngine)
  )

  it.effect("that is scheduled waits for its time, then for its place", () =>
    Effect.gen(function* () {
      const { admit, reschedule, sender, stateOf } = yield* begun()
      yield* sender({ _tag: "SetDailyCap", cap: 1 })
      yield* admit(email("a", { scheduledAt: start + hourMillis }), email("b", { scheduledAt: start + 2 * hourMillis }))
      expect(yield* Effect.flip(reschedule("a", start + 31 * dayMillis))).toMatchObject({ _tag: "ScheduleInvalid" })
      yield* reschedule("a", start + 3 * hourMillis)
      expect(yield* Effect.flip(sender({ _tag: "Remove" }))).toEqual({ _tag: "HasWaitingMail", held: 0, scheduled: 2 })
      yield* TestClock.setTime(start + 2 * hourMillis)
      expect([(yield* stateOf("a")).state, (yield* stateOf("b")).state]).toEqual(["scheduled", "queued"])
      yield* TestClock.setTime(start + 3 * hourMillis)
      expect(yield* stateOf("a")).toMatchObject({ state: "held", place: 0 })
      expect(yield* Effect.flip(reschedule("a", start + 9 * hourMillis))).toEqual({ _tag: "NotWaiting", state: "held" })
    }).pipe(onEngine)
  )

  it.effect("is reported of as often as one likes, and counts once", () =>
    Effect.gen(function* () {
      const { accountState, admit, dispatch, report, senderState, stateOf, suppression } = yield* begun()
      const recipients = ["bob@two.test", "eve@two.test"]
      yield* admit(email("a", { recipients }), email("b"))
      yield* report(["a"], "handedOver")
      expect((yield* senderState()).tier.handedOver).toBe(0)
      yield* dispatch(["a", "b"], recipients)
      for (let repeat = 0; repeat < 3; repeat++) yield* report(["a", "a", "unknown"], "handedOver")
      for (const recipient of recipients) yield* report(["a", "a"], "bounced", { recipient })
      expect((yield* senderState()).tier).toMatchObject({ handedOver: 1, bounced: 1 })
      expect((yield* accountState).triggers.bounced).toBe(1)
      for (const address of ["BOB@two.test", "eve@TWO.test"])
        expect(yield* suppression({ _tag: "Look", address })).toBe(true)
      const other = yield* sending("test")
      expect(yield* other.suppression({ _tag: "Look", address: "bob@two.test" })).toBe(false)
      expect((yield* stateOf("a")).state).toBe("bounced")
      yield* report(["b"], "handedOver")
      yield* report(["b"], "bounced", { recipient: "no@three.test", suppresses: false })
      yield* report(["b"], "complained", { recipient: "complained@simulator.invalid" })
      for (const address of ["no@three.test", "complained@simulator.invalid"])
        expect(yield* suppression({ _tag: "Look", address })).toBe(false)
    }).pipe(onEngine)
  )

  it.effect("[platform 9.6] waits while its account is paused, and goes when the pause is lifted", () =>
    Effect.gen(function* () {
      const { account, accountState, admit, dispatch, report, sender, senderState, stateOf } = yield* begun()
      yield* sender({ _tag: "SetDailyCap", cap: 3 })
      yield* admit(...emails(5, "a"))
      yield* dispatch(["a0"])
      yield* report(["a0"], "handedOver")
      expect(yield* report(["a0"], "complained", { recipient: "bob@two.test" })).toBe("sending_paused")
      expect(yield* Effect.flip(admit(email("b")))).toMatchObject({ code: "sending_paused" })
      expect(yield* dispatch(["a1", "a4"], ["x@two.test"])).toEqual(["held", "held"])
      yield* TestClock.setTime(midnight + hourMillis)
      expect((yield* senderState()).holds).toMatchObject({ head: 0, paused: true })
      expect((yield* accountState).waiting).toEqual(["one.test"])
      yield* account({ _tag: "Lift" })
      yield* TestClock.adjust("1 second")
      expect((yield* senderState()).holds).toMatchObject({ head: 2, paused: false })
      expect((yield* accountState).waiting).toEqual([])
      expect(yield* dispatch(["a1", "a4"], ["x@two.test"])).toEqual(["sending", "sending"])
      expect((yield* stateOf("a3")).place).toBe(0)
    }).pipe(onEngine)
  )

  it.effect("of the request that pulls a trigger is held with the pause", () =>
    Effect.gen(function* () {
      const { account, admit, dispatch } = yield* begun()
      const signals = ["foreign_link"] as const
      yield* admit(...emails(4, "a", { signals }))
      expect(yield* admit(email("b", { signals }), email("c"))).toEqual([
        { id: "b", state: "held", suppressed: 0 },
        { id: "c", state: "held", suppressed: 0 }
      ])
      yield* account({ _tag: "Lift" })
      yield* TestClock.adjust("1 second")
      expect(yield* dispatch(["b", "c"])).toEqual(["sending", "sending"])
    }).pipe(onEngine)
  )
})

describe("a sender", () => {
  it.effect("[platform 9.6] lets go at once what a raised cap takes, also between the steps of a release", () =>
    Effect.gen(function* () {
      const { admit, sender, senderState } = yield* begun()
      yield* sender({ _tag: "SetDailyCap", cap: 2 })
      yield* admit(...emails(40, "a"))
      yield* TestClock.setTime(midnight + 60_000)
      yield* sender({ _tag: "SetDailyCap", cap: 30 })
      yield* TestClock.adjust("1 second")
      expect((yield* senderState()).holds.released).toBe(30)
      expect(yield* Effect.flip(sender({ _tag: "SetDailyCap", cap: 0 }))).toEqual({ _tag: "CapInvalid" })
    }).pipe(onEngine)
  )

  it.effect("[platform 9.6] that was removed keeps its count for 30 days", () =>
    Effect.gen(function* () {
      const { admit, sender, senderState } = yield* begun()
      yield* admit(email("a"))
      yield* sender({ _tag: "Remove" })
      expect(yield* Effect.flip(admit(email("b")))).toMatchObject({ code: "sender_not_verified" })
      expect(yield* Effect.flip(sender({ _tag: "Remove" }))).toEqual({ _tag: "NotVerified" })
      yield* sender({ _tag: "Verify" })
      expect((yield* senderState()).holds.released).toBe(1)
    }).pipe(onEngine)
  )
})

describe("a sender with held mail", () => {
  it.effect("lets it go the next day, whenever its promotion is due", () =>
    Effect.gen(function* () {
      const { account, admit, dispatch, report, sender, senderState } = yield* begun()
      const probation = { emailsPerHour: 500, emailsPerDay: 1_000, domainsPerHour: 25 }
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation } })
      yield* sender({ _tag: "SetDailyCap", cap: 100 })
      yield* admit(...emails(100, "a"))
      yield* admit(email("held"))
      yield* dispatch(ids(100, "a"))
      yield* report(ids(100, "a"), "handedOver")
      expect(yield* dispatch(["held"])).toEqual(["held"])
      // As many as a promotion takes, which comes on the third day.
      expect((yield* senderState()).tier).toMatchObject({ tier: "new", handedOver: 100 })
      yield* TestClock.setTime(midnight + hourMillis)
      expect(yield* dispatch(["held"])).toEqual(["sending"])
      expect((yield* senderState()).tier.tier).toBe("new")
    }).pipe(onEngine)
  )

  it("gives no place out again when it comes back after 30 days", () => {
    const at = 31 * dayMillis
    const removed = { ...initialSender, holds: { ...initialSender.holds, head: 3, tail: 3 }, removedAt: 0 }
    const back = new SenderDraft("live/one.test", removed, at)
    back.add(verifying(removed, at))
    back.add([{ _tag: "CapSet", at, cap: 1 }])
    expect(back.accept(2)).toMatchObject({ released: 1, held: [{ place: 3 }] })
  })
})

describe("an account", () => {
  it.effect("has the plan of its organization, whose change is in force at the next request", () =>
    Effect.gen(function* () {
      const { account, admit } = yield* begun()
      const engine = yield* Engine
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: 1, probation: null } })
      yield* admit(email("a"))
      expect(yield* Effect.flip(admit(email("b")))).toMatchObject({ code: "monthly_limit_reached", limit: 1 })
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: null } })
      yield* account({ _tag: "SetPlan", plan: "enterprise" })
      yield* engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans", sendPlan: "hobby" })
      const caps = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: caps } })
      for (let batch = 0; batch < 29; batch++) yield* admit(...emails(100, `b${batch}/`))
      const refused = yield* Effect.flip(admit(...emails(100, "c")))
      expect(refused).toMatchObject({ code: "monthly_limit_reached", limit: 3_000, used: 2_901 })
      yield* engine.ask(OrganizationActor, { organization }, { _tag: "SetPlans", sendPlan: "pro" })
      expect(yield* admit(...emails(100, "c"))).toHaveLength(100)
      const wrong = { emailsPerMonth: null, probation: { ...caps, emailsPerDay: 5_001 } }
      expect(yield* Effect.flip(account({ _tag: "SetLimits", custom: wrong }))).toMatchObject({
        _tag: "RequestInvalid"
      })
    }).pipe(onEngine)
  )
})

describe("the two accounts of an organization", () => {
  it.effect("[platform 9.9] share what an operator sets as limits from the next decision, no risk or counts", () =>
    Effect.gen(function* () {
      const [live, test] = [yield* begun("live"), yield* begun("test")]
      const custom = { emailsPerMonth: 2, probation: { emailsPerHour: 7, emailsPerDay: 8, domainsPerHour: 9 } }
      yield* test.account({ _tag: "SetLimits", custom })
      yield* test.account({ _tag: "SetRisk", risk: "higher" })
      expect((yield* live.account({ _tag: "Look" })).look).toMatchObject({ custom, risk: "standard", hasBegun: false })
      expect((yield* test.account({ _tag: "Look" })).look).toMatchObject({
        custom,
        risk: "higher",
        hasBegun: true,
        emailsThisMonth: 0
      })
      for (const [prefix, { admit }] of Object.entries({ live, test })) {
        yield* admit(...emails(2, prefix))
        expect(yield* Effect.flip(admit(email("over")))).toMatchObject({ code: "monthly_limit_reached", limit: 2 })
      }
      yield* live.account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: null } })
      expect(yield* test.admit(email("b"))).toHaveLength(1)
    }).pipe(onEngine)
  )
})

describe("a test account", () => {
  it.effect("that begins anew keeps what an operator has set", () =>
    Effect.gen(function* () {
      const { account, admit } = yield* begun("test")
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: 1, probation: null } })
      yield* account({ _tag: "Reset", risk: "standard" })
      yield* admit(email("a"))
      expect(yield* Effect.flip(admit(email("b")))).toMatchObject({ code: "monthly_limit_reached", limit: 1 })
    }).pipe(onEngine)
  )

  it.effect("knows nothing of the live one's emails", () =>
    Effect.gen(function* () {
      const live = yield* begun()
      const test = yield* begun("test")
      yield* live.admit(email("a"))
      expect(yield* test.dispatch(["a"])).toEqual(["none"])
      expect((yield* live.stateOf("a")).state).toBe("queued")
      expect(yield* live.dispatch(["a"])).toEqual(["sending"])
    }).pipe(onEngine)
  )
})

describe("a suppression list", () => {
  it.effect("[platform 9.15] takes in who bounced for good or complained, once, not who refused for reputation", () =>
    Effect.gen(function* () {
      const { admit, dispatch, report, suppression } = yield* begun()
      const recipients = ["bounce@two.test", "complain@two.test", "refuse@two.test"]
      const listed = Effect.forEach(recipients, (address) => suppression({ _tag: "Look", address }))
      const reported = Effect.fnUntraced(function* (id: string) {
        yield* report([id], "bounced", { recipient: recipients[0]! })
        yield* report([id], "complained", { recipient: recipients[1]! })
        yield* report([id], "bounced", { recipient: recipients[2]!, suppresses: false, code: "5.7.1" })
      })
      // Behind the first hundred, whose complaints would pause the account.
      const caps = { emailsPerHour: 500, emailsPerDay: 500, domainsPerHour: 5 }
      const { account } = yield* sending()
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: caps } })
      yield* admit(...emails(100, "first"))
      yield* admit(...emails(2, "a", { recipients }))
      yield* dispatch(["a0", "a1"], recipients)
      yield* report(["a0", "a1"], "handedOver")
      yield* reported("a0")
      expect(yield* listed).toEqual([true, true, false])
      for (const address of recipients) yield* suppression({ _tag: "Unsuppress", address })
      yield* reported("a0")
      expect(yield* listed).toEqual([false, false, false])
      yield* reported("a1")
      expect(yield* listed).toEqual([true, true, false])
    }).pipe(onEngine)
  )

  it.effect("keeps every address, and gives back what is taken off it", () =>
    Effect.gen(function* () {
      const { suppression } = yield* begun()
      const addresses = ids(600, "a").map((name) => `${name}@two.test`)
      for (const address of addresses) yield* suppression({ _tag: "Suppress", address, reason: "manual" })
      yield* suppression({ _tag: "Unsuppress", address: "A7@two.test" })
      for (const address of addresses)
        expect(yield* suppression({ _tag: "Look", address })).toBe(address !== "a7@two.test")
    }).pipe(onEngine)
  )
})

/** Requests, decided by the actors of an account on an engine. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SendLimits, suppressedOf } from "../../../../src/send/index.ts"
import { begun, email, emails, onEngine, sending, start, upgradeUrl } from "./support.ts"

const { dayMillis, hourMillis } = SendLimits

describe("a request to an account", () => {
  it.effect("[platform 9.7] is refused as a whole, and changes nothing then", () =>
    Effect.gen(function* () {
      const { admit, accountState, senderState, stateOf, suppression } = yield* begun()
      yield* suppression({ _tag: "Suppress", address: "No@two.test", reason: "manual" })
      yield* admit(...emails(49, "a"))
      const before = [yield* accountState, yield* senderState()]
      const refused = yield* Effect.flip(admit(email("b0"), email("b1")))
      expect(refused).toMatchObject({ code: "probation_limit_reached", limit: 50, window: "hour" })
      const unverified = yield* Effect.flip(admit(email("c0"), email("c1", { from: "x@else.test" })))
      expect(unverified).toMatchObject({ code: "sender_not_verified" })
      expect([yield* accountState, yield* senderState()]).toEqual(before)
      for (const id of ["b0", "b1", "c0", "c1"]) expect((yield* stateOf(id)).state).toBe("none")
      // What is suppressed counts nowhere, and takes no room.
      const answers = yield* admit(
        email("d0", { recipients: ["no@two.test", "NO@TWO.test"] }),
        email("d1", { recipients: ["yes@two.test", "Nobody <no@two.test>"] })
      )
      expect(answers).toEqual([
        { id: "d0", state: "suppressed", suppressed: 3 },
        { id: "d1", state: "queued", suppressed: 2 }
      ])
      expect(suppressedOf(["yes@two.test", "Nobody <no@two.test>"], answers[1]!)).toEqual(["Nobody <no@two.test>"])
      expect((yield* accountState).accepted).toBe(50)
      expect(yield* Effect.flip(admit(email("a0")))).toMatchObject({ _tag: "RequestInvalid" })
    }).pipe(onEngine)
  )

  it.effect("given that the mailer has room, then what waits for nothing goes, and is cancelled no more", () =>
    Effect.gen(function* () {
      const { account, cancel, dispatch, stateOf, suppression } = yield* begun()
      yield* suppression({ _tag: "Suppress", address: "no@two.test", reason: "manual" })
      const asked = [
        email("a"),
        email("b", { scheduledAt: start + hourMillis }),
        email("c", { recipients: ["no@two.test"] })
      ]
      const { emails: answers } = yield* account({ _tag: "Admit", emails: asked, upgradeUrl, goes: true })
      expect(answers.map(({ state }) => state)).toEqual(["queued", "scheduled", "suppressed"])
      const states = yield* Effect.forEach(["a", "b", "c"], (id) => Effect.map(stateOf(id), ({ state }) => state))
      expect(states).toEqual(["sending", "scheduled", "suppressed"])
      expect(yield* Effect.flip(cancel("a"))).toMatchObject({ _tag: "NotWaiting", state: "sending" })
      // As after a crash, when its job is taken from the queue.
      expect(yield* dispatch(["a"])).toEqual(["sending"])
    }).pipe(onEngine)
  )

  it.effect("names each email once, and none for a time after its content is kept", () =>
    Effect.gen(function* () {
      const { admit, stateOf } = yield* begun()
      // The node that read `in 30 days` may have a clock that is ahead.
      const latest = start + SendLimits.maximumScheduleMillis + SendLimits.scheduleSkewMillis
      for (const request of [[email("a"), email("b"), email("a")], [email("a", { scheduledAt: latest + 1 })]])
        expect(yield* Effect.flip(admit(...request))).toMatchObject({ _tag: "RequestInvalid" })
      expect((yield* stateOf("a")).state).toBe("none")
      expect(yield* admit(email("a", { scheduledAt: latest }))).toMatchObject([
        { state: "scheduled", scheduledAt: latest }
      ])
    }).pipe(onEngine)
  )

  it.effect("[platform 9.5] is of a verified domain, or of a verified address", () =>
    Effect.gen(function* () {
      const { admit, sender, stateOf } = yield* begun()
      yield* sender({ _tag: "Verify" }, "eve@three.test")
      yield* admit(email("a", { from: "Eve <Eve@Three.test>" }), email("b"))
      expect((yield* stateOf("a")).sender).toBe("eve@three.test")
      expect((yield* stateOf("b")).sender).toBe("one.test")
      expect(yield* Effect.flip(admit(email("c", { from: "ann@three.test" })))).toMatchObject({
        code: "sender_not_verified"
      })
      const { admit: admitTest } = yield* sending("test")
      expect(yield* Effect.flip(admitTest(email("d")))).toMatchObject({ code: "sender_not_verified" })
    }).pipe(onEngine)
  )

  it.effect("over the sender's cap waits for its place, and goes from midnight on in steps", () =>
    Effect.gen(function* () {
      const { account, admit, senderState, stateOf } = yield* begun()
      const probation = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }
      yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation } })
      const midnight = start + dayMillis / 2
      for (let batch = 0; batch < 5; batch++) yield* admit(...emails(90, `a${batch}/`))
      const answers = yield* admit(...emails(2, "b"))
      expect(answers).toEqual([
        { id: "b0", state: "held", suppressed: 0, heldUntil: midnight + dayMillis },
        { id: "b1", state: "held", suppressed: 0, heldUntil: midnight + dayMillis }
      ])
      expect((yield* stateOf("b1")).place).toBe(251)
      yield* TestClock.setTime(midnight - 1)
      expect((yield* senderState()).holds.head).toBe(0)
      yield* TestClock.setTime(midnight)
      expect((yield* senderState()).holds).toMatchObject({ head: 4, steps: 1 })
      yield* TestClock.setTime(midnight + 300_000)
      yield* TestClock.setTime(midnight + 600_000)
      expect((yield* senderState()).holds).toMatchObject({ head: 200, released: 200 })
      yield* TestClock.setTime(midnight + dayMillis + hourMillis)
      expect((yield* senderState()).holds).toMatchObject({ head: 252, tail: 252 })
    }).pipe(onEngine)
  )
})

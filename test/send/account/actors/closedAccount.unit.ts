/** Accounts whose organization was deleted (docs/platform.md, 2.8), decided by actors on an engine. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SendLimits } from "../../../../src/send/index.ts"
import { begun, email, emails, onEngine, sending, start } from "./support.ts"

const { dayMillis } = SendLimits

describe("a closed account", () => {
  it.effect("accepts nothing and lets nothing go, in both modes and for good", () =>
    Effect.gen(function* () {
      const { account, accountState, admit, dispatch, sender } = yield* begun()
      const test = yield* begun("test")
      yield* admit(...emails(3, "a"))
      yield* account({ _tag: "Close" })
      for (const one of [admit, test.admit])
        expect(yield* Effect.flip(one(email("b")))).toMatchObject({ code: "sender_not_verified" })
      expect(yield* dispatch(["a0"])).toEqual(["canceled"])
      const closedAt = (yield* accountState).closedAt
      expect(closedAt).toBe(start)
      yield* TestClock.adjust("1 hour")
      // Neither a repeat nor anything else begins it anew.
      for (const command of [
        { _tag: "Close" },
        { _tag: "Begin", risk: "standard" },
        { _tag: "SetRisk", risk: "higher" },
        { _tag: "Check" }
      ] as const)
        yield* account(command)
      yield* test.account({ _tag: "Reset", risk: "standard" })
      yield* sender({ _tag: "Verify" }, "other.test")
      expect(yield* Effect.flip(admit(email("c", { from: "ann@other.test" })))).toMatchObject({
        code: "sender_not_verified"
      })
      expect(yield* accountState).toMatchObject({ closedAt, accepted: 0 })
      expect((yield* test.accountState).closedAt).toBe(closedAt)
      // No stage changes any more.
      yield* TestClock.adjust("4 days")
      expect((yield* accountState).trust.stage).toBe("probation")
    }).pipe(onEngine)
  )

  it.effect("hears what became of mail that was with the relay, and remembers no address of it", () =>
    Effect.gen(function* () {
      const { account, accountState, admit, dispatch, report, stateOf, suppression } = yield* begun()
      yield* admit(email("a"))
      yield* dispatch(["a"])
      yield* account({ _tag: "Close" })
      yield* report(["a"], "handedOver")
      yield* report(["a"], "bounced", { recipient: "bob@two.test" })
      expect((yield* stateOf("a")).state).toBe("bounced")
      expect(yield* suppression({ _tag: "Look", address: "bob@two.test" })).toBe(false)
      expect(Math.max(...(yield* accountState).trust.mail.counts)).toBe(0)
    }).pipe(onEngine)
  )

  it.effect("loses its senders although mail waits", () =>
    Effect.gen(function* () {
      const { account, admit, cancel, sender, senderState } = yield* begun()
      yield* sender({ _tag: "SetDailyCap", cap: 1 })
      yield* admit(...emails(2, "a"), email("later", { scheduledAt: start + dayMillis }))
      yield* account({ _tag: "Close" })
      for (const id of ["a0", "a1"]) expect((yield* cancel(id)).state).toBe("canceled")
      expect(yield* Effect.flip(sender({ _tag: "Remove" }))).toMatchObject({ _tag: "HasWaitingMail", scheduled: 1 })
      yield* sender({ _tag: "Remove", force: true })
      expect((yield* senderState()).removedAt).toBe(start)
      expect((yield* (yield* sending()).accountState).senders).toBe(0)
    }).pipe(onEngine)
  )
})

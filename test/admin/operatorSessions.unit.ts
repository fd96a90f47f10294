/** Operators' sessions of the console (docs/platform.md, 12.2): who opens one, how long it lives, and how many there are. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { OperatorSessions, operatorSessionMillis } from "../../src/admin/OperatorSessions.ts"

const credential = "adm_abcdefghijklmnopqrstuvwxyz"
const layer = OperatorSessions.layer([Redacted.make("adm_another0000000000000000"), Redacted.make(credential)])

const shown = (text: string) => ({ "x-sluice-console": "1", cookie: `sluice_operator=${text}` })

describe("[platform 12.2] operators' sessions", () => {
  it.effect("are opened by each credential, and by nothing else", () =>
    Effect.gen(function* () {
      const sessions = yield* OperatorSessions
      expect(yield* sessions.open(`${credential}x`)).toBeUndefined()
      expect(yield* sessions.open("")).toBeUndefined()
      const { text } = (yield* sessions.open(credential))!
      expect(yield* sessions.endOf(shown(text))).toBe(operatorSessionMillis)
      expect(yield* sessions.endOf({ cookie: `sluice_operator=${text}` })).toBeUndefined()
      expect(yield* sessions.endOf({ authorization: `Bearer ${credential}` })).toBeNull()
      expect(yield* sessions.endOf({ authorization: `Bearer ${text}` })).toBeUndefined()
      // A wrong bearer is refused whatever else is there.
      expect(yield* sessions.endOf({ ...shown(text), authorization: "Bearer adm_wrong" })).toBeUndefined()
    }).pipe(Effect.provide(layer))
  )

  it.effect("end by themselves, when they are closed, and when there are too many", () =>
    Effect.gen(function* () {
      const sessions = yield* OperatorSessions
      const first = (yield* sessions.open(credential))!
      yield* TestClock.adjust(operatorSessionMillis - 1)
      expect(yield* sessions.endOf(shown(first.text))).toBe(first.expiresAtMillis)
      yield* TestClock.adjust(1)
      expect(yield* sessions.endOf(shown(first.text))).toBeUndefined()

      const second = (yield* sessions.open(credential))!
      expect(yield* sessions.close(shown(second.text))).toBe(true)
      expect(yield* sessions.close(shown(second.text))).toBe(false)
      expect(yield* sessions.endOf(shown(second.text))).toBeUndefined()

      const third = (yield* sessions.open(credential))!
      yield* Effect.forEach(Array.from({ length: 64 }), () => sessions.open(credential), { discard: true })
      expect(yield* sessions.endOf(shown(third.text))).toBeUndefined()
    }).pipe(Effect.provide(layer))
  )
})

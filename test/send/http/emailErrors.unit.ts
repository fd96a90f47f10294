/** Answers to requests to send while something is away (docs/platform.md, 9.10): 503 with Retry-After, which says whether anything was done. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  CommandFailed,
  IdempotencyConflict,
  OutcomeUnknown,
  Overloaded,
  PartitionMoved,
  PartitionStopped,
  PartitionUnavailable,
  Quarantined
} from "../../../src/engine/errors.ts"
import { makeRequestState, RequestState } from "../../../src/http/RequestState.ts"
import type { AcceptFault } from "../../../src/send/emails/AcceptEmails.ts"
import { ContentsUnavailable } from "../../../src/send/emails/contents/MessageContents.ts"
import { sendingFault } from "../../../src/send/http/emailErrors.ts"

const now = Date.parse("2026-03-01T12:00:00Z")

/** The answer to a fault, and its Retry-After. */
const answerTo = Effect.fnUntraced(function* (fault: AcceptFault) {
  const state = makeRequestState(undefined)
  const { error } = yield* Effect.flip(sendingFault(fault, now)).pipe(Effect.provideService(RequestState, state))
  return { code: error.code, message: error.message, retryAfter: state.responseHeaders?.["retry-after"] }
})

describe("a request to send is answered", () => {
  it.effect.each([
    new Overloaded({ partition: 0, retryAfterMillis: 1_500 }),
    new PartitionUnavailable({ partition: 0, reason: "starting", retryAfterMillis: 1_500 })
  ])("503 and when to come again: $_tag", (fault) =>
    Effect.gen(function* () {
      expect(yield* answerTo(fault)).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("Nothing was done"),
        retryAfter: "2"
      })
    })
  )

  it.effect.each([
    new PartitionMoved({ partition: 0 }),
    new PartitionStopped({ partition: 0, reason: "lost" }),
    new Quarantined({ organization: "org_1", reason: "unreadable" }),
    new ContentsUnavailable({ message: "away" })
  ])("503 where nothing was done: $_tag", (fault) =>
    Effect.gen(function* () {
      expect(yield* answerTo(fault)).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("Nothing was done"),
        retryAfter: "1"
      })
    })
  )

  it.effect("[platform 9.10] 503 where nobody knows, with the way to repeat", () =>
    Effect.gen(function* () {
      expect(yield* answerTo(new OutcomeUnknown({ partition: 0 }))).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("same Idempotency-Key"),
        retryAfter: "1"
      })
    })
  )

  it.effect("409 where the key was used for another request", () =>
    Effect.gen(function* () {
      const answer = yield* answerTo(new IdempotencyConflict({ kind: "sendAccount" }))
      expect(answer).toMatchObject({ code: "idempotency_conflict", retryAfter: undefined })
    })
  )

  it.effect("429 with the time after which it passes the cap, rounded up", () =>
    Effect.gen(function* () {
      const cap = { limit: 50, window: "hour", metric: "sends", message: "reached" } as const
      const resetsAt = new Date(now + 1_200).toISOString()
      expect(yield* answerTo({ ...cap, code: "probation_limit_reached", resetsAt })).toMatchObject({
        code: "probation_limit_reached",
        retryAfter: "2"
      })
    })
  )

  it.effect("as a defect where a rule has failed", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(answerTo(new CommandFailed({ kind: "sendAccount", reason: "x" })))
      expect(exit._tag).toBe("Failure")
      expect(String(exit)).toContain("CommandFailed")
    })
  )
})

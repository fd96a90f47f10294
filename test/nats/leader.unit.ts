/** When a log counts as open: not before a leader takes its frames, and not never. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PublishAnswer, PublishRequest } from "../../src/engine/ports/Journal.ts"
import { awaitLeader, leaderPatienceMillis } from "../../src/nats/JournalJetStream.ts"

/** A log whose leader answers so, one after the other, and the last for ever. */
const answering = (...answers: ReadonlyArray<PublishAnswer>) => {
  const requests: Array<PublishRequest> = []
  return {
    requests,
    log: {
      partition: 3,
      publish: (request: PublishRequest) =>
        Effect.sync((): PublishAnswer => {
          requests.push(request)
          return answers[Math.min(requests.length, answers.length) - 1]!
        })
    }
  }
}

const noLeader: PublishAnswer = { _tag: "NoLeader" }

it.effect("a leader that is elected late is waited for, and is given nothing to store", () =>
  Effect.gen(function* () {
    const { log, requests } = answering(
      noLeader,
      { _tag: "NoAnswer", reason: "timeout" },
      { _tag: "NotSent" },
      noLeader,
      { _tag: "WrongSequence", last: 0 }
    )
    const opened = yield* Effect.forkChild(awaitLeader(log))
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(opened)
    expect(requests).toHaveLength(5)
    for (const { bytes, expectedLast } of requests) {
      expect([bytes.length, expectedLast]).toEqual([0, Number.MAX_SAFE_INTEGER])
    }
  })
)

it.effect("whatever a leader says, it is one", () =>
  Effect.gen(function* () {
    for (const answer of [{ _tag: "Full" }, { _tag: "Refused", message: "no" }] as const) {
      yield* awaitLeader(answering(answer).log)
    }
  })
)

it.effect("a log that nobody leads does not open, and says so", () =>
  Effect.gen(function* () {
    const { log } = answering(noLeader)
    const opened = yield* Effect.forkChild(Effect.flip(awaitLeader(log)))
    yield* TestClock.adjust(leaderPatienceMillis)
    expect(yield* Fiber.join(opened)).toMatchObject({
      _tag: "JournalUnavailable",
      partition: 3,
      message: expect.stringContaining("nobody has taken frames for 10000 ms")
    })
  })
)

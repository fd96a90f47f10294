/** Mails of several accounts are taken with one statement, and each account gets its own. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PartitionClaim, TakenJob } from "../../../src/postgres/WorkQueue.ts"
import { makeMoment, takeTogether } from "../../../src/send/handoff/takeTogether.ts"

const claim = (partition: number, group: string, lane = 0): PartitionClaim => ({ partition, group, lane, limit: 30 })

const job = (id: string, { group, lane }: PartitionClaim, leasedUntil: number): TakenJob => ({
  id,
  group,
  lane,
  attempt: 1,
  leasedUntil,
  expiresAt: null,
  payload: ""
})

describe("accounts whose mails are taken together", () => {
  it.effect("get their own jobs, in order, from one statement", () =>
    Effect.gen(function* () {
      const asked: Array<ReadonlyArray<PartitionClaim>> = []
      const queue = {
        takeFrom: (claims: ReadonlyArray<PartitionClaim>, { leasedUntil }: { readonly leasedUntil: number }) =>
          Effect.sync(() => {
            asked.push(claims)
            return claims
              .filter(({ group }) => group !== "c/live")
              .map((one, index) => job(`${one.group}/${index}`, one, leasedUntil))
              .reverse()
          })
      }
      const all = [[claim(1, "a/live"), claim(1, "a/live", 1)], [claim(2, "b/live")], [claim(2, "c/live")]]
      const taken = yield* takeTogether(queue, 60_000, all)
      expect(asked).toEqual([all.flat()])
      expect(taken.map((jobs) => jobs.map(({ id, leasedUntil }) => [id, leasedUntil]))).toEqual([
        [
          ["a/live/1", 60_000],
          ["a/live/0", 60_000]
        ],
        [["b/live/2", 60_000]],
        []
      ])
    })
  )
})

describe("a moment", () => {
  it.effect("is the same for all who wait for it, and begins anew after its end", () =>
    Effect.gen(function* () {
      const moment = makeMoment()
      const ended: Array<string> = []
      const wait = (name: string, millis: number) =>
        Effect.forkChild(
          Effect.andThen(
            moment(millis),
            Effect.sync(() => void ended.push(name))
          )
        )
      const first = yield* wait("first", 200)
      yield* TestClock.adjust("150 millis")
      const second = yield* wait("second", 1_000)
      yield* TestClock.adjust("50 millis")
      yield* Effect.all([Fiber.join(first), Fiber.join(second)])
      expect(ended.sort()).toEqual(["first", "second"])
      const third = yield* wait("third", 1_000)
      yield* TestClock.adjust("999 millis")
      expect(ended).toHaveLength(2)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(third)
      expect(ended).toHaveLength(3)
    })
  )
})

/** How long a dispatcher may work on what it has taken: it keeps what is still its own, and leaves what somebody else has taken. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { answered, delivery, folded, start } from "./dispatcherSupport.ts"

/** A test that fails ends at once. */
const settings = { leaseMillis: 60_000, drainMillis: 0 }
const { leaseMillis } = settings

/** Five deliveries, of which four are in flight without an answer: the pace of an endpoint that nothing is known of. */
const fourInFlight = (kept: (ids: ReadonlyArray<string>) => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const answers = yield* Deferred.make<void>()
    const asked: Array<{ readonly ids: ReadonlyArray<string>; readonly until: number }> = []
    const started = yield* start({
      send: () => Effect.as(Deferred.await(answers), answered(200)),
      settings,
      store: {
        keep: (deliveries, until) =>
          Effect.sync(() => {
            const ids = deliveries.map(({ id }) => id)
            asked.push({ ids, until })
            return new Set(kept(ids))
          })
      }
    })
    yield* started.hand("a", "b", "c", "d", "e")
    expect(started.sent).toEqual(["a", "b", "c", "d"])
    return { ...started, asked, answers }
  })

describe("what a dispatcher has taken", () => {
  it.effect("given one that somebody else has taken meanwhile, then it is let go and not attempted here", () =>
    Effect.gen(function* () {
      const { answers, held, recorded, sent } = yield* fourInFlight((ids) => ids.filter((id) => id !== "dlv_e"))
      yield* TestClock.adjust(leaseMillis)
      expect(yield* held).toBe(4)
      yield* Deferred.succeed(answers, undefined)
      yield* TestClock.adjust("1 seconds")
      expect(sent).toEqual(["a", "b", "c", "d"])
      expect(recorded.map(({ delivery: { id } }) => id)).toEqual(["dlv_a", "dlv_b", "dlv_c", "dlv_d"])
      expect(yield* held).toBe(0)
    })
  )

  it.effect(
    "given attempts that take longer than they were taken for, then they are kept before that time is over",
    () =>
      Effect.gen(function* () {
        const { answers, asked, recorded, sent } = yield* fourInFlight((ids) => ids)
        yield* TestClock.adjust(5 * leaseMillis)
        let until = leaseMillis
        for (const { ids, until: next } of asked) {
          // A look at the clock of the store every so often: what is kept never ends in between.
          expect(next - leaseMillis).toBeLessThan(until)
          expect(ids).toEqual(["dlv_a", "dlv_b", "dlv_c", "dlv_d", "dlv_e"])
          until = next
        }
        expect(until).toBeGreaterThan(5 * leaseMillis)
        yield* Deferred.succeed(answers, undefined)
        yield* TestClock.adjust("1 seconds")
        expect(sent).toEqual(["a", "b", "c", "d", "e"])
        expect(recorded).toHaveLength(5)
      })
  )

  it.effect("given a time that has just begun, then the store is not asked for more of it", () =>
    Effect.gen(function* () {
      const { answers, asked } = yield* fourInFlight((ids) => ids)
      yield* TestClock.adjust(leaseMillis / 4)
      expect(asked).toEqual([])
      yield* Deferred.succeed(answers, undefined)
    })
  )

  it.effect("takes for as long as it says, from now on", () =>
    Effect.gen(function* () {
      const taken: Array<number> = []
      const started = yield* start({
        settings,
        store: {
          take: (_partition, claims, { now, leasedUntil }) =>
            Effect.sync(() => {
              taken.push(leasedUntil - now)
              return taken.length === 1 ? claims.slice(0, 1).map(() => delivery("a", { leasedUntil })) : []
            })
        }
      })
      yield* TestClock.adjust("1 seconds")
      started.listener.committed({
        taken: [],
        queued: new Map([["we_1", { partition: 0 }]]),
        endpoints: [folded]
      })
      yield* TestClock.adjust("1 seconds")
      expect(started.listener.leaseMillis).toBe(leaseMillis)
      expect(new Set(taken)).toEqual(new Set([leaseMillis]))
      expect(started.sent).toEqual(["a"])
    })
  )
})

import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import {
  contentOf,
  fill,
  freshPartition,
  JournalHarness,
  numbered,
  openFresh,
  readAll,
  text
} from "./journalHarness.ts"

/** Each partition has one log, and each log one deployment. */
export const opening = (it: Vitest.MethodsNonLive<JournalHarness>): void => {
  it.effect("a new log belongs to the deployment that made it, whoever opens it later", () =>
    Effect.gen(function* () {
      const harness = yield* JournalHarness
      const journal = yield* harness.connect()
      const partition = freshPartition()
      assert.strictEqual((yield* journal.open(partition, "one")).deployment, "one")
      assert.strictEqual((yield* journal.open(partition, "two")).deployment, "one")
      const other = yield* harness.connect()
      assert.strictEqual((yield* other.open(partition, "one")).deployment, "one")
      assert.strictEqual((yield* other.open(partition)).deployment, "one")
    })
  )

  it.effect("a log without an id is adopted once", () =>
    Effect.gen(function* () {
      const { journal, log, partition } = yield* openFresh()
      yield* fill(log, 0, [text("from before")])
      const found = yield* journal.open(partition, "one")
      assert.isUndefined(found.deployment)
      yield* found.adopt("one")
      yield* found.adopt("one")
      const late = yield* Effect.flip(found.adopt("two"))
      assert.strictEqual(late._tag, "JournalRefused")
      assert.include(late.message, "belongs to the deployment one")
      const again = yield* journal.open(partition, "two")
      assert.deepStrictEqual([again.deployment, (yield* again.state).lastSequence], ["one", 1])
    })
  )

  it.effect("a survey finds the logs that are there, and makes none", () =>
    Effect.gen(function* () {
      const harness = yield* JournalHarness
      // Small, because a survey also looks whether all logs up to the last one would fit.
      const journal = yield* harness.connect({ maximumBytes: 1024 * 1024 })
      const [owned, old, missing] = [freshPartition(), freshPartition(), freshPartition()]
      yield* journal.open(owned, "one")
      yield* fill(yield* journal.open(old), 0, [text("from before")])
      for (let round = 0; round < 2; round++) {
        const found = yield* journal.survey(missing + 1)
        const seen = found.filter(({ partition }) => partition >= owned)
        assert.deepStrictEqual(
          seen.map(({ deployment, lastSequence, partition }) => [partition, deployment, lastSequence]),
          [
            [owned, "one", 0],
            [old, undefined, 1]
          ]
        )
      }
    })
  )

  it.effect("a new log is empty", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      const state = yield* log.state
      assert.strictEqual(state.firstSequence, 1)
      assert.strictEqual(state.lastSequence, 0)
      assert.isAbove(state.maximumBytes, 0)
      assert.isUndefined(yield* log.frameAt(1))
      assert.deepStrictEqual(yield* readAll(log, 1, 0), [])
    })
  )

  it.effect("opening again leads to the same log, and closing one does not disturb the other", () =>
    Effect.gen(function* () {
      const { harness, partition, log } = yield* openFresh()
      yield* fill(log, 0, numbered(2))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* harness.connect()
          const other = yield* journal.open(partition)
          yield* fill(other, 2, [text("from the other")])
        })
      )
      assert.strictEqual(contentOf((yield* log.frameAt(3))!), "from the other")
      yield* fill(log, 3, [text("and on")])
    })
  )

  it.effect("logs do not know each other", () =>
    Effect.gen(function* () {
      const { journal, log } = yield* openFresh()
      const others = yield* Effect.forEach(
        Array.from({ length: 8 }, freshPartition),
        // A cluster that makes eight streams concurrently may not answer in time; partitions ask again, too.
        (partition) =>
          Effect.retry(journal.open(partition), { while: ({ _tag }) => _tag === "JournalUnavailable", times: 10 }),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(others, (other, index) => fill(other, 0, numbered(index + 1)), { concurrency: "unbounded" })
      assert.strictEqual((yield* log.state).lastSequence, 0)
      assert.deepStrictEqual(
        yield* Effect.forEach(others, (other) => Effect.map(other.state, (state) => state.lastSequence)),
        [1, 2, 3, 4, 5, 6, 7, 8]
      )
    })
  )
}

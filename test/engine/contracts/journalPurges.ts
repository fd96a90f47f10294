import { assert, type Vitest } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { contentOf, fill, type JournalHarness, numbered, openFresh, readAll, text } from "./journalHarness.ts"

/** What is purged goes, and the sequences go on. */
export const purges = (it: Vitest.MethodsNonLive<JournalHarness>): void => {
  it.effect("purging keeps the named frame and all after it, and the sequences", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(30))
      yield* log.purgeBelow(20)
      const state = yield* log.state
      assert.strictEqual(state.firstSequence, 20)
      assert.strictEqual(state.lastSequence, 30)
      assert.isUndefined(yield* log.frameAt(19))
      assert.strictEqual(contentOf((yield* log.frameAt(20))!), "frame 20")
      assert.strictEqual((yield* readAll(log, 20, 30)).length, 11)
      yield* log.purgeBelow(5)
      assert.strictEqual((yield* log.state).firstSequence, 20)
      yield* log.purgeBelow(30)
      yield* fill(log, 30, [text("frame 31")])
      assert.deepStrictEqual((yield* readAll(log, 30, 31)).map(contentOf), ["frame 30", "frame 31"])
    })
  )

  it.effect("a purge that a server would take for everything is a defect and removes nothing", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(4))
      for (const sequence of [-1, 0, 1, 5, 100, 2.5, Number.NaN]) {
        const exit = yield* Effect.exit(log.purgeBelow(sequence))
        assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit), `purge below ${sequence}`)
      }
      const state = yield* log.state
      assert.deepStrictEqual([state.firstSequence, state.lastSequence], [1, 4])
      assert.strictEqual((yield* readAll(log, 1, 4)).length, 4)
    })
  )

  it.effect("a log that is restarted is empty and goes on where it was told", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(5))
      const refused = yield* Effect.exit(log.restartAfter(4))
      assert.isTrue(Exit.isFailure(refused) && Exit.hasDies(refused))
      assert.strictEqual((yield* log.state).firstSequence, 1)
      yield* log.restartAfter(5)
      const emptied = yield* log.state
      assert.deepStrictEqual([emptied.firstSequence, emptied.lastSequence], [6, 5])
      yield* log.restartAfter(900)
      const moved = yield* log.state
      assert.deepStrictEqual([moved.firstSequence, moved.lastSequence], [901, 900])
      yield* fill(log, 900, [text("goes on")])
      assert.strictEqual(contentOf((yield* log.frameAt(901))!), "goes on")

      const { log: unused } = yield* openFresh()
      yield* unused.restartAfter(0)
      yield* fill(unused, 0, [text("first")])
    })
  )
}

import { assert, type Vitest } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { PublishAnswer } from "../../../src/engine/ports/Journal.ts"
import { contentOf, fill, type JournalHarness, numbered, openFresh, publish, readAll, text } from "./journalHarness.ts"

/** A frame is stored once, behind the one that it names, or not at all. */
export const appends = (it: Vitest.MethodsNonLive<JournalHarness>): void => {
  it.effect("what was acknowledged is read back byte for byte, with its identity", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      const allBytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      assert.deepStrictEqual(yield* publish(log, allBytes, 0, "7/2/1"), {
        _tag: "Acked",
        sequence: 1,
        duplicate: false
      })
      assert.deepStrictEqual(yield* publish(log, text("second"), 1, "7/2/2"), {
        _tag: "Acked",
        sequence: 2,
        duplicate: false
      })
      for (const frames of [[yield* log.frameAt(1), yield* log.frameAt(2)], yield* readAll(log, 1, 2)]) {
        assert.deepStrictEqual(
          frames.map((frame) => [frame?.sequence, frame?.identity, [...(frame?.bytes ?? [])]]),
          [
            [1, "7/2/1", [...allBytes]],
            [2, "7/2/2", [...text("second")]]
          ]
        )
      }
      assert.isUndefined(yield* log.frameAt(3))
      assert.strictEqual((yield* log.state).lastSequence, 2)
    })
  )

  it.effect("an expectation that does not hold stores nothing and is told the last sequence", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(3))
      for (const expectedLast of [0, 2, 4, 9]) {
        const answer = yield* publish(log, text("never"), expectedLast)
        assert.strictEqual(answer._tag, "WrongSequence")
        if (answer._tag === "WrongSequence") assert.include([3, undefined], answer.last)
      }
      assert.strictEqual((yield* log.state).lastSequence, 3)
      yield* fill(log, 3, [text("fourth")])
    })
  )

  it.effect("of writers that expect the same, one succeeds", () =>
    Effect.gen(function* () {
      const { harness, partition } = yield* openFresh()
      const writers = yield* Effect.forEach([1, 2, 3, 4], () =>
        Effect.flatMap(harness.connect(), (journal) => journal.open(partition))
      )
      for (let last = 0; last < 10; last++) {
        const answers = yield* Effect.forEach(
          writers,
          (log, index) => publish(log, text(`${last} by ${index}`), last),
          { concurrency: "unbounded" }
        )
        const acked = answers.flatMap((answer, index) => (answer._tag === "Acked" ? [index] : []))
        assert.strictEqual(acked.length, 1)
        const stored = yield* writers[0]!.frameAt(last + 1)
        assert.strictEqual(contentOf(stored!), `${last} by ${acked[0]}`)
        assert.strictEqual((yield* writers[1]!.state).lastSequence, last + 1)
      }
    })
  )

  it.effect("a frame that is sent again is not stored again", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, [text("once")])
      const again: PublishAnswer = yield* publish(log, text("once"), 0, `${log.partition}/1/1`)
      if (again._tag === "Acked") assert.isTrue(again.duplicate)
      else assert.strictEqual(again._tag, "WrongSequence")
      assert.strictEqual((yield* log.state).lastSequence, 1)
    })
  )

  it.effect("a full log stores nothing, says so, and goes on after a purge", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh({ maximumBytes: 200_000 })
      assert.strictEqual((yield* log.state).maximumBytes, 200_000)
      const large = new Uint8Array(40_000).fill(1)
      let last = 0
      let answer = yield* publish(log, large, last)
      while (answer._tag === "Acked" && last < 100) {
        last++
        answer = yield* publish(log, large, last)
      }
      assert.deepStrictEqual(answer, { _tag: "Full" })
      const state = yield* log.state
      assert.strictEqual(state.lastSequence, last)
      assert.isAtMost(state.bytes, 200_000)
      assert.isUndefined(yield* log.frameAt(last + 1))
      yield* log.purgeBelow(last)
      yield* fill(log, last, [large])
    })
  )

  it.effect("an interrupted append is stored once or not at all", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      let last = 0
      for (let round = 0; round < 30; round++) {
        const fiber = yield* Effect.forkScoped(publish(log, text(`round ${round}`), last))
        for (let turn = 0; turn < round % 5; turn++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        // What is still under way comes before this one or never; until it is there a cluster refuses and has nothing to show.
        let answer = yield* publish(log, text(`after ${round}`), last)
        while ((yield* log.state).lastSequence === last) {
          assert.strictEqual(answer._tag, "WrongSequence")
          answer = yield* publish(log, text(`after ${round}`), last)
        }
        assert.strictEqual((yield* log.state).lastSequence, last + 1)
        const stored = contentOf((yield* log.frameAt(last + 1))!)
        assert.strictEqual(stored, answer._tag === "Acked" ? `after ${round}` : `round ${round}`)
        last++
      }
    })
  )
}

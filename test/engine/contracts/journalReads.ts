import { assert, type Vitest } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { contentOf, fill, type JournalHarness, numbered, openFresh, readAll } from "./journalHarness.ts"

/** A range is read in order, in bounded batches, and whole. */
export const reads = (it: Vitest.MethodsNonLive<JournalHarness>): void => {
  it.effect("ranges are read in order and without a gap", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(1300))
      for (const [from, through] of [
        [1, 1300],
        [1, 1],
        [1300, 1300],
        [7, 9],
        [250, 1270]
      ] as const) {
        const frames = yield* readAll(log, from, through)
        assert.strictEqual(frames.length, through - from + 1)
        for (const [index, frame] of frames.entries()) {
          assert.strictEqual(frame.sequence, from + index)
          assert.strictEqual(contentOf(frame), `frame ${from + index}`)
          assert.strictEqual(frame.identity, `${log.partition}/1/${from + index}`)
        }
      }
    })
  )

  it.effect("large frames are read in bounded batches", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      const size = 512 * 1024
      yield* fill(
        log,
        0,
        Array.from({ length: 40 }, (_, index) => new Uint8Array(size).fill(index + 1))
      )
      const batches = yield* Stream.runCollect(log.read(1, 40))
      for (const batch of batches) {
        const bytes = batch.reduce((sum, frame) => sum + frame.bytes.length, 0)
        assert.isTrue(batch.length === 1 || bytes <= 8 * 1024 * 1024 + size, `a batch of ${bytes} bytes`)
      }
      const frames = batches.flat()
      assert.deepStrictEqual(
        frames.map((frame) => [frame.sequence, frame.bytes.length, frame.bytes[0], frame.bytes[size - 1]]),
        Array.from({ length: 40 }, (_, index) => [index + 1, size, index + 1, index + 1])
      )
    })
  )

  it.effect("a reader may stop early and others read on", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(40))
      const first = yield* Stream.runHead(log.read(1, 40))
      assert.isTrue(first._tag === "Some" && first.value[0]?.sequence === 1)
      const fiber = yield* Effect.forkScoped(Stream.runDrain(log.read(1, 40)))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* readAll(log, 1, 40)).length, 40)
    })
  )

  it.effect("a range with a missing frame is a gap at the first missing one", () =>
    Effect.gen(function* () {
      const { log } = yield* openFresh()
      yield* fill(log, 0, numbered(60))
      yield* log.purgeBelow(41)
      for (const [from, through] of [
        [1, 60],
        [38, 41],
        [40, 40]
      ] as const) {
        // A copy that lags shows what was purged a moment longer, but nothing else.
        let result = yield* Effect.result(readAll(log, from, through))
        while (result._tag === "Success") {
          assert.deepStrictEqual(
            result.success.map(contentOf),
            Array.from({ length: through - from + 1 }, (_, index) => `frame ${from + index}`)
          )
          result = yield* Effect.result(readAll(log, from, through))
        }
        const error = result.failure
        assert.strictEqual(error._tag, "JournalGap")
        if (error._tag === "JournalGap") assert.strictEqual(error.sequence, from)
      }
      const empty = yield* openFresh()
      yield* empty.log.restartAfter(50)
      const error = yield* Effect.flip(readAll(empty.log, 11, 50))
      assert.strictEqual(error._tag, "JournalGap")
    })
  )
}

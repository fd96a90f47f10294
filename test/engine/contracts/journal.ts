/**
 * What every `Journal` promises, whatever stands behind it. `journalContract` runs it against a layer; each test takes partitions that no
 * other one uses, so that all may share one server.
 */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, type Layer, Schedule, type Scope, Stream } from "effect"
import type { Journal, Log, PublishAnswer, StoredFrame } from "../../../src/engine/Journal.ts"

/** What the suite needs of an implementation. */
export class JournalHarness extends Context.Service<
  JournalHarness,
  {
    /**
     * Opens the journal as a process of its own would. Every call leads to the same logs. `maximumBytes` bounds the logs that it makes.
     */
    readonly connect: (options?: {
      readonly maximumBytes?: number
    }) => Effect.Effect<Journal["Service"], never, Scope.Scope>
  }
>()("test/JournalHarness") {}

let nextPartition = 1000

/** A partition that no other test uses. */
export const freshPartition = (): number => nextPartition++

const publishTimeoutMillis = 10_000

/** An attempt, as the engine makes it. A cluster may elect another leader at any moment, and stores nothing meanwhile. */
export const publish = (log: Log, bytes: Uint8Array, expectedLast: number, identity = "0/1/1") =>
  log
    .publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })
    .pipe(Effect.repeat({ while: ({ _tag }) => _tag === "NoLeader", schedule: Schedule.spaced("50 millis") }))

/** Appends frames one after the other to a log whose last sequence is known. */
export const fill = (log: Log, after: number, frames: ReadonlyArray<Uint8Array>) =>
  Effect.gen(function* () {
    let last = after
    for (const bytes of frames) {
      const answer = yield* publish(log, bytes, last, `${log.partition}/1/${last + 1}`)
      assert.deepStrictEqual(answer, { _tag: "Acked", sequence: last + 1, duplicate: false })
      last++
    }
    return last
  })

export const text = (content: string): Uint8Array => Buffer.from(content)

const numbered = (count: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: count }, (_, index) => text(`frame ${index + 1}`))

const readAll = (log: Log, from: number, through: number) =>
  Effect.map(Stream.runCollect(log.read(from, through)), (batches) => batches.flat())

const contentOf = (frame: StoredFrame): string => Buffer.from(frame.bytes).toString()

const openFresh = (options?: { readonly maximumBytes?: number }) =>
  Effect.gen(function* () {
    const harness = yield* JournalHarness
    const journal = yield* harness.connect(options)
    const partition = freshPartition()
    const log = yield* journal.open(partition)
    return { harness, journal, partition, log }
  })

export const journalContract = <E>(name: string, harness: Layer.Layer<JournalHarness, E>): void => {
  layer(harness, { excludeTestServices: true, timeout: 120_000 })(`Journal: ${name}`, (it) => {
    cases(it)
  })
}

const cases = (it: Vitest.MethodsNonLive<JournalHarness>): void => {
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
      // small, because a survey also looks whether all logs up to the last one would fit
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
        // a copy that lags shows what was purged a moment longer, but nothing else
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
        // what is still under way comes before this one or never; until it is there a cluster refuses and has nothing to show
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
        (partition) => journal.open(partition),
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

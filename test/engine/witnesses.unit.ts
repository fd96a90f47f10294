/** Rule 9 on a running engine: a log that is not the one which checkpoints, cursors or its own chain speak of, and accepting the loss. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { purgeableBelow } from "../../src/engine/shell/stores/purge.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import {
  add,
  addEach,
  addEachWithoutCheckpoint,
  follower,
  get,
  recordsOf,
  recover,
  refusal,
  target,
  truncate
} from "./support/durability.ts"

describe("rule 9, witnesses", () => {
  it.effect("given a log cut short below a checkpoint, then the partition stays down and names what is missing", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 17, { config: { checkpointFrames: 10 } })
      truncate(deployment, 3)
      const sentence = yield* refusal(deployment)
      expect(sentence).toContain(
        "the newest checkpoint has seen frame 18, but the log ends at 15: frames 16 to 18 are lost"
      )
      expect(sentence).toContain("sluice recover --partition 0 --accept-loss")
      expect(deployment.journal.log(0).frames.at(-1)?.sequence).toBe(15)
    })
  )

  it.effect("given a log cut short below a cursor, then the partition refuses to start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { reactors: [follower], config: { checkpointFrames: 1_000_000 } })
      deployment.checkpoints.of(0).records = []
      truncate(deployment, 3)
      // That of the outbox has moved with the checkpoints.
      deployment.cursors.cursors.delete("0/sluice.outbox")
      expect(yield* refusal(deployment, { reactors: [follower] })).toContain("the cursor of follower has seen frame")
    })
  )

  it.effect("given a log cut short below the cursor of the outbox, then the partition refuses to start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { config: { checkpointFrames: 1_000_000 } })
      deployment.checkpoints.of(0).records = []
      truncate(deployment, 3)
      expect(yield* refusal(deployment)).toContain("the cursor of sluice.outbox has seen frame")
    })
  )

  it.effect("given a young log that lost all its frames, then the first checkpoint finds it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      // Killed, as far as its stores can tell: it writes no checkpoint of its end.
      const { engine } = yield* serving(deployment)
      for (let n = 0; n < 5; n++) yield* engine.ask(Counter, target, add(1))
      yield* TestClock.adjust(0)
      expect(recordsOf(deployment)).toEqual([1])
      truncate(deployment, 6)
      expect(yield* refusal(deployment)).toContain("the newest checkpoint has seen frame 1, but the log ends at 0")
    })
  )

  it.effect("given a stream made anew, then the partition refuses to start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { config: { checkpointFrames: 5 } })
      const log = deployment.journal.log(0)
      log.frames = []
      log.firstSequence = 1
      expect(yield* refusal(deployment)).toContain("the log ends at 0")
    })
  )

  it.effect("given a stream made anew and longer than before, then its other frames are noticed", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { config: { checkpointFrames: 5 } })
      const other = makeDeployment()
      yield* addEach(other, 40, { config: { checkpointFrames: 1_000_000, checkpointActors: 1_000_000 } })
      Object.assign(deployment.journal.log(0), other.journal.log(0))
      expect(yield* refusal(deployment)).toContain("has seen another frame")
    })
  )

  it.effect("given a stream purged by hand past the newest checkpoint, then the partition refuses to start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { config: { checkpointFrames: 5 } })
      const newest = recordsOf(deployment).at(-1)!
      yield* addEachWithoutCheckpoint(deployment, 10)
      deployment.checkpoints.of(0).records = deployment.checkpoints.of(0).records.filter((r) => r.sequence <= newest)
      yield* JournalMemory.openLog(deployment.journal, 0).purgeBelow(newest + 4)
      expect(yield* refusal(deployment)).toContain(`stands at frame ${newest}, but the log begins at ${newest + 4}`)
    })
  )

  it.effect(
    "given a log that lost its end while a purge was under way, then it refuses to start, and the newest checkpoint's state can go on",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const reactors = [follower]
        yield* addEach(deployment, 20, { config: { checkpointFrames: 5 }, reactors })
        const { records } = deployment.checkpoints.of(0)
        const below = purgeableBelow(records, [...deployment.cursors.cursors.values()])!
        // The server had come back without what it is told to keep: it is empty then, and goes on after the purge's place.
        Object.assign(deployment.journal.log(0), { frames: [], firstSequence: below, bytes: 0 })
        expect(yield* refusal(deployment, { reactors })).toContain(`but the log ends at ${below - 1}`)

        yield* recover(deployment, false, ["follower"])
        const { engine } = yield* serving(deployment, { reactors })
        expect(yield* engine.ask(Counter, target, add(1))).toBe(21)
      })
  )

  it.effect("given lost checkpoints and a purged log, then the partition refuses to start", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 30, { config: { checkpointFrames: 5 } })
      const lost = { ...deployment, checkpoints: CheckpointsMemory.makeStore() }
      expect(yield* refusal(lost)).toContain("there is no checkpoint, but the log begins at")
    })
  )

  it.effect("given a damaged frame in the tail, then the partition refuses to start and names it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10, { config: { checkpointFrames: 1_000 } })
      deployment.checkpoints.of(0).records = []
      deployment.checkpoints.of(0).rows.clear()
      const log = deployment.journal.log(0)
      const bytes = Uint8Array.from(log.frames[4]!.bytes)
      bytes[bytes.length - 4] = 0x7f
      log.frames[4] = { ...log.frames[4]!, bytes }
      expect(yield* refusal(deployment)).toMatch(/frame [56] of the log/)
    })
  )

  it.effect(
    "given a cut log, when the operator accepts the loss, then a dry run changes nothing and the real one lets it serve",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* addEach(deployment, 17, { config: { checkpointFrames: 10 }, reactors: [follower] })
        const idsBefore = decodeFrame(deployment.journal.log(0).frames.at(-1)!.bytes).epoch
        truncate(deployment, 2)
        const dry = yield* recover(deployment, true, ["follower"])
        expect(dry.fits).toBe(false)
        expect(dry.lines.join("\n")).toContain("Lost: decisions of frames 17 to 18")
        expect(yield* refusal(deployment, { reactors: [follower] })).toContain("are lost")

        const done = yield* recover(deployment, false, ["follower"])
        expect(done.lines).toEqual(dry.lines)
        const { engine } = yield* serving(deployment, { reactors: [follower] })
        expect(yield* engine.ask(Counter, target, get)).toBe(15)
        expect(yield* engine.ask(Counter, target, add(1))).toBe(16)
        // Ids of the lost frames are never derived again.
        expect(decodeFrame(deployment.journal.log(0).frames.at(-1)!.bytes).epoch).toBeGreaterThan(idsBefore + 100)
      })
  )

  it.effect(
    "given a log that is gone, when the operator accepts the loss, then the newest checkpoint's state goes on",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* addEach(deployment, 20, { config: { checkpointFrames: 5 }, reactors: [follower] })
        const log = deployment.journal.log(0)
        log.frames = []
        log.firstSequence = 1
        yield* recover(deployment, false, ["follower"])
        const { engine } = yield* serving(deployment, { reactors: [follower] })
        expect(yield* engine.ask(Counter, target, add(1))).toBe(21)
      })
  )

  it.effect("given a log that fits, then accepting a loss does nothing", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 20, { config: { checkpointFrames: 5 } })
      const before = deployment.journal.log(0).frames.length
      expect((yield* recover(deployment, false)).fits).toBe(true)
      expect(deployment.journal.log(0).frames.length).toBe(before)
    })
  )
})

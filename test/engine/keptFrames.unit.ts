/**
 * Rules 9 and 14, the log behind checkpoints: how much of it stays, that an older database catches up with it by itself, and that a recovery drops no frame
 * that can be read.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { firstYoung, keptShare, overShare } from "../../src/engine/shell/stores/writeCheckpoints.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, makeDeployment, type StartOptions, serving } from "./support/deployment.ts"
import { add, addEach, follower, get, recordsOf, recover, refusal, target, truncate } from "./support/durability.ts"

const hour = 3_600_000
const reactors = [follower]

describe("what stays behind checkpoints", () => {
  it.effect("the first young frame is the one that a look at all of them finds, and few are looked at", () =>
    Effect.gen(function* () {
      const random = new Prng(1, "young")
      for (let run = 0; run < 500; run++) {
        const from = random.int(1, 50)
        const to = from + random.int(0, 200)
        const times = Array.from({ length: to + 1 }, () => random.int(0, 100)).sort((one, other) => one - other)
        const cutoff = random.int(0, 100)
        let naive = from
        while (naive < to && times[naive]! <= cutoff) naive++
        let looks = 0
        const found = yield* firstYoung(from, to, (sequence) => {
          looks++
          return Effect.succeed(times[sequence]! > cutoff)
        })
        expect(found).toBe(naive)
        expect(looks).toBeLessThanOrEqual(10)
      }
    })
  )

  it("what is over half of the bound goes, and nothing while it is not reached", () => {
    const state = { firstSequence: 101, lastSequence: 200, maximumBytes: 1_000 }
    expect(overShare({ ...state, bytes: 1_000 * keptShare })).toBe(101)
    expect(overShare({ ...state, bytes: 750 })).toBe(101 + Math.ceil(250 / 7.5))
    expect(overShare({ ...state, firstSequence: 201, bytes: 0 })).toBe(201)
  })

  it.effect("frames stay for as long as they are to be kept, and go then", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const options: StartOptions = { config: { checkpointFrames: 10, logKeepMillis: 24 * hour } }
      yield* addEach(deployment, 50, options)
      expect(deployment.journal.log(0).firstSequence).toBe(1)
      yield* TestClock.adjust("23 hours")
      yield* addEach(deployment, 50, options)
      expect(deployment.journal.log(0).firstSequence).toBe(1)
      yield* TestClock.adjust("2 hours")
      yield* addEach(deployment, 20, options)
      // The frames of the first hour are gone, those of the 23rd are there: each life has a claim and its frames.
      expect(deployment.journal.log(0).firstSequence).toBe(52)
    })
  )

  it.effect("a log that is half full keeps less", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ maximumBytes: 200_000 })
      yield* addEach(deployment, 600, { config: { checkpointFrames: 10, logKeepMillis: 24 * hour } })
      const { bytes, firstSequence } = deployment.journal.log(0)
      expect(firstSequence).toBeGreaterThan(1)
      expect(bytes).toBeLessThan(200_000 * 0.7)
    })
  )
})

/** The contents of a backup of the database. */
const backup = (deployment: Deployment) =>
  structuredClone({ partition: deployment.checkpoints.of(0), cursors: deployment.cursors.cursors })

const restore = (deployment: Deployment, { cursors, partition }: ReturnType<typeof backup>) => {
  Object.assign(deployment.checkpoints.of(0), structuredClone(partition))
  deployment.cursors.cursors.clear()
  for (const [key, cursor] of structuredClone(cursors)) deployment.cursors.cursors.set(key, cursor)
}

const asked = (deployment: Deployment, command: Parameters<typeof ask>[1]) => Effect.scoped(ask(deployment, command))
const ask = (deployment: Deployment, command: ReturnType<typeof add> | typeof get) =>
  Effect.flatMap(serving(deployment, { reactors }), ({ engine }) => engine.ask(Counter, target, command))

/** A database of 20 ones beside a log of 80, which was kept or not. */
const olderDatabase = Effect.fnUntraced(function* (logKeepMillis: number) {
  const deployment = makeDeployment()
  const options: StartOptions = { reactors, config: { checkpointFrames: 10, logKeepMillis } }
  yield* addEach(deployment, 20, options)
  const old = backup(deployment)
  yield* TestClock.adjust("10 minutes")
  yield* addEach(deployment, 60, options)
  restore(deployment, old)
  return deployment
})

describe("a database that is older than the log", () => {
  it.effect("catches up by itself at the next start, where the log reaches back", () =>
    Effect.gen(function* () {
      const deployment = yield* olderDatabase(24 * hour)
      const { engine } = yield* serving(deployment, { reactors })
      expect(yield* engine.ask(Counter, target, get)).toBe(80)
      expect(yield* engine.ask(Counter, target, add(1))).toBe(81)
    })
  )

  it.effect("where it does not, recover keeps every frame, says what is missing, and replays the rest", () =>
    Effect.gen(function* () {
      const deployment = yield* olderDatabase(0)
      const log = deployment.journal.log(0)
      const { firstSequence } = log
      const frames = [...log.frames]
      const newest = recordsOf(deployment).at(-1)!
      expect(firstSequence).toBeGreaterThan(newest + 1)
      expect(yield* refusal(deployment, { reactors })).toContain(`the log begins at ${firstSequence}`)

      const planned = yield* recover(deployment, true, ["follower"])
      expect(log.frames).toEqual(frames)
      expect(planned.lines.join("\n")).toContain(
        `Missing: frames ${newest + 1} to ${firstSequence - 1}, 10 minutes from`
      )
      expect(planned.lines.join("\n")).toContain("Kept: all frames of the log")
      expect(planned.lost).toMatchObject({ sinceMillis: expect.any(Number), untilMillis: expect.any(Number) })
      const done = yield* recover(deployment, false, ["follower"])
      expect(done.lines).toEqual(planned.lines)
      // All that was there, and the closing frame.
      expect(log.frames.slice(0, -1)).toEqual(frames)

      // 20 of the database, and what the frames of the log hold.
      const kept = frames.filter(({ bytes }) => Buffer.from(bytes).toString().includes("org_1")).length
      const value = yield* asked(deployment, get)
      expect(value).toBe(20 + kept)
      expect((yield* recover(deployment, true, ["follower"])).fits).toBe(true)
      expect(yield* asked(deployment, add(1))).toBe(21 + kept)
    })
  )
})

describe("a log that is older than the database", () => {
  it.effect(
    "and was purged: the checkpoint stays the state, and the frames stay for reactors that have not seen them",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* addEach(deployment, 50, { reactors, config: { checkpointFrames: 10 } })
        const log = deployment.journal.log(0)
        // Both checkpoints are beyond what is left of the log.
        const { records } = deployment.checkpoints.of(0)
        const newest = Math.max(...records.map(({ sequence }) => sequence))
        deployment.checkpoints.of(0).records = records.filter(({ sequence }) => sequence === newest)
        truncate(deployment, 3)
        const frames = [...log.frames]
        const { firstSequence } = log
        expect(firstSequence).toBeGreaterThan(1)
        const last = frames.at(-1)!.sequence
        expect(yield* refusal(deployment, { reactors })).toContain("are lost")

        const planned = yield* recover(deployment, true, ["follower"])
        expect(log.frames).toEqual(frames)
        expect(planned.lines.join("\n")).toContain(`frames ${firstSequence} to ${last} of the log, for reactors`)
        const done = yield* recover(deployment, false, ["follower"])
        expect(done.lines).toEqual(planned.lines)
        expect(log.firstSequence).toBe(firstSequence)
        expect(log.frames.slice(0, frames.length)).toEqual(frames)
        expect(yield* asked(deployment, get)).toBe(50)
        expect(yield* asked(deployment, add(1))).toBe(51)
        expect((yield* recover(deployment, true, ["follower"])).fits).toBe(true)
      })
  )

  it.effect(
    "given a frame that cannot be read behind the checkpoint's place, it goes on, and no frame is dropped",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        yield* addEach(deployment, 30, { reactors, config: { checkpointFrames: 10 } })
        const [oldest, newest] = recordsOf(deployment)
        deployment.checkpoints.of(0).records = deployment.checkpoints
          .of(0)
          .records.filter(({ sequence }) => sequence === oldest)
        const log = deployment.journal.log(0)
        const index = newest! - 2 - log.firstSequence
        const bytes = Uint8Array.from(log.frames[index]!.bytes)
        bytes[bytes.length - 4] = 0x7f
        log.frames[index] = { ...log.frames[index]!, bytes }
        const frames = [...log.frames]
        expect(yield* refusal(deployment, { reactors })).toMatch(/frame \d+ of the log/)
        const done = yield* recover(deployment, false, ["follower"])
        expect(done.fits).toBe(false)
        expect(log.frames.slice(0, frames.length)).toEqual(frames)
        expect(yield* asked(deployment, add(0))).toBeGreaterThan(0)
      })
  )
})

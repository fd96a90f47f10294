/** Which clock is believed, and that nothing is decided by one that is ahead of the others (docs/architecture.md, rule 7). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Engine, layer as engineLayer } from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { ClockGuard } from "../../src/engine/ports/ClockGuard.ts"
import { layerLocal } from "../../src/engine/ports/Placement.ts"
import { clockBehind } from "../../src/engine/shell/partition/clockBehind.ts"
import { clockDoubt, clockProblem, type Sample, wasSet } from "../../src/platform/ClockWatch.ts"
import { Counter } from "../engine/support/actors.ts"
import { makeDeployment } from "../engine/support/deployment.ts"
import { add, get, target } from "../engine/support/durability.ts"

const samples = (postgres: number | undefined, nats: number | undefined): ReadonlyArray<Sample> => [
  ...(postgres === undefined ? [] : [{ reference: "PostgreSQL" as const, aheadMillis: postgres }]),
  ...(nats === undefined ? [] : [{ reference: "NATS" as const, aheadMillis: nats }])
]

describe("the clocks of others", () => {
  it("only a clock that is ahead of all that answer by more than five seconds is not believed", () => {
    expect(clockProblem(samples(undefined, undefined))).toBeUndefined()
    expect(clockProblem(samples(5_000, 5_000))).toBeUndefined()
    expect(clockProblem(samples(5_001, undefined))).toContain("is ahead of PostgreSQL by 5 s")
    expect(clockProblem(samples(600_000, 5_000))).toBeUndefined()
    expect(clockProblem(samples(600_000, 600_100))).toBe(
      "the clock of this machine is ahead of PostgreSQL by 600 s and NATS by 600.1 s: set it right (chronyc makestep, or timedatectl set-ntp true), and partitions are served again by themselves"
    )
    expect(clockProblem(samples(-600_000, -600_000))).toBeUndefined()
  })

  it("another clock that is off is worth a warning", () => {
    expect(clockDoubt(samples(0, 100))).toBeUndefined()
    expect(clockDoubt(samples(600_000, 0))).toContain("PostgreSQL by 600 s")
    expect(clockDoubt(samples(-600_000, -600_000))).toContain("less than 0 s: behind it")
    expect(clockDoubt(samples(600_000, 600_000))).toBeUndefined()
  })

  it("a clock was set where it went otherwise than the steady one", () => {
    expect(wasSet({ wall: 1_000, steady: 5 }, { wall: 61_500, steady: 60_005 })).toBe(false)
    expect(wasSet({ wall: 1_000, steady: 5 }, { wall: 62_001, steady: 60_005 })).toBe(true)
    expect(wasSet({ wall: 1_000, steady: 5 }, { wall: 0, steady: 60_005 })).toBe(true)
  })

  it("a log that ends in the future: until when it lasts, and what to do, exactly", () => {
    const now = Date.parse("2026-11-26T12:00:00Z")
    expect(clockBehind(5, now + 600_000, now)).toBe(
      "the clock is 600 s behind the last frame, which is of 2026-11-26T12:10:00.000Z. If the clock is wrong, set it right. If it is right, a clock that ran ahead wrote that frame: the partition serves again by itself at 2026-11-26T12:09:00.000Z, in 540 s, or immediately with `sluice recover --partition 5 --accept-clock`, after which its times go back once"
    )
  })
})

it.effect("no frame is written by a clock that is ahead, and the partition comes back by itself when it is right", () =>
  Effect.gen(function* () {
    const deployment = makeDeployment()
    let problem: string | undefined
    const layer = engineLayer({ actors: [Counter], config: { partitions: 1 } }).pipe(
      Layer.provide([
        JournalMemory.layerOf(deployment.journal),
        CheckpointsMemory.layerOf(deployment.checkpoints),
        CursorsMemory.layerOf(deployment.cursors),
        layerLocal,
        Layer.succeed(ClockGuard, { problem: () => problem })
      ])
    )
    yield* Effect.gen(function* () {
      const engine = yield* Engine
      yield* engine.ready
      yield* engine.ask(Counter, target, add(1))
      const frames = () => deployment.journal.log(0).frames.length
      const before = frames()
      problem = "the clock is ahead"
      const asked = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, target, add(1))), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "PartitionUnavailable" })
      expect(frames()).toBe(before)
      const [found] = yield* engine.status
      expect(found?.status).toEqual({ _tag: "NotOwned", reason: "the clock is ahead" })
      problem = undefined
      yield* TestClock.adjust("1 second")
      yield* engine.ready
      expect(yield* engine.ask(Counter, target, get)).toBe(1)
      expect(yield* engine.ask(Counter, target, add(1))).toBe(2)
    }).pipe(Effect.provide(layer))
  })
)

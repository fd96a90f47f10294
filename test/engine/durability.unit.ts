/** Rules 8, 9 and 10 on a running engine: recovery, checkpoints, purges, witnesses, eviction, timers. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { Checkpoints } from "../../src/engine/Checkpoints.ts"
import * as CheckpointsMemory from "../../src/engine/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/CursorsMemory.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as JournalMemory from "../../src/engine/JournalMemory.ts"
import { purge } from "../../src/engine/purge.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { acceptLoss } from "../../src/engine/recover.ts"
import { Counter, Reminder } from "./support/actors.ts"
import { type Deployment, makeDeployment, type StartOptions, serving, start } from "./support/deployment.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const get = { _tag: "Get" as const }

/** Adds `count` ones, each in a frame of its own. */
const addEach = (deployment: Deployment, count: number, options: StartOptions = {}, organizations = 1) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine, stop } = yield* serving(deployment, options)
      for (let n = 0; n < count; n++) {
        yield* engine.ask(Counter, { organization: `org_${1 + (n % organizations)}` }, add(1))
        // a log in memory answers at once: the checkpoints' fiber gets its turn here
        yield* Effect.yieldNow
      }
      yield* TestClock.adjust(0)
      yield* stop
    })
  )

const recordsOf = (deployment: Deployment) =>
  [...deployment.checkpoints.of(0).records].map(({ sequence }) => sequence).sort((a, b) => a - b)

/** The sentence with which a partition refuses to start. */
const refusal = (deployment: Deployment, options: StartOptions = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine } = yield* start(deployment, options)
      yield* TestClock.adjust("10 seconds")
      const [found] = yield* engine.status
      expect(found?.status._tag).toBe("Stopped")
      return found?.status._tag === "Stopped" ? found.status.reason : ""
    })
  )

const recover = (deployment: Deployment, dryRun: boolean, reactors: ReadonlyArray<string> = []) =>
  acceptLoss(0, { dryRun, reactors }).pipe(
    Effect.provide(JournalMemory.layerOf(deployment.journal)),
    Effect.provide(CheckpointsMemory.layerOf(deployment.checkpoints)),
    Effect.provide(CursorsMemory.layerOf(deployment.cursors))
  )

/** Cuts the last frames off, as a block file that is cut short does. */
const truncate = (deployment: Deployment, frames: number) => {
  deployment.journal.log(0).frames.splice(-frames)
}

/** As above, in an engine that takes no checkpoint meanwhile; the one of its end is dropped. */
const addEachWithoutCheckpoint = (deployment: Deployment, count: number) => {
  const kept = [...deployment.checkpoints.of(0).records]
  return Effect.tap(addEach(deployment, count), () =>
    Effect.sync(() => {
      deployment.checkpoints.of(0).records = kept
    })
  )
}

const layerOf = (service: Checkpoints["Service"]): Layer.Layer<Checkpoints> => Layer.succeed(Checkpoints, service)

const stuck: Reactor<never> = { name: "stuck", handle: () => Effect.never }
const follower: Reactor<never> = { name: "follower", handle: () => Effect.void }

describe("rules 4 and 8, recovery", () => {
  it.effect("given a stopped engine, when another starts on its stores, then it has every acknowledged fact", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 25, {}, 4)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, { organization: "org_1" }, get)).toBe(7)
      expect(yield* engine.ask(Counter, { organization: "org_4" }, get)).toBe(6)
    })
  )

  it.effect("given the same log, then replay alone and checkpoint plus tail give the same state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      // the reactor that never finishes keeps the whole log
      const reactors = [stuck]
      yield* addEach(deployment, 30, { reactors, config: { checkpointFrames: 10 } }, 3)
      yield* addEach(deployment, 7, { reactors, config: { checkpointFrames: 1_000 } }, 3)
      const states = (of: Deployment) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { engine } = yield* serving(of)
            return yield* Effect.forEach(["org_1", "org_2", "org_3"], (organization) =>
              engine.state(Counter, { organization })
            )
          })
        )
      const replayOnly = { ...deployment, checkpoints: CheckpointsMemory.makeStore() }
      const replayed = yield* states(replayOnly)
      expect(yield* states(deployment)).toEqual(replayed)
      expect(replayed.map(({ total }) => total)).toEqual([13, 12, 12])
    })
  )

  it.effect("ids of decisions are derived from their place: different each, and the same fact after a restart", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const ids = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (n) =>
        engine.ask(Counter, { organization: `org_${n % 3}` }, { _tag: "Identify" })
      )
      expect(new Set(ids).size).toBe(6)
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    })
  )

  it.effect("given facts of an older version, then they are upcast, and states of older checkpoints too", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const build = (version: number) =>
        Actor.make<number, { readonly value: number }, { readonly sum: number }, number>({
          kind: "tally",
          version,
          command: Schema.Number,
          fact: Schema.Struct({ value: Schema.Number }),
          state: Schema.Struct({ sum: Schema.Number }),
          initial: () => ({ sum: 0 }),
          decide: (state, command) => Actor.decided({ facts: [{ value: command }], reply: state.sum + command }),
          evolve: (state, fact) => ({ sum: state.sum + fact.value }),
          ...(version === 1
            ? {}
            : {
                // version 2 counts in hundreds
                upcastFact: { 1: (fact) => ({ value: (fact as { value: number }).value * 100 }) },
                upcastState: { 1: (state) => ({ sum: (state as { sum: number }).sum * 100 }) }
              })
        })
      const [one, two] = [build(1), build(2)]
      const first = yield* serving(deployment, { actors: [one], lanes: [], config: { checkpointFrames: 4 } })
      for (let n = 0; n < 5; n++) yield* first.engine.ask(one, target, 1)
      yield* TestClock.adjust(0)
      const cut = recordsOf(deployment)
      yield* first.stop
      // only the first checkpoint is kept, so that a tail of old facts is left
      deployment.checkpoints.of(0).records = deployment.checkpoints.of(0).records.filter((r) => r.sequence === cut[0])
      const second = yield* serving(deployment, { actors: [two], lanes: [] })
      expect(yield* second.engine.ask(two, target, 7)).toBe(507)
    })
  )
})

describe("rule 9, checkpoints and purge", () => {
  it.effect("given many frames, then two checkpoints stay, and the log begins at the second-newest", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 50, { config: { checkpointFrames: 10 } }, 3)
      const records = recordsOf(deployment)
      expect(records.length).toBe(2)
      expect(deployment.journal.log(0).firstSequence).toBe(records[0])
      for (const rows of deployment.checkpoints.of(0).rows.values()) expect(rows.length).toBeLessThanOrEqual(3)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, { organization: "org_1" }, get)).toBe(17)
    })
  )

  it.effect("given a reactor that lags, then nothing it has not seen is purged", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 50, { config: { checkpointFrames: 10 }, reactors: [stuck] })
      expect(deployment.journal.log(0).firstSequence).toBe(1)
    })
  )

  it.effect("given an append under way, then a checkpoint holds the state of the frame it names", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 40, { config: { checkpointFrames: 3 } })
      for (const rows of deployment.checkpoints.of(0).rows.values()) {
        for (const row of rows) {
          // frame 1 is the claim, each later one adds one
          expect(JSON.parse(row.state ?? "null").total).toBe(row.sequence - 1)
        }
      }
    })
  )

  it.effect.each([-1, 0, 1, 1.5, 12, 1_000, Number.NaN])("the purge wrapper does nothing for sequence %s", (sequence) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10)
      expect(yield* purge(JournalMemory.openLog(deployment.journal, 0), sequence)).toBe(false)
      expect(deployment.journal.log(0).frames.length).toBe(11)
    })
  )

  it.effect("given a log that is small, then checkpoints come often enough to purge it before it is full", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ maximumBytes: 40_000 })
      yield* addEach(deployment, 400)
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, target, get)).toBe(400)
      expect(deployment.journal.log(0).bytes).toBeLessThan(20_000)
    })
  )

  it.effect("given a checkpoint whose answer was lost after the commit, then the next one builds on it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const port = CheckpointsMemory.make(deployment.checkpoints)
      let lose = 1
      const flaky: Checkpoints["Service"] = {
        ...port,
        save: (write) =>
          Effect.flatMap(port.save(write), () =>
            lose-- > 0 ? Effect.fail({ _tag: "CheckpointsUnavailable", message: "answer lost" } as never) : Effect.void
          )
      }
      yield* addEach(deployment, 30, {
        config: { checkpointFrames: 10 },
        checkpointsLayer: layerOf(flaky)
      })
      const { engine } = yield* serving(deployment)
      expect(yield* engine.ask(Counter, target, get)).toBe(30)
      expect(recordsOf(deployment).length).toBe(2)
    })
  )
})

describe("rule 9, witnesses", () => {
  it.effect(
    "given a log cut short below a checkpoint, then the partition refuses to start and says what was lost",
    () =>
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
      expect(yield* refusal(deployment, { reactors: [follower] })).toContain("the cursor of follower has seen frame")
    })
  )

  it.effect("given a young log that lost all its frames, then the first checkpoint finds it", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      // killed, as far as its stores can tell: it writes no checkpoint of its end
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
        // ids of the lost frames are never derived again
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

describe("rule 10, bounded actors", () => {
  it.effect("given idle actors, then they leave memory after a checkpoint and come back with their state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, { config: { idleMillis: 10_000, checkpointMillis: 5_000 } })
      for (let n = 0; n < 20; n++) yield* engine.ask(Counter, { organization: `org_${n}` }, add(n))
      yield* TestClock.adjust("1 minute")
      expect(yield* engine.inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
      expect(yield* engine.ask(Counter, { organization: "org_7" }, add(1))).toBe(8)
      expect(yield* engine.state(Counter, { organization: "org_19" })).toMatchObject({ total: 19 })
    })
  )

  it.effect("given an actor that is being loaded, then other organizations are answered meanwhile", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 10, { config: { checkpointFrames: 2 } }, 2)
      const port = CheckpointsMemory.make(deployment.checkpoints)
      const slow: Checkpoints["Service"] = {
        ...port,
        load: (partition, addresses, through) =>
          addresses.some(({ organization }) => organization === "org_1")
            ? Effect.delay(port.load(partition, addresses, through), "1 minute")
            : port.load(partition, addresses, through)
      }
      const { engine } = yield* serving(deployment, { checkpointsLayer: layerOf(slow) })
      const waiting = yield* Effect.forkChild(
        Effect.all([engine.ask(Counter, target, get), engine.ask(Counter, target, add(1))], {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust(0)
      expect(
        yield* engine.ask(Counter, { organization: "org_3" }, get).pipe(Effect.timeoutOption("10 seconds"))
      ).toBeDefined()
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(waiting)).toEqual([5, 6])
    })
  )

  it.effect(
    "given a state that would pass 64 KiB, then that command is refused for good, and the others of its drain are decided",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* serving(makeDeployment())
        const text = "x".repeat(9_000)
        const note = () => Effect.result(engine.ask(Counter, target, { _tag: "Note", text }))
        const results = yield* Effect.all(
          [...Array.from({ length: 9 }, note), Effect.result(engine.ask(Counter, { organization: "org_2" }, add(1)))],
          { concurrency: "unbounded" }
        )
        const failures = results.filter((result) => result._tag === "Failure").map((result) => result.failure)
        expect(failures).toMatchObject([
          { _tag: "StateTooLarge", retryable: false },
          { _tag: "StateTooLarge", retryable: false }
        ])
        expect((yield* engine.state(Counter, target)).notes.length).toBe(7)
        expect(yield* engine.state(Counter, { organization: "org_2" })).toMatchObject({ total: 1 })
      })
  )

  it.effect("given facts that no frame can hold, then the command is refused for good", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const error = yield* Effect.flip(engine.ask(Counter, target, { _tag: "Note", text: "x".repeat(600_000) }))
      expect(error).toMatchObject({ _tag: "DecisionTooLarge", retryable: false })
    })
  )

  it.effect(
    "given timers, then they fire at their time with the true now, also for actors that left memory or slept through a restart",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const options = { config: { idleMillis: 10_000, checkpointMillis: 5_000 } }
        const first = yield* serving(deployment, options)
        yield* first.engine.ask(Reminder, { organization: "soon" }, { _tag: "Set", at: 3_000 })
        yield* first.engine.ask(Reminder, { organization: "evicted" }, { _tag: "Set", at: 600_000 })
        yield* first.engine.ask(Reminder, { organization: "asleep" }, { _tag: "Set", at: 900_000 })
        yield* TestClock.adjust("3 seconds")
        expect(yield* first.engine.ask(Reminder, { organization: "soon" }, { _tag: "Rang" })).toEqual([3_000])
        yield* TestClock.adjust("5 minutes")
        expect(yield* first.engine.inspectPartition(0)).toMatchObject({ actorsInMemory: 0 })
        yield* TestClock.setTime(600_000)
        expect(yield* first.engine.ask(Reminder, { organization: "evicted" }, { _tag: "Rang" })).toEqual([600_000])
        yield* first.stop
        yield* TestClock.setTime(2_000_000)
        const second = yield* serving(deployment, options)
        yield* TestClock.adjust(0)
        expect(yield* second.engine.ask(Reminder, { organization: "asleep" }, { _tag: "Rang" })).toEqual([2_000_000])
      })
  )

  it.effect("given many overdue timers, then they fire in the order of time and name, at most 256 a frame", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      yield* Effect.forEach(
        Array.from({ length: 600 }, (_, n) => n),
        (n) =>
          first.engine.ask(
            Reminder,
            { organization: `org_${String(n).padStart(3, "0")}` },
            { _tag: "Set", at: 1_000 + (n % 7) }
          ),
        { concurrency: "unbounded", discard: true }
      )
      yield* first.stop
      yield* TestClock.setTime(1_000_000)
      const from = deployment.journal.log(0).frames.length
      const { engine } = yield* serving(deployment)
      const ringsOfLast = engine.ask(Reminder, { organization: "org_594" }, { _tag: "Rang" })
      yield* Effect.repeat(Effect.tap(ringsOfLast, Effect.yieldNow), { until: (rings) => rings.length > 0 })
      const frames = deployment.journal
        .log(0)
        .frames.slice(from)
        .map((frame) => decodeFrame(frame.bytes))
      for (const frame of frames) expect(frame.records.length).toBeLessThanOrEqual(256)
      const fired = frames.flatMap((frame) => frame.records.map(({ actor }) => actor.organization))
      const expected = Array.from({ length: 600 }, (_, n) => n)
        .sort((a, b) => (a % 7) - (b % 7) || a - b)
        .map((n) => `org_${String(n).padStart(3, "0")}`)
      expect(fired).toEqual(expected)
    })
  )
})

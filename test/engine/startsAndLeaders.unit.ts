/** Starts that must not be refused, and when what an owner has in memory is no longer to be believed. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import { layerOf, openLog } from "../../src/engine/memory/JournalMemory.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import { Journal, type Log } from "../../src/engine/ports/Journal.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { type Deployment, elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { add, follower, get, target } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

/** Answers an id; with a fact or without. */
const Namer = Actor.make<boolean, null, null, string>({
  kind: "namer",
  command: Schema.Boolean,
  fact: Schema.Null,
  state: Schema.Null,
  initial: () => null,
  decide: (_, isStored, { id }) => Actor.decided({ facts: isStored ? [null] : [], reply: id(0) }),
  evolve: () => null
})

describe("rule 9, a start", () => {
  it.effect("beside an owner that still writes and moves its cursors is not told that frames are lost", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const owner = yield* serving(deployment, { reactors: [follower] })
      yield* owner.engine.ask(Counter, target, add(1))
      const port = CursorsMemory.make(deployment.cursors)
      let looks = 0
      const slowList: Cursors["Service"] = {
        ...port,
        // As long as the answer takes, the owner stores a frame and its reactor deals with it.
        list: (partition) =>
          Effect.gen(function* () {
            if (looks++ < 3) {
              yield* Effect.orDie(owner.engine.ask(Counter, target, add(1)))
              const { sequence } = partitionIn(owner.engine).core.head
              while ((deployment.cursors.cursors.get("0/follower")?.sequence ?? 0) < sequence) yield* Effect.yieldNow
            }
            return yield* port.list(partition)
          })
      }
      const second = yield* start(deployment, {
        reactors: [follower],
        cursorsLayer: Layer.succeed(Cursors, slowList)
      })
      yield* elapse(5)
      expect(partitionIn(second.engine).status).toEqual({ _tag: "Serving" })
      expect(yield* second.engine.ask(Counter, target, add(1))).toBe(looks > 3 ? 5 : looks + 2)
    })
  )

  it.effect("with a reactor that was added, taken away while the log was purged, and added again, serves", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const seen: Array<number> = []
      const extra: Reactor<never> = {
        name: "extra",
        handle: (records) => Effect.sync(() => void seen.push(...records.map(({ sequence }) => sequence)))
      }
      const config = { checkpointFrames: 3 }
      const run = (reactors: ReadonlyArray<Reactor<never>>, count: number) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { engine, stop } = yield* start(deployment, { reactors, config })
            yield* elapse(5)
            expect(partitionIn(engine).status).toEqual({ _tag: "Serving" })
            for (let n = 0; n < count; n++) {
              yield* engine.ask(Counter, target, add(1))
              yield* elapse(0.5)
            }
            const { sequence } = partitionIn(engine).core.head
            yield* stop
            return sequence
          })
        )
      yield* run([follower], 5)
      const left = yield* run([follower, extra], 10)
      yield* run([follower], 40)
      expect(deployment.journal.log(0).firstSequence).toBeGreaterThan(left + 1)
      seen.length = 0
      yield* run([follower, extra], 3)
      // It begins like a new one with what is left of the log, and misses nothing from there on.
      const last = deployment.journal.log(0).frames.at(-1)!.sequence
      expect(Math.min(...seen)).toBeGreaterThan(left)
      expect(seen).toContain(last)
      expect(new Set(seen).size).toBe(seen.length)
    })
  )
})

describe("rule 4, ids", () => {
  it.effect("of replies without facts do not repeat, nor do they equal those that are stored", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors: [Namer, Counter] })
      const ids: Array<string> = []
      for (let n = 0; n < 20; n++) {
        const organizations = Array.from({ length: 5 }, (_, of) => ({ organization: `org_${of}` }))
        ids.push(
          ...(yield* Effect.forEach(organizations, (at) => engine.ask(Namer, at, n % 3 === 0), {
            concurrency: "unbounded"
          }))
        )
      }
      expect(new Set(ids).size).toBe(100)
    })
  )
})

describe("rule 11, a reactor", () => {
  it.effect("whose `wants` throws on a record parks that organization alone, and goes on with the others", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const seen: Array<string> = []
      const picky: Reactor<never> = {
        name: "picky",
        wants: ({ organization }) => {
          if (organization === "bad") throw new Error("no idea")
          return true
        },
        handle: (records) => Effect.sync(() => void seen.push(...records.map(({ organization }) => organization)))
      }
      const { engine } = yield* serving(deployment, { reactors: [picky] })
      for (const organization of ["good", "bad", "good", "bad", "better"])
        yield* engine.ask(Counter, { organization }, add(1))
      yield* elapse(20)
      expect(seen).toEqual(["good", "good", "better"])
      expect(deployment.cursors.parked.map(({ error, organization }) => [organization, error])).toEqual([
        ["bad", expect.stringContaining("no idea")],
        ["bad", expect.stringContaining("behind")]
      ])
      expect(deployment.cursors.cursors.get("0/picky")?.sequence).toBe(partitionIn(engine).core.head.sequence)
    })
  )
})

describe("callers", () => {
  it.effect("are answered, all of them, beside a key that is none and a rule that breaks, and the shutdown ends", () =>
    Effect.gen(function* () {
      const { engine, stop } = yield* serving(makeDeployment())
      const asks = yield* Effect.forEach(
        [
          ["a", "", add(1)],
          ["b", "k".repeat(300), add(1)],
          ["c", "", { _tag: "BreakEvolve" as const }],
          ["d", "a\0b", add(1)],
          ["e", "", add(1)]
        ] as const,
        ([organization, key, command]) =>
          Effect.forkChild(Effect.exit(engine.ask(Counter, { organization, key }, command)), {
            startImmediately: true
          })
      )
      yield* elapse(0.1, 50)
      const answers = asks.map((ask) => ask.pollUnsafe())
      expect(answers.every((answer) => answer !== undefined)).toBe(true)
      const [a, b, c, d, e] = yield* Effect.forEach(asks, Fiber.join)
      expect([a, e]).toEqual([Exit.succeed(1), Exit.succeed(1)])
      for (const exit of [b, c, d]) expect(Exit.isFailure(exit!)).toBe(true)
      expect(partitionIn(engine).core.probe.counts).toMatchObject({ commands: 0, stalledCommands: 0 })
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* elapse(1)
      expect(stopping.pollUnsafe()).toBeDefined()
    })
  )
})

describe("rule 6, a machine that was suspended", () => {
  it.effect("answers nothing from before, although its monotonic clock stood still", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const sleeper = yield* serving(deployment)
      yield* sleeper.engine.ask(Counter, target, add(1))
      yield* sleeper.engine.ask(Counter, { ...target, key: "limit" }, add(1))
      // Suspended: to this process no time passes but on the wall.
      const { context } = partitionIn(sleeper.engine)
      const { clock } = context
      const monotonic = clock.monotonicTimeNanosUnsafe()
      Object.assign(context, {
        clock: Object.create(clock, { monotonicTimeNanosUnsafe: { value: () => monotonic } })
      })
      const other = yield* serving(deployment)
      expect(yield* other.engine.ask(Counter, target, add(10))).toBe(11)
      // The wall's clock alone.
      yield* TestClock.setTime(7_000)
      const late: Array<Exit.Exit<unknown, unknown>> = []
      const lane = sleeper.engine.askLaneNow(Limiter, target, null, (exit) => void late.push(exit))
      expect(lane).toBeUndefined()
      const state = yield* Effect.exit(sleeper.engine.state(Counter, target))
      if (Exit.isSuccess(state)) expect(state.value).toMatchObject({ total: 11 })
      const look = yield* Effect.exit(sleeper.engine.ask(Counter, target, get))
      if (Exit.isSuccess(look)) expect(look.value).toBe(11)
      yield* elapse(1)
      expect(late.length).toBe(1)
    })
  )
})

describe("rule 6, a leader that was deposed", () => {
  /** Answers reads from how the log was when `depose` was called. Publishes to it get no answer. */
  const deposable = (deployment: Deployment, leaderMayBeDeposed: boolean) => {
    const truth = openLog(deployment.journal, 0)
    let frozen: Effect.Success<Log["state"]> | undefined
    const publish: Log["publish"] = (request) =>
      Effect.suspend(() =>
        frozen === undefined
          ? truth.publish(request)
          : Effect.as(Effect.sleep(request.timeoutMillis), { _tag: "NoAnswer", reason: "timeout" } as const)
      )
    const state = Effect.suspend(() => (frozen === undefined ? truth.state : Effect.succeed(frozen)))
    const between = (log: Log): Log =>
      Object.create(log, {
        leaderMayBeDeposed: { value: leaderMayBeDeposed },
        publish: { value: publish },
        state: { value: state }
      })
    const layer = Layer.effect(
      Journal,
      Effect.map(Journal, (journal) =>
        Journal.of({ ...journal, open: (...parameters) => Effect.map(journal.open(...parameters), between) })
      )
    ).pipe(Layer.provide(layerOf(deployment.journal)))
    return {
      layer,
      depose: Effect.map(truth.state, (state) => {
        frozen = state
      }),
      restore: Effect.sync(() => {
        frozen = undefined
      })
    }
  }

  it.effect("proves nothing by what it says of the log's end: after five seconds nothing is answered from memory", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { depose, layer, restore } = deposable(deployment, true)
      const old = yield* serving(deployment, { journalLayer: layer })
      yield* old.engine.ask(Counter, target, add(1))
      yield* old.engine.ask(Counter, { ...target, key: "limit" }, add(5))
      yield* depose
      const other = yield* serving(deployment)
      yield* other.engine.ask(Counter, target, add(10))
      yield* elapse(6)
      const asks = yield* Effect.forEach(
        [
          old.engine.ask(Counter, target, get),
          Effect.map(old.engine.state(Counter, target), ({ total }) => total),
          old.engine.askLane(Limiter, target, null)
        ] as ReadonlyArray<Effect.Effect<unknown, unknown>>,
        (ask) => Effect.forkChild(Effect.exit(ask), { startImmediately: true })
      )
      // An append that is not answered takes ten seconds, and so does the claim of the next life.
      yield* elapse(30)
      for (const ask of asks) {
        expect(ask.pollUnsafe()).toBeDefined()
        expect(Exit.isFailure(yield* Fiber.join(ask))).toBe(true)
      }
      yield* restore
      yield* other.stop
      yield* elapse(60)
      expect(yield* old.engine.ask(Counter, target, get)).toBe(11)
    })
  )

  it.effect("an owner in peace goes on answering, by an empty frame now and then where somebody asks", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { layer } = deposable(deployment, true)
      const { engine } = yield* serving(deployment, { journalLayer: layer })
      yield* engine.ask(Counter, target, add(1))
      const frames = () => deployment.journal.log(0).frames.length
      const before = frames()
      for (let second = 0; second < 30; second++) {
        expect(yield* engine.ask(Counter, target, get)).toBe(1)
        expect(yield* engine.askLane(Limiter, target, null)).toBe(true)
        yield* elapse(1)
      }
      expect(frames() - before).toBeGreaterThan(3)
      expect(frames() - before).toBeLessThan(15)
      const idle = frames()
      yield* elapse(120, 5_000)
      expect(frames()).toBe(idle)
      expect(partitionIn(engine).core.head.epoch).toBe(1)
    })
  )

  it.effect("one server of its own proves by what it says, without a frame", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { layer } = deposable(deployment, false)
      const { engine } = yield* serving(deployment, { journalLayer: layer })
      yield* engine.ask(Counter, target, add(1))
      const before = deployment.journal.log(0).frames.length
      for (let second = 0; second < 30; second++) {
        expect(yield* engine.ask(Counter, target, get)).toBe(1)
        yield* elapse(1)
      }
      expect(deployment.journal.log(0).frames.length).toBe(before)
    })
  )
})

describe("rule 14, a log that is full", () => {
  const note = { _tag: "Note" as const, text: "x".repeat(500) }

  it.effect("serves again by itself when checkpoints have made room, and answers what needs no fact meanwhile", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ maximumBytes: 40_000 })
      const { engine } = yield* serving(deployment, { reactors: [follower] })
      let refused = 0
      let stored = 0
      for (let n = 0; n < 400; n++) {
        const exit = yield* Effect.exit(engine.ask(Counter, { organization: `org_${n % 20}` }, note))
        if (Exit.isSuccess(exit)) stored++
        else {
          refused++
          expect(exit).toMatchObject({ cause: { reasons: [{ error: { _tag: "PartitionUnavailable" } }] } })
          // No fact, no room needed.
          expect(yield* engine.ask(Counter, { organization: "org_1" }, get)).toBe(0)
        }
        yield* elapse(0.2, 100)
      }
      expect(stored).toBeGreaterThan(300)
      expect(partitionIn(engine).core.head.epoch).toBe(1)
      const notes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) => engine.state(Counter, { organization: `org_${n}` })
      )
      expect(notes.reduce((sum, state) => sum + state.notes.length, 0)).toBe(stored)
      expect(refused).toBeLessThan(100)
    })
  )

  it.effect("that says Full although its figures say that there is room is asked once a second, not in a loop", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const full = { _tag: "answer", answer: { _tag: "Full" } } as const
      faulty.publishes.push(...Array.from({ length: 10_000 }, () => full))
      const { engine } = yield* start(deployment, { journalLayer: faulty.layer })
      yield* elapse(20)
      expect(faulty.attempts.length).toBeLessThan(50)
      expect(yield* engine.status).toMatchObject([{ status: { _tag: "Starting" } }])
      faulty.publishes.length = 0
      yield* elapse(3)
      expect(yield* engine.ask(Counter, target, add(1))).toBe(1)
    })
  )
})

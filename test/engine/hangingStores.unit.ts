/** A database that hangs instead of refusing (docs/architecture.md, rule 16): only what is not in memory waits for it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { loadDeadlineMillis, lookupDeadlineMillis } from "../../src/engine/limits.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter, Limiter, Reminder } from "./support/actors.ts"
import { type Deployment, elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { add, get } from "./support/durability.ts"

/** Every call never answers while `isHanging`; those that were begun then never do. */
const hanging = (deployment: Deployment) => {
  const database = { isHanging: false, calls: new Set<string>() }
  const hang = <Port extends object>(port: Port): Port =>
    Object.fromEntries(
      Object.entries(port).map(([name, method]) => {
        const call = (make: () => Effect.Effect<unknown, unknown>) =>
          Effect.suspend(() => {
            if (!database.isHanging) return make()
            database.calls.add(name)
            return Effect.never
          })
        if (typeof method !== "function") return [name, call(() => method)]
        return [name, (...parameters: ReadonlyArray<unknown>) => call(() => method(...parameters))]
      })
    ) as Port
  return {
    database,
    layers: {
      checkpointsLayer: Layer.succeed(
        Checkpoints,
        Checkpoints.of(hang(CheckpointsMemory.make(deployment.checkpoints)))
      ),
      cursorsLayer: Layer.succeed(Cursors, Cursors.of(hang(CursorsMemory.make(deployment.cursors))))
    }
  }
}

/** A shutdown would wait for the clock, which stands still when a test has ended. */
const healAtEnd = (database: ReturnType<typeof hanging>["database"]) =>
  Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sync(() => {
        database.isHanging = false
      }),
      elapse(90, 5_000)
    )
  )

const hot = { organization: "hot" }
const coldOf = (n: number) => ({ organization: `cold_${n}` })

/** A deployment whose checkpoint has cold organizations, one of them with a timer; `hot` is in memory of the engine that runs. */
const prepared = (reactors: ReadonlyArray<Reactor<never>> = [], coldTimer = 1e12) =>
  Effect.gen(function* () {
    const deployment = makeDeployment()
    const before = yield* serving(deployment, { reactors })
    for (let n = 0; n < 10; n++) yield* before.engine.ask(Counter, coldOf(n), add(n))
    yield* before.engine.ask(Reminder, coldOf(0), { _tag: "Set", at: coldTimer })
    yield* before.engine.ask(Counter, hot, add(1))
    yield* elapse(1)
    yield* before.stop
    const { database, layers } = hanging(deployment)
    const config = { checkpointMillis: 20_000, checkpointActors: 20, shutdownMillis: 5_000 }
    const running = yield* serving(deployment, { ...layers, reactors, config })
    yield* running.engine.ask(Counter, hot, get)
    yield* healAtEnd(database)
    return { ...running, deployment, database }
  })

const minutes = <E>(count: number, each: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    for (let n = 0; n < count; n++) {
      yield* each
      yield* elapse(60, 5_000)
    }
  })

describe("rule 16, a database that hangs for ten minutes", () => {
  it.effect("actors in memory, their timers and lanes answer as ever, and nothing restarts", () =>
    Effect.gen(function* () {
      const { database, engine } = yield* prepared()
      yield* engine.ask(Reminder, hot, { _tag: "Rang" })
      yield* engine.ask(Counter, { ...hot, key: "limit" }, get)
      const { core } = partitionIn(engine)
      const { epoch } = core.head
      database.isHanging = true
      let total = 1
      yield* minutes(
        10,
        Effect.gen(function* () {
          const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          total++
          // No time passes while they are answered.
          expect(yield* engine.ask(Counter, hot, add(1))).toBe(total)
          expect(yield* engine.askLane(Limiter, hot, null)).toBe(true)
          yield* engine.ask(Reminder, hot, { _tag: "Set", at: now + 10_000 })
          yield* elapse(10)
          expect((yield* engine.ask(Reminder, hot, { _tag: "Rang" })).at(-1)).toBe(now + 10_000)
        })
      )
      expect([core.head.epoch, partitionIn(engine).status]).toEqual([epoch, { _tag: "Serving" }])
      expect(database.calls).toContain("save")
    })
  )

  it.effect(
    "a cold actor is answered PartitionUnavailable within the deadline of a load, and served when it is over",
    () =>
      Effect.gen(function* () {
        const { database, engine } = yield* prepared()
        database.isHanging = true
        yield* minutes(
          3,
          Effect.gen(function* () {
            const asks = yield* Effect.forEach([1, 2, 3], (n) =>
              Effect.forkChild(Effect.flip(engine.ask(Counter, coldOf(n), get)), { startImmediately: true })
            )
            const lane = yield* Effect.forkChild(Effect.flip(engine.askLane(Limiter, coldOf(4), null)), {
              startImmediately: true
            })
            yield* elapse(loadDeadlineMillis / 1_000 + 1)
            for (const ask of [...asks, lane]) {
              expect(ask.pollUnsafe()).toBeDefined()
              expect(yield* Fiber.join<unknown, unknown>(ask)).toMatchObject({
                _tag: "PartitionUnavailable",
                retryable: true
              })
            }
          })
        )
        database.isHanging = false
        yield* elapse(10)
        expect(yield* engine.ask(Counter, coldOf(3), get)).toBe(3)
      })
  )

  it.effect("commands that wait for loads do not shut out who needs none, however many there are", () =>
    Effect.gen(function* () {
      const { database, engine } = yield* prepared()
      database.isHanging = true
      const flood = Effect.forEach(
        Array.from({ length: 9_000 }, (_, n) => n),
        (n) => Effect.forkChild(Effect.exit(engine.ask(Counter, coldOf(n), get)), { startImmediately: true })
      )
      const fibers = yield* flood
      expect(yield* engine.ask(Counter, hot, add(1))).toBe(2)
      expect(partitionIn(engine).core.probe.counts.stalledCommands).toBeLessThanOrEqual(4_096)
      yield* elapse(60)
      // A hot actor of an organization with cold ones that wait, too.
      const [stalled] = yield* Effect.forEach([0], () =>
        Effect.forkChild(Effect.exit(engine.ask(Counter, { ...hot, key: "cold" }, get)), { startImmediately: true })
      )
      expect(yield* engine.ask(Counter, hot, add(1))).toBe(3)
      yield* elapse(60)
      for (const fiber of [...fibers, stalled!]) {
        const exit = yield* Fiber.join(fiber)
        expect(Exit.isFailure(exit)).toBe(true)
      }
      expect(partitionIn(engine).core.probe.counts).toMatchObject({ commands: 0, stalledCommands: 0 })
    })
  )

  it.effect("a timer of an actor that is not in memory holds back no other, and rings afterwards", () =>
    Effect.gen(function* () {
      const { database, engine } = yield* prepared([], 30_000)
      yield* engine.ask(Reminder, hot, { _tag: "Set", at: 40_000 })
      database.isHanging = true
      yield* TestClock.setTime(40_000)
      yield* elapse(2)
      const [rang] = yield* engine.ask(Reminder, hot, { _tag: "Rang" })
      expect(rang).toBeGreaterThanOrEqual(40_000)
      expect(rang).toBeLessThanOrEqual(42_000)
      yield* minutes(9, Effect.void)
      database.isHanging = false
      yield* elapse(16)
      const [late] = yield* engine.ask(Reminder, coldOf(0), { _tag: "Rang" })
      expect(late).toBeGreaterThan(500_000)
    })
  )

  it.effect("a shutdown ends, and what was answered meanwhile is there at the next start", () =>
    Effect.gen(function* () {
      const { database, deployment, engine, stop } = yield* prepared()
      database.isHanging = true
      yield* minutes(2, Effect.asVoid(engine.ask(Counter, hot, add(1))))
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* elapse(120, 1_000)
      expect(stopping.pollUnsafe()).toBeDefined()
      const next = yield* serving(deployment)
      expect(yield* next.engine.ask(Counter, hot, get)).toBe(3)
    })
  )

  it.effect(
    "a start waits, says why, answers PartitionUnavailable at once, and goes on by itself when it is over",
    () =>
      Effect.gen(function* () {
        const { deployment, stop } = yield* prepared()
        yield* stop
        const { database, layers } = hanging(deployment)
        // It is asked for the number of partitions first, and that call is the platform's own.
        const { engine } = yield* start(deployment, { ...layers })
        yield* healAtEnd(database)
        database.isHanging = true
        partitionIn(engine).restart("a test")
        yield* elapse(1)
        yield* minutes(
          5,
          Effect.gen(function* () {
            const error = yield* Effect.flip(engine.ask(Counter, hot, get))
            expect(error).toMatchObject({ _tag: "PartitionUnavailable", retryable: true })
          })
        )
        expect(yield* engine.status).toMatchObject([{ status: { _tag: "Starting" } }])
        database.isHanging = false
        yield* elapse(35)
        yield* engine.ready
        expect(yield* engine.ask(Counter, hot, get)).toBe(1)
      })
  )

  it.effect("a reactor goes on where it was, each record once", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const reactor: Reactor<never> = {
        name: "sums",
        handle: (records) => Effect.sync(() => void done.push(...records.map(({ sequence }) => sequence)))
      }
      const { database, engine } = yield* prepared([reactor])
      done.length = 0
      database.isHanging = true
      yield* minutes(3, Effect.asVoid(engine.ask(Counter, hot, add(1))))
      expect(done).toEqual([])
      database.isHanging = false
      yield* elapse(100)
      expect(done.length).toBe(3)
      expect([...new Set(done)]).toEqual(done)
    })
  )
})

describe("rule 16, a load", () => {
  const withLoad = (deployment: Deployment, load: Checkpoints["Service"]["load"]) => ({
    checkpointsLayer: Layer.succeed(Checkpoints, {
      ...CheckpointsMemory.make(deployment.checkpoints),
      load
    })
  })

  it.effect("that dies of a defect is answered, and the next one tries again", () =>
    Effect.gen(function* () {
      const { deployment, stop } = yield* prepared()
      yield* stop
      const port = CheckpointsMemory.make(deployment.checkpoints)
      let isBroken = true
      const { engine } = yield* serving(
        deployment,
        withLoad(deployment, (...of) => (isBroken ? Effect.die(new Error("a defect")) : port.load(...of)))
      )
      const ask = yield* Effect.forkChild(Effect.flip(engine.ask(Counter, coldOf(2), get)), { startImmediately: true })
      yield* elapse(5)
      expect(ask.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionUnavailable" })
      isBroken = false
      yield* elapse(2)
      expect(yield* engine.ask(Counter, coldOf(2), get)).toBe(2)
      expect(partitionIn(engine).core.head.epoch).toBe(3)
    })
  )

  it.effect("of one organization that fails is answered to its callers alone, and restarts nothing", () =>
    Effect.gen(function* () {
      const { deployment, stop } = yield* prepared()
      yield* stop
      const port = CheckpointsMemory.make(deployment.checkpoints)
      const { engine } = yield* serving(
        deployment,
        withLoad(deployment, (partition, addresses, through) =>
          addresses.some(({ organization }) => organization === "cold_1")
            ? Effect.never
            : port.load(partition, addresses, through)
        )
      )
      const { core } = partitionIn(engine)
      const { epoch } = core.head
      const cold = yield* Effect.forEach([1, 2, 3], () =>
        Effect.forkChild(Effect.flip(engine.ask(Counter, coldOf(1), get)), { startImmediately: true })
      )
      yield* elapse(0.001)
      for (let n = 1; n <= 5; n++) {
        expect(yield* engine.ask(Counter, hot, add(1))).toBe(n + 1)
        expect(yield* engine.ask(Counter, coldOf(n + 1), get)).toBe(n + 1)
      }
      yield* elapse((lookupDeadlineMillis + loadDeadlineMillis) / 1_000)
      for (const ask of cold) expect(yield* Fiber.join(ask)).toMatchObject({ _tag: "PartitionUnavailable" })
      expect(yield* engine.ask(Counter, hot, add(1))).toBe(7)
      expect(core.head.epoch).toBe(epoch)
      expect(core.probe.counts).toMatchObject({ commands: 0, stalledCommands: 0 })
    })
  )
})

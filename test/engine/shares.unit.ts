/** Shares of a drain (docs/architecture.md, rule 19): what costs much for one kind of work costs little for the others. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import { Counter, Limiter, Reminder } from "./support/actors.ts"
import { type Deployment, elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { add, addEach, get, layerOf, target } from "./support/durability.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const each = (count: number) => Array.from({ length: count }, (_, n) => n)

/** Checkpoints that note how many actors each load asks for, and take `millis` for it. */
const countingLoads = (deployment: Deployment, millis: number) => {
  const sizes: Array<number> = []
  const port = CheckpointsMemory.make(deployment.checkpoints)
  const layer = Layer.succeed(Checkpoints, {
    ...port,
    load: (partition, addresses, through) => {
      sizes.push(addresses.length)
      return Effect.delay(port.load(partition, addresses, through), millis)
    }
  })
  return { sizes, layer }
}

describe("rule 19, due timers", () => {
  /** Wakes with a fact of 1,500 bytes. */
  const Alarm = Actor.make<number, { at: number | null; text: string }, { at: number | null }>({
    kind: "alarm",
    command: Schema.Number,
    fact: Schema.Struct({ at: Schema.NullOr(Schema.Number), text: Schema.String }),
    state: Schema.Struct({ at: Schema.NullOr(Schema.Number) }),
    initial: () => ({ at: null }),
    decide: (_, at) => Actor.decided({ facts: [{ at, text: "" }], reply: undefined }),
    evolve: (_, { at }) => ({ at }),
    wakeAt: ({ at }) => at ?? undefined,
    wake: () => Actor.decided({ facts: [{ at: null, text: "x".repeat(1_500) }], reply: undefined })
  })

  it.effect("in a herd leave a command room in the next frame, and signals too", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, {
        actors: [Alarm, Counter],
        journalLayer: faulty.layer,
        config: { idleMillis: 1e9 },
        signals: { bounce: () => ({ actor: Counter, key: "signals", command: add(1) }) }
      })
      yield* Effect.forEach(each(3_000), (n) => engine.ask(Alarm, { organization: `org_${n}` }, 1_000_000), {
        concurrency: 500,
        discard: true
      })
      // In memory, so that nothing of it has to be loaded.
      for (const key of ["", "signals"]) yield* engine.ask(Counter, { organization: "me", key }, get)
      const before = deployment.journal.log(0).frames.length
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      yield* TestClock.setTime(1_000_000)
      yield* SignalsMemory.make(deployment.signals).publish({
        organization: "me",
        kind: "bounce",
        data: new Uint8Array()
      })
      const ask = yield* Effect.forkChild(engine.ask(Counter, { organization: "me" }, add(1)), {
        startImmediately: true
      })
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(ask)).toBe(1)
      const frames = () =>
        deployment.journal
          .log(0)
          .frames.slice(before)
          .map(({ bytes }) => decodeFrame(bytes))
      const frameOf = (key: string) =>
        frames().findIndex(({ records }) =>
          records.some(({ actor }) => actor.organization === "me" && actor.key === key)
        )
      while (frames().flatMap(({ records }) => records).length < 3_002) yield* Effect.yieldNow
      // Behind the one that was under way, or one more.
      expect(frameOf("")).toBeLessThanOrEqual(2)
      expect(frameOf("signals")).toBeLessThanOrEqual(2)
      expect(frames().length).toBeGreaterThan(10)
    })
  )

  it.effect("of one organization's evicted actors are loaded together, and its commands do not wait for them", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      for (const key of each(256))
        yield* first.engine.ask(Reminder, { ...target, key: `${key}` }, { _tag: "Set", at: 1_000_000 })
      yield* first.stop
      const { layer, sizes } = countingLoads(deployment, 20)
      const { engine } = yield* serving(deployment, { checkpointsLayer: layer })
      yield* TestClock.setTime(1_000_000)
      yield* elapse(0.5, 20)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(256)
      expect(sizes.length).toBeLessThanOrEqual(8)
      const command = yield* Effect.forkChild(engine.ask(Counter, target, add(1)), { startImmediately: true })
      yield* elapse(0.1, 20)
      expect(command.pollUnsafe()).toBeDefined()
      for (const key of each(256)) {
        const rings = yield* engine.ask(Reminder, { ...target, key: `${key}` }, { _tag: "Rang" })
        expect(rings.length).toBe(1)
      }
    })
  )

  it.effect("are as many as actors, however often they are moved", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      for (let from = 0; from < 8_192; from += 512) {
        yield* Effect.forEach(
          each(512),
          (n) => engine.ask(Reminder, { organization: `org_${n % 64}` }, { _tag: "Set", at: 3_600_000 + from + n }),
          { concurrency: "unbounded", discard: true }
        )
      }
      expect(partitionIn(engine).core.probe.counts.timers).toBe(64)
    })
  )
})

describe("rule 19, signals", () => {
  it.effect("for actors that are not in memory are loaded ahead and together, and decided in their order", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      for (const n of each(200)) yield* first.engine.ask(Counter, { organization: `org_${n}` }, add(1))
      yield* first.stop
      const port = SignalsMemory.make(deployment.signals)
      for (const n of each(200))
        yield* port.publish({ organization: `org_${n}`, kind: "bounce", data: new Uint8Array() })
      const { layer, sizes } = countingLoads(deployment, 5)
      const { engine } = yield* serving(deployment, {
        checkpointsLayer: layer,
        signals: { bounce: () => ({ actor: Counter, key: "", command: add(10) }) }
      })
      yield* elapse(0.2, 5)
      expect(partitionIn(engine).core.head.signalSequence).toBe(200)
      expect(sizes.length).toBeLessThanOrEqual(20)
      for (const n of each(200)) expect(yield* engine.ask(Counter, { organization: `org_${n}` }, get)).toBe(11)
      const decided = deployment.journal
        .log(0)
        .frames.flatMap(({ bytes }) => decodeFrame(bytes).records)
        .slice(200)
      expect(decided.map(({ actor }) => actor.organization)).toEqual(each(200).map((n) => `org_${n}`))
    })
  )
})

describe("rule 19, lanes", () => {
  it.effect("that wait for an actor are tried again when it is there, not after every frame", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 4, { config: { checkpointFrames: 2 } })
      const port = CheckpointsMemory.make(deployment.checkpoints)
      const gate = yield* Deferred.make<void>()
      let reads = 0
      const lane = {
        ...Limiter,
        options: {
          ...Limiter.options,
          decide: (...of: Parameters<typeof Limiter.options.decide>) => {
            reads++
            return Limiter.options.decide(...of)
          }
        }
      }
      const { engine } = yield* serving(deployment, {
        lanes: [lane],
        checkpointsLayer: layerOf({
          ...port,
          load: (partition, addresses, through) =>
            addresses.some(({ key }) => key === "limit")
              ? Effect.andThen(Deferred.await(gate), port.load(partition, addresses, through))
              : port.load(partition, addresses, through)
        })
      })
      const asks = yield* Effect.forEach(each(500), () =>
        Effect.forkChild(engine.askLane(lane, target, null), { startImmediately: true })
      )
      yield* elapse(0.01, 1)
      for (const n of each(50)) expect(yield* engine.ask(Counter, { organization: "other" }, add(1))).toBe(n + 1)
      expect(reads).toBe(0)
      expect(asks.every((ask) => ask.pollUnsafe() === undefined)).toBe(true)
      yield* Deferred.succeed(gate, undefined)
      for (const ask of asks) expect(yield* Fiber.join(ask)).toBe(true)
      expect(reads).toBe(500)
    })
  )
})

describe("rule 19, memory", () => {
  it.effect("nothing is Overloaded while what fills it could leave", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      yield* addEach(deployment, 100, { config: { checkpointFrames: 10 } }, 100)
      const { engine } = yield* serving(deployment, { config: { maximumActors: 20, checkpointMillis: 1_000 } })
      yield* elapse(2)
      for (const n of each(100)) {
        const ask = yield* Effect.forkChild(engine.ask(Counter, { organization: `org_${n + 1}` }, get))
        yield* elapse(0.01, 5)
        expect(yield* Fiber.join(ask)).toBe(1)
      }
      expect(partitionIn(engine).core.probe.counts.actors).toBeLessThanOrEqual(20)
    })
  )

  it.effect("is the process's: a partition that is idle makes room for another", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const signalsLayer = SignalsMemory.layer(2)
      const config = { partitions: 2, maximumActors: 10, checkpointMillis: 1_000, checkpointActors: 5 }
      const { engine } = yield* serving(deployment, { config, signalsLayer })
      const [one, two] = [0, 1].map((partition) =>
        each(200)
          .map((n) => `org_${n}`)
          .filter((organization) => engine.partitionOf(organization) === partition)
          .slice(0, 10)
      )
      const fill = (organizations: ReadonlyArray<string>) =>
        Effect.forEach(organizations, (organization) =>
          Effect.gen(function* () {
            expect(yield* engine.ask(Counter, { organization }, add(1))).toBeGreaterThan(0)
            yield* elapse(2)
          })
        )
      yield* fill(one!)
      yield* fill(two!)
      yield* fill(one!)
      const held = [0, 1].map((id) => partitionIn(engine, id).core.probe.counts.actors)
      expect(held[0]! + held[1]!).toBeLessThanOrEqual(10)
      for (const organization of [...one!, ...two!]) {
        const total = one!.includes(organization) ? 2 : 1
        expect(yield* engine.ask(Counter, { organization }, get)).toBe(total)
      }
    })
  )
})

describe("rule 19, large states", () => {
  it.effect("a drain ends early where states near their bound have to be measured, and nobody's command is lost", () =>
    Effect.gen(function* () {
      const Pile = Actor.make<string, string, { readonly items: Array<string> }, number>({
        kind: "pile",
        command: Schema.String,
        fact: Schema.String,
        state: Schema.Struct({ items: Schema.mutable(Schema.Array(Schema.String)) }),
        initial: () => ({ items: [] }),
        copy: ({ items }) => ({ items: [...items] }),
        decide: ({ items }, text) => Actor.decided({ facts: [text], reply: items.length + 1 }),
        evolve: (state, text) => {
          state.items.push(text)
          return state
        }
      })
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, { actors: [Pile, Counter] })
      const text = "x".repeat(1_000)
      const first = yield* Effect.forEach(each(100), () => Effect.result(engine.ask(Pile, target, text)), {
        concurrency: "unbounded"
      })
      expect(first.filter(({ _tag }) => _tag === "Success").length).toBe(65)
      const mixed = yield* Effect.forEach(
        each(400),
        (n) =>
          n % 2 === 0
            ? Effect.map(Effect.result(engine.ask(Pile, target, text)), ({ _tag }) => _tag === "Failure")
            : Effect.map(engine.ask(Counter, { organization: `org_${n}` }, add(1)), (total) => total === 1),
        { concurrency: "unbounded" }
      )
      expect(mixed.every(Boolean)).toBe(true)
      expect((yield* engine.state(Pile, target)).items.length).toBe(65)
    })
  )
})

describe("rule 19, checkpoints", () => {
  it.effect("of eight partitions are written two at once, and not at the same moment", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const port = CheckpointsMemory.make(deployment.checkpoints)
      let now = 0
      let most = 0
      const begun: Array<number> = []
      const saved = new Set<number>()
      const checkpointsLayer = layerOf({
        ...port,
        save: (write) =>
          Effect.gen(function* () {
            now++
            most = Math.max(most, now)
            begun.push(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
            yield* Effect.sleep("500 millis")
            yield* port.save(write)
            saved.add(write.record.partition)
            now--
          })
      })
      const config = { partitions: 8 }
      const { engine } = yield* start(deployment, { checkpointsLayer, signalsLayer: SignalsMemory.layer(8), config })
      yield* elapse(5)
      yield* engine.ready
      for (const n of each(100)) yield* engine.ask(Counter, { organization: `org_${n}` }, add(1))
      begun.length = 0
      saved.clear()
      yield* elapse(70)
      expect(saved.size).toBe(8)
      expect(most).toBe(2)
      expect(new Set(begun.map((at) => Math.floor(at / 1_000))).size).toBeGreaterThan(3)
    })
  )
})

/** A program waits for its reactors, rebuilds one, and tries a handler without an engine (docs/reactors.md). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric } from "effect"
import * as EngineModule from "../../src/engine/Engine.ts"
import { rebuildDeadlineMillis } from "../../src/engine/limits.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import * as Reactors from "../../src/engine/Reactors.ts"
import { Account, Counter } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { metricOf } from "./support/purses.ts"

/** Sums what was added, by organization; `failsOn` makes it fail on an amount. */
const makeSums = () => {
  const sums = new Map<string, number>()
  const control = { failsOn: Number.NaN, runs: 0 }
  const reactor = Reactor.make({
    name: "sums",
    parts: [
      Reactor.facts(Counter, (records) => {
        control.runs++
        if (records.some(({ fact }) => fact._tag === "Added" && fact.amount === control.failsOn))
          return Effect.fail("not this one")
        return Reactor.onCommit(() => {
          for (const { fact, organization } of records)
            if (fact._tag === "Added") sums.set(organization, (sums.get(organization) ?? 0) + fact.amount)
        })
      })
    ]
  })
  const rebuild = (from?: "what is kept") =>
    Reactors.rebuild({
      reactor: "sums",
      clear: Reactor.onCommit(() => sums.clear()),
      ...(from === undefined ? {} : { from })
    })
  return { sums, control, reactor, rebuild }
}

const add = (engine: EngineModule.Engine["Service"], organization: string, amount: number) =>
  engine.ask(Counter, { organization }, { _tag: "Add", amount })

describe("reactors that run", () => {
  it.effect("are waited for, without a look at the clock", () =>
    Effect.gen(function* () {
      const { reactor, sums } = makeSums()
      yield* Effect.gen(function* () {
        const engine = yield* EngineModule.Engine
        yield* Reactors.settled
        for (let amount = 1; amount <= 20; amount++) {
          yield* add(engine, "org_1", amount)
          yield* Effect.raceFirst(Reactors.settled, Effect.forever(elapse(0.1, 10)))
          expect(sums.get("org_1")).toBe((amount * (amount + 1)) / 2)
        }
      }).pipe(Effect.provide(EngineModule.layerMemory({ actors: [Counter], reactors: [reactor] })))
    })
  )

  it.effect("begin anew with all that the log has, parked records too, and each counts once", () =>
    Effect.gen(function* () {
      const { control, rebuild, reactor, sums } = makeSums()
      const { engine } = yield* serving(makeDeployment({ partitions: 4 }), {
        actors: [Counter],
        reactors: [reactor],
        config: { partitions: 4 }
      })
      const settled = Effect.raceFirst(
        Effect.provideService(Reactors.settled, EngineModule.Engine, engine),
        Effect.forever(elapse(1))
      )
      control.failsOn = 3
      for (let organization = 0; organization < 8; organization++)
        for (const amount of [1, 2, 3, 4]) yield* add(engine, `org_${organization}`, amount)
      yield* settled
      expect([...sums.values()]).toEqual(Array.from({ length: 8 }, () => 3))
      control.failsOn = Number.NaN
      const rebuilt = yield* Effect.provideService(rebuild(), EngineModule.Engine, engine)
      expect(rebuilt.frames).toBeGreaterThanOrEqual(32)
      expect(sums.size).toBe(0)
      yield* add(engine, "org_0", 100)
      yield* settled
      expect([...sums].sort()).toEqual(
        Array.from({ length: 8 }, (_, organization) => [`org_${organization}`, organization === 0 ? 110 : 10])
      )
    })
  )

  it.effect("are behind by what they have still to read: nothing, where the last frames hold nothing for them", () =>
    Effect.gen(function* () {
      const { control, reactor } = makeSums()
      const { engine } = yield* serving(makeDeployment(), { actors: [Account, Counter], reactors: [reactor] })
      const lags = Effect.gen(function* () {
        const { cursors, head } = yield* Operator.of(engine).inspectPartition(0)
        const { lag, sequence } = cursors.find((cursor) => cursor.reactor === "sums")!
        const [gauge] = (yield* metricOf("sluice_cursor_lag_frames")).filter(
          ({ attributes }) => attributes?.reactor === "sums"
        )
        return { lag, gauge: gauge?.value, storedIsBehind: head.sequence - sequence }
      })
      yield* add(engine, "org_1", 1)
      yield* elapse(2)
      for (const amount of [1, 2]) yield* engine.ask(Account, { organization: "org_1" }, { _tag: "Deposit", amount })
      yield* elapse(2)
      expect(yield* lags).toEqual({ lag: 0, gauge: 0, storedIsBehind: 2 })
      control.failsOn = 7
      yield* add(engine, "org_1", 7)
      yield* elapse(0.1, 10)
      expect(yield* lags).toEqual({ lag: 1, gauge: 1, storedIsBehind: 3 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("do not, where the log was purged, unless what is kept is enough", () =>
    Effect.gen(function* () {
      const { rebuild, reactor, sums } = makeSums()
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment, {
        actors: [Counter],
        reactors: [reactor],
        config: { checkpointFrames: 2 }
      })
      for (let round = 0; round < 6; round++) {
        yield* add(engine, "org_1", 1)
        yield* add(engine, "org_1", 1)
        yield* elapse(2)
      }
      const { firstSequence, lastSequence } = yield* partitionIn(engine).log!.state
      const refused = yield* Effect.flip(Effect.provideService(rebuild(), EngineModule.Engine, engine))
      expect(refused).toMatchObject({
        _tag: "EngineRefused",
        message: expect.stringContaining(`begins at frame ${firstSequence}`)
      })
      expect(sums.get("org_1")).toBe(12)
      const { frames } = yield* Effect.provideService(rebuild("what is kept"), EngineModule.Engine, engine)
      expect(frames).toBe(lastSequence - firstSequence + 1)
      yield* elapse(2)
      expect(sums.get("org_1")).toBeGreaterThan(0)
      expect(sums.get("org_1")).toBeLessThan(12)
      // The cursor that was sent back fits the log at the next start.
      yield* stop
      const next = yield* serving(deployment, { actors: [Counter], reactors: [reactor] })
      yield* add(next.engine, "org_1", 1)
    })
  )

  it.effect("go on behind one that hangs in the database", () =>
    Effect.gen(function* () {
      const { rebuild, reactor, sums } = makeSums()
      const deployment = makeDeployment()
      const real = CursorsMemory.make(deployment.cursors)
      const hanging = Cursors.of({
        ...real,
        transact: (move, effects) =>
          move.to.sequence < move.from.sequence ? Effect.never : real.transact(move, effects)
      })
      const { engine } = yield* serving(deployment, {
        actors: [Counter],
        reactors: [reactor],
        cursorsLayer: Layer.succeed(Cursors, hanging)
      })
      yield* add(engine, "org_1", 1)
      yield* elapse(2)
      const failing = yield* Effect.forkChild(
        Effect.flip(Effect.provideService(rebuild(), EngineModule.Engine, engine)),
        { startImmediately: true }
      )
      yield* elapse(rebuildDeadlineMillis / 1000 + 1, 100)
      expect(yield* Fiber.join(failing)).toMatchObject({ _tag: "CursorsUnavailable" })
      yield* add(engine, "org_1", 2)
      yield* elapse(2)
      expect(sums.get("org_1")).toBe(3)
    })
  )

  it.effect("do not, where another process serves a partition, and nothing is cleared or sent back", () =>
    Effect.gen(function* () {
      const { rebuild, reactor, sums } = makeSums()
      // Of two partitions this process is given one; the other one is somebody else's.
      const placementLayer = Layer.succeed(
        Placement,
        Placement.of({
          place: (_, serve) => Effect.asVoid(Effect.forkScoped(serve(0), { startImmediately: true })),
          owns: (partition) => Effect.succeed(partition === 0)
        })
      )
      const { engine } = yield* start(makeDeployment({ partitions: 2 }), {
        actors: [Counter],
        reactors: [reactor],
        config: { partitions: 2 },
        placementLayer
      })
      yield* elapse(2)
      const here = ["org_1", "org_2", "org_3", "org_4"].find((name) => engine.partitionOf(name) === 0)!
      yield* add(engine, here, 3)
      yield* Effect.provideService(Reactors.settled, EngineModule.Engine, engine)
      expect(yield* Effect.flip(Effect.provideService(rebuild(), EngineModule.Engine, engine))).toMatchObject({
        _tag: "EngineRefused",
        message: expect.stringMatching(/^partition 1 does not serve in this process.*let one process have them all$/)
      })
      yield* elapse(2)
      expect(sums.get(here)).toBe(3)
    })
  )

  it.effect("are known by name", () =>
    Effect.gen(function* () {
      const unknown = Reactors.rebuild({ reactor: "other", clear: Effect.void })
      expect(yield* Effect.flip(unknown)).toMatchObject({ message: "the engine has no reactor other" })
    }).pipe(Effect.provide(EngineModule.layerMemory({ actors: [Counter], reactors: [makeSums().reactor] })))
  )
})

describe("a handler without an engine", () => {
  const target = { organization: "org_1" }
  const added = (amount: number) => Reactors.factOf(Counter, target, { _tag: "Added", amount })

  it.effect("gets the records that it wants, and what it does on commit happens when it has succeeded", () =>
    Effect.gen(function* () {
      const { control, reactor, sums } = makeSums()
      const event = { ...added(9), _tag: "Event", id: "", event: {} } as never
      yield* Reactors.handle(reactor, [added(1), event, added(2)])
      expect(sums.get("org_1")).toBe(3)
      yield* Reactors.handle(reactor, [event])
      expect(control.runs).toBe(1)
      control.failsOn = 5
      expect(yield* Effect.flip(Reactors.handle(reactor, [added(4), added(5)]))).toBe("not this one")
      expect(sums.get("org_1")).toBe(3)
    })
  )
})

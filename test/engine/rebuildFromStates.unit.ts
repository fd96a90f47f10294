/** A reactor is rebuilt from the states of actors while they go on (docs/reactors.md, "From the states"). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import * as EngineModule from "../../src/engine/Engine.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import * as Reactors from "../../src/engine/Reactors.ts"
import { elapse, makeDeployment, partitionIn, serving } from "./support/deployment.ts"

/** A tally that grows; one that is emptied is over. */
const Tally = Actor.make({
  kind: "tally",
  command: Schema.Int,
  fact: Schema.Int,
  state: Schema.Int,
  initial: () => 0,
  decide: (_total, by) => Actor.decided({ facts: [by] }),
  evolve: (total, by) => total + by,
  isOver: (total) => total === 0
})

/** A table of tallies, which a reactor keeps in memory; its transactions put it back when they fail. */
const makeTable = () => {
  const rows = new Map<string, number>()
  const control = { statesFail: 0, pages: 0 }
  const nameOf = (of: { readonly organization: string; readonly key: string }) => `${of.organization}/${of.key}`
  const add = (name: string, by: number) => {
    const total = (rows.get(name) ?? 0) + by
    if (total === 0) rows.delete(name)
    else rows.set(name, total)
  }
  const reactor = Reactor.make({
    name: "table",
    parts: [
      Reactor.facts(
        Tally,
        (records) =>
          Reactor.onCommit(() => {
            for (const record of records) add(nameOf(record), record.fact)
          }),
        {
          states: (states) =>
            Effect.suspend(() => {
              if (control.statesFail-- > 0) return Effect.die("not now")
              return Reactor.onCommit(() => {
                control.pages++
                for (const one of states) add(nameOf(one), one.state)
              })
            })
        }
      )
    ]
  })
  const rebuild = Reactors.rebuild({ reactor: "table", clear: Reactor.onCommit(() => rows.clear()), from: "states" })
  return { control, rebuild, reactor, rows }
}

const config = { partitions: 2, checkpointFrames: 3 }
const provided = <A, E, R>(
  effect: Effect.Effect<A, E, R | EngineModule.Engine>,
  engine: EngineModule.Engine["Service"]
) => Effect.provideService(effect, EngineModule.Engine, engine)
const settled = (engine: EngineModule.Engine["Service"]) =>
  Effect.raceFirst(provided(Reactors.settled, engine), Effect.forever(elapse(0.2, 20)))

const isPurged = (engine: EngineModule.Engine["Service"]) =>
  Effect.map(partitionIn(engine).log!.state, ({ firstSequence }) => firstSequence > 1)

describe("a rebuild from states", () => {
  it.effect("makes the table again although the log was purged, while actors go on and the engine is restarted", () =>
    Effect.gen(function* () {
      const { control, rebuild, reactor, rows } = makeTable()
      const deployment = makeDeployment({ partitions: 2 })
      const options = { actors: [Tally], reactors: [reactor], config }
      let { engine, stop } = yield* serving(deployment, options)
      const model = new Map<string, number>()
      let random = 11
      const change = Effect.gen(function* () {
        random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
        const organization = `org_${random % 7}`
        const key = `k${(random >> 6) % 90}`
        const name = `${organization}/${key}`
        const total = model.get(name) ?? 0
        const by = total !== 0 && (random >> 3) % 3 === 0 ? -total : 1 + (random % 5)
        yield* engine.ask(Tally, { organization, key }, by)
        if (total + by === 0) model.delete(name)
        else model.set(name, total + by)
      })
      const sorted = (of: ReadonlyMap<string, number>) => [...of].sort(([left], [right]) => (left < right ? -1 : 1))
      for (let step = 0; step < 900; step++) yield* change
      yield* elapse(3)
      yield* settled(engine)
      expect(sorted(rows)).toEqual(sorted(model))
      expect(yield* isPurged(engine)).toBe(true)
      const lengths: Array<number> = []
      for (let round = 0; round < 6; round++) {
        // A wrong row, and one too many.
        rows.set([...rows.keys()][round]!, 4_711)
        rows.set("org_1/none", 1)
        control.pages = 0
        control.statesFail = round % 3
        yield* provided(rebuild, engine)
        lengths.push(rows.size)
        for (let step = 0; step < 30; step++) {
          yield* change
          if (step % 10 === round) yield* elapse(0.06, 5)
        }
        if (round % 2 === 1) {
          yield* stop
          const next = yield* serving(deployment, options)
          engine = next.engine
          stop = next.stop
        }
        for (let step = 0; step < 10; step++) yield* change
        yield* settled(engine)
        expect(sorted(rows), `round ${round}`).toEqual(sorted(model))
        expect(control.pages, "several pages").toBeGreaterThan(2)
      }
      expect(lengths).toEqual(lengths.map(() => 0))
      for (const cursor of deployment.cursors.cursors.values()) expect(cursor.rebuild).toBeUndefined()
    })
  )

  it.effect("is refused where a part has no handler of states, or an older version runs", () =>
    Effect.gen(function* () {
      const { rebuild, reactor, rows } = makeTable()
      const half = Reactor.make({
        name: "half",
        parts: [
          Reactor.facts(Tally, () => Effect.void, { states: () => Effect.void }),
          Reactor.events(["*"], () => Effect.void)
        ]
      })
      const placement = Effect.map(Placement, (local) => Placement.of({ ...local, level: () => level }))
      let level = 5
      const { engine } = yield* serving(makeDeployment(), {
        actors: [Tally],
        reactors: [reactor, half],
        placementLayer: Layer.provide(Layer.effect(Placement, placement), layerLocal)
      })
      yield* engine.ask(Tally, { organization: "org_1" }, 3)
      yield* settled(engine)
      const cleared = Effect.sync(() => rows.clear())
      const lacking = Reactors.rebuild({ reactor: "half", clear: cleared, from: "states" })
      expect(yield* Effect.flip(provided(lacking, engine))).toMatchObject({
        _tag: "EngineRefused",
        message: expect.stringContaining("a part of half has no handler of states")
      })
      expect(yield* Effect.flip(provided(rebuild, engine))).toMatchObject({
        _tag: "EngineRefused",
        message: expect.stringContaining("once no node of an older version runs")
      })
      expect([...rows]).toEqual([["org_1/", 3]])
      level = 6
      yield* provided(rebuild, engine)
      yield* settled(engine)
      expect([...rows]).toEqual([["org_1/", 3]])
    })
  )
})

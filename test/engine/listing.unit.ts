/** The keys of a kind within an organization: those of the checkpoint, those that are only in memory, and what has changed since. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import { elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"

/** A light that is on or off; one that is off is over. */
const Light = Actor.make({
  kind: "light",
  command: Schema.Boolean,
  fact: Schema.Boolean,
  state: Schema.Boolean,
  reply: Schema.Boolean,
  initial: () => false,
  decide: (_state, isOn) => Actor.decided({ facts: [isOn], reply: isOn }),
  evolve: (_state, isOn) => isOn,
  isOver: (isOn) => !isOn
})

const Bell = Actor.makeStateless({ kind: "bell", command: Schema.Null, decide: () => Actor.decided({}) })

const organization = "org_1"
const actors = [Light, Bell]
const turn = (engine: Engine["Service"], key: string, isOn: boolean, of = organization) =>
  engine.ask(Light, { organization: of, key }, isOn)

const all = Effect.fnUntraced(function* (engine: Engine["Service"], limit: number) {
  const pages: Array<ReadonlyArray<string>> = []
  let after: string | undefined
  do {
    const page = yield* engine.keys(Light, organization, { after, limit })
    pages.push(page.keys)
    after = page.next
  } while (after !== undefined)
  return pages
})

const checkpointed = (engine: Engine["Service"]) =>
  Effect.gen(function* () {
    const { core } = partitionIn(engine)
    core.wantCheckpoint()
    yield* elapse(1, 100)
    expect(core.newestCheckpoint?.sequence).toBe(core.head.sequence)
  })

describe("the keys of a kind", () => {
  it.effect("are those in the checkpoint and those that came since, without those that are over", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, { actors, config: { idleMillis: 1_000 } })
      for (const key of ["d", "b", "é", "a"]) yield* turn(engine, key, true)
      yield* turn(engine, "c", true, "org_2")
      expect(yield* all(engine, 100)).toEqual([["a", "b", "d", "é"]])
      yield* checkpointed(engine)
      yield* elapse(5, 500)
      expect(partitionIn(engine).core.probe.counts.actors).toBe(0)
      expect(yield* all(engine, 100)).toEqual([["a", "b", "d", "é"]])
      // Of those in the checkpoint one goes, one comes again, and a new one stands between.
      yield* turn(engine, "b", false)
      yield* turn(engine, "a", false)
      yield* turn(engine, "a", true)
      yield* turn(engine, "c", true)
      // Whoever is only asked, and has no fact, is none.
      yield* engine.state(Light, { organization, key: "asked" })
      for (const limit of [1, 2, 3, 4, 5])
        expect((yield* all(engine, limit)).flat(), `pages of ${limit}`).toEqual(["a", "c", "d", "é"])
      expect(yield* all(engine, 2)).toEqual([
        ["a", "c"],
        ["d", "é"]
      ])
    })
  )

  it.effect("are the same after a restart, and the model's after many changes", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      let { engine, stop } = yield* serving(deployment, { actors, config: { idleMillis: 1_000 } })
      const on = new Set<string>()
      let random = 7
      for (let step = 0; step < 300; step++) {
        random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
        const key = `k${random % 23}`
        const isOn = (random >> 8) % 3 > 0
        yield* turn(engine, key, isOn)
        if (isOn) on.add(key)
        else on.delete(key)
        if (step % 37 === 0) yield* checkpointed(engine)
        if (step % 101 === 100) {
          yield* stop
          const next = yield* serving(deployment, { actors, config: { idleMillis: 1_000 } })
          engine = next.engine
          stop = next.stop
        }
        if (step % 5 === 0) {
          const limit = 1 + (step % 7)
          expect((yield* all(engine, limit)).flat()).toEqual([...on].sort())
        }
      }
    })
  )

  it.effect("are listed by the owner for another process, and not for a kind without a state", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const none = Layer.succeed(
        Placement,
        Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) })
      )
      const remoteLayer = RemoteMemory.layerOf(RemoteMemory.makeStore())
      const { engine: far } = yield* start(deployment, { actors, placementLayer: none, remoteLayer })
      const { engine } = yield* serving(deployment, { actors, remoteLayer })
      yield* elapse(0.5, 100)
      for (const key of ["a", "b", "c"]) yield* turn(engine, key, true)
      expect(yield* all(far, 2)).toEqual([["a", "b"], ["c"]])
      for (const one of [engine, far]) {
        expect(yield* Effect.flip(one.keys(Bell, organization))).toMatchObject({ _tag: "CommandInvalid" })
        expect(yield* Effect.flip(one.keys(Light, organization, { limit: 1_001 }))).toMatchObject({
          _tag: "CommandInvalid",
          message: expect.stringContaining("1 to 1000")
        })
      }
    })
  )
})

describe("the organizations of a kind", () => {
  const pages = Effect.fnUntraced(function* (engine: Engine["Service"], limit: number) {
    const found: Array<string> = []
    let after: string | undefined
    do {
      const page = yield* engine.organizations(Light, { after, limit })
      expect(page.organizations.length).toBeLessThanOrEqual(limit)
      found.push(...page.organizations)
      after = page.next
    } while (after !== undefined)
    return found
  })

  it.effect("are those with a key, over all partitions, in memory and in the checkpoints", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 4 })
      const options = { actors, config: { idleMillis: 1_000, partitions: 4, checkpointFrames: 4 } }
      const { engine } = yield* serving(deployment, options)
      const lit = new Map<string, Set<string>>()
      let random = 3
      expect(yield* pages(engine, 10)).toEqual([])
      for (let step = 0; step < 240; step++) {
        random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
        const of = `org_${random % 13}`
        const key = `k${(random >> 5) % 3}`
        const isOn = (random >> 8) % 2 > 0
        yield* turn(engine, key, isOn, of)
        const keys = lit.get(of) ?? new Set()
        if (isOn) keys.add(key)
        else keys.delete(key)
        lit.set(of, keys)
        if (step % 29 === 0) yield* elapse(2)
        if (step % 8 !== 0) continue
        const found = yield* pages(engine, 1 + (step % 6))
        const expected = [...lit].flatMap(([name, { size }]) => (size > 0 ? [name] : []))
        expect([...found].sort()).toEqual(expected.sort())
        expect(new Set(found).size).toBe(found.length)
      }
    })
  )

  it.effect("are refused for a kind without a state, for no page and for another `after`", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors })
      yield* turn(engine, "a", true)
      const refused = (options: { readonly after?: string; readonly limit?: number }) =>
        Effect.map(Effect.flip(engine.organizations(Light, options)), ({ _tag }) => _tag)
      for (const options of [{ limit: 0 }, { limit: 1_001 }, { after: "org_1" }, { after: "1/" }, { after: "-1/a" }])
        expect(yield* refused(options)).toBe("CommandInvalid")
      expect((yield* Effect.flip(engine.organizations(Bell)))._tag).toBe("CommandInvalid")
      expect(yield* engine.organizations(Light, { after: "0/org_0" })).toEqual({
        organizations: ["org_1"],
        next: undefined
      })
    })
  )
})

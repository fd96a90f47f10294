/** The cost of a decision does not depend on the number of organizations in memory (rule 19): nothing on its way, or on that of its frame, looks at all of them. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ActorMemory } from "../../src/engine/core/actors/ActorMemory.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { internals } from "../../src/engine/shell/partition/internals.ts"
import { Counter } from "./support/actors.ts"
import { add } from "./support/durability.ts"

it.effect("decides and stores without looking at every organization", () =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    yield* engine.ready
    const ask = (organization: string) => engine.ask(Counter, { organization }, add(1))
    yield* Effect.forEach(
      Array.from({ length: 100 }, (_, number) => `org_${number}`),
      ask
    )
    const { core } = internals(engine).partitions.get(0)!
    const { organizations } = Reflect.get(core, "memory") as ActorMemory
    let walks = 0
    for (const walk of ["values", "entries", "keys", "forEach", Symbol.iterator] as const)
      Object.defineProperty(organizations, walk, {
        value: (...given: Array<never>) => {
          walks++
          return (Map.prototype[walk] as (...given: Array<never>) => unknown).apply(organizations, given)
        }
      })
    // The probe walks where it has to: this is how a walk would show.
    assert.strictEqual(core.probe.largestShare, 0)
    assert.strictEqual(walks, 1)
    for (let asked = 0; asked < 20; asked++) yield* ask(`org_${asked}`)
    assert.strictEqual(core.probe.counts.organizations, 100)
    assert.strictEqual(walks, 1)
  }).pipe(Effect.provide(Engine.layerMemory({ actors: [Counter], config: { partitions: 1 } })))
)

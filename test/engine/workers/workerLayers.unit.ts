/** Workers need a store of their jobs and the services of their effects, which come from the engine's layer (docs/workers.md). */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import * as Engine from "../../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import { layerLocal } from "../../../src/engine/ports/Placement.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { chargeWith, Order, Payments } from "../support/charges.ts"
import { elapse } from "../support/deployment.ts"

/** A service of the program. */
class Receipts extends Context.Service<Receipts, string>()("test/Receipts") {}

describe("the layer of a worker", () => {
  it.effect("has the services that its effect needs from the engine's layer, and the engine", () =>
    Effect.gen(function* () {
      const asking = Worker.make({
        name: "asking",
        from: Publish.facts(Order),
        job: Schema.String,
        toJob: ({ fact, key }) => (fact._tag === "Place" ? key : undefined),
        run: (key, { organization }) =>
          Effect.gen(function* () {
            const engine = yield* Engine.Engine
            const receipt = yield* Receipts
            yield* engine.ask(Order, { organization, key }, { _tag: "Paid", receipt })
          })
      })
      const layer: Layer.Layer<Engine.Engine, Engine.EngineRefused, Receipts> = Engine.layerMemory({
        actors: [Order],
        workers: [asking]
      })
      const built = yield* Layer.build(Layer.provide(layer, Layer.succeed(Receipts, "number 7")))
      const engine = Context.get(built, Engine.Engine)
      yield* engine.ask(Order, { organization: "acme", key: "1" }, { _tag: "Place", cents: 300 })
      yield* elapse(1, 100)
      assert.deepStrictEqual(yield* engine.state(Order, { organization: "acme", key: "1" }), ["placed 300", "number 7"])
    })
  )

  it.effect("needs a store of its jobs, and an actor of the engine for its replies", () =>
    Effect.gen(function* () {
      const workers = [chargeWith(new Payments())]
      const stranger = yield* Effect.flip(Layer.build(Engine.layerMemory({ actors: [], workers })))
      assert.include(stranger.message, "order is not among the engine's actors")
      const poor = Engine.layer({ actors: [Order], workers }).pipe(
        Layer.provide([JournalMemory.layer, CheckpointsMemory.layer, CursorsMemory.layer, layerLocal])
      )
      assert.include((yield* Effect.flip(Layer.build(poor))).message, "provide WorkerJobs")
    })
  )
})

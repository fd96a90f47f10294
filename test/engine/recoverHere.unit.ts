/** Operators' acts on a partition that does not serve: whoever has it carries them out, whichever process is asked. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import * as Operator from "../../src/engine/Operator.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import { Counter } from "./support/actors.ts"
import { elapse, makeDeployment, start } from "./support/deployment.ts"
import { add, addEach, target, truncate } from "./support/durability.ts"

const none = Layer.succeed(Placement, Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) }))

/** Runs the partition, and says that it is another's. */
const replaced = Layer.effect(
  Placement,
  Effect.map(Placement, ({ place }) => Placement.of({ place, owns: () => Effect.succeed(false) }))
).pipe(Layer.provide(layerLocal))

/** A process whose partition refuses to start because its log has lost two frames, and one that has no partition. */
const refused = (placementLayer: Layer.Layer<Placement> = layerLocal) =>
  Effect.gen(function* () {
    const deployment = makeDeployment()
    yield* addEach(deployment, 4)
    truncate(deployment, 2)
    const remoteLayer = RemoteMemory.layerOf(RemoteMemory.makeStore())
    const { engine: owner } = yield* start(deployment, { remoteLayer, placementLayer })
    const { engine: far } = yield* start(deployment, { remoteLayer, placementLayer: none })
    yield* TestClock.adjust("10 seconds")
    return { deployment, far, owner }
  })

describe("a partition that has stopped", () => {
  it.effect("is looked into from another process", () =>
    Effect.gen(function* () {
      const { far } = yield* refused()
      expect(yield* Operator.of(far).inspectPartition(0)).toMatchObject({ partition: 0, status: { _tag: "Stopped" } })
    })
  )

  it.effect("is recovered by the process that has it, once that is allowed, and serves again", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* refused()
      const found = yield* Operator.of(far).recoverPartition(0, { acceptLoss: false, acceptClock: false })
      expect(found).toMatchObject({ partition: 0, fits: false, changeable: true })
      expect(found.lines.join(" ")).toMatch(/but the log ends at/)
      expect(yield* owner.status).toMatchObject([{ status: { _tag: "Stopped" } }])
      const asked = yield* Effect.forkChild(
        Operator.of(far).recoverPartition(0, { acceptLoss: true, acceptClock: false })
      )
      yield* elapse(5)
      expect(yield* Fiber.join(asked)).toMatchObject({ fits: false, changeable: false })
      yield* owner.ready
      yield* elapse(1)
      expect(yield* far.ask(Counter, target, add(1))).toBeGreaterThan(0)
      expect(yield* Operator.of(far).recoverPartition(0, { acceptLoss: true, acceptClock: true })).toMatchObject({
        fits: true,
        lines: []
      })
    })
  )

  it.effect("is left alone by a process that placement has given it to no more", () =>
    Effect.gen(function* () {
      const { deployment, far, owner } = yield* refused(replaced)
      const before = deployment.journal.log(0).frames.length
      const asked = yield* Effect.forkChild(
        Effect.forEach(
          [far, owner],
          (engine) => Effect.flip(Operator.of(engine).recoverPartition(0, { acceptLoss: true, acceptClock: true })),
          { concurrency: "unbounded" }
        )
      )
      // Nobody says that it is theirs.
      yield* elapse(30)
      expect(yield* Fiber.join(asked)).toMatchObject([{ _tag: "EngineRefused" }, { _tag: "EngineRefused" }])
      expect(deployment.journal.log(0).frames).toHaveLength(before)
    })
  )
})

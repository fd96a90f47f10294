/** How many event streams there may be, and their end. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { EventStreams, maximumStreams, maximumStreamsPerOrganization } from "../../src/events/EventStreams.ts"

describe("event streams", () => {
  it.effect("each organization has its places, and gets one back when a stream ends", () =>
    Effect.gen(function* () {
      const streams = yield* EventStreams
      const first = yield* Scope.make()
      yield* Scope.provide(streams.open("org_1"), first)
      for (let count = 1; count < maximumStreamsPerOrganization; count++) yield* streams.open("org_1")
      expect(yield* Effect.flip(streams.open("org_1"))).toMatchObject({ _tag: "TooManyStreams", of: "organization" })
      yield* streams.open("org_2")
      yield* Scope.close(first, Exit.void)
      yield* streams.open("org_1")
      expect(yield* Effect.flip(streams.open("org_1"))).toMatchObject({ of: "organization" })
    }).pipe(Effect.scoped, Effect.provide(EventStreams.layer))
  )

  it.effect("[platform 5.5] a node has its places too, which refused ones do not take", () =>
    Effect.gen(function* () {
      const streams = yield* EventStreams
      for (let count = 0; count < maximumStreams; count++) {
        yield* streams.open(`org_${Math.floor(count / maximumStreamsPerOrganization)}`)
        if (count >= maximumStreamsPerOrganization) yield* Effect.flip(streams.open("org_0"))
      }
      expect(yield* Effect.flip(streams.open("org_new"))).toMatchObject({ of: "node" })
    }).pipe(Effect.scoped, Effect.provide(EventStreams.layer))
  )

  it.effect("all are told when they are to end, and stay told", () =>
    Effect.gen(function* () {
      const streams = yield* EventStreams
      const waiting = yield* Effect.forkChild(streams.stopping)
      yield* streams.stop
      yield* Fiber.join(waiting)
      yield* streams.stopping
    }).pipe(Effect.provide(EventStreams.layer))
  )
})

/**
 * Emits test events: the example of a catalogued type, as an event that is not live, for `sluice trigger`. It is a
 * decision like any other, so the event reaches the log and the endpoints like every event (docs/platform.md, 5.6).
 * Needs `Engine`.
 */
import { Context, Data, Effect, Layer, Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import type { Engine } from "../engine/Engine.ts"
import { type AskError, isRetryable } from "../engine/errors.ts"
import { EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { type CataloguedType, catalogue, publicEvent } from "./catalogue.ts"
import { testEventsKind } from "./event.ts"

/** The types of which there are examples, in the catalogue's order. */
export const exampleTypes = Object.keys(catalogue) as ReadonlyArray<CataloguedType>

/**
 * The payload of an event for an endpoint, or for all that subscribe to it where none is named: a test says which it is
 * for.
 */
const exampleOf = (type: CataloguedType, endpointId: string): object =>
  type === "platform.test" && endpointId !== ""
    ? { ...catalogue[type].example, endpoint_id: endpointId }
    : catalogue[type].example

/**
 * One per organization, and one per endpoint that an event is for alone, by its id; its decisions carry an event and no
 * fact.
 */
export const TestEventsActor = Actor.makeStateless({
  kind: testEventsKind,
  command: Schema.Struct({ type: Schema.Literals(exampleTypes) }),
  reply: Schema.Null,
  decide: ({ type }, { self }) =>
    // Each example is of its own type.
    Actor.decided({ events: [publicEvent(type, exampleOf(type, self.key) as never, false)], reply: null })
})

/** The event could not be stored now. Repeating is allowed, but may emit the event twice. */
export class TestEventNotStored extends Data.TaggedError("TestEventNotStored")<{ readonly message: string }> {}

export class TestEvents extends Context.Service<
  TestEvents,
  {
    /**
     * Emits the example of a type, for one endpoint alone where one is named; answers its payload once it is stored.
     */
    readonly trigger: (
      organizationId: string,
      type: CataloguedType,
      endpointId?: string
    ) => Effect.Effect<object, TestEventNotStored>
  }
>()("sluice/events/TestEvents") {
  /** On an engine that may have to be started first. */
  static readonly layerWhenNeeded: Layer.Layer<TestEvents, never, EngineOnDemand> = Layer.effect(
    TestEvents,
    Effect.map(EngineOnDemand, (started) =>
      TestEvents.of({
        trigger: Effect.fn("TestEvents.trigger")((organization, type, endpointId = "") =>
          Effect.mapError(started, ({ message }) => new TestEventNotStored({ message })).pipe(
            Effect.flatMap((engine) =>
              Effect.catch(
                engine.ask(TestEventsActor, { organization, key: endpointId }, { type }),
                (error: AskError) =>
                  // Any other error is a fault of this program: examples are small and fit their type.
                  isRetryable(error, { isIdempotent: true }) || error._tag === "PartitionStopped"
                    ? Effect.fail(new TestEventNotStored({ message: error.message }))
                    : Effect.die(error)
              )
            ),
            Effect.as(exampleOf(type, endpointId))
          )
        )
      })
    )
  )

  static readonly layer: Layer.Layer<TestEvents, never, Engine> = TestEvents.layerWhenNeeded.pipe(
    Layer.provide(EngineOnDemand.layer)
  )
}

/**
 * Tracks the open event streams of this node. Bounds their number, and ends them when the listener stops, which would
 * otherwise wait for readers that never leave. Needs no service.
 */
import { Context, Data, Deferred, Effect, Layer, type Scope } from "effect"
import { makeRefusingBulkhead } from "../common/Bulkhead.ts"

/** Most concurrent streams of one organization on one node. */
export const maximumStreamsPerOrganization = 20

/** Most concurrent streams of one node; each reads from the database when something happens. */
export const maximumStreams = 2_000

/** The bound of open streams is reached. */
export class TooManyStreams extends Data.TaggedError("TooManyStreams")<{
  /** The owner of the reached bound. */
  readonly of: "organization" | "node"
}> {}

export class EventStreams extends Context.Service<
  EventStreams,
  {
    /** Takes a place for a stream and gives it back with the scope. */
    readonly open: (organization: string) => Effect.Effect<void, TooManyStreams, Scope.Scope>
    /** Completes when all streams must end. */
    readonly stopping: Effect.Effect<void>
    /** Ends all streams, for good. */
    readonly stop: Effect.Effect<void>
  }
>()("sluice/events/EventStreams") {
  static readonly layer: Layer.Layer<EventStreams> = Layer.effect(
    EventStreams,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const stopped = yield* Deferred.make<void>()
  const take = makeRefusingBulkhead({ total: maximumStreams, ofOrganization: maximumStreamsPerOrganization })
  return EventStreams.of({
    open: Effect.fn("EventStreams.open")((organization) =>
      Effect.mapError(
        take(organization),
        ({ of }) => new TooManyStreams({ of: of === "organization" ? "organization" : "node" })
      )
    ),
    stopping: Deferred.await(stopped),
    stop: Effect.asVoid(Deferred.succeed(stopped, undefined))
  })
})

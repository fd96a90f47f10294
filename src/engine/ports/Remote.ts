/**
 * The port of asks between processes: a request to the owner of a partition (docs/architecture.md, "Placement"). Bytes
 * in, bytes out; what they mean is the engine's. Implementations: `layerNone` here (one process), NATS request to
 * `ask.<partition>` under `src/nats`.
 */
import { Context, Data, Effect, Layer, type Scope } from "effect"

/**
 * Nobody answered. `sent` says whether the request may have reached an owner; if it may have, the outcome is not known.
 */
export class RemoteUnavailable extends Data.TaggedError("RemoteUnavailable")<{
  readonly message: string
  readonly sent: boolean
  readonly cause?: unknown
}> {}

/** What is asked of whom: decisions of the owner that serves a partition, or what an operator wants of the one that has it, although it may not serve it. */
export type RemoteKind = "asks" | "operators"

export class Remote extends Context.Service<
  Remote,
  {
    /** The largest reply that can be sent, in bytes; left out where there is no bound. */
    readonly maximumBytes?: (() => number) | undefined

    /**
     * Sends a request to whoever serves the partition and answers the first reply for which `accept` says yes. It is shown every reply until then: the
     * owner before may answer for a moment longer, and one that serves may answer in several parts. No responders: fails at once with `sent: false`. No accepted
     * reply within `timeoutMillis`, or disconnected while waiting: `sent: true`.
     */
    readonly request: (
      partition: number,
      payload: Uint8Array,
      options: {
        readonly timeoutMillis: number
        readonly accept: (reply: Uint8Array) => boolean
        /** Asks, unless told otherwise. */
        readonly of?: RemoteKind
      }
    ) => Effect.Effect<Uint8Array, RemoteUnavailable>

    /**
     * Answers requests for a partition until the scope ends; other processes may serve it at the same time, and each of them gets every
     * request. `handle` never fails and is called for every request, as soon as it comes: it bounds what it works on at once, and answers
     * what is too much. What was received before the scope's end is answered, within about a second. `more` sends a part of the answer before the last one,
     * which the effect gives.
     */
    readonly serve: (
      partition: number,
      handle: (payload: Uint8Array, more: (part: Uint8Array) => void) => Effect.Effect<Uint8Array>,
      /** Asks, unless told otherwise. */
      of?: RemoteKind
    ) => Effect.Effect<void, RemoteUnavailable, Scope.Scope>
  }
>()("sluice/engine/Remote") {}

/** There is only this process. */
export const layerNone: Layer.Layer<Remote> = Layer.succeed(
  Remote,
  Remote.of({
    request: (partition) =>
      Effect.fail(
        new RemoteUnavailable({ message: `partition ${partition} has no other process to ask`, sent: false })
      ),
    serve: () => Effect.void
  })
)

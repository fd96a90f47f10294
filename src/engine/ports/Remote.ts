/**
 * Defines the port of asks between processes: a request to the owner of a partition (docs/architecture.md,
 * "Placement"). Bytes in, bytes out; the engine gives them their meaning. Implementations: `layerNone` here (one
 * process), NATS request to `ask.<partition>` under `src/nats`.
 */
import { Context, Data, Effect, Layer, type Scope } from "effect"

/** No owner answered. `sent` says whether the request may have reached one; then the outcome is not known. */
export class RemoteUnavailable extends Data.TaggedError("RemoteUnavailable")<{
  readonly message: string
  readonly sent: boolean
  readonly cause?: unknown
}> {}

/**
 * The kind of a request: decisions of the owner that serves a partition, or an operator's act at the process that has
 * it, although it may not serve it.
 */
export type RemoteKind = "asks" | "operators"

export class Remote extends Context.Service<
  Remote,
  {
    /** The largest reply that can be sent, in bytes; left out where there is no bound. */
    readonly maximumBytes?: (() => number) | undefined

    /**
     * Sends a request to the owner of the partition and returns the first reply that `accept` accepts. It sees every
     * reply until then: the previous owner may answer for a moment longer, and the serving one may answer in several
     * parts. No responders: fails immediately with `sent: false`. No accepted reply within `timeoutMillis`, or disconnected
     * while waiting: `sent: true`.
     */
    readonly request: (
      partition: number,
      payload: Uint8Array,
      options: {
        readonly timeoutMillis: number
        readonly accept: (reply: Uint8Array) => boolean
        /** Default: asks. */
        readonly of?: RemoteKind
      }
    ) => Effect.Effect<Uint8Array, RemoteUnavailable>

    /**
     * Answers requests for a partition until the scope ends; other processes may serve it at the same time, and each of
     * them gets every request. `handle` never fails and is called for every request, as soon as it comes: it bounds its
     * concurrent work, and answers requests beyond that with a refusal. Requests received before the scope's end are
     * answered, within about a second. `more` sends a part of the answer before the last one, which the effect gives.
     */
    readonly serve: (
      partition: number,
      handle: (payload: Uint8Array, more: (part: Uint8Array) => void) => Effect.Effect<Uint8Array>,
      /** Default: asks. */
      of?: RemoteKind
    ) => Effect.Effect<void, RemoteUnavailable, Scope.Scope>
  }
>()("sluice/engine/Remote") {}

/** A single process: requests reach no other one. */
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

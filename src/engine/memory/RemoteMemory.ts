/**
 * Carries asks between engines of one program, in memory: for tests and simulations. Every subscribed owner gets every
 * request, as with a message server, and a request to an owner that has left gets no answer.
 */
import { Duration, Effect, FiberSet, Layer } from "effect"
import { Remote, type RemoteKind, RemoteUnavailable } from "../ports/Remote.ts"

type Handle = (payload: Uint8Array) => void

type Subscribed = Map<number, Set<(payload: Uint8Array, reply: Handle) => void>>

/** The subscribers, by partition. */
export interface RemoteStore {
  /** Subscribers to asks. */
  readonly owners: Subscribed
  readonly operators: Subscribed
  /** The largest reply that arrives, as with a message server. */
  readonly maximumBytes: number
}

export const makeStore = (maximumBytes = Number.POSITIVE_INFINITY): RemoteStore => ({
  owners: new Map(),
  operators: new Map(),
  maximumBytes
})

/** How long a leaving owner has to answer its open requests. */
const farewellMillis = 1_000

export const make = (store: RemoteStore): Remote["Service"] => {
  const to = (of: RemoteKind = "asks") => (of === "asks" ? store.owners : store.operators)
  const fits = (reply: Uint8Array) => reply.length <= store.maximumBytes
  return Remote.of({
    maximumBytes: () => store.maximumBytes,
    request: (partition, payload, { accept, of, timeoutMillis }) =>
      Effect.callback<Uint8Array, RemoteUnavailable>((resume) => {
        const asked = [...(to(of).get(partition) ?? [])]
        if (asked.length === 0)
          resume(
            Effect.fail(
              new RemoteUnavailable({ message: `nobody serves partition ${partition} at the moment`, sent: false })
            )
          )
        for (const owner of asked)
          owner(payload, (reply) => {
            if (fits(reply) && accept(reply)) resume(Effect.succeed(reply))
          })
      }).pipe(
        Effect.timeoutOrElse({
          duration: Duration.millis(timeoutMillis),
          orElse: () =>
            Effect.fail(
              new RemoteUnavailable({ message: `the owner of partition ${partition} did not answer`, sent: true })
            )
        })
      ),
    serve: (partition, handle, of) =>
      Effect.gen(function* () {
        const owners = to(of)
        const fibers = yield* FiberSet.make<void>()
        const run = yield* FiberSet.runtime(fibers)<never>()
        const owner = (payload: Uint8Array, reply: Handle) => void run(Effect.map(handle(payload, reply), reply))
        yield* Effect.acquireRelease(
          Effect.sync(() => void owners.set(partition, (owners.get(partition) ?? new Set()).add(owner))),
          () =>
            Effect.sync(() => void owners.get(partition)?.delete(owner)).pipe(
              Effect.andThen(Effect.timeoutOption(FiberSet.awaitEmpty(fibers), Duration.millis(farewellMillis)))
            )
        )
      })
  })
}

export const layerOf = (store: RemoteStore): Layer.Layer<Remote> => Layer.succeed(Remote, make(store))

/**
 * Asks between engines of one program, in memory: for tests and simulations. Every subscribed owner gets every request, as with a message
 * server, and what was asked of an owner that has gone is answered by nobody.
 */
import { Duration, Effect, FiberSet, Layer } from "effect"
import { Remote, RemoteUnavailable } from "../Remote.ts"

type Handle = (payload: Uint8Array) => void

/** Who is subscribed, by partition. */
export interface RemoteStore {
  readonly owners: Map<number, Set<(payload: Uint8Array, reply: Handle) => void>>
}

export const makeStore = (): RemoteStore => ({ owners: new Map() })

/** How long an owner that goes has to answer what it was asked. */
const farewellMillis = 1_000

export const make = ({ owners }: RemoteStore): Remote["Service"] =>
  Remote.of({
    request: (partition, payload, { accept, timeoutMillis }) =>
      Effect.callback<Uint8Array, RemoteUnavailable>((resume) => {
        const asked = [...(owners.get(partition) ?? [])]
        if (asked.length === 0)
          resume(
            Effect.fail(
              new RemoteUnavailable({ message: `nobody serves partition ${partition} at the moment`, sent: false })
            )
          )
        for (const owner of asked)
          owner(payload, (reply) => {
            if (accept(reply)) resume(Effect.succeed(reply))
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
    serve: (partition, handle) =>
      Effect.gen(function* () {
        const fibers = yield* FiberSet.make<void>()
        const run = yield* FiberSet.runtime(fibers)<never>()
        const owner = (payload: Uint8Array, reply: Handle) => void run(Effect.map(handle(payload), reply))
        yield* Effect.acquireRelease(
          Effect.sync(() => void owners.set(partition, (owners.get(partition) ?? new Set()).add(owner))),
          () =>
            Effect.sync(() => void owners.get(partition)?.delete(owner)).pipe(
              Effect.andThen(Effect.timeoutOption(FiberSet.awaitEmpty(fibers), Duration.millis(farewellMillis)))
            )
        )
      })
  })

export const layerOf = (store: RemoteStore): Layer.Layer<Remote> => Layer.succeed(Remote, make(store))

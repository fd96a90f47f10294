/** Ends answers that are streamed and not read, because they keep places that others need. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, type Scope } from "effect"
import { HttpServerRequest } from "effect/http"

/**
 * Cuts the connection of a caller who takes longer for an answer than this, and of one who has closed its side, because
 * nobody may be reading while the answer is made. The request then ends.
 */
export const cutSlowCaller = (
  afterMillis: number
): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest | Scope.Scope> =>
  Effect.gen(function* () {
    const { socket } = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
    const cut = () => void socket.destroy()
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep(afterMillis), Effect.sync(cut)))
    yield* Effect.acquireRelease(
      Effect.sync(() => (socket.readableEnded ? cut() : socket.once("end", cut))),
      // The connection goes on to the next request.
      () => Effect.sync(() => socket.off("end", cut))
    )
  })

/**
 * What is known of the request being handled, from the edge to the handler: its id, and the headers that its answer
 * must carry whatever it turns out to be (request limits, Retry-After). One mutable object a request, owned by its
 * fiber, because a middleware that has failed can no longer add a header to the error's response.
 */
import { Context, Effect } from "effect"

export interface RequestStateShape {
  /** The value of `X-Request-Id`: the caller's where it is well-formed, else made here. */
  readonly requestId: string
  /** Headers every answer to this request carries; undefined while there are none. */
  responseHeaders: Record<string, string> | undefined
}

export class RequestState extends Context.Service<RequestState, RequestStateShape>()("sluice/http/RequestState") {}

/** Says with the answer to this request, whatever it turns out to be, when to come back: whole seconds, at least 1. */
export const retryAfter = (afterMillis: number): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const state = Context.getUnsafe(fiber.context, RequestState)
    const seconds = String(Math.max(1, Math.ceil(afterMillis / 1000)))
    state.responseHeaders = { ...state.responseHeaders, "retry-after": seconds }
    return Effect.void
  })

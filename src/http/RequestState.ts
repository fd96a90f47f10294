/**
 * What is known of the request being handled, from the edge to the handler: its id, and the headers that its answer
 * must carry whatever it turns out to be (request limits, Retry-After). One mutable object a request, owned by its
 * fiber, because a middleware that has failed can no longer add a header to the error's response.
 */
import { Context } from "effect"

export interface RequestStateShape {
  /** The value of `X-Request-Id`: the caller's where it is well-formed, else made here. */
  readonly requestId: string
  /** Headers every answer to this request carries; undefined while there are none. */
  responseHeaders: Record<string, string> | undefined
}

export class RequestState extends Context.Service<RequestState, RequestStateShape>()("sluice/http/RequestState") {}

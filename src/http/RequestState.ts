/**
 * Holds the state of the request being handled, from the edge to the handler: its id, and the headers that its answer
 * must carry in any case (request limits, Retry-After). One mutable object per request, owned by its fiber, because a
 * middleware that has failed can no longer add a header to the error's response.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"

/** The decision about a counted request. The limiter's own type has more fields, which are not used here. */
export interface RateDecision {
  readonly allowed: boolean
}

/** The result of counting a request: a decision, undefined when it passes uncounted, or an Effect that waits for it. */
export type RateResult<Decision extends RateDecision = RateDecision> =
  | Decision
  | undefined
  | Effect.Effect<Decision | undefined>

/** The key of a request that access knows. */
export interface Caller {
  readonly organizationId: string
  readonly keyId: string
  readonly mode: "live" | "test"
}

export interface RequestStateShape {
  /** The value of `X-Request-Id`: the caller's where it is well-formed, else made here. */
  readonly requestId: string
  /** Headers every answer to this request carries, their names in lower case; undefined while there are none. */
  responseHeaders: Record<string, string> | undefined
  /** The body's bytes, once they are read. */
  body: Uint8Array | undefined
  /** The organization whose request is in work, from its admission to its answer. */
  admitted: string | undefined
  /** The key that access has found, for the request log; undefined for sessions of the console. */
  caller: Caller | undefined
  /**
   * Makes what deciding a refused request again needs, for the request log, with a keyed digest in place of each name.
   * Called only if the request is kept.
   */
  facts: ((digest: (text: string) => string) => object) | undefined
}

export class RequestState extends Context.Service<RequestState, RequestStateShape>()("sluice/http/RequestState") {}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/

/** Makes the state of a new request, with the caller's id if that is well-formed. */
export const makeRequestState = (given: string | ReadonlyArray<string> | undefined): RequestStateShape => ({
  requestId: typeof given === "string" && requestIdPattern.test(given) ? given : `req_${randomUUID()}`,
  responseHeaders: undefined,
  body: undefined,
  admitted: undefined,
  caller: undefined,
  facts: undefined
})

/** The default for `Retry-After`. */
export const retryAfterMillis = 1_000

/** Adds `Retry-After` to the answer of this request, whatever the answer is: whole seconds, at least 1. */
export const retryAfter = (afterMillis: number): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const state = Context.getUnsafe(fiber.context, RequestState)
    const seconds = String(Math.max(1, Math.ceil(afterMillis / 1000)))
    state.responseHeaders = { ...state.responseHeaders, "retry-after": seconds }
    return Effect.void
  })

/** The sentence for a read that ends without an answer. */
export const readUnanswered = "This cannot be read right now; the request is safe to repeat"

/** The sentence about an outcome that is not known; of a read, which has none, its own. */
export const unlessRead = (sentence: string): Effect.Effect<string> =>
  Effect.withFiber((fiber) => {
    const request = Context.getOption(fiber.context, HttpServerRequest.HttpServerRequest)
    const isRead = Option.exists(request, ({ method }) => method === "GET" || method === "HEAD")
    return Effect.succeed(isRead ? readUnanswered : sentence)
  })

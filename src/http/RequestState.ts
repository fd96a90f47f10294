/**
 * What is known of the request being handled, from the edge to the handler: its id, and the headers that its answer
 * must carry whatever it turns out to be (request limits, Retry-After). One mutable object a request, owned by its
 * fiber, because a middleware that has failed can no longer add a header to the error's response.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, type Exit } from "effect"

/** A request that was counted. Whoever counts decides more than this, which is not looked at here. */
export interface Counted {
  readonly allowed: boolean
}

/** What counting a request came to: a decision, undefined where it passes uncounted, or an Effect that waits for it. */
export type Taken<Decision extends Counted = Counted> = Decision | undefined | Effect.Effect<Decision | undefined>

/**
 * What the fast lane has done for a request that it could not answer after all. The ordinary way goes on from there, so
 * that nothing is counted or done twice.
 */
export interface Begun<Principal = unknown, Decision extends Counted = Counted> {
  readonly startedNanos: bigint
  readonly principal: Principal
  readonly taken: Taken<Decision>
  /** What the handler came to, where it has run. */
  readonly outcome: Exit.Exit<unknown, unknown> | undefined
}

export interface RequestStateShape {
  /** The value of `X-Request-Id`: the caller's where it is well-formed, else made here. */
  readonly requestId: string
  /** Headers every answer to this request carries, their names in lower case; undefined while there are none. */
  responseHeaders: Record<string, string> | undefined
  /** Undefined for a request that is the ordinary way's from its beginning. */
  begun: Begun | undefined
}

export class RequestState extends Context.Service<RequestState, RequestStateShape>()("sluice/http/RequestState") {}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/

/** The state of a request that has just come, with the id that its caller gave it where that is well-formed. */
export const makeRequestState = (given: string | ReadonlyArray<string> | undefined): RequestStateShape => ({
  requestId: typeof given === "string" && requestIdPattern.test(given) ? given : `req_${randomUUID()}`,
  responseHeaders: undefined,
  begun: undefined
})

/** Says with the answer to this request, whatever it turns out to be, when to come back: whole seconds, at least 1. */
export const retryAfter = (afterMillis: number): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const state = Context.getUnsafe(fiber.context, RequestState)
    const seconds = String(Math.max(1, Math.ceil(afterMillis / 1000)))
    state.responseHeaders = { ...state.responseHeaders, "retry-after": seconds }
    return Effect.void
  })

const handedOver = new WeakMap<object, RequestStateShape>()

/** Leaves what the fast lane knows of a request of Node's for the ordinary way. */
export const handOver = (request: object, state: RequestStateShape): void => void handedOver.set(request, state)

/** What the fast lane left for a request, if it was there. */
export const takeOver = (request: object): RequestStateShape | undefined => handedOver.get(request)

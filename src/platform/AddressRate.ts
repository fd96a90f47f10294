/**
 * Limits the requests of an address to an endpoint that needs no key (docs/platform.md, 6.11). It counts in this process,
 * by clock minutes, and in bounded memory. Behind a proxy all callers have the proxy's address. Synchronous, needs no
 * service.
 */
import { Clock, Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { networkOf } from "../common/networkOf.ts"
import { RequestState } from "../http/RequestState.ts"
import { EnvelopeRateLimited } from "../http/wireErrors.ts"
import { overLimit, rateLimitFields } from "../limits/headers.ts"
import { makeMemory } from "../limits/memory.ts"

/** Networks that are counted in one minute. One more is refused, so that a flood of them resets nobody's count. */
const maximumNetworks = 100_000

/** Makes a rate for one endpoint: an effect that counts the present request, and fails where it is one too many. */
export const makeAddressRate = (requestsPerMinute: number): Effect.Effect<void, EnvelopeRateLimited> => {
  const limiter = makeMemory({ maxKeys: maximumNetworks })
  return Effect.withFiber((fiber) => {
    const { remoteAddress } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const state = Context.getUnsafe(fiber.context, RequestState)
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const network = networkOf(Option.getOrElse(remoteAddress, () => ""))
    const decision = limiter.take(network, requestsPerMinute, 1, now)
    state.responseHeaders = { ...state.responseHeaders, ...rateLimitFields(decision) }
    return decision.allowed ? Effect.void : Effect.fail(EnvelopeRateLimited.of(overLimit(decision)))
  })
}

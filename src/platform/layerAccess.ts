/**
 * Implements the access middlewares: finds the key in the request, verifies it, checks service and scope. Every
 * authenticated request is counted by the request rate before its handler runs. The warm path is synchronous. Needs
 * `Authentication` and `RequestRate`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RequestState } from "../http/RequestState.ts"
import { Forbidden, InvalidRequest, RateLimited, Unauthorized, Unavailable } from "../http/wireErrors.ts"
import { rateLimitHeaders } from "../limits/headers.ts"
import type { Decision } from "../limits/rules.ts"
import { Authentication } from "./Authentication.ts"
import { CurrentPrincipal, DirectoryAccess, RequiredScope } from "./access.ts"
import { grants, type Principal, type Service } from "./model.ts"
import { RequestRate } from "./RequestRate.ts"

const bearer = /^bearer(?: +(.*))?$/i

/** The key given, in the order of the decisions; null where none is, undefined where `apiKey` is repeated. */
export const givenKey = (
  headers: Readonly<Record<string, string | undefined>>,
  query: Readonly<Record<string, string | ReadonlyArray<string>>> | undefined
): string | null | undefined => {
  const authorization = headers.authorization
  if (authorization !== undefined) {
    const match = bearer.exec(authorization)
    // Another scheme is not one of the forms, so it does not decide.
    if (match !== null) return match[1] ?? ""
  }
  const header = headers["x-api-key"]
  if (header !== undefined) return header
  const parameter = query?.apiKey
  return parameter === undefined ? null : typeof parameter === "string" ? parameter : undefined
}

const unauthorized = new Unauthorized({ error: "unauthorized", message: "Invalid or missing API key" })

/** 429 in the directory's shape; what was decided is in the headers. */
const rateLimited = (decision: Decision) =>
  new RateLimited({
    error: "rate_limited",
    message: `The limit of ${decision.limit} requests per minute is reached. Retry after ${decision.retryAfterSeconds} s.`
  })

const makeAccess = (
  { authentication, requestRate }: { authentication: Authentication["Service"]; requestRate: RequestRate["Service"] },
  options: { readonly service: Service; readonly queryKey: boolean }
) => {
  const check = (principal: Principal, endpoint: HttpApiEndpoint.Top) => {
    if (!principal.services.has(options.service)) {
      return new Forbidden({
        error: "forbidden",
        message: `API key does not have access to the ${options.service} service`
      })
    }
    const scope = Context.get(endpoint.annotations, RequiredScope)
    return scope === undefined || grants(principal.scopes, scope)
      ? undefined
      : new Forbidden({ error: "forbidden", message: `Insufficient scope. Required: ${scope}` })
  }

  return <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
  ) => {
    type Admitted = Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      E | InvalidRequest | Unauthorized | Forbidden | RateLimited | Unavailable,
      Exclude<R, CurrentPrincipal>
    >
    const enter = (principal: Principal): Admitted => {
      const refusal = check(principal, endpoint)
      return refusal === undefined
        ? Effect.provideService(httpEffect, CurrentPrincipal, principal)
        : Effect.fail(refusal)
    }
    /** Every authenticated request counts, also one that is refused for its service or answered 400 later. */
    const admit = (principal: Principal | null): Admitted => {
      if (principal === null) return Effect.fail(unauthorized)
      const taken = requestRate.take(principal)
      return Effect.isEffect(taken)
        ? Effect.flatMap(taken, (decision) => proceed(principal, decision))
        : proceed(principal, taken)
    }
    const proceed = (principal: Principal, decision: Decision | undefined): Admitted =>
      decision === undefined
        ? enter(principal)
        : Effect.withFiber((fiber): Admitted => {
            Context.getUnsafe(fiber.context, RequestState).responseHeaders = rateLimitHeaders(decision)
            return decision.allowed ? enter(principal) : Effect.fail(rateLimited(decision))
          })
    return Effect.withFiber((fiber): Admitted => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const query = options.queryKey
        ? Context.getUnsafe(fiber.context, HttpServerRequest.ParsedSearchParams)
        : undefined
      const key = givenKey(request.headers, query)
      if (key === null) return Effect.fail(unauthorized)
      if (key === undefined) {
        return Effect.fail(
          new InvalidRequest({ error: "invalid_request", message: "The parameter 'apiKey' was given more than once." })
        )
      }
      const warm = authentication.verifyWarm(key, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
      if (warm !== undefined) return admit(warm)
      return authentication.verify(key).pipe(
        Effect.mapError(
          () => new Unavailable({ error: "unavailable", message: "The API key cannot be checked right now" })
        ),
        Effect.flatMap(admit)
      )
    })
  }
}

/** The number directory's access. */
export const layerDirectoryAccess: Layer.Layer<DirectoryAccess, never, Authentication | RequestRate> = Layer.effect(
  DirectoryAccess,
  Effect.gen(function* () {
    const services = { authentication: yield* Authentication, requestRate: yield* RequestRate }
    return makeAccess(services, { service: "directory", queryKey: true })
  })
)

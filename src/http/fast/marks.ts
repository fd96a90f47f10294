/**
 * Marks by which the fast lane finds what it may use: handlers that it can call, and access middlewares that can grant
 * at once. The ordinary way calls the same handlers and middlewares, so a mark changes nothing there.
 */
import type { IncomingHttpHeaders } from "node:http"
import { type Context, Effect, Result } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { hasAlready, notModified, type Tag, taggedJson } from "../caching.ts"
import type { Counted, Taken } from "../RequestState.ts"

const handlerMark = Symbol("sluice/http/fast/handler")
const accessMark = Symbol("sluice/http/fast/access")

/** Bytes of JSON, with a tag by which clients ask whether they have them already. */
export interface Answer {
  readonly bytes: Buffer
  readonly tag: Tag
}

/** What a marked handler is to the fast lane. Decoded requests are kept and given again, so they must not be changed. */
export type MarkedHandler =
  | { readonly _tag: "Synchronous"; readonly answer: (request: never) => Result.Result<Answer, unknown> }
  | { readonly _tag: "Effectful"; readonly run: (request: never) => Effect.Effect<unknown, unknown, never> }

const marked = <Handler extends object>(handler: Handler, mark: MarkedHandler): Handler =>
  Object.assign(handler, { [handlerMark]: mark })

/** The mark of a handler, if it has one. */
export const markOf = (handler: object): MarkedHandler | undefined =>
  (handler as { readonly [handlerMark]?: MarkedHandler })[handlerMark]

/**
 * A handler that has its answer at once, as bytes of JSON with status 200, or fails as the endpoint describes; a client that
 * has the answer already is told so with 304. Pure: it may be called and its answer not be given.
 */
export const synchronous = <Request extends { readonly request: HttpServerRequest.HttpServerRequest }, E>(
  answer: (request: Omit<Request, "request">) => Result.Result<Answer, E>
) =>
  marked(
    (request: Request): Effect.Effect<HttpServerResponse.HttpServerResponse, E> => {
      const result = answer(request)
      if (Result.isFailure(result)) return Effect.fail(result.failure)
      const { bytes, tag } = result.success
      return Effect.succeed(
        hasAlready(request.request.headers["if-none-match"], tag) ? notModified(tag) : taggedJson(bytes, tag)
      )
    },
    { _tag: "Synchronous", answer }
  )

/** A handler of a POST that needs nothing but the principal and the request's state, and of its request only what is described. */
export const effectful = <Request, A, E, R>(run: (request: Request) => Effect.Effect<A, E, R>) =>
  marked((request: Request) => run(request), {
    _tag: "Effectful",
    // Its services are those that the lane gives; what else it needed would be missing on the ordinary way too.
    run: run as unknown as (request: never) => Effect.Effect<unknown, unknown, never>
  })

/** A middleware that grants access, as the fast lane uses it. The lane hands principals and decisions on and reads neither. */
export interface Access<Principal = unknown, Decision extends Counted = Counted> {
  /** For one endpoint: who asks, where that is known at once and the endpoint is open to them. Counts nothing. */
  readonly principalOf: (
    endpoint: HttpApiEndpoint.Top
  ) => (headers: IncomingHttpHeaders, nowMillis: number) => Principal | undefined
  /** Where handlers find the principal. */
  readonly principal: Context.Key<unknown, Principal>
  /** Counts a request, once. */
  readonly take: (principal: Principal) => Taken<Decision>
  /** The headers of a counted request's answer, their names in lower case; undefined where there are none. */
  readonly fieldsOf: (decision: Decision) => Record<string, string> | undefined
}

/** What the fast lane may do with a middleware. */
export type MiddlewareMark =
  /** Changes failures alone, which the fast lane leaves to the ordinary way. */
  { readonly _tag: "FailuresOnly" } | { readonly _tag: "Access"; readonly access: Access }

/** The mark of a middleware that grants access. */
export const grantsAccess = <Principal, Decision extends Counted>(
  access: Access<Principal, Decision>
): MiddlewareMark => ({
  _tag: "Access",
  // The lane gives `take` only what `principalOf` answered, and `fieldsOf` only what `take` did.
  access: access as unknown as Access
})

/** Marks a middleware. */
export const middleware = <Middleware extends object>(service: Middleware, mark: MiddlewareMark): Middleware =>
  Object.assign(service, { [accessMark]: mark })

/** The mark of a middleware, if it has one. */
export const middlewareMarkOf = (service: object): MiddlewareMark | undefined =>
  (service as { readonly [accessMark]?: MiddlewareMark })[accessMark]

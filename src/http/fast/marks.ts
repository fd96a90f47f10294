/**
 * Marks handlers and access middlewares for the fast lane: handlers that it can call, and middlewares that can grant
 * access synchronously. The general path calls the same handlers and middlewares, so a mark changes nothing there.
 */
import type { IncomingHttpHeaders } from "node:http"
import { type Context, Effect, Result } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { hasAlready, notModified, type Tag, taggedJson } from "../cacheHeaders.ts"
import type { Caller, RateDecision, RateResult } from "../RequestState.ts"

const handlerMark = Symbol("sluice/http/fast/handler")
const accessMark = Symbol("sluice/http/fast/access")

/** Bytes of JSON, with a tag by which clients revalidate them. */
export interface TaggedAnswer {
  readonly bytes: Buffer
  readonly tag: Tag
}

/**
 * How the fast lane calls a marked handler. Decoded requests are cached and reused, so handlers must not change them.
 */
export type MarkedHandler =
  | { readonly _tag: "Synchronous"; readonly answer: (request: never) => Result.Result<TaggedAnswer, unknown> }
  | { readonly _tag: "Effectful"; readonly run: (request: never) => Effect.Effect<unknown, unknown, never> }

const marked = <Handler extends object>(handler: Handler, mark: MarkedHandler): Handler =>
  Object.assign(handler, { [handlerMark]: mark })

/** The mark of a handler, if it has one. */
export const markOf = (handler: object): MarkedHandler | undefined =>
  (handler as { readonly [handlerMark]?: MarkedHandler })[handlerMark]

/**
 * Marks a handler that answers synchronously, with bytes of JSON and status 200, or fails as the endpoint describes. A
 * client that has the answer already gets a 304.
 */
export const synchronous = <Request extends { readonly request: HttpServerRequest.HttpServerRequest }, E>(
  answer: (request: Omit<Request, "request">) => Result.Result<TaggedAnswer, E>
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

/**
 * Marks a handler of a POST that needs only the principal, the request's state, and the described parts of its request.
 * Write it with `Effect.fnUntraced`: an `Effect.gen` in it would make a generator closure for each request, for which
 * V8 makes a map in the old heap each time.
 */
export const effectful = <Request, A, E, R>(run: (request: Request) => Effect.Effect<A, E, R>) =>
  marked((request: Request) => run(request), {
    _tag: "Effectful",
    // The lane gives it its services; any other service would be missing on the general path too.
    run: run as unknown as (request: never) => Effect.Effect<unknown, unknown, never>
  })

/**
 * A middleware that grants access, as the fast lane uses it. The lane hands principals and decisions on and reads
 * neither.
 */
export interface Access<Principal = unknown, Decision extends RateDecision = RateDecision> {
  /**
   * For one endpoint: the caller's principal, if it is known without a wait and the endpoint is open to it. Counts
   * nothing.
   */
  readonly principalOf: (
    endpoint: HttpApiEndpoint.Top
  ) => (headers: IncomingHttpHeaders, nowMillis: number) => Principal | undefined
  /** The context key under which handlers find the principal. */
  readonly principal: Context.Key<unknown, Principal>
  /** Whether the lane leaves an endpoint to the general path, because the middleware acts on its answers. */
  readonly isLeft: (endpoint: HttpApiEndpoint.Top) => boolean
  /** The organization of a caller. */
  readonly organizationOf: (principal: Principal) => string
  /** The caller whose requests the request log keeps; undefined for one of whom it keeps nothing. */
  readonly loggedOf: (principal: Principal) => Caller | undefined
  /** A caller who is known without a wait, whatever it may do. Counts nothing. */
  readonly callerOf: (headers: IncomingHttpHeaders, nowMillis: number) => Principal | undefined
  /** For one endpoint: counts a request, once. */
  readonly takeOf: (endpoint: HttpApiEndpoint.Top) => (principal: Principal) => RateResult<Decision>
  /** The headers of a counted request's answer, their names in lower case; undefined if there are none. */
  readonly fieldsOf: (decision: Decision) => Record<string, string> | undefined
  /** The error of a request that is over its rate, as the endpoint describes it. */
  readonly refusalOf: (decision: Decision) => unknown
}

/** The fast lane's treatment of a middleware. */
export type MiddlewareMark =
  /** Changes failures only. */
  | { readonly _tag: "Failures"; readonly map: (error: unknown) => unknown }
  | { readonly _tag: "Access"; readonly access: Access }

/** The mark of a middleware that grants access. */
export const grantsAccess = <Principal, Decision extends RateDecision>(
  access: Access<Principal, Decision>
): MiddlewareMark => ({
  _tag: "Access",
  // The lane gives `takeOf` only results of `principalOf`, and `fieldsOf` and `refusalOf` only results of `take`.
  access: access as unknown as Access
})

/** Marks a middleware. */
export const middleware = <Middleware extends object>(service: Middleware, mark: MiddlewareMark): Middleware =>
  Object.assign(service, { [accessMark]: mark })

/** The mark of a middleware, if it has one. */
export const middlewareMarkOf = (service: object): MiddlewareMark | undefined =>
  (service as { readonly [accessMark]?: MiddlewareMark })[accessMark]

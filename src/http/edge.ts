/**
 * Wraps every route of the HTTP server: gives each request its id, turns every failure (unknown route, wrong method,
 * malformed parameter, oversized body, defect) into an error of the product's own shape, adds the headers that every
 * answer carries, counts and times it, and logs failures.
 */
import { type Cause, Clock, Context, Effect, type Fiber, Layer, Option, type Types } from "effect"
import { FindMyWay, HttpBody, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApi } from "effect/http-api"
import { answerFields, flattenedFor, logAnswer, pathOf } from "./answerFields.ts"
import { errorBody, errorShapeOf, errorStatus, serviceWithoutEndpoints } from "./errors.ts"
import { type Failure, failureOf, ReadTooLate } from "./failureOf.ts"
import { CurrentLoadShedder } from "./LoadShedder.ts"
import { quote } from "./parameters.ts"
import { RequestMeter } from "./RequestMeter.ts"
import { CurrentRequestRecorder, type RequestRecorder } from "./RequestRecorder.ts"
import { makeRequestState, RequestState, type RequestStateShape } from "./RequestState.ts"
import { CurrentRetryGrowth } from "./RetryGrowth.ts"
import { targetProblem } from "./storableText.ts"
import { routesWithoutBody, withStrictBody } from "./strictBody.ts"

/** Nginx' status for a client that did not wait for its answer, in metrics only. */
export const clientGone = 499

export interface EdgeOptions {
  /** Whether answers below 500 are logged too. */
  readonly accessLog: boolean
  /** Whether failures are logged, default true; a command shows them itself. */
  readonly failureLog?: boolean
  /** How long a read may take; default: docs/platform.md, 8.4. */
  readonly readTimeoutMillis?: number
}

/** The methods of a path, for a 405's `Allow`; empty when no route has the path. */
type AllowedMethods = (path: string) => ReadonlyArray<string>

const makeAllowedMethods = (
  api: HttpApi.Constraint,
  extra: ReadonlyArray<readonly [method: string, path: string]>,
  config: Partial<FindMyWay.RouterConfig>
): AllowedMethods => {
  const router = FindMyWay.make<true>(config)
  const methods = new Set<string>()
  const add = (method: string, path: string) => {
    methods.add(method)
    router.on(method, path as FindMyWay.PathInput, true)
    // A route that ends with a star includes its beginning itself, as in the server's router.
    if (path.endsWith("/*") && path !== "/*") router.on(method, path.slice(0, -2) as FindMyWay.PathInput, true)
  }
  for (const group of Object.values((api as HttpApi.Top).groups)) {
    for (const endpoint of Object.values(group.endpoints)) add(endpoint.method, endpoint.path)
  }
  for (const [method, path] of extra) add(method, path)
  const has = (method: string, path: string): boolean => {
    const found = router.find(method, path)
    // The router takes an empty segment for a parameter, which no endpoint does.
    return found !== undefined && Object.entries(found.params).every(([name, value]) => name === "*" || value !== "")
  }
  return (path) => {
    // The router finds no path whose percent-encoding cannot be decoded; the rest of the path says which route it meant.
    const literal = path.replaceAll("%", "_")
    const allowed = [...methods].filter((method) => has(method, literal))
    return (allowed.includes("GET") ? [...new Set([...allowed, "HEAD"])] : allowed).sort()
  }
}

const unknownRoute = (request: HttpServerRequest.HttpServerRequest, allowedMethods: AllowedMethods): Failure => {
  const path = pathOf(request.url)
  const methods = allowedMethods(path)
  if (methods.length === 0) {
    const service = serviceWithoutEndpoints(path)
    const why = service === undefined ? "" : ` The service ${service} has no endpoints yet.`
    return { code: "not_found", message: `No such path: ${quote(path)}.${why}` }
  }
  // The router skips a path whose percent-encoding cannot be decoded.
  return methods.includes(request.method)
    ? { code: "invalid_request", message: `The path is not well-formed: ${quote(path)}.` }
    : {
        code: "method_not_allowed",
        message: `${request.method} is not allowed here; allowed: ${methods.join(", ")}.`,
        headers: { allow: methods.join(", ") }
      }
}

/**
 * How long a read may take before it is answered 503. Each product bounds its own writes, and reports that their
 * outcome is not known; reads have no other bound.
 */
const readTimeoutMillis = 9_500

/** Interrupts a request that reads and takes too long; answers what ends the watch. */
const watchRead = (
  fiber: Fiber.Fiber<unknown, unknown> & { readonly context: Context.Context<never> },
  { method }: HttpServerRequest.HttpServerRequest,
  millis: number
): (() => void) => {
  if (method !== "GET" && method !== "HEAD") return () => {}
  const watch = Effect.runForkWith(fiber.context)(
    Effect.andThen(
      Effect.sleep(millis),
      Effect.sync(() => fiber.interruptUnsafe(undefined, ReadTooLate.annotation))
    )
  )
  return () => watch.interruptUnsafe()
}

const respond = (failure: Failure, path: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(errorShapeOf(path), failure.code, failure.message), {
    status: errorStatus[failure.code],
    ...(failure.headers === undefined ? {} : { headers: failure.headers })
  })

/** The answer in the form of errors that the client reads. */
const forClient = (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  if (response.status < 400 || response.body._tag !== "Uint8Array") return response
  const text = response.body.text ?? new TextDecoder().decode(response.body.body)
  const flat = flattenedFor(request, response.status, text)
  return flat === undefined ? response : HttpServerResponse.setBody(response, HttpBody.jsonUnsafe(flat))
}

const unsupported: Failure = {
  code: "unsupported_media_type",
  message: "The Content-Type must be application/json."
}

/** The text of an answer's body, if it is there as a whole. */
const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined =>
  body._tag === "Uint8Array" ? (body.text ?? new TextDecoder().decode(body.body)) : undefined

/** A request for the request log, with its answer. */
interface Finished {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly response: HttpServerResponse.HttpServerResponse
  readonly route: string | undefined
  readonly seconds: number
  readonly clock: Clock.Clock
}

/** Reports an answer to the request log. A client that did not wait for one has none. */
const record = (recorder: RequestRecorder, state: RequestStateShape, finished: Finished): void => {
  const { status } = finished.response
  if (state.caller === undefined || status === clientGone) return
  const keep = recorder.counted(state.caller, status)
  if (keep === undefined) return
  const { clock, request, response, route, seconds } = finished
  keep({
    at: clock.currentTimeMillisUnsafe(),
    seconds,
    method: request.method,
    route,
    url: request.url,
    status,
    requestId: state.requestId,
    address: Option.getOrUndefined(request.remoteAddress),
    body: state.body,
    answer: status < 400 ? undefined : textOf(response),
    facts: state.facts
  })
}

/** The context of a request behind the edge. */
const entered = <R>(
  context: Context.Context<R>,
  state: RequestStateShape,
  request: HttpServerRequest.HttpServerRequest
) => Context.add(Context.add(context, RequestState, state), HttpServerRequest.HttpServerRequest, request)

/** Wraps the routes' effect; see the module comment. Registered once per server, with the API it serves. */
export const layerEdge = (
  api: HttpApi.Constraint,
  options: EdgeOptions & {
    readonly extraRoutes?: ReadonlyArray<readonly [method: string, path: string]>
    /** The settings of the server's router. */
    readonly routerConfig?: Partial<FindMyWay.RouterConfig>
  }
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const allowedMethods = makeAllowedMethods(api, options.extraRoutes ?? [], options.routerConfig ?? {})
  const withoutBody = routesWithoutBody(api)

  // The type still shows the router's own errors, although every cause is answered here.
  type Answered = Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>

  const edge = (recorder: RequestRecorder) => (router: HttpRouter.HttpRouter) =>
    router.addGlobalMiddleware(
      (httpEffect): Answered =>
        Effect.withFiber((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const clock = fiber.getRef(Clock.Clock)
          const state = makeRequestState(request.headers["x-request-id"])
          const shedder = Context.get(fiber.context, CurrentLoadShedder)
          const started = clock.monotonicTimeNanosUnsafe()
          fiber.setContext(entered(fiber.context, state, withStrictBody(request, withoutBody)))

          const routeOf = () => Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)

          const finish = (given: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
            const response = forClient(given, request)
            shedder.answered(state)
            const route = routeOf()?.route.path
            const nowNanos = clock.monotonicTimeNanosUnsafe()
            const seconds = Number(nowNanos - started) / 1e9
            RequestMeter.of(fiber.context)
              .series(request.method, route ?? "unknown")
              .add(response.status, seconds)
            record(recorder, state, { request, response, route, seconds, clock })
            const growth = Context.get(fiber.context, CurrentRetryGrowth)
            const { status } = response
            const own = { status, retryAfter: response.headers["retry-after"] }
            const headers = answerFields(own, state, { growth, nowNanos })
            return headers === undefined
              ? HttpServerResponse.setHeader(response, "x-request-id", state.requestId)
              : HttpServerResponse.setHeaders(response, { ...headers, "x-request-id": state.requestId })
          }

          const log = (status: number, cause?: Cause.Cause<unknown>) =>
            logAnswer({ method: request.method, url: request.url, requestId: state.requestId, status }, cause)

          const problem = targetProblem(request.url)
          if (problem !== undefined) {
            const refused = finish(respond({ code: "invalid_request", message: problem }, pathOf(request.url)))
            return Effect.as(options.accessLog ? log(refused.status) : Effect.void, refused)
          }
          const unwatch = watchRead(fiber, request, options.readTimeoutMillis ?? readTimeoutMillis)
          return Effect.matchCauseEffect(httpEffect, {
            onSuccess: (response) => {
              unwatch()
              // The body decoder itself answers an unknown content type, in plain text.
              const answer = response.status === 415 ? respond(unsupported, pathOf(request.url)) : response
              const finished = finish(answer)
              return options.accessLog || (finished.status >= 500 && options.failureLog !== false)
                ? Effect.as(log(finished.status), finished)
                : Effect.succeed(finished)
            },
            onFailure: (cause) => {
              unwatch()
              const failure = failureOf(cause, {
                url: request.url,
                requestId: state.requestId,
                params: routeOf()?.params ?? {},
                unknownRoute: () => unknownRoute(request, allowedMethods)
              })
              if (failure === "aborted") return Effect.succeed(finish(HttpServerResponse.empty({ status: clientGone })))
              const finished = finish(respond(failure, pathOf(request.url)))
              return options.accessLog || (finished.status >= 500 && options.failureLog !== false)
                ? Effect.as(log(finished.status, cause), finished)
                : Effect.succeed(finished)
            }
          })
        })
    )
  return Layer.unwrap(Effect.map(CurrentRequestRecorder, (recorder) => HttpRouter.use(edge(recorder))))
}

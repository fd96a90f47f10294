/**
 * The edge of the HTTP server, around every route: gives each request its id, turns whatever went wrong (unknown route,
 * wrong method, malformed parameter, oversized body, defect) into an error of the product's own shape, adds the headers
 * that every answer carries, counts and times it, and logs failures. No key reaches a log: only the path is logged,
 * never the query, and no header.
 */
import { randomUUID } from "node:crypto"
import { type Cause, Clock, Context, Effect, type Layer, Metric, SchemaIssue, type Types } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ClientAbort, HttpServerError } from "effect/http/HttpServerError"
import { type HttpApi, HttpApiError } from "effect/http-api"
import { type ErrorCode, errorBody, errorShapeOf, errorStatus } from "./errors.ts"
import { quote } from "./parameters.ts"
import { RequestState, type RequestStateShape } from "./RequestState.ts"

export interface EdgeOptions {
  /** Whether answers below 500 are logged too. */
  readonly accessLog: boolean
  /** Whether failures are logged, default true; a command shows them itself. */
  readonly failureLog?: boolean
}

/** What the caller gets to read of a failure. */
interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly headers?: Record<string, string>
}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/

/** Seconds; from a fast in-memory read to the longest request that is served. */
const durationBoundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

// A series of its own each: `Metric.withAttributes` would merge the attributes anew at every update.
const requestsTotal = (method: string, route: string, status: number) =>
  Metric.counter("sluice_http_requests_total", {
    description: "Requests answered, by route, method and status",
    incremental: true,
    attributes: { method, route, status: String(status) }
  })
const requestDuration = (route: string) =>
  Metric.histogram("sluice_http_request_duration_seconds", {
    description: "Time from the first byte handled to the answer, by route",
    boundaries: durationBoundaries,
    attributes: { route }
  })

interface RouteMetrics {
  readonly total: Map<number, Metric.Counter<number>>
  readonly duration: Metric.Histogram<number>
}

/** Statuses per route and routes are both finite, so these maps are bounded by the API itself. */
const makeMeter = () => {
  const routes = new Map<string, RouteMetrics>()
  return (method: string, route: string, status: number, seconds: number, context: Context.Context<never>): void => {
    const key = `${method} ${route}`
    let metrics = routes.get(key)
    if (metrics === undefined) {
      metrics = { total: new Map(), duration: requestDuration(route) }
      routes.set(key, metrics)
    }
    let total = metrics.total.get(status)
    if (total === undefined) {
      total = requestsTotal(method, route, status)
      metrics.total.set(status, total)
    }
    total.updateUnsafe(1, context)
    metrics.duration.updateUnsafe(seconds, context)
  }
}

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Methods the API knows for a path, for a 405's `Allow`; empty where no route has the path. */
const makeAllowedMethods = (api: HttpApi.Constraint, extra: ReadonlyArray<readonly [method: string, path: string]>) => {
  const routes: Array<readonly [method: string, pattern: RegExp]> = []
  const add = (method: string, path: string) =>
    routes.push([
      method,
      new RegExp(
        `^${path
          .split("/")
          .map((segment) => (segment.startsWith(":") ? "[^/]+" : segment.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")))
          .join("/")}$`
      )
    ])
  for (const group of Object.values((api as HttpApi.Top).groups)) {
    for (const endpoint of Object.values(group.endpoints)) add(endpoint.method, endpoint.path)
  }
  for (const [method, path] of extra) add(method, path)
  return (path: string): ReadonlyArray<string> => {
    const methods = new Set(routes.filter(([, pattern]) => pattern.test(path)).map(([method]) => method))
    if (methods.has("GET")) methods.add("HEAD")
    return [...methods].sort()
  }
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** What the formatter says of a field that is not there, where its schema says nothing else. */
const missingKey = "Missing key"

const places = { Params: "parameter", Query: "parameter", Headers: "header", Payload: "field" } as const

/** The sentence for the first fault of a request that did not decode; quotes what was given. */
const schemaFailure = (
  error: HttpApiError.HttpApiSchemaError,
  request: HttpServerRequest.HttpServerRequest,
  params: Readonly<Record<string, string | undefined>>
): Failure => {
  const kind = error.kind
  if (kind === "Body" || kind === "ResponseHeaders") return { code: "internal_error", message: "" }
  const issue = formatIssue(error.cause.issue).issues[0]
  const expected = (issue?.message ?? "Expected another value").replace(/\.$/, "")
  const path = (issue?.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment))
  const name = path.map(String).join(".")
  if (name === "") return { code: "invalid_request", message: `Invalid request body. ${expected}.` }
  if (kind === "Query") {
    const url = URL.parse(request.url, "http://localhost")
    const values = url?.searchParams.getAll(name) ?? []
    if (values.length > 1) {
      return { code: "invalid_request", message: `The parameter '${name}' was given more than once.` }
    }
    if (values[0] !== undefined) {
      return { code: "invalid_request", message: `Invalid parameter '${name}': ${quote(values[0])}. ${expected}.` }
    }
    return { code: "invalid_request", message: `Missing required parameter '${name}'. ${expected}.` }
  }
  if (issue?.message === missingKey) {
    return { code: "invalid_request", message: `Missing required ${places[kind]} '${name}'.` }
  }
  const given = kind === "Params" ? params[name] : undefined
  return {
    code: "invalid_request",
    message: `Invalid ${places[kind]} '${name}'${given === undefined ? "" : `: ${quote(given)}`}. ${expected}.`
  }
}

const internal = (state: RequestStateShape): Failure => ({
  code: "internal_error",
  message: `The request could not be handled. Quote the request id ${state.requestId} when reporting this.`
})

/** Wraps the routes' effect; see the module comment. Registered once per server, with the API it serves. */
export const layerEdge = (
  api: HttpApi.Constraint,
  options: EdgeOptions & { readonly extraRoutes?: ReadonlyArray<readonly [method: string, path: string]> }
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const allowedMethods = makeAllowedMethods(api, options.extraRoutes ?? [])
  const meter = makeMeter()

  const unknownRoute = (request: HttpServerRequest.HttpServerRequest): Failure => {
    const path = pathOf(request.url)
    const methods = allowedMethods(path)
    if (methods.length === 0) return { code: "not_found", message: `No such path: ${quote(path)}.` }
    // The router passes over a path whose percent-encoding cannot be decoded.
    return methods.includes(request.method)
      ? { code: "invalid_request", message: `The path is not well-formed: ${quote(path)}.` }
      : {
          code: "method_not_allowed",
          message: `${request.method} is not allowed here; allowed: ${methods.join(", ")}.`,
          headers: { allow: methods.join(", ") }
        }
  }

  const failureOf = (
    cause: Cause.Cause<unknown>,
    request: HttpServerRequest.HttpServerRequest,
    params: Readonly<Record<string, string | undefined>>,
    state: RequestStateShape
  ): Failure | "aborted" => {
    let interrupted = false
    for (const reason of cause.reasons) {
      if (reason._tag === "Interrupt") {
        if (reason.annotations.has(ClientAbort.key)) return "aborted"
        interrupted = true
        continue
      }
      const error = reason._tag === "Fail" ? reason.error : reason.defect
      if (HttpApiError.HttpApiSchemaError.is(error)) {
        const failure = schemaFailure(error, request, params)
        return failure.code === "internal_error" ? internal(state) : failure
      }
      if (HttpApiError.HttpApiPayloadTooLarge.is(error)) {
        return { code: "payload_too_large", message: "The request body is too large." }
      }
      if (error instanceof HttpServerError) {
        if (error.reason._tag === "RouteNotFound") return unknownRoute(request)
        if (error.reason._tag === "RequestParseError") {
          return error.reason.reason === "BodyTooLarge"
            ? { code: "payload_too_large", message: "The request body is too large." }
            : { code: "invalid_request", message: "The request could not be read." }
        }
      }
      return internal(state)
    }
    return interrupted
      ? { code: "unavailable", message: "The server is stopping; repeat the request." }
      : internal(state)
  }

  const respond = (failure: Failure, path: string): HttpServerResponse.HttpServerResponse =>
    HttpServerResponse.jsonUnsafe(errorBody(errorShapeOf(path), failure.code, failure.message), {
      status: errorStatus[failure.code],
      ...(failure.headers === undefined ? {} : { headers: failure.headers })
    })

  // The router's own errors pass through the type, although none is left: every cause is answered here.
  type Answered = Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>

  return HttpRouter.use((router) =>
    router.addGlobalMiddleware(
      (httpEffect): Answered =>
        Effect.withFiber((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const clock = fiber.getRef(Clock.Clock)
          const started = clock.currentTimeNanosUnsafe()
          const given = request.headers["x-request-id"]
          const state: RequestStateShape = {
            requestId: given !== undefined && requestIdPattern.test(given) ? given : `req_${randomUUID()}`,
            responseHeaders: undefined
          }
          fiber.setContext(Context.add(fiber.context, RequestState, state))

          const routeOf = () => Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)

          const finish = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
            const route = routeOf()?.route.path ?? "unknown"
            const seconds = Number(clock.currentTimeNanosUnsafe() - started) / 1e9
            meter(request.method, route, response.status, seconds, fiber.context)
            const headers = state.responseHeaders
            return headers === undefined
              ? HttpServerResponse.setHeader(response, "x-request-id", state.requestId)
              : HttpServerResponse.setHeaders(response, { ...headers, "x-request-id": state.requestId })
          }

          const log = (status: number, cause?: Cause.Cause<unknown>) => {
            const line =
              status >= 500 && cause !== undefined
                ? Effect.logError("Request failed", cause)
                : Effect.logInfo("Request answered")
            return Effect.annotateLogs(line, {
              requestId: state.requestId,
              method: request.method,
              path: pathOf(request.url),
              status
            })
          }

          return Effect.matchCauseEffect(httpEffect, {
            onSuccess: (response) => {
              // The body decoder answers an unknown content type by itself, in plain text.
              const answer =
                response.status === 415
                  ? respond(
                      { code: "unsupported_media_type", message: "The Content-Type must be application/json." },
                      pathOf(request.url)
                    )
                  : response
              const finished = finish(answer)
              return options.accessLog || (finished.status >= 500 && options.failureLog !== false)
                ? Effect.as(log(finished.status), finished)
                : Effect.succeed(finished)
            },
            onFailure: (cause) => {
              const failure = failureOf(cause, request, routeOf()?.params ?? {}, state)
              if (failure === "aborted") return Effect.succeed(finish(HttpServerResponse.empty({ status: 499 })))
              const finished = finish(respond(failure, pathOf(request.url)))
              return options.accessLog || (finished.status >= 500 && options.failureLog !== false)
                ? Effect.as(log(finished.status, cause), finished)
                : Effect.succeed(finished)
            }
          })
        })
    )
  )
}

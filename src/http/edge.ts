/**
 * Wraps every route of the HTTP server: gives each request its id, turns every failure (unknown route, wrong method,
 * malformed parameter, oversized body, defect) into an error of the product's own shape, adds the headers that every
 * answer carries, counts and times it, and logs failures. No key reaches a log: it logs the path only, never the query
 * or a header.
 */
import { type Cause, Clock, Context, Effect, type Fiber, type Layer, SchemaIssue, type Types } from "effect"
import { FindMyWay, HttpBody, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ClientAbort, HttpServerError } from "effect/http/HttpServerError"
import { type HttpApi, HttpApiError } from "effect/http-api"
import { type ErrorCode, errorBody, errorShapeOf, errorStatus, flattened, serviceWithoutEndpoints } from "./errors.ts"
import { quote } from "./parameters.ts"
import { RequestMeter } from "./RequestMeter.ts"
import { makeRequestState, RequestState, type RequestStateShape, takeOver } from "./RequestState.ts"
import { CurrentRetryGrowth } from "./RetryGrowth.ts"
import { targetProblem } from "./storableText.ts"
import { BodyRefused, routesWithoutBody, withStrictBody } from "./strictBody.ts"
import { unknownField } from "./unknownNames.ts"

export interface EdgeOptions {
  /** Whether answers below 500 are logged too. */
  readonly accessLog: boolean
  /** Whether failures are logged, default true; a command shows them itself. */
  readonly failureLog?: boolean
  /** How long a read may take; default: docs/platform.md, 8.4. */
  readonly readTimeoutMillis?: number
}

/** The part of a failure that the caller sees. */
interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly headers?: Record<string, string>
}

/** Adds the header that a 401 must have (RFC 9110, 11.6.1), which describes how to give a key. */
const challenged = (headers: Record<string, string> | undefined): Record<string, string> => ({
  ...headers,
  "www-authenticate": 'Bearer realm="sluice"'
})

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The path as logged: the text behind a `;` may be a parameter, such as a key, and parameters are not logged. */
const loggedPath = (url: string): string => pathOf(url).replace(/(?:;|%3b).*$/i, ";…")

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

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The formatter's text for a missing field when its schema has no message of its own. */
const missingKey = "Missing key"

const places = { Params: "parameter", Query: "parameter", Headers: "header", Payload: "field" } as const

/** Words an expectation for people: a schema's name becomes "a JSON object", and alternatives are joined by "or". */
const plainly = (expected: string): string =>
  expected
    .replace(/^Expected [A-Z][A-Za-z]+$/, "Expected a JSON object")
    .replace(/^Expected null \| object$/, "Expected a JSON object, or no body")
    .replace(/^Expected [a-z]+( \| [a-z]+)+$/, (text) => text.replaceAll(" | ", " or "))

/** The sentence for the first fault of a request that did not decode; quotes the given text. */
const schemaFailure = (
  error: HttpApiError.HttpApiSchemaError,
  request: HttpServerRequest.HttpServerRequest,
  params: Readonly<Record<string, string | undefined>>
): Failure => {
  const kind = error.kind
  if (kind === "Body" || kind === "ResponseHeaders") return { code: "internal_error", message: "" }
  const unknown = kind === "Payload" ? unknownField(error.cause.issue) : undefined
  if (unknown !== undefined) return { code: "invalid_request", message: unknown }
  const issue = formatIssue(error.cause.issue).issues[0]
  const expected = plainly((issue?.message ?? "Expected another value").replace(/\.$/, ""))
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

/** Marks a request that was interrupted because its answer took too long. */
class ReadTooLate extends Context.Service<ReadTooLate, true>()("sluice/http/edge/ReadTooLate") {
  static readonly annotation = this.context(true)
}

const tooLate: Failure = {
  code: "unavailable",
  message: "The answer took too long; the request is safe to repeat",
  headers: { "retry-after": "1" }
}

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

/** The caller's view of a cause; `aborted` when the caller has disconnected. */
const failureOf = (
  cause: Cause.Cause<unknown>,
  request: HttpServerRequest.HttpServerRequest,
  params: Readonly<Record<string, string | undefined>>,
  state: RequestStateShape,
  allowedMethods: AllowedMethods
): Failure | "aborted" => {
  let interrupted = false
  for (const reason of cause.reasons) {
    if (reason._tag === "Interrupt") {
      if (reason.annotations.has(ClientAbort.key)) return "aborted"
      if (reason.annotations.has(ReadTooLate.key)) return tooLate
      interrupted = true
      continue
    }
    const error = reason._tag === "Fail" ? reason.error : reason.defect
    if (HttpApiError.HttpApiSchemaError.is(error)) {
      const failure = schemaFailure(error, request, params)
      return failure.code === "internal_error" ? internal(state) : failure
    }
    if (error instanceof BodyRefused) return { code: "invalid_request", message: error.message }
    if (HttpApiError.HttpApiPayloadTooLarge.is(error)) {
      return { code: "payload_too_large", message: "The request body is too large." }
    }
    if (error instanceof HttpServerError) {
      if (error.reason._tag === "RouteNotFound") return unknownRoute(request, allowedMethods)
      if (error.reason._tag === "RequestParseError") {
        return error.reason.reason === "BodyTooLarge"
          ? { code: "payload_too_large", message: "The request body is too large." }
          : { code: "invalid_request", message: "The request could not be read." }
      }
    }
    return internal(state)
  }
  return interrupted ? { code: "unavailable", message: "The server is stopping; repeat the request." } : internal(state)
}

const respond = (failure: Failure, path: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(errorShapeOf(path), failure.code, failure.message), {
    status: errorStatus[failure.code],
    ...(failure.headers === undefined ? {} : { headers: failure.headers })
  })

const clientOf = (headers: Readonly<Record<string, string | undefined>>) => ({
  userAgent: headers["user-agent"],
  hasKey: headers.authorization !== undefined || headers["x-api-key"] !== undefined
})

/** The answer in the form of errors that the client reads. */
const forClient = (
  response: HttpServerResponse.HttpServerResponse,
  { headers, url }: HttpServerRequest.HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  if (response.status < 400 || response.body._tag !== "Uint8Array") return response
  const text = response.body.text ?? new TextDecoder().decode(response.body.body)
  const flat = flattened(pathOf(url), clientOf(headers), response.status, text)
  return flat === undefined ? response : HttpServerResponse.setBody(response, HttpBody.jsonUnsafe(flat))
}

/** The context of a request behind the edge. */
const entered = <R>(
  context: Context.Context<R>,
  state: RequestStateShape,
  request: HttpServerRequest.HttpServerRequest
) => Context.add(Context.add(context, RequestState, state), HttpServerRequest.HttpServerRequest, request)

/**
 * Makes the client of a 503 wait for longer, the longer the failure lasts (docs/platform.md, 8.5). The answer's own
 * time is the least.
 */
const patient = (
  context: Context.Context<never>,
  response: HttpServerResponse.HttpServerResponse,
  { responseHeaders: headers }: RequestStateShape
) => {
  const said = headers?.["retry-after"] ?? response.headers["retry-after"] ?? 0
  const seconds = Context.get(context, CurrentRetryGrowth).refused(
    Number(Context.get(context, Clock.Clock).monotonicTimeNanosUnsafe()) / 1e6
  )
  return { ...headers, "retry-after": String(Math.max(seconds, Number(said))) }
}

/** The headers of an answer besides its own. */
const headersOf = (
  context: Context.Context<never>,
  response: HttpServerResponse.HttpServerResponse,
  state: RequestStateShape
) => {
  if (response.status === 401) return challenged(state.responseHeaders)
  return response.status === 503 ? patient(context, response, state) : state.responseHeaders
}

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

  return HttpRouter.use((router) =>
    router.addGlobalMiddleware(
      (httpEffect): Answered =>
        Effect.withFiber((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const clock = fiber.getRef(Clock.Clock)
          const state = takeOver(request.source) ?? makeRequestState(request.headers["x-request-id"])
          const started = state.begun?.startedNanos ?? clock.monotonicTimeNanosUnsafe()
          fiber.setContext(entered(fiber.context, state, withStrictBody(request, withoutBody)))

          const routeOf = () => Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)

          const finish = (given: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
            const response = forClient(given, request)
            const route = routeOf()?.route.path ?? "unknown"
            const seconds = Number(clock.monotonicTimeNanosUnsafe() - started) / 1e9
            RequestMeter.of(fiber.context).series(request.method, route).add(response.status, seconds)
            const headers = headersOf(fiber.context, response, state)
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
              path: loggedPath(request.url),
              status
            })
          }

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
              unwatch()
              const failure = failureOf(cause, request, routeOf()?.params ?? {}, state, allowedMethods)
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

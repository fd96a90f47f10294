/**
 * Runs the HTTP listeners: an API's routes with its documentation behind the edge, on a Node server with bounded
 * headers, bodies and times. Requests that Node itself refuses (a header block too large, a line that is not HTTP) are
 * answered in JSON too.
 */
import { randomUUID } from "node:crypto"
import { type IncomingMessage, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServer, UrlParams } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { type ConnectionDrain, watchConnections } from "./ConnectionDrain.ts"
import { type EdgeOptions, layerEdge } from "./edge.ts"
import { type ErrorCode, errorBody, errorShapeOf, errorStatus, flattened } from "./errors.ts"
import { FrontedServer } from "./fast/FrontedServer.ts"
import { layerFastLane } from "./fast/layer.ts"
import { CurrentRequestRecorder } from "./RequestRecorder.ts"
import { builtWithKeys } from "./smallContext.ts"

/** Largest block of request headers, the request line included. */
const maximumHeaderBytes = 16_384
/** Time for the headers of a request to arrive. */
const headersTimeoutMillis = 15_000
/** Time for a whole request to arrive. */
const requestTimeoutMillis = 60_000
/** How often connections are checked for both. Node's own 30 s would add that much to either. */
const timeoutCheckMillis = 1_000
/**
 * How long an idle connection is kept. Above the usual 60 s of a load balancer, so that the server never hangs up
 * first.
 */
const keepAliveTimeoutMillis = 65_000
/** How long a shutdown waits for open requests. */
const shutdownTimeoutMillis = 5_000

/** Longest path parameter that still reaches its endpoint, which names the fault. */
const maximumParameterLength = maximumHeaderBytes

const refusals: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: "request_header_fields_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout"
}

const messages: Partial<Record<ErrorCode, string>> = {
  request_header_fields_too_large: `The request's headers are larger than ${maximumHeaderBytes} bytes.`,
  request_timeout: "The request took too long to arrive.",
  invalid_request: "This is not a well-formed HTTP request."
}

/**
 * A parameter of a path segment. No endpoint has one, and its value may be a key, which logs and traces must not show.
 */
const segmentParameter = /;([^/;=]*)=[^/;]*/g

/** The target with each `;` of its path escaped, so that it means itself, and without the values behind it. */
const literalPath = (target: string): string => {
  const start = target.indexOf("?")
  const path = start === -1 ? target : target.slice(0, start)
  return path.replaceAll(segmentParameter, "%3B$1=%E2%80%A6").replaceAll(";", "%3B") + target.slice(path.length)
}

/** A connection with the answer that Node will write to it. */
interface Answering extends Duplex {
  readonly _httpMessage?: { readonly req?: IncomingMessage } | null
}

/**
 * The request whose body did not come whole: Node has given it to its listeners. A request that Node could not parse
 * has none.
 */
const refusedRequest = (socket: Answering): { readonly target: string; readonly userAgent: string | undefined } => {
  const request = socket._httpMessage?.req
  return request?.complete === false
    ? { target: request.url ?? "", userAgent: request.headers["user-agent"] }
    : { target: "", userAgent: undefined }
}

/**
 * The body of the server's own refusal, in the shape of the product that the path belongs to, and in the generic one
 * without a path.
 */
const refusalBody = (code: ErrorCode, { target, userAgent }: ReturnType<typeof refusedRequest>): string => {
  const path = target.split(/[?#]/, 1)[0]!
  const text = JSON.stringify(errorBody(errorShapeOf(path), code, messages[code] ?? ""))
  const flat = flattened(path, { userAgent, hasKey: true }, errorStatus[code], text)
  return flat === undefined ? text : JSON.stringify(flat)
}

/** How long a request may take to arrive, and how often that is checked. */
export interface ArrivalTimes {
  readonly headersMillis: number
  readonly requestMillis: number
  readonly checkMillis: number
}

const arrivalTimes: ArrivalTimes = {
  headersMillis: headersTimeoutMillis,
  requestMillis: requestTimeoutMillis,
  checkMillis: timeoutCheckMillis
}

/** Makes Node's server with the limits above. It also answers unparsable requests. */
export const makeNodeServer = (times: ArrivalTimes = arrivalTimes): FrontedServer => {
  const server = new FrontedServer({
    maxHeaderSize: maximumHeaderBytes,
    headersTimeout: times.headersMillis,
    requestTimeout: times.requestMillis,
    connectionsCheckingInterval: times.checkMillis,
    keepAliveTimeout: keepAliveTimeoutMillis,
    // Node's own refusal would have neither a body nor a request id, and the Host header changes nothing
    // (docs/platform.md, 1.1).
    requireHostHeader: false,
    // The server upgrades no connection. A request that asks for it is handled like any other.
    shouldUpgradeCallback: () => false
  })
  // Likewise for `Expect`, which a server may ignore.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  // The router takes `;` and `#` for the beginning of a query. A `;` belongs to its path segment (RFC 3986, 3.3), and a
  // fragment is not sent.
  server.on("request", (request) => {
    if (/[;#]/.test(request.url ?? "")) request.url = literalPath(request.url!.replace(/#.*/, ""))
  })
  server.on("clientError", (error: Error & { readonly code?: string }, socket: Duplex) => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy()
      return
    }
    const code = refusals[error.code ?? ""] ?? "invalid_request"
    const body = refusalBody(code, refusedRequest(socket))
    socket.end(
      `HTTP/1.1 ${errorStatus[code]} ${STATUS_CODES[errorStatus[code]]}\r\nX-Request-Id: req_${randomUUID()}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
    )
  })
  return server
}

export interface ServerOptions extends EdgeOptions {
  readonly host: string
  readonly port: number
  /** Whether workers of one machine do not share the listener; default: they do. */
  readonly exclusive?: boolean
  readonly maxBodyBytes: number
  /** Whether the fast lane answers simple requests; default true. Never with an access log. */
  readonly fastLane?: boolean
}

/** A page for people beside the API's endpoints. */
export interface Page {
  readonly path: `/${string}`
  /** The methods of its routes; default: GET. */
  readonly methods?: ReadonlyArray<"GET" | "POST" | "PATCH" | "DELETE">
  readonly layer: Layer.Layer<never, never, HttpRouter.HttpRouter>
  /** Ends answers that never end by themselves, before the listener stops and waits for them. */
  readonly stop?: Effect.Effect<void>
}

const descriptionPath = "/openapi.json"

const routerConfig = {
  maxParamLength: maximumParameterLength,
  // Each path has one spelling, because it also decides the shape of an error and what a 405 allows.
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false
}

/** The keys of the services that an API's server needs: groups' handlers and the middlewares before them. */
const keysOf = (api: HttpApi.Constraint): ReadonlyArray<string> =>
  Object.values((api as HttpApi.Top).groups).flatMap(({ endpoints, key }) => [
    key,
    ...Object.values(endpoints).flatMap(({ middlewares }) => [...middlewares].map((middleware) => middleware.key))
  ])

/**
 * Serves an API with `/openapi.json` and the pages on a listener of its own. Its groups' handlers stay a requirement.
 * Fails with `ServeError` when the address cannot be had.
 */
export const layerServer = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  options: ServerOptions,
  pages: ReadonlyArray<Page> = []
) => {
  // Each build of the layer makes a new server.
  const layer = Layer.unwrap(
    Effect.gen(function* () {
      const server = makeNodeServer()
      const connections = watchConnections(server)
      yield* Effect.addFinalizer(() => connections.close)
      return layerDrain(connections).pipe(Layer.provideMerge(layerRoutes(api, options, pages, server)))
    })
  )
  return layer.pipe(builtWithKeys([...keysOf(api), CurrentRequestRecorder.key]))
}

/** Ends the connections in order before the server stops. */
const layerDrain = (connections: ConnectionDrain) =>
  Layer.effectDiscard(
    Effect.andThen(
      HttpServer.HttpServer,
      Effect.addFinalizer(() => connections.drain(shutdownTimeoutMillis))
    )
  )

const layerRoutes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  options: ServerOptions,
  pages: ReadonlyArray<Page>,
  server: FrontedServer
) => {
  const described = [{ path: descriptionPath, methods: undefined }, ...pages]
  const extraRoutes = described.flatMap(({ methods = ["GET"], path }) =>
    methods.map((method) => [method, path] as const)
  )
  const isFast = options.fastLane !== false && !options.accessLog
  // The lane finds groups and middlewares in its context by their keys, which the type cannot express.
  const fastLane = layerFastLane(api, {
    server,
    routerConfig,
    extraRoutes,
    maxBodyBytes: options.maxBodyBytes
  }) as Layer.Layer<never, never, HttpApiEndpoint.Middleware<HttpApiGroup.Endpoints<Groups>>>
  return HttpRouter.serve(
    Layer.mergeAll(
      HttpApiBuilder.layer(api, { openapiPath: descriptionPath }),
      ...pages.map(({ layer }) => layer),
      layerEdge(api, { accessLog: options.accessLog, extraRoutes, routerConfig }),
      isFast ? fastLane : Layer.empty
    ),
    { routerConfig, disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provideMerge(
      NodeHttpServer.layer(() => server, {
        host: options.host,
        port: options.port,
        exclusive: options.exclusive ?? false,
        gracefulShutdownTimeout: shutdownTimeoutMillis
      })
    ),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(options.maxBodyBytes)),
        // The directory takes a key in the query, and a caller may mistype the parameter, so spans show no value at
        // all.
        Layer.succeed(UrlParams.CurrentRedactedNames, [/^/])
      )
    )
  )
}

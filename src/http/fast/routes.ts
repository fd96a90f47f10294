/**
 * Compiles the fast lane's routes from an API and the services that implement it: an endpoint gets a route when its
 * handler and every middleware before it are marked, and one of these grants access. The other routes are known too, so
 * that they are recognized and left alone.
 */
import { Context, type Effect, Exit, type Result, Schema, type SchemaAST } from "effect"
import { FindMyWay } from "effect/http"
import { HttpApi, type HttpApiEndpoint, HttpApiSchema } from "effect/http-api"
import type { RequestMeter, RouteSeries } from "../RequestMeter.ts"
import { maximumBodyBytesOf } from "../rawBody.ts"
import { type Access, type MarkedHandler, markOf, middlewareMarkOf, type TaggedAnswer } from "./marks.ts"
import { Targets } from "./Targets.ts"

type Decoder = (given: unknown) => Exit.Exit<unknown, unknown>

/** The status and the body of an error that an endpoint describes. */
export interface EncodedError {
  readonly status: number
  readonly body: unknown
}

/** The fields of every route of the lane. */
export interface FastRoute extends Omit<Access, "principalOf" | "takeOf"> {
  readonly take: ReturnType<Access["takeOf"]>
  readonly principalOf: ReturnType<Access["principalOf"]>
  readonly series: RouteSeries
  /** The changes that middlewares make to an error. */
  readonly mapError: (error: unknown) => unknown
  /** Undefined for an error that the endpoint does not describe. */
  readonly encodeError: (error: unknown) => EncodedError | undefined
}

/** A read that is answered synchronously. */
export interface ReadRoute extends FastRoute {
  readonly answer: (input: object) => Result.Result<TaggedAnswer, unknown>
}

/** A POST whose handler runs in one fiber. */
export interface PostRoute extends FastRoute {
  readonly run: (input: object) => Effect.Effect<unknown, unknown>
  readonly decodeHeaders: Decoder | undefined
  /** Undefined for an endpoint without a body. */
  readonly decodePayload: Decoder | undefined
  /** If it is less than the server's bound. */
  readonly maxBodyBytes: number | undefined
  readonly status: number
  readonly encodeBody: Decoder
  readonly encodeHeaders: Decoder | undefined
}

export interface Routes {
  readonly reads: Targets<ReadRoute>
  readonly posts: Targets<PostRoute>
  /** Whether there is any route for the lane. */
  readonly isEmpty: boolean
  /** Finds the access before the endpoint of a method and a target; undefined where there is none. */
  readonly accessAt: (method: string, target: string) => Access | undefined
}

export interface RoutesOptions {
  readonly context: Context.Context<never>
  readonly routerConfig: Partial<FindMyWay.RouterConfig>
  /** Routes of the server that the API does not describe. */
  readonly extraRoutes: ReadonlyArray<readonly [method: string, path: string]>
  readonly meter: RequestMeter
}

/**
 * How strictly each part of a request and an answer is parsed and written, set by the API, its group or the endpoint.
 */
export interface PartOptions {
  readonly params: SchemaAST.ParseOptions | undefined
  readonly query: SchemaAST.ParseOptions | undefined
  readonly headers: SchemaAST.ParseOptions | undefined
  readonly payload: SchemaAST.ParseOptions | undefined
  readonly success: SchemaAST.ParseOptions | undefined
  readonly error: SchemaAST.ParseOptions | undefined
}

const optionsOf = (annotations: Context.Context<never>): PartOptions => {
  const common = Context.getOrUndefined(annotations, HttpApi.ParseOptions)
  return {
    params: Context.getOrUndefined(annotations, HttpApi.ParamsParseOptions) ?? common,
    query: Context.getOrUndefined(annotations, HttpApi.QueryParseOptions) ?? common,
    headers: Context.getOrUndefined(annotations, HttpApi.HeadersParseOptions) ?? common,
    payload: Context.getOrUndefined(annotations, HttpApi.PayloadParseOptions) ?? common,
    success: Context.getOrUndefined(annotations, HttpApi.SuccessParseOptions) ?? common,
    error: Context.getOrUndefined(annotations, HttpApi.ErrorParseOptions) ?? common
  }
}

/** The used parts of a group's layer. */
interface BuiltGroup {
  readonly handlers: ReadonlyMap<string, { readonly handler: object }>
}

type SchemasByStatus = ReadonlyMap<number, ReadonlyArray<Schema.Top>>

interface Endpoint {
  readonly endpoint: HttpApiEndpoint.Top
  readonly options: PartOptions
  readonly successes: SchemasByStatus
  readonly mark: MarkedHandler
  readonly common: FastRoute
}

// Decoders and encoders that need a service fail without it, and their requests take the general path.
type Plain = Schema.Top & { readonly DecodingServices: never; readonly EncodingServices: never }
const decoder = (schema: Schema.Top, options: SchemaAST.ParseOptions | undefined): Decoder =>
  Schema.decodeUnknownExit(schema as Plain, options)
const encoder = (schema: Schema.Top, options: SchemaAST.ParseOptions | undefined): Decoder =>
  Schema.encodeUnknownExit(schema as Plain, options)

const readRoute = ({ common, endpoint, mark }: Endpoint): ReadRoute | undefined =>
  mark._tag === "Synchronous" && endpoint.headers === undefined && endpoint.payload.size === 0
    ? { ...common, answer: mark.answer as ReadRoute["answer"] }
    : undefined

/** The decoder of a JSON body; null when the endpoint takes something else. */
const payloadDecoder = ({ endpoint, options }: Endpoint): Decoder | undefined | null => {
  if (endpoint.payload.size === 0) return undefined
  const payload = endpoint.payload.get("application/json")
  if (endpoint.payload.size > 1 || payload?.encoding._tag !== "Json") return null
  return decoder(Schema.Union(payload.schemas as ReadonlyArray<Schema.Top>), options.payload)
}

const postRoute = (given: Endpoint): PostRoute | undefined => {
  const { common, endpoint, mark, options, successes } = given
  const [success, ...others] = [...successes].flatMap(([status, schemas]) =>
    schemas.map((schema) => ({ status, schema }))
  )
  const decodePayload = payloadDecoder(given)
  if (mark._tag !== "Effectful" || success === undefined || others.length > 0 || decodePayload === null)
    return undefined
  const { schema, status } = success
  const body = HttpApiSchema.isWithHeaders(schema) ? schema.schema : schema
  if (HttpApiSchema.isNoContent(body.ast)) return undefined
  return {
    ...common,
    run: mark.run as PostRoute["run"],
    decodeHeaders: endpoint.headers === undefined ? undefined : decoder(endpoint.headers, options.headers),
    decodePayload,
    maxBodyBytes: maximumBodyBytesOf(endpoint),
    status,
    encodeBody: encoder(body, options.success),
    encodeHeaders: HttpApiSchema.isWithHeaders(schema) ? encoder(schema.headers, options.headers) : undefined
  }
}

/** The encoder of the errors that an endpoint and its middlewares describe; undefined if one has headers. */
const errorEncoder = (errors: SchemasByStatus, options: SchemaAST.ParseOptions | undefined) => {
  const described = [...errors].flatMap(([status, schemas]) => schemas.map((schema) => ({ status, schema })))
  if (described.some(({ schema }) => HttpApiSchema.isWithHeaders(schema))) return undefined
  const encoders = described.map(({ schema, status }) => ({
    status,
    is: Schema.is(schema),
    encode: encoder(schema, options)
  }))
  return (error: unknown): EncodedError | undefined => {
    const found = encoders.find(({ is }) => is(error))
    const body = found?.encode(error)
    return found === undefined || body === undefined || Exit.isFailure(body)
      ? undefined
      : { status: found.status, body: body.value }
  }
}

/** The access before an endpoint, if one of its middlewares grants it. */
const accessOf = ({ middlewares }: HttpApiEndpoint.Top, context: Context.Context<never>): Access | undefined => {
  for (const { key } of middlewares) {
    const service = context.mapUnsafe.get(key) as object | undefined
    const mark = service === undefined ? undefined : middlewareMarkOf(service)
    if (mark?._tag === "Access") return mark.access
  }
  return undefined
}

/** The common part of an endpoint's routes; undefined when a middleware is not marked or none grants access. */
const commonOf = (
  endpoint: HttpApiEndpoint.Top,
  encodeError: FastRoute["encodeError"] | undefined,
  { context, meter }: RoutesOptions
): FastRoute | undefined => {
  if (encodeError === undefined) return undefined
  let access: Access | undefined
  let mapError: FastRoute["mapError"] = (error) => error
  for (const { key } of endpoint.middlewares) {
    const service = context.mapUnsafe.get(key) as object | undefined
    const mark = service === undefined ? undefined : middlewareMarkOf(service)
    if (mark === undefined || (mark._tag === "Access" && access !== undefined)) return undefined
    if (mark._tag === "Access") access = mark.access
    else {
      const before = mapError
      mapError = (error) => mark.map(before(error))
    }
  }
  if (access === undefined || access.isLeft(endpoint)) return undefined
  return {
    ...access,
    principalOf: access.principalOf(endpoint),
    take: access.takeOf(endpoint),
    series: meter.series(endpoint.method, endpoint.path),
    mapError,
    encodeError
  }
}

/** The routes of an API whose groups are in the context. */
export const compileRoutes = (api: HttpApi.Constraint, options: RoutesOptions): Routes => {
  const { context, extraRoutes, routerConfig } = options
  const reads = new Targets<ReadRoute>("GET", routerConfig)
  const posts = new Targets<PostRoute>("POST", routerConfig)
  // Of all routes, so that it finds the one that the general path finds.
  const accesses = FindMyWay.make<Access | null>(routerConfig)
  let isEmpty = true
  HttpApi.reflect(api as HttpApi.Top, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, group, mergedAnnotations, successes }) => {
      const path = endpoint.path as FindMyWay.PathInput
      const service = context.mapUnsafe.get(group.key) as BuiltGroup | undefined
      const handler = service?.handlers.get(endpoint.identifier)?.handler
      const mark = handler === undefined ? undefined : markOf(handler)
      const parsing = optionsOf(mergedAnnotations)
      const common = mark === undefined ? undefined : commonOf(endpoint, errorEncoder(errors, parsing.error), options)
      accesses.on(endpoint.method, path, accessOf(endpoint, context) ?? null)
      const given =
        mark === undefined || common === undefined ? undefined : { endpoint, options: parsing, successes, mark, common }
      if (endpoint.method === "GET") {
        const route = given === undefined ? undefined : readRoute(given)
        isEmpty &&= route === undefined
        reads.add(path, endpoint, route, parsing)
      }
      if (endpoint.method === "POST") {
        const route = given === undefined ? undefined : postRoute(given)
        isEmpty &&= route === undefined
        posts.add(path, endpoint, route, parsing)
      }
    }
  })
  for (const [method, path] of extraRoutes) {
    accesses.on(method, path as FindMyWay.PathInput, null)
    if (method === "GET") reads.addUnknown(path as FindMyWay.PathInput)
    if (method === "POST") posts.addUnknown(path as FindMyWay.PathInput)
  }
  const accessAt = (method: string, target: string) =>
    accesses.find(method === "HEAD" ? "GET" : method, target)?.handler ?? undefined
  return { reads, posts, isEmpty, accessAt }
}

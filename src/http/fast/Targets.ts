/**
 * Finds the endpoint of a request target, with path and query decoded by its own schemas. Decoded targets are cached by
 * use, within a bound. A target with a parameter that its endpoint does not describe is not for the fast lane, so no
 * key in a query (`?apiKey=`, however it is spelled) is ever cached.
 */
import { Exit, Schema, SchemaAST } from "effect"
import { FindMyWay } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RecentlyUsed } from "../../common/RecentlyUsed.ts"

/** Most memory for decoded targets, in bytes. */
const maximumBytes = 4 * 1024 * 1024
/** Estimated memory of a decoded target beside its text, in bytes. */
const overheadBytes = 512
/** Longest target of the fast lane. */
const maximumLength = 256

/**
 * Targets with percent escapes, or with the other characters that the router takes for the start of a query, take the
 * general path.
 */
const plainTarget = /^\/[^%;#]*$/

/** A decoded target of an endpoint of the fast lane. */
export interface Target<Route> {
  readonly route: Route
  /** Fields `params` and `query` of the handler's request. */
  readonly input: { readonly params?: unknown; readonly query?: unknown }
}

interface Found<Route> {
  readonly route: Route
  readonly queryNames: ReadonlySet<string>
  readonly decodeParams: ((params: unknown) => Exit.Exit<unknown, unknown>) | undefined
  readonly decodeQuery: ((query: unknown) => Exit.Exit<unknown, unknown>) | undefined
}

/** The names that a query's schema describes. */
const namesOf = (schema: Schema.Top | undefined): ReadonlySet<string> => {
  if (schema === undefined) return new Set()
  const encoded = SchemaAST.toEncoded(schema.ast)
  return new Set(SchemaAST.isObjects(encoded) ? encoded.propertySignatures.map(({ name }) => String(name)) : [])
}

/**
 * Maps the targets of one method. It must know every route of the server, so that it finds the same route as the
 * general path.
 */
export class Targets<Route> {
  private readonly method: string
  private readonly router: FindMyWay.Router<Found<Route> | null>
  private readonly kept = new RecentlyUsed<Target<Route>>(maximumBytes)

  constructor(method: string, config: Partial<FindMyWay.RouterConfig>) {
    this.method = method
    this.router = FindMyWay.make(config)
  }

  /** Adds a path that is left to the general path. */
  addUnknown(path: FindMyWay.PathInput): void {
    this.router.on(this.method, path, null)
  }

  /** Adds an endpoint's path. Without a route it is left to the general path too. */
  add(
    path: FindMyWay.PathInput,
    { params, query }: HttpApiEndpoint.Top,
    route: Route | undefined,
    options: { readonly params: SchemaAST.ParseOptions | undefined; readonly query: SchemaAST.ParseOptions | undefined }
  ): void {
    if (route === undefined) {
      this.addUnknown(path)
      return
    }
    this.router.on(this.method, path, {
      route,
      queryNames: namesOf(query),
      decodeParams: params === undefined ? undefined : decoderOf(params, options.params),
      decodeQuery: query === undefined ? undefined : decoderOf(Schema.toCodecArrayFromSingle(query), options.query)
    })
  }

  find(target: string): Target<Route> | undefined {
    const kept = this.kept.get(target)
    if (kept !== undefined) return kept
    if (target.length > maximumLength || !plainTarget.test(target)) return undefined
    const decoded = this.decode(target)
    if (decoded !== undefined) this.kept.set(target, decoded, 2 * target.length + overheadBytes)
    return decoded
  }

  private decode(target: string): Target<Route> | undefined {
    const found = this.router.find(this.method, target)
    if (found === undefined || found.handler === null) return undefined
    const { decodeParams, decodeQuery, queryNames, route } = found.handler
    for (const name in found.searchParams) if (!queryNames.has(name)) return undefined
    const input: { params?: unknown; query?: unknown } = {}
    if (decodeParams !== undefined) {
      const params = decodeParams(found.params)
      if (Exit.isFailure(params)) return undefined
      input.params = params.value
    }
    if (decodeQuery !== undefined) {
      const query = decodeQuery(found.searchParams)
      if (Exit.isFailure(query)) return undefined
      input.query = query.value
    }
    return { route, input }
  }
}

/** The endpoint's own decoder. An asynchronous one fails here, and its requests take the general path. */
const decoderOf = (schema: Schema.Top, options: SchemaAST.ParseOptions | undefined) =>
  Schema.decodeUnknownExit(schema as Schema.Top & { readonly DecodingServices: never }, options)

/**
 * Reads the bodies of requests strictly (docs/platform.md, 1.2): UTF-8, storable text, and `{}` for a missing body
 * whose fields are all optional. The edge applies it to each request, so that no endpoint has to think of it. The fast lane
 * reads bodies with `strictText` too, and leaves requests without a body that needs one to the edge.
 */
import { Context, Effect, SchemaAST } from "effect"
import { HttpRouter, type HttpServerRequest } from "effect/http"
import type { HttpApi, HttpApiEndpoint } from "effect/http-api"
import { RequestState } from "./RequestState.ts"
import { mayBeUnstorable, unstorableField, unstorablePlace } from "./storableText.ts"

/** A body that is refused before it is decoded. The edge answers 400 with the sentence. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused"
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const textOf = (bytes: ArrayBuffer | Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new BodyRefused("Invalid request body. Expected UTF-8.")
  }
}

/** Throws if a text in a JSON body cannot be stored. The decoder refuses a body that is not JSON. */
const checkTexts = (text: string): void => {
  if (!mayBeUnstorable(text)) return
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  const place = unstorablePlace(value)
  if (place !== undefined) throw new BodyRefused(unstorableField(place))
}

/** The text of a body with bytes. Throws `BodyRefused` if it is no UTF-8, or holds a text that cannot be stored. */
export const strictText = (bytes: ArrayBuffer | Uint8Array): string => {
  const text = textOf(bytes)
  checkTexts(text)
  return text
}

/** An endpoint as a route's name. */
const routeOf = (method: string, path: string): string => `${method} ${path}`

/** Whether a body may be omitted: it is an object whose fields are all optional. */
export const mayBeMissing = ({ payload }: HttpApiEndpoint.Top): boolean => {
  const schemas = payload.get("application/json")?.schemas as ReadonlyArray<{ readonly ast: SchemaAST.AST }> | undefined
  const [only, ...others] = schemas ?? []
  if (only === undefined || others.length > 0) return false
  const ast = SchemaAST.toEncoded(only.ast)
  return (
    SchemaAST.isObjects(ast) &&
    ast.propertySignatures.length > 0 &&
    ast.propertySignatures.every(({ type }) => SchemaAST.isOptional(type))
  )
}

/** The routes of an API whose bodies may be omitted. */
export const routesWithoutBody = (api: HttpApi.Constraint): ReadonlySet<string> => {
  const routes = new Set<string>()
  for (const { endpoints } of Object.values((api as HttpApi.Top).groups)) {
    for (const endpoint of Object.values(endpoints))
      if (mayBeMissing(endpoint)) routes.add(routeOf(endpoint.method, endpoint.path))
  }
  return routes
}

/** The request with a strictly read body. `withoutBody` are routes from {@link routesWithoutBody}. */
export const withStrictBody = (
  request: HttpServerRequest.HttpServerRequest,
  withoutBody: ReadonlySet<string>
): HttpServerRequest.HttpServerRequest => {
  const text = Effect.withFiber((fiber) =>
    Effect.map(request.arrayBuffer, (bytes) => {
      if (bytes.byteLength === 0) {
        const route = Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)?.route
        return route !== undefined && withoutBody.has(routeOf(request.method, route.path)) ? "{}" : ""
      }
      Context.getUnsafe(fiber.context, RequestState).body = new Uint8Array(bytes)
      return strictText(bytes)
    })
  )
  // The bytes stay those of the request itself, which keeps them once they are read.
  return Object.create(request, { text: { get: () => text }, arrayBuffer: { get: () => request.arrayBuffer } })
}

/**
 * Derives the types of paths, parameters and answers from the API's own description, of which the bundle holds nothing
 * else.
 */
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { AdminApi } from "../admin/adminApi.ts"
import type { SluiceApi } from "../api/SluiceApi.ts"

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups> ? Groups : never
type Known = HttpApiGroup.Endpoints<GroupsOf<typeof SluiceApi>> | HttpApiGroup.Endpoints<GroupsOf<typeof AdminApi>>

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
export type PathOf<M extends Method> = Extract<Known, { readonly method: M }>["path"]
type EndpointOf<M extends Method, P extends string> = Extract<Known, { readonly method: M; readonly path: P }>

type Encoded<S> = S extends { readonly Encoded: infer E } ? E : never

/**
 * The shape on the wire: the schema that the API's codec for JSON wraps; an answer with headers wraps that once more.
 */
type Body<S> = S extends { readonly schema: infer Inner }
  ? Inner extends { readonly schema: infer Innermost }
    ? Encoded<Innermost>
    : Encoded<Inner>
  : Encoded<S>

/** The answer of an endpoint, as JSON. */
export type Answer<M extends Method, P extends string> = Body<HttpApiEndpoint.Success<EndpointOf<M, P>>>

type Payload<M extends Method, P extends string> =
  EndpointOf<M, P> extends { readonly "~Payload": infer S }
    ? [S] extends [never]
      ? undefined
      : S extends { readonly Encoded: infer E }
        ? E
        : undefined
    : undefined

/** The values of `:name` in the path. */
export interface CallInput<M extends Method, P extends string> {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number | ReadonlyArray<string> | undefined>>
  readonly body?: Payload<M, P>
}

/**
 * Makes a typed client of the public API, derived from the same description that the server implements: the compiler
 * checks paths, parameters, answers and errors. Needs only the platform's `fetch`.
 */
import "../common/checkedNodePeers.ts"

import { Context, type Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { SluiceApi } from "./SluiceApi.ts"

/** The platform's address, and the key of the requests. See {@link SluiceClient}. */
export interface SluiceClientOptions {
  /** The platform's address, such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  /** An API key, `sk_live_…` or `sk_test_…`; sent as `Authorization: Bearer`. Public endpoints need none. */
  readonly apiKey?: string | Redacted.Redacted<string> | undefined
}

/**
 * The client's methods, by group: `client.directory.getCarrier({ params: { ocn: "9104" } })`. See {@link SluiceClient}.
 */
export type SluiceClientShape = HttpApiClient.ForApi<typeof SluiceApi>

/**
 * The client as a service; see `make` for using it without a layer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { SluiceClient } from "sluice/client"
 *
 * export const carrier = Effect.flatMap(SluiceClient, ({ directory }) =>
 *   directory.getCarrier({ params: { ocn: "9104" } })
 * ).pipe(Effect.provide(SluiceClient.layer({ baseUrl: "http://127.0.0.1:8080", apiKey: "sk_live_…" })))
 * ```
 */
export class SluiceClient extends Context.Service<SluiceClient, SluiceClientShape>()("sluice/client/SluiceClient") {
  static readonly layer = (options: SluiceClientOptions): Layer.Layer<SluiceClient> =>
    Layer.effect(SluiceClient, make(options)).pipe(Layer.provide(FetchHttpClient.layer))
}

/**
 * A client on the `HttpClient` of the context.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { FetchHttpClient } from "effect/http"
 * import { make } from "sluice/client"
 *
 * export const carrier = make({ baseUrl: "http://127.0.0.1:8080", apiKey: "sk_live_…" }).pipe(
 *   Effect.flatMap(({ directory }) => directory.getCarrier({ params: { ocn: "9104" } })),
 *   Effect.provide(FetchHttpClient.layer)
 * )
 * ```
 */
export const make = (options: SluiceClientOptions): Effect.Effect<SluiceClientShape, never, HttpClient.HttpClient> => {
  const key = typeof options.apiKey === "string" ? Redacted.make(options.apiKey) : options.apiKey
  return HttpApiClient.make(SluiceApi, {
    transformClient: HttpClient.mapRequest((request) => {
      const addressed = HttpClientRequest.prependUrl(request, options.baseUrl)
      return key === undefined ? addressed : HttpClientRequest.bearerToken(addressed, Redacted.value(key))
    })
  })
}

export { SluiceApi } from "./SluiceApi.ts"

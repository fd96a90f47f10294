/**
 * AdminClient is the typed client of the admin API. The command line uses it over HTTP with a running platform, and
 * with the same handlers in its own process if none is running (AdminLocal.ts), so a command does the same thing either
 * way.
 */
import { Context, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { AdminApi } from "./adminApi.ts"

export class AdminClient extends Context.Service<AdminClient, HttpApiClient.ForApi<typeof AdminApi>>()(
  "sluice/admin/AdminClient"
) {}

/** The client of the API at an address; without a key it sends no credential. */
export const makeAdminClient = (baseUrl: string, key: Redacted.Redacted<string> | null) =>
  HttpApiClient.make(AdminApi, {
    transformClient: HttpClient.mapRequest((request) => {
      const addressed = HttpClientRequest.prependUrl(request, baseUrl)
      return key === null ? addressed : HttpClientRequest.bearerToken(addressed, Redacted.value(key))
    })
  })

/** Speaks to a running platform. */
export const layerRemote = (options: {
  readonly url: string
  readonly key: Redacted.Redacted<string>
}): Layer.Layer<AdminClient> =>
  Layer.effect(AdminClient, makeAdminClient(options.url, options.key)).pipe(Layer.provide(FetchHttpClient.layer))

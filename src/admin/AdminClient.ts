/**
 * The typed client of the admin API. The command line uses it over HTTP with a running platform, and with the same
 * handlers in this process when none is running, so that a command does the same thing either way.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, HttpApiClient } from "effect/http-api"
import { layerEdge } from "../http/edge.ts"
import { AdminAccess, AdminApi } from "./api.ts"
import { layerAdminHandlers } from "./http.ts"
import { OperatorSessions } from "./OperatorSessions.ts"

export class AdminClient extends Context.Service<AdminClient, HttpApiClient.ForApi<typeof AdminApi>>()(
  "sluice/admin/AdminClient"
) {}

const make = (baseUrl: string, key: Redacted.Redacted<string> | null) =>
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
  Layer.effect(AdminClient, make(options.url, options.key)).pipe(Layer.provide(FetchHttpClient.layer))

/** In process no credential is asked for. */
const handlers = layerAdminHandlers.pipe(
  Layer.provide(OperatorSessions.layer([])),
  Layer.provide(Layer.succeed(AdminAccess)(AdminAccess.of((httpEffect) => httpEffect)))
)

/** Speaks to the handlers in this process; nothing listens. */
export const layerLocal = Layer.unwrap(
  Effect.gen(function* () {
    const services = yield* Effect.context<Layer.Services<typeof handlers>>()
    const { handler } = yield* Effect.acquireRelease(
      Effect.sync(() =>
        HttpRouter.toWebHandler(
          Layer.mergeAll(
            HttpApiBuilder.layer(AdminApi),
            layerEdge(AdminApi, { accessLog: false, failureLog: false })
          ).pipe(
            Layer.provide(handlers),
            Layer.provide(Layer.succeedContext(services)),
            Layer.provideMerge(HttpServer.layerServices)
          ),
          { disableLogger: true }
        )
      ),
      ({ dispose }) => Effect.promise(dispose)
    )
    return Layer.effect(AdminClient, make("http://sluice.internal", null)).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(
        Layer.succeed(FetchHttpClient.Fetch, ((input: string | URL | Request, init?: RequestInit) =>
          handler(new Request(input, init))) as typeof globalThis.fetch)
      )
    )
  })
)

/**
 * Serves the admin API without a listener: the client's requests go to the handlers in this process. Only commands that
 * find no running platform load it, because it brings everything that the platform's services need.
 */
import { Effect, Layer } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { layerEdge } from "../http/edge.ts"
import { AdminClient, makeAdminClient } from "./AdminClient.ts"
import { AdminAccess, AdminApi } from "./adminApi.ts"
import { layerAdminHandlers } from "./adminHttp.ts"
import { OperatorSessions } from "./OperatorSessions.ts"

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
    return Layer.effect(AdminClient, makeAdminClient("http://sluice.internal", null)).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(
        Layer.succeed(FetchHttpClient.Fetch, ((input: string | URL | Request, init?: RequestInit) =>
          handler(new Request(input, init))) as typeof globalThis.fetch)
      )
    )
  })
)

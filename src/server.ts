/**
 * The platform's two listeners as layers (`sluice/server`): the public API and, apart from it, the admin API. Whoever
 * embeds the platform provides the stores and services of `platform.ts`, or replaces them.
 */
import { Effect, Layer, type Redacted } from "effect"
import { HttpServer } from "effect/http"
import { AdminApi } from "./admin/api.ts"
import { layerAdminAccess, layerAdminHandlers } from "./admin/http.ts"
import { Inspection } from "./admin/Inspection.ts"
import { layerDirectory } from "./directory/http.ts"
import { EventStreams } from "./events/EventStreams.ts"
import { layerEvents } from "./events/http.ts"
import { SluiceApi } from "./http/api.ts"
import { layerServer, type ServerOptions } from "./http/server.ts"
import { layerSystem } from "./http/system.ts"
import {
  layerDirectoryAccess,
  layerEventsAccess,
  layerTelcoAccess,
  layerWebhooksAccess
} from "./platform/layerAccess.ts"
import { layerTelco } from "./telco/http.ts"
import { layerWebhooks, layerWebhookUrlRequired } from "./webhooks/http.ts"

export type { ServerOptions } from "./http/server.ts"
export {
  layerDecisions,
  layerDelivery,
  layerServices,
  layerStores,
  type StoreOptions,
  type WebhookOptions
} from "./platform.ts"

/** Ends the event streams before the listener stops, which waits for what is under way. */
const layerStreamsEnd = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* HttpServer.HttpServer
    const streams = yield* EventStreams
    yield* Effect.addFinalizer(() => streams.stop)
  })
)

/** The public API on its listener. Needs the services of `layerServices`. */
export const layerPublic = (options: ServerOptions) =>
  layerStreamsEnd.pipe(
    Layer.provideMerge(layerServer(SluiceApi, options)),
    Layer.provide(Layer.mergeAll(layerDirectory, layerEvents, layerTelco, layerWebhooks, layerSystem)),
    Layer.provide(
      Layer.mergeAll(
        layerDirectoryAccess,
        layerEventsAccess,
        layerTelcoAccess,
        layerWebhooksAccess,
        layerWebhookUrlRequired
      )
    ),
    Layer.provide(EventStreams.layer)
  )

/** The admin API on its listener. Needs `Organizations`, `ApiKeys`, `Ingestions`, `Inventory`, `TestEvents` and `Engine`. */
export const layerAdmin = (options: ServerOptions & { readonly keys: ReadonlyArray<Redacted.Redacted<string>> }) =>
  layerServer(AdminApi, options).pipe(
    Layer.provide(layerAdminHandlers),
    Layer.provide(Inspection.layer),
    Layer.provide(layerAdminAccess(options.keys))
  )

/**
 * The platform's two listeners as layers (`sluice/server`): the public API and, apart from it, the admin API. Whoever
 * embeds the platform provides the stores and services of `platform.ts`, or replaces them.
 */
import { Layer, type Redacted } from "effect"
import { AdminApi } from "./admin/api.ts"
import { layerAdminAccess, layerAdminHandlers } from "./admin/http.ts"
import { Inspection } from "./admin/Inspection.ts"
import { layerDirectory } from "./directory/http.ts"
import { SluiceApi } from "./http/api.ts"
import { layerServer, type ServerOptions } from "./http/server.ts"
import { layerSystem } from "./http/system.ts"
import { layerDirectoryAccess, layerWebhooksAccess } from "./platform/layerAccess.ts"
import { layerWebhooks, layerWebhookUrlRequired } from "./webhooks/http.ts"

export type { ServerOptions } from "./http/server.ts"
export { layerDecisions, layerServices, layerStores, type StoreOptions, type WebhookOptions } from "./platform.ts"

/** The public API on its listener. Needs the services of `layerServices`. */
export const layerPublic = (options: ServerOptions) =>
  layerServer(SluiceApi, options).pipe(
    Layer.provide(Layer.mergeAll(layerDirectory, layerWebhooks, layerSystem)),
    Layer.provide(Layer.mergeAll(layerDirectoryAccess, layerWebhooksAccess, layerWebhookUrlRequired))
  )

/** The admin API on its listener. Needs `Organizations`, `ApiKeys`, `Ingestions` and `Engine`. */
export const layerAdmin = (options: ServerOptions & { readonly keys: ReadonlyArray<Redacted.Redacted<string>> }) =>
  layerServer(AdminApi, options).pipe(
    Layer.provide(layerAdminHandlers),
    Layer.provide(Inspection.layer),
    Layer.provide(layerAdminAccess(options.keys))
  )

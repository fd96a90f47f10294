/**
 * The whole public API, assembled from the products' groups. Definitions only: the server implements it, the typed
 * client and `openapi.json` are derived from it.
 */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { version } from "../common/version.ts"
import { DirectoryApi } from "../directory/api.ts"
import { EventsApi } from "../events/api.ts"
import { baseApi } from "../http/baseApi.ts"
import { TelcoApi } from "../telco/api.ts"
import { WebhooksApi } from "../webhooks/http/api.ts"
import { webhooksDocument } from "../webhooks/http/document.ts"
import { describeSecurity } from "./openapi.ts"
import { SystemApi } from "./systemApi.ts"

export class SluiceApi extends baseApi
  .add(DirectoryApi)
  .add(EventsApi)
  .add(TelcoApi)
  .add(WebhooksApi)
  .add(SystemApi)
  .annotateMerge(
    Context.mergeAll(
      OpenApi.annotations({
        title: "Sluice",
        version,
        description:
          "The Sluice platform. Every answer carries `X-Request-Id`. Errors have the shape of their product; their codes are one enumeration.",
        license: { name: "MIT" },
        transform: (spec) => ({ ...describeSecurity(spec), webhooks: webhooksDocument() })
      })
    )
  ) {}

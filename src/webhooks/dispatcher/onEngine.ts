/**
 * Builds the platform's dispatcher: over PostgreSQL, the engine and HTTP. It is apart from `WebhookDispatcher.ts`, so
 * that an embedder with a store of their own loads no database client.
 */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import * as DeliveryStorePostgres from "../delivery/DeliveryStorePostgres.ts"
import { DispatchFeed } from "../delivery/DispatchFeed.ts"
import { type EndpointActors, SigningSecrets } from "../delivery/ports.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"
import type { EgressProxy } from "../sender/egressProxy.ts"
import * as HttpSender from "../sender/HttpSender.ts"
import type { TargetGuard } from "../target/targets.ts"
import type { DispatcherSettings } from "./DispatcherState.ts"
import { defaultSettings, make, WebhookDispatcher } from "./WebhookDispatcher.ts"

/** Endpoints as actors of the engine. */
export const actorsOf = (engine: Engine["Service"]): EndpointActors => ({
  tell: ({ endpointId, organizationId }, command) =>
    // Rejections concern callers that ask for something; outcomes cannot be rejected.
    Effect.catchTags(engine.ask(WebhookEndpoint, { organization: organizationId, key: endpointId }, command), {
      EndpointNotFound: () => Effect.succeed({ endpoint: null }),
      EndpointExists: Effect.die,
      TooManyEndpoints: Effect.die,
      EndpointDisabled: Effect.die,
      EndpointInvalid: Effect.die,
      EndpointHeadersChanged: Effect.die,
      UrlRefused: Effect.die,
      InvalidPattern: Effect.die
    }),
  partitions: Effect.map(engine.status, (all) =>
    all.filter(({ status }) => status._tag === "Serving").map(({ partition }) => partition)
  )
})

/** The dispatcher over PostgreSQL, the engine and HTTP. `guard` says where deliveries may go, `proxy` by which way. */
export const layer = (
  guard: TargetGuard,
  settings: DispatcherSettings = defaultSettings,
  proxy?: EgressProxy
): Layer.Layer<WebhookDispatcher, never, Engine | SqlClient.SqlClient | DispatchFeed | SigningSecrets> =>
  Layer.effect(
    WebhookDispatcher,
    Effect.gen(function* () {
      return yield* make(
        {
          store: yield* DeliveryStorePostgres.make,
          sender: yield* HttpSender.make(guard, proxy),
          actors: actorsOf(yield* Engine),
          secrets: yield* SigningSecrets,
          feed: yield* DispatchFeed
        },
        settings
      )
    })
  )

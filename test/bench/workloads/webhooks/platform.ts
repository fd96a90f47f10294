/**
 * The platform as far as it delivers events: its engine, SQL reactor and dispatcher in one process on embedded servers, with an actor that emits.
 * Endpoints are made by asking their actors.
 */

import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerMatching } from "../../../../src/app/dispatch.ts"
import { actors, type EngineSettings, lanes, layerPorts, projections } from "../../../../src/app/engine.ts"
import { layerStores } from "../../../../src/app/layers.ts"
import * as Engine from "../../../../src/engine/Engine.ts"
import { NatsConnection } from "../../../../src/nats/connection.ts"
import { DayPartitions } from "../../../../src/postgres/dayPartitions.ts"
import * as PlacementPostgres from "../../../../src/postgres/PlacementPostgres.ts"
import { HandoffFeed } from "../../../../src/send/handoff/HandoffFeed.ts"
import { AcceptedTerms } from "../../../../src/send/search/AcceptedTerms.ts"
import { DispatchFeed } from "../../../../src/webhooks/delivery/DispatchFeed.ts"
import { SigningSecrets } from "../../../../src/webhooks/delivery/ports.ts"
import type { DispatcherSettings } from "../../../../src/webhooks/dispatcher/DispatcherState.ts"
import * as Dispatcher from "../../../../src/webhooks/dispatcher/onEngine.ts"
import * as WebhookDispatcher from "../../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import { WebhookEndpoint } from "../../../../src/webhooks/endpoint/rules.ts"
import { ReplaySignal } from "../../../../src/webhooks/replay/ReplaySignal.ts"
import type { TargetNames } from "../../../../src/webhooks/target/TargetNames.ts"
import { makeTargetGuard } from "../../../../src/webhooks/target/targets.ts"
import { startServers } from "../servers.ts"
import { Emitter } from "./emitter.ts"
import { eventType, secret } from "./events.ts"

/** As `sluice serve` has them by default. */
const engineSettings: EngineSettings = {
  partitions: 8,
  replicas: 1,
  maximumLogBytes: undefined,
  namespace: undefined
}
const maxConnections = 8

/** All endpoints have the same secret; it is opened once for each. */
const secrets = Layer.succeed(SigningSecrets, {
  open: (ids) => Effect.succeed(new Map(ids.map((id) => [id, secret]))),
  forget: () => Effect.void
})

export const organizationOf = (index: number): string => `org_${String(index).padStart(22, "0")}`
export const endpointOf = (index: number): string => `we_${String(index).padStart(22, "0")}`

/** Starts everything; it stops with the scope. */
export const startDeliveries = Effect.fnUntraced(function* (
  dataFolder: string,
  settings?: Partial<DispatcherSettings>,
  names?: TargetNames
) {
  const servers = yield* startServers(dataFolder)
  const engine = Engine.layer({
    actors: [...actors, Emitter],
    lanes,
    reactors: [projections],
    config: { partitions: engineSettings.partitions }
  }).pipe(
    Layer.provide([PlacementPostgres.layer(), layerPorts(engineSettings), layerMatching]),
    Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer, AcceptedTerms.layer))
  )
  const dispatcher = Dispatcher.layer(makeTargetGuard("any", names), {
    ...WebhookDispatcher.defaultSettings,
    ...settings
  })
  const services = yield* Layer.build(
    dispatcher.pipe(
      Layer.provideMerge(engine),
      Layer.provide(secrets),
      Layer.provideMerge(NatsConnection.layer({ url: Redacted.make(servers.natsUrl) })),
      Layer.provideMerge(layerStores({ databaseUrl: Redacted.make(servers.databaseUrl), maxConnections }))
    )
  )
  const { ask, partitionOf, ready } = Context.get(services, Engine.Engine)
  yield* ready
  return {
    sql: Context.get(services, SqlClient.SqlClient),
    days: Context.get(services, DayPartitions),
    dispatcher: Context.get(services, WebhookDispatcher.WebhookDispatcher),
    partitionOf,
    /** Makes an endpoint that gets every event of its organization. */
    createEndpoint: (organization: number, endpoint: number, url: string, order?: string) =>
      ask(
        WebhookEndpoint,
        { organization: organizationOf(organization), key: endpointOf(endpoint) },
        {
          _tag: "Create",
          url,
          enabledEvents: [eventType],
          description: null,
          secretId: `secret_${endpoint}`,
          ...(order === undefined ? {} : { ordering: { key: order } }),
          targets: "any"
        }
      ),
    /** Lets an endpoint's events go elsewhere. */
    moveEndpoint: (organization: number, endpoint: number, url: string) =>
      ask(
        WebhookEndpoint,
        { organization: organizationOf(organization), key: endpointOf(endpoint) },
        { _tag: "Update", url, targets: "any" }
      ),
    /** Emits one event of an organization; done when it is durable. */
    emit: (organization: number, number: number) =>
      ask(Emitter, { organization: organizationOf(organization) }, { number })
  }
})

export type Deliveries = Effect.Success<ReturnType<typeof startDeliveries>>

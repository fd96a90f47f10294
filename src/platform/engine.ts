/**
 * The engine as the platform runs it: its actors, lanes and the SQL reactor over the real ports. Products add their parts
 * here; the engine knows none of them. Needs `NatsConnection`, `PgClient`, `SqlClient`, `Notifications`,
 * `DayPartitions` and `EventWakeups`; `ReplaySignal` and `DispatchFeed` come out too.
 */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as Engine from "../engine/Engine.ts"
import * as Reactor from "../engine/Reactor.ts"
import type { EventWakeups } from "../events/EventWakeups.ts"
import { eventProjection } from "../events/eventProjection.ts"
import { TestEventsActor } from "../events/TestEvents.ts"
import * as JournalJetStream from "../nats/JournalJetStream.ts"
import * as CheckpointsPostgres from "../postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "../postgres/CursorsPostgres.ts"
import type { DayPartitions } from "../postgres/dayPartitions.ts"
import type { Notifications } from "../postgres/Notifications.ts"
import * as PlacementPostgres from "../postgres/PlacementPostgres.ts"
import { TelcoActor } from "../telco/TelcoActor.ts"
import { DispatchFeed } from "../webhooks/DispatchFeed.ts"
import type { SigningSecrets } from "../webhooks/dispatchPorts.ts"
import { dispatchProjection, type EventAppend } from "../webhooks/dispatchProjection.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../webhooks/endpointRules.ts"
import { ReplaySignal, replayProjection } from "../webhooks/replaying.ts"
import { layerMatching } from "./dispatch.ts"
import { Health } from "./Health.ts"
import { OrganizationActor } from "./OrganizationActor.ts"
import { organizationProjection } from "./organizationProjection.ts"
import { requestLimiter } from "./RequestRate.ts"

/** What the parts of the SQL reactor need. */
type ProjectionServices =
  | SqlClient.SqlClient
  | Notifications
  | DayPartitions
  | EventWakeups
  | ReplaySignal
  | DispatchFeed
  | EventAppend
  | SigningSecrets

/** The one SQL reactor of each partition, by its name in the cursors. */
export const projections = Reactor.combine<ProjectionServices>("projections", [
  organizationProjection,
  eventProjection,
  replayProjection,
  dispatchProjection
])

export const actors = [OrganizationActor, TelcoActor, TestEventsActor, WebhookEndpoint, WebhookEndpoints]
export const lanes = [requestLimiter]

export interface EngineSettings {
  /** Fixed at a deployment's first start. */
  readonly partitions: number
  /** Copies of each log: 1 on one machine, 3 in a cluster. */
  readonly replicas: 1 | 3 | 5
  /** Bound of one log in bytes; undefined for the default. */
  readonly maximumLogBytes: number | undefined
  /** Put before the names of the logs' streams, for several deployments on one NATS account. */
  readonly namespace: string | undefined
}

/** The ports, for the engine and for `sluice recover`. */
export const layerPorts = (settings: EngineSettings) =>
  Layer.mergeAll(
    JournalJetStream.layer({
      replicas: settings.replicas,
      maximumBytes: settings.maximumLogBytes,
      namespace: settings.namespace
    }),
    CheckpointsPostgres.layer,
    CursorsPostgres.layer
  )

/** The engine; its partitions start at once. */
export const layerEngine = (settings: EngineSettings) =>
  Engine.layer({ actors, lanes, reactors: [projections], config: { partitions: settings.partitions } }).pipe(
    Layer.provide(PlacementPostgres.layer()),
    Layer.provide(layerPorts(settings)),
    Layer.provide(layerMatching),
    Layer.provideMerge(Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer))
  )

/** What each partition is doing, in `/readyz`: one that is owned but does not serve makes the node not ready. */
export const layerEngineHealth = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const health = yield* Health
    yield* health.register({
      name: "partitions",
      required: true,
      check: Effect.map(engine.status, (partitions) => {
        const away = partitions.filter(({ status }) => status._tag !== "Serving")
        return away.length === 0
          ? { ok: true }
          : {
              ok: false,
              detail: away
                .map(({ partition, status }) =>
                  status._tag === "Stopped"
                    ? `partition ${partition} has stopped: ${status.reason}`
                    : `partition ${partition} is ${status._tag.toLowerCase()}`
                )
                .join("; ")
            }
      })
    })
  })
)

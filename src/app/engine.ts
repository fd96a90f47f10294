/**
 * Assembles the platform's engine: its actors, lanes and the SQL reactor over the real ports. Products add their parts
 * here; the engine knows none of them. Needs `NatsConnection`, `PgClient`, `SqlClient`, `Notifications`,
 * `DayPartitions` and `EventWakeups`; `ReplaySignal`, `DispatchFeed`, `HandoffFeed` and `AcceptedTerms` come out too.
 */
import { Effect, Layer, Metric } from "effect"
import type { SqlClient } from "effect/sql"
import {
  BillingActor,
  CallCountsActor,
  invoicesProjection,
  UsageReportsActor,
  usageProjection
} from "../billing/index.ts"
import type { EngineConfig } from "../engine/config.ts"
import * as Engine from "../engine/Engine.ts"
import { type Placement, PlacementRefused, PlacementUnavailable } from "../engine/ports/Placement.ts"
import * as Reactor from "../engine/Reactor.ts"
import { immediate } from "../engine/reactorPace.ts"
import type { Status } from "../engine/shell/partition/EngineContext.ts"
import { requireOwnLogs } from "../engine/shell/partition/ownLogs.ts"
import type { SignalRules } from "../engine/shell/signals/feedSignals.ts"
import type { EventWakeups } from "../events/EventWakeups.ts"
import { eventProjection } from "../events/eventProjection.ts"
import { TestEventsActor } from "../events/TestEvents.ts"
import * as JournalJetStream from "../nats/JournalJetStream.ts"
import * as SignalsJetStream from "../nats/SignalsJetStream.ts"
import { layerClockWatch } from "../platform/ClockWatch.ts"
import { DiskSpace, layerWatched } from "../platform/DiskSpace.ts"
import { Health } from "../platform/Health.ts"
import { OrganizationActor } from "../platform/OrganizationActor.ts"
import { organizationProjection } from "../platform/organizationProjection.ts"
import { requestLimiter } from "../platform/RequestRate.ts"
import { siteRequestLimiter } from "../platform/SiteRate.ts"
import * as CheckpointsPostgres from "../postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "../postgres/CursorsPostgres.ts"
import * as Formats from "../postgres/clusterFormats.ts"
import type { DayPartitions } from "../postgres/dayPartitions.ts"
import type { Notifications } from "../postgres/Notifications.ts"
import * as PlacementPostgres from "../postgres/PlacementPostgres.ts"
import { suppressionsProjection } from "../send/account/suppressions/suppressionsProjection.ts"
import { emailsProjection } from "../send/emails/projection.ts"
import { sendRequestLimiter } from "../send/emails/SendRate.ts"
import { feedbackSignal } from "../send/feedback/intake/feedbackSignal.ts"
import { HandoffFeed } from "../send/handoff/HandoffFeed.ts"
import { handoffProjection } from "../send/handoff/projection.ts"
import { accountFactsProjection, accountStagesProjection, sendActors } from "../send/index.ts"
import { AcceptedTerms } from "../send/search/AcceptedTerms.ts"
import { TalkActor } from "../talk/TalkActor.ts"
import { TelcoActor } from "../telco/TelcoActor.ts"
import { DispatchFeed } from "../webhooks/delivery/DispatchFeed.ts"
import type { SigningSecrets } from "../webhooks/delivery/ports.ts"
import { dispatchProjection, type EventAppend } from "../webhooks/delivery/projection.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../webhooks/endpoint/rules.ts"
import { replayProjection } from "../webhooks/replay/projection.ts"
import { ReplaySignal } from "../webhooks/replay/ReplaySignal.ts"
import { layerMatching } from "./dispatch.ts"
import { projectionsName } from "./projectionsName.ts"

/** The needs of the parts of the SQL reactor. */
type ProjectionServices =
  | SqlClient.SqlClient
  | Notifications
  | DayPartitions
  | EventWakeups
  | ReplaySignal
  | DispatchFeed
  | HandoffFeed
  | AcceptedTerms
  | EventAppend
  | SigningSecrets

/**
 * The one SQL reactor of each partition, by its name in the cursors. It has no pace: the first attempt of a webhook
 * waits for it.
 */
export const projections: Reactor.Reactor<ProjectionServices> = {
  ...Reactor.combine<ProjectionServices>(projectionsName, [
    organizationProjection,
    accountFactsProjection,
    accountStagesProjection,
    handoffProjection,
    emailsProjection,
    suppressionsProjection,
    invoicesProjection,
    usageProjection,
    eventProjection,
    replayProjection,
    dispatchProjection
  ]),
  pace: immediate
}

export const actors = [
  OrganizationActor,
  BillingActor,
  CallCountsActor,
  UsageReportsActor,
  TelcoActor,
  TalkActor,
  TestEventsActor,
  WebhookEndpoint,
  WebhookEndpoints,
  ...sendActors
]
export const lanes = [requestLimiter, sendRequestLimiter, siteRequestLimiter]

/** The rules of external signals, by their kind. A signal of another kind is skipped and counted. */
export const signals: SignalRules = { feedback: feedbackSignal }

/** Most bytes of signals that wait for their partitions. Beyond that publishers are refused. */
const maximumWaitingSignalBytes = 64 * 1024 * 1024

export interface EngineSettings {
  /** Fixed at a deployment's first start. */
  readonly partitions: number
  /** Copies of each log: 1 on one machine, 3 in a cluster. */
  readonly replicas: 1 | 3 | 5
  /** Bound of one log in bytes; undefined for the default, which new logs get. */
  readonly maximumLogBytes: number | undefined
  /** Put before the names of the logs' streams, for several deployments on one NATS account. */
  readonly namespace: string | undefined
  /** The most the process holds; the engine's defaults where a bound is not given. */
  readonly bounds?: Partial<
    Pick<EngineConfig, "maximumActors" | "maximumLaneActors" | "mailboxCapacity" | "mailboxBytes" | "logKeepMillis">
  >
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

/**
 * The stream of external signals. While no kind of signal is known, a server that has no room for it, or a stream that
 * does not fit, is no reason not to serve.
 */
const layerSignals = (settings: EngineSettings) =>
  SignalsJetStream.layer({
    partitions: settings.partitions,
    replicas: settings.replicas,
    maximumBytes: maximumWaitingSignalBytes,
    namespace: settings.namespace
  }).pipe(
    Layer.catch((error) =>
      Layer.effectDiscard(Effect.logWarning(`external signals are not taken in: ${error.message}`))
    ),
    // Their stream is made where it is not there, so the place is looked at first.
    Layer.provide(Layer.effectDiscard(requireOwnLogs(settings.partitions)))
  )

/**
 * One machine, which runs all partitions. It keeps every other process out, so that the newest formats are in force
 * immediately.
 */
const layerMachine = Layer.unwrap(
  Effect.map(Formats.make(), (formats) =>
    PlacementPostgres.layer({
      level: formats.level,
      whenHeld: Effect.mapError(formats.raiseAlone, (error) =>
        error._tag === "FormatsRefused"
          ? new PlacementRefused({ message: error.message })
          : new PlacementUnavailable({
              message: `PostgreSQL does not say which formats are in force: ${error.message}`
            })
      )
    })
  )
)

/**
 * The engine; its partitions start immediately. `placement` says which; it comes out too, with what a node of a cluster
 * has beside it.
 */
export const layerEngineOn = <P, E, R>(settings: EngineSettings, placement: Layer.Layer<P | Placement, E, R>) =>
  Engine.layer({
    actors,
    lanes,
    reactors: [projections],
    signals,
    config: { ...settings.bounds, partitions: settings.partitions }
  }).pipe(
    Layer.provide(layerClockWatch({ namespace: settings.namespace })),
    Layer.provideMerge(placement),
    Layer.provide(layerSignals(settings)),
    Layer.provide(layerWatched.pipe(Layer.provideMerge(layerPorts(settings)))),
    Layer.provide(layerMatching),
    Layer.provideMerge(
      Layer.mergeAll(ReplaySignal.layer, DispatchFeed.layer, HandoffFeed.layer, AcceptedTerms.layer, DiskSpace.layer)
    )
  )

/** The engine of one machine. */
export const layerEngine = (settings: EngineSettings) => layerEngineOn(settings, layerMachine)

/** Describes the partitions that do not serve, grouped by cause, so that each cause is said once. */
export const partitionsAway = (
  away: ReadonlyArray<{ readonly partition: number; readonly status: Status }>
): string => {
  const byCause = new Map<string, Array<number>>()
  for (const { partition, status } of away) {
    const cause =
      status._tag === "Stopped"
        ? `stopped: ${finding(partition, status.reason)}`
        : status._tag === "ClockBehind" || status._tag === "NotOwned"
          ? `not served: ${status.reason}`
          : status._tag.toLowerCase()
    byCause.set(cause, [...(byCause.get(cause) ?? []), partition])
  }
  const told = [...byCause].map(([cause, partitions]) =>
    partitions.length === 1
      ? `partition ${partitions[0]} is ${cause}`
      : `partitions ${partitions.join(", ")} are ${cause}`
  )
  const advised = away.some(({ status }) => status._tag === "Stopped" && status.reason.includes(advice))
  return `${told.join("; ")}${advised ? ". `sluice recover` says what can be done" : ""}`
}

/** The advice behind a finding in a stop's reason, which differs by partition. */
const advice = ". Nothing was changed."

const finding = (partition: number, reason: string): string =>
  reason.replace(`partition ${partition}: `, "").replace(/\. Nothing was changed\..*$/s, "")

const partitionsGauge = Metric.gauge("sluice_partitions", {
  description: "Partitions of the deployment, wherever they are served"
})

/**
 * Shows the partitions in `/readyz`. What needs decisions can be served while one of them serves, or others have them
 * all.
 */
export const layerEngineHealth = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const health = yield* Health
    yield* Metric.update(partitionsGauge, engine.partitions)
    yield* health.register({
      name: "partitions",
      part: "service",
      check: Effect.map(engine.status, (partitions) => {
        const away = partitions.filter(({ status }) => status._tag !== "Serving")
        return away.length === 0
          ? { ok: true }
          : { ok: false, usable: away.length < partitions.length, detail: partitionsAway(away) }
      })
    })
  })
)

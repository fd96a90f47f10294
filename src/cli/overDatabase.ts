/**
 * Makes the admin client of a command that finds no running platform: the API's handlers in this process, over a
 * database. It loads the platform's services, so commands that reach a running platform do not load it.
 */
import { Data, Effect, Layer, type Redacted } from "effect"
import { layerLocal } from "../admin/AdminLocal.ts"
import { ClusterView } from "../admin/ClusterView.ts"
import { Inspection } from "../admin/Inspection.ts"
import { ParkedRecords } from "../admin/ParkedRecords.ts"
import { layerEngine } from "../app/engine.ts"
import { layerStores, layerTenancy } from "../app/layers.ts"
import { Subscriptions } from "../billing/index.ts"
import type { Config } from "../config/settings.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import { Engine } from "../engine/Engine.ts"
import { TestEvents } from "../events/TestEvents.ts"
import { NatsConnection } from "../nats/connection.ts"
import type { NatsBootError } from "../nats/errors.ts"
import { EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { OrganizationPlans } from "../platform/OrganizationPlans.ts"
import * as AdvisoryLock from "../postgres/advisoryLock.ts"
import { checkServer } from "../postgres/databaseServer.ts"
import { placementLock } from "../postgres/PlacementPostgres.ts"
import { FeedbackIntake } from "../send/feedback/intake/FeedbackIntake.ts"
import { SendOperator } from "../send/index.ts"
import { reportAddressesOf } from "../send/senders/authentication/reportAddresses.ts"
import { DomainChecks } from "../send/senders/domains/DomainChecks.ts"
import { DomainReports } from "../send/senders/reports/DomainReports.ts"
import { WhatIf } from "../send/whatIf/WhatIf.ts"
import { engineSettings } from "./engineSettings.ts"
import { natsOptions } from "./natsOptions.ts"

/** A change of an organization is a decision, and the command names no log to write it to. */
export class LogNotNamed extends Data.TaggedError("LogNotNamed") {
  override get message(): string {
    return "Plans, limits and events are kept in the log: name its server with NATS_URL, or a running platform with SLUICE_ADMIN_URL"
  }
}

/** Another platform on this database makes the decisions, and this command cannot reach it. */
export class DecidedElsewhere extends Data.TaggedError("DecidedElsewhere") {
  override get message(): string {
    return "The platform that runs on this database decides plans, limits and events: start it with SLUICE_ADMIN_KEY, and give this command that key and SLUICE_ADMIN_URL"
  }
}

/**
 * Looks for a platform first: what a command's own settings get wrong about its log matters only where there is none.
 */
const unlessDecidedElsewhere = <A, E, R>(engine: Layer.Layer<A, E, R>) =>
  Layer.unwrap(
    Effect.scoped(AdvisoryLock.hold(placementLock)).pipe(
      Effect.as(engine),
      Effect.catchTags({
        LockHeld: () => Effect.fail(new DecidedElsewhere()),
        // The engine says what is wrong with the database.
        SqlError: () => Effect.succeed(engine)
      })
    )
  )

/**
 * The engine, for the few commands that make decisions. Starting it takes time, so it starts only when it is needed.
 */
const lazyDecisions = (config: Config, natsUrl: Redacted.Redacted<string> | undefined) => {
  const nats =
    natsUrl === undefined
      ? Layer.effect(NatsConnection, Effect.fail(new LogNotNamed()))
      : NatsConnection.layer(natsOptions(config, natsUrl))
  return Layer.mergeAll(
    OrganizationPlans.layerWhenNeeded,
    TestEvents.layerWhenNeeded,
    SendOperator.layer,
    WhatIf.layer,
    DomainReports.layer,
    Subscriptions.layer,
    DomainChecks.layer({
      nameServers: config.nameServers,
      returnPath: config.bounceDomain,
      relaySpf: config.relaySpf,
      reportAddresses: reportAddressesOf(config)
    })
  ).pipe(
    Layer.provideMerge(
      EngineOnDemand.layerLazy(
        unlessDecidedElsewhere(layerEngine(engineSettings(config))).pipe(
          Layer.provide(nats as Layer.Layer<NatsConnection, NatsBootError | LogNotNamed>),
          Layer.catchTag("PlacementRefused", () => Layer.effect(Engine, Effect.fail(new DecidedElsewhere())))
        )
      )
    )
  )
}

/** Only the services that commands use: no directory index, no watch over keys. */
export const overDatabase = (
  config: Config,
  databaseUrl: Redacted.Redacted<string>,
  natsUrl: Redacted.Redacted<string> | undefined
) =>
  Layer.unwrap(
    Effect.as(
      checkServer({ url: databaseUrl }),
      layerLocal.pipe(
        Layer.provide(Ingestions.layer({ databaseUrl })),
        Layer.provide(
          Layer.mergeAll(Inspection.layerNone, ClusterView.layerNone, ParkedRecords.layerNone, FeedbackIntake.layerNone)
        ),
        Layer.provide(layerTenancy),
        Layer.provide(lazyDecisions(config, natsUrl)),
        Layer.provide(layerStores({ databaseUrl, maxConnections: config.databasePool }))
      )
    )
  )

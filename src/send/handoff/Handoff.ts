/**
 * Hands accepted mail over (docs/handoff.md, 2), for the partitions that this process serves: at least once, each account
 * by itself, and each of its mails too. Mails come from acknowledged frames, and from the work queue, which the SQL
 * reactor fills with what waits. Needs `Engine`, `SqlClient`, `HandoffFeed`, `MessageContents` and `MailTransport`.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { isTraced } from "../../common/isTraced.ts"
import { Engine } from "../../engine/Engine.ts"
import { contactOf } from "../../platform/contacts.ts"
import { make as makeWorkQueue } from "../../postgres/WorkQueue.ts"
import { MessageContents } from "../emails/contents/MessageContents.ts"
import { engineAsks } from "../library/admissionAsks.ts"
import { makeAccountAlerts } from "./accountAlerts.ts"
import type { HandoffSettings } from "./HandoffContext.ts"
import { HandoffFeed } from "./HandoffFeed.ts"
import { HandoffMetrics } from "./HandoffMetrics.ts"
import {
  attemptMillis,
  deliverTimeoutMillis,
  handoffLeaseMillis,
  handoffScanMillis,
  maximumUnrecorded,
  takingPlaces,
  troubleMillis
} from "./limits.ts"
import { MailTransport } from "./MailTransport.ts"
import { makeOrder } from "./Notices.ts"
import { goOn } from "./projection.ts"
import { type HandoffPorts, startHandoff } from "./startHandoff.ts"
import { sendJobsTable } from "./tables.ts"

export const defaultHandoffSettings: HandoffSettings = {
  takingPlaces,
  leaseMillis: handoffLeaseMillis,
  attemptMillis,
  deliverTimeoutMillis,
  scanMillis: handoffScanMillis,
  troubleMillis,
  drainMillis: 5_000,
  noticesFrom: "Sluice <no-reply@sluice.invalid>"
}

/** The workers of this process. */
export const layerHandoff = (
  options: Partial<HandoffSettings> = {}
): Layer.Layer<never, never, Engine | SqlClient.SqlClient | HandoffFeed | MessageContents | MailTransport> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const engine = yield* Engine
      const sql = yield* SqlClient.SqlClient
      const partitions = Effect.map(engine.status, (all) =>
        all.filter(({ status }) => status._tag === "Serving").map(({ partition }) => partition)
      )
      const queue = yield* makeWorkQueue(sendJobsTable)
      const settings = { ...defaultHandoffSettings, ...options }
      const transport = yield* MailTransport
      const metrics = new HandoffMetrics(yield* Effect.context<never>())
      metrics.begin(transport.live.kind, "live")
      metrics.begin(transport.live.kind, "notices")
      metrics.begin(transport.test.kind, "test")
      const ports: HandoffPorts = {
        settings,
        queue,
        isTraced: isTraced(yield* Effect.context<never>()),
        asks: yield* engineAsks({}),
        contents: yield* MessageContents,
        transport,
        metrics,
        unrecorded: new BoundedMap(maximumUnrecorded),
        contactOf: (organization) => Effect.provideService(contactOf(organization), SqlClient.SqlClient, sql),
        alert: makeAccountAlerts({
          order: yield* makeOrder(settings.noticesFrom),
          contactOf: (organization) => Effect.provideService(contactOf(organization), SqlClient.SqlClient, sql)
        }),
        goOn: (one, at) => Effect.provideService(goOn([{ ...one, at }]), SqlClient.SqlClient, sql)
      }
      yield* startHandoff(ports, yield* HandoffFeed, partitions)
    })
  )

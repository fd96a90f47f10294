/**
 * Assembles webhook dispatch: gives the reactor and the dispatcher their parts of the event log and the stored secrets.
 * Needs the stores; the dispatcher also needs `Engine`, `DispatchFeed` and `WebhookSecrets`.
 */
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { appendEvents } from "../events/EventLog.ts"
import type { EventWakeups } from "../events/EventWakeups.ts"
import type { DayPartitions } from "../postgres/dayPartitions.ts"
import { DispatcherWakeup } from "../webhooks/delivery/DispatchFeed.ts"
import { SecretsUnavailable, SigningSecrets } from "../webhooks/delivery/ports.ts"
import { EventAppend } from "../webhooks/delivery/projection.ts"
import { attemptTimeoutMillis, defaultSchedule } from "../webhooks/delivery/schedule.ts"
import * as Dispatcher from "../webhooks/dispatcher/onEngine.ts"
import * as WebhookDispatcher from "../webhooks/dispatcher/WebhookDispatcher.ts"
import { forgetSecrets, WebhookSecrets } from "../webhooks/secret/WebhookSecrets.ts"
import type { EgressProxy } from "../webhooks/sender/egressProxy.ts"
import { makeTargetGuard, type TargetPolicy } from "../webhooks/target/targets.ts"

/** The options of webhook delivery. */
export interface DispatchOptions {
  /** The permitted targets of webhooks. */
  readonly webhookTargets: TargetPolicy
  /** The waits before the retries, in milliseconds; default: 5 s, 30 s, 2 min, 15 min, 1 h. */
  readonly webhookRetryDelays?: ReadonlyArray<number> | undefined
  /** How long an endpoint has for its answer, in milliseconds; default: 15 s. */
  readonly webhookTimeoutMillis?: number | undefined
  /** The HTTP proxy through which webhooks go; default: none. */
  readonly webhookProxy?: Redacted.Redacted<EgressProxy> | undefined
  /** Addresses from which webhooks come, as callers are shown them; default: not known. */
  readonly webhookSources?: ReadonlyArray<string> | undefined
}

const unavailable = (error: { readonly message: string }) =>
  new SecretsUnavailable({ message: error.message, cause: error })

const layerEventAppend = Layer.effect(
  EventAppend,
  Effect.map(Effect.context<SqlClient.SqlClient | DayPartitions | EventWakeups>(), (context) =>
    EventAppend.of({ append: (events) => Effect.provideContext(appendEvents(events), context) })
  )
)

/** A reactor only removes secrets and needs no key for that; the engine of a command has none. */
const layerForgetting = Layer.effect(
  SigningSecrets,
  Effect.map(SqlClient.SqlClient, (sql) =>
    SigningSecrets.of({
      open: () => Effect.fail(new SecretsUnavailable({ message: "signing secrets are not opened here" })),
      forget: (ids) =>
        forgetSecrets(ids).pipe(Effect.provideService(SqlClient.SqlClient, sql), Effect.mapError(unavailable))
    })
  )
)

/** The needs of the webhooks' part of the SQL reactor beside the stores. */
export const layerMatching = Layer.mergeAll(layerEventAppend, layerForgetting)

const layerSigning = Layer.effect(
  SigningSecrets,
  Effect.map(WebhookSecrets, (secrets) =>
    SigningSecrets.of({
      open: (ids) => Effect.mapError(secrets.open(ids), unavailable),
      forget: (ids) => Effect.mapError(secrets.forget(ids), unavailable)
    })
  )
)

/** Tells the dispatcher of retries and replays. */
const layerWakeup = Layer.effect(
  DispatcherWakeup,
  Effect.map(WebhookDispatcher.WebhookDispatcher, ({ wake }) => ({ wake }))
)

/** The dispatcher, for the partitions that this process serves. */
export const layerDispatcher = (options: DispatchOptions) => {
  const timeoutMillis = options.webhookTimeoutMillis ?? attemptTimeoutMillis
  return layerWakeup.pipe(
    Layer.provideMerge(
      Dispatcher.layer(
        makeTargetGuard(options.webhookTargets),
        {
          ...WebhookDispatcher.defaultSettings,
          schedule: { ...defaultSchedule, delaysMillis: options.webhookRetryDelays ?? defaultSchedule.delaysMillis },
          timeoutMillis,
          leaseMillis: WebhookDispatcher.leaseOf(timeoutMillis)
        },
        options.webhookProxy === undefined ? undefined : Redacted.value(options.webhookProxy)
      )
    ),
    Layer.provide(layerSigning)
  )
}

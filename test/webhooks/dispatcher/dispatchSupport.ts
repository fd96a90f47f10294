/**
 * Reactor and dispatcher as one process runs them, on the run's PostgreSQL and nats-server, with a log and a database of the test's own. A
 * process can be killed and started again on the same stores.
 */

import { randomUUID } from "node:crypto"
import { Context, Effect, Exit, Layer, Logger, Redacted, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { expect, inject } from "vitest"
import { migrations } from "../../../src/app/migrations.ts"
import { bucketOf } from "../../../src/common/DurationHistogram.ts"
import { hourOf } from "../../../src/common/figuresPeriod.ts"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine, layer as engineLayer } from "../../../src/engine/Engine.ts"
import { ReactorTransaction } from "../../../src/engine/ports/Cursors.ts"
import { layerLocal } from "../../../src/engine/ports/Placement.ts"
import * as Reactor from "../../../src/engine/Reactor.ts"
import type { LogRecord } from "../../../src/engine/records.ts"
import { publicEvent } from "../../../src/events/catalogue.ts"
import { appendEvents } from "../../../src/events/EventLog.ts"
import { EventWakeups } from "../../../src/events/EventWakeups.ts"
import { eventProjection } from "../../../src/events/eventProjection.ts"
import { PageCursors } from "../../../src/http/PageCursors.ts"
import { NatsConnection } from "../../../src/nats/connection.ts"
import * as JournalJetStream from "../../../src/nats/JournalJetStream.ts"
import * as CheckpointsPostgres from "../../../src/postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "../../../src/postgres/CursorsPostgres.ts"
import { DayPartitions } from "../../../src/postgres/dayPartitions.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import { Deliveries } from "../../../src/webhooks/delivery/Deliveries.ts"
import { DispatcherWakeup, DispatchFeed } from "../../../src/webhooks/delivery/DispatchFeed.ts"
import { SigningSecrets } from "../../../src/webhooks/delivery/ports.ts"
import { dispatchProjection, EventAppend } from "../../../src/webhooks/delivery/projection.ts"
import type { DispatcherSettings } from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import { layer as dispatcherLayer } from "../../../src/webhooks/dispatcher/onEngine.ts"
import { defaultSettings, WebhookDispatcher } from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import type { EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../../../src/webhooks/endpoint/rules.ts"
import { attemptHoursTable, latencyColumns } from "../../../src/webhooks/metrics/attemptHours.ts"
import { countAttempts, latencyBounds } from "../../../src/webhooks/metrics/countAttempts.ts"
import { makeTargetGuard, type Resolve, type TargetPolicy } from "../../../src/webhooks/target/targets.ts"
import { makeDatabase } from "../../support/database.ts"
import { until } from "../until.ts"

/** Decides that so many events happen, in one frame; each has a number. */
export const Emitter = Actor.make({
  kind: "emitter",
  command: Schema.Struct({ count: Schema.Int }),
  fact: Schema.Int,
  state: Schema.Int,
  reply: Schema.Int,
  initial: () => 0,
  evolve: (state: number, count: number) => state + count,
  decide: (state, { count }) =>
    Actor.decided({
      facts: [count],
      events: Array.from({ length: count }, (_, at) =>
        publicEvent(
          "telco.search.completed",
          { source: "npanxx", filters: { state: "NY", npa: null, rateCenter: `number ${state + at}`, ocn: null } },
          true
        )
      ),
      reply: state + count
    })
})

/** The secret that a secret's id stands for in these tests. */
export const secretOf = (id: string): string => `whsec_${id}`

/** Secrets that were removed, by all processes of the file. */
export const forgottenSecrets = new Set<string>()

const secrets = Layer.succeed(SigningSecrets, {
  open: (ids) => Effect.succeed(new Map(ids.map((id) => [id, secretOf(id)]))),
  forget: (ids) => Effect.sync(() => ids.forEach((id) => void forgottenSecrets.add(id)))
})

export interface Deployment {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly namespace: string
}

/** Stores of the test's own. */
export const deploy: Effect.Effect<Deployment, never, Scope.Scope> = Effect.gen(function* () {
  const { url } = yield* makeDatabase
  yield* migrate(migrations).pipe(Effect.provide(PgClient.layer({ url })), Effect.provide(Logger.layer([])))
  return { databaseUrl: url, namespace: `test-${randomUUID().slice(0, 12)}` }
}).pipe(Effect.orDie)

export interface ProcessOptions {
  readonly settings?: Partial<DispatcherSettings>
  readonly targets?: TargetPolicy
  readonly resolve?: Resolve
  /** Without a dispatcher, deliveries only pile up. */
  readonly isIdle?: boolean
  readonly partitions?: number
  /** Sees what the reactor is given. */
  readonly onRecords?: (records: ReadonlyArray<LogRecord>) => void
}

/** Short waits in place of the real ones. */
export const settings: DispatcherSettings = {
  ...defaultSettings,
  schedule: { delaysMillis: [50, 60, 70, 80, 90], jitter: 0.2, maximumRetryAfterMillis: 3_600_000 },
  scanMillis: 100,
  drainMillis: 1_000
}

/** What the projections need beside the database. */
const services = Layer.mergeAll(
  DispatchFeed.layer,
  secrets,
  Layer.effect(
    EventAppend,
    Effect.map(Effect.context<SqlClient.SqlClient | DayPartitions | EventWakeups>(), (context) =>
      EventAppend.of({ append: (events) => Effect.provideContext(appendEvents(events), context) })
    )
  )
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      DayPartitions.layer,
      // Nobody waits for events here.
      Layer.succeed(EventWakeups, {
        announce: () => undefined,
        listen: () => Effect.succeed({ wait: () => Effect.succeed(false) })
      })
    )
  )
)

/** Gives the projection records that it has had already, in one transaction, as they would come after a lost commit. */
export const projectAgain = (sql: SqlClient.SqlClient, records: ReadonlyArray<LogRecord>) =>
  sql
    .withTransaction(dispatchProjection.handle(records))
    .pipe(
      Effect.provideService(ReactorTransaction, { onCommit: () => undefined }),
      Effect.provide(services),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

const processLayer = (deployment: Deployment, options: ProcessOptions) => {
  const stores = Layer.mergeAll(
    JournalJetStream.layer({ namespace: deployment.namespace, maximumBytes: 16 * 1024 * 1024 }),
    CheckpointsPostgres.layer,
    CursorsPostgres.layer
  )
  const engine = engineLayer({
    actors: [WebhookEndpoint, WebhookEndpoints, Emitter],
    reactors: [
      Reactor.combine<SqlClient.SqlClient | DayPartitions | EventWakeups | DispatchFeed | EventAppend | SigningSecrets>(
        "projections",
        [
          {
            handle: (records: ReadonlyArray<LogRecord>) => Effect.sync(() => options.onRecords?.(records))
          },
          eventProjection,
          dispatchProjection
        ]
      )
    ],
    config: { partitions: options.partitions ?? 1 }
  }).pipe(Layer.provide([stores, layerLocal]))
  const dispatcher =
    options.isIdle === true
      ? Layer.succeed(
          WebhookDispatcher,
          WebhookDispatcher.of({
            wake: () => Effect.void,
            load: Effect.succeed({ held: 0, inFlight: { main: 0, slow: 0, overdue: 0 } })
          })
        )
      : dispatcherLayer(makeTargetGuard(options.targets ?? "any", options.resolve), {
          ...settings,
          ...options.settings
        })
  const wakeup = Layer.effect(
    DispatcherWakeup,
    Effect.map(WebhookDispatcher, ({ wake }) => ({ wake }))
  )
  return Deliveries.layer.pipe(
    Layer.provide(Layer.merge(PageCursors.layer, wakeup)),
    Layer.provideMerge(dispatcher),
    Layer.provideMerge(engine),
    Layer.provide(Layer.fresh(services)),
    Layer.provideMerge(
      Layer.merge(
        PgClient.layer({ url: deployment.databaseUrl, maxConnections: 10 }),
        NatsConnection.layer({ url: Redacted.make(inject("natsUrl")) })
      )
    ),
    Layer.provide(process.env.SHOW_LOGS === undefined ? Logger.layer([]) : Layer.empty)
  )
}

/** A process on the deployment's stores. It ends with the scope, or with `stop`, as an operator stops it. */
export const startProcess = (deployment: Deployment, options: ProcessOptions = {}) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Effect.orDie(Layer.buildWithScope(processLayer(deployment, options), scope))
    const engine = Context.get(context, Engine)
    yield* Effect.orDie(engine.ready)
    const sql = Context.get(context, SqlClient.SqlClient)
    const dispatcher = Context.get(context, WebhookDispatcher)
    return {
      engine,
      sql,
      dispatcher,
      /** What an organization can do and see. */
      organization: (organization: string) => ({
        ...organizationOf(engine, sql, organization),
        retry: (endpointId: string, deliveryId: string) =>
          Context.get(context, Deliveries).retry({ organizationId: organization, endpointId }, deliveryId)
      }),
      stop: Scope.close(scope, Exit.void)
    }
  })

export type Process = Effect.Success<ReturnType<typeof startProcess>>

const organizationOf = (engine: Engine["Service"], sql: SqlClient.SqlClient, organization: string) => {
  const ask = (endpointId: string, command: EndpointCommand) =>
    engine.ask(WebhookEndpoint, { organization, key: endpointId }, command)
  const deliveries = (endpointId: string) => deliveriesOf(sql, endpointId)
  return {
    ask,
    /** Makes an endpoint; its secret is `secretOf(<id>-secret)`. */
    create: (endpointId: string, url: string, enabledEvents: ReadonlyArray<string> = ["telco.*"]) =>
      ask(endpointId, {
        _tag: "Create",
        url,
        enabledEvents,
        description: null,
        secretId: `${endpointId}-secret`,
        targets: "any"
      }),
    emit: (count = 1) => engine.ask(Emitter, { organization }, { count }),
    endpoint: (endpointId: string) => engine.state(WebhookEndpoint, { organization, key: endpointId }),
    /** In the order of their events. */
    deliveries,
    /**
     * Waits until every delivery of an endpoint is over, at least `count`, and answers them. The endpoint's figures
     * must count their attempts (docs/platform.md, 7.11).
     */
    settled: (endpointId: string, count = 1) =>
      Effect.gen(function* () {
        yield* until(
          Effect.map(
            deliveries(endpointId),
            (rows) => rows.length >= count && rows.every(({ status }) => status !== "pending")
          )
        )
        const rows = yield* deliveries(endpointId)
        // The figures of a deleted endpoint go with it.
        const [row] = yield* Effect.orDie(sql`select state from webhook_endpoints where id = ${endpointId}`)
        if (row !== undefined && row.state !== null)
          expect(yield* figuresOf(sql, endpointId)).toEqual(figuresOfRows(endpointId, rows))
        return rows
      }),
    skipped: (endpointId: string) =>
      Effect.orDie(
        sql<{ readonly reason: string; readonly event_type: string }>`
          select reason, event_type from webhook_skipped where endpoint_id = ${endpointId}
          order by event_created_at, sequence, idx`
      ),
    /** What the platform emitted about the organization itself, oldest first. */
    events: (pattern: string) =>
      Effect.orDie(
        sql<{ readonly type: string; readonly body: string }>`
          select type, body from events where organization_id = ${organization} and type like ${pattern}
          order by created_at, sequence, idx`
      ),
    jobs: (endpointId: string) =>
      Effect.orDie(
        Effect.map(
          sql<{ readonly count: number }>`select count(*) as count from webhook_jobs where group_key = ${endpointId}`,
          ([row]) => row!.count
        )
      )
  }
}

/** The figures of an endpoint as they are kept. */
const figuresOf = (sql: SqlClient.SqlClient, endpointId: string) =>
  Effect.orDie(
    Effect.map(
      sql<Record<string, number>>`
        select * from ${sql(attemptHoursTable)} where endpoint_id = ${endpointId} order by hour`,
      (rows) =>
        rows.map(({ attempts, failed, hour, succeeded, ...row }) => ({
          hour,
          attempts,
          succeeded,
          failed,
          times: latencyColumns.map((column) => row[column])
        }))
    )
  )

/** The figures that the attempts of deliveries come to. */
const figuresOfRows = (endpointId: string, rows: ReadonlyArray<DeliveryRow>) =>
  countAttempts(
    rows.flatMap(({ attempt_log }) =>
      attempt_log.map(({ at, duration, status }) => ({
        endpointId,
        hour: hourOf(at),
        hasSucceeded: status >= 200 && status < 300,
        isRetried: false,
        bucket: bucketOf(latencyBounds, duration)
      }))
    )
  ).map(({ counts: { attempts, failed, succeeded }, hour, times }) => ({ hour, attempts, succeeded, failed, times }))

interface DeliveryRow {
  readonly id: string
  readonly event_id: string
  readonly status: string
  readonly origin: string
  readonly attempts: number
  readonly next_attempt_at: number | null
  readonly settled_at: number | null
  readonly attempt_log: ReadonlyArray<{
    readonly at: number
    readonly status: number
    readonly duration: number
    readonly response: string | null
    readonly error: string | null
  }>
}

const deliveriesOf = (sql: SqlClient.SqlClient, endpointId: string): Effect.Effect<ReadonlyArray<DeliveryRow>> =>
  Effect.orDie(
    Effect.map(
      sql<Omit<DeliveryRow, "attempt_log"> & { readonly attempt_log: string }>`
        select d.id, d.event_id, d.status, d.origin, d.attempts, d.next_attempt_at, d.settled_at, d.attempt_log
        from webhook_deliveries d join events e on e.event_id = d.event_id
        where d.endpoint_id = ${endpointId} order by e.created_at, e.sequence, e.idx`,
      (rows) => rows.map((row) => ({ ...row, attempt_log: JSON.parse(row.attempt_log) }))
    )
  )

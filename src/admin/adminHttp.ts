/**
 * Handles requests to the admin API. Needs `Organizations`, `ApiKeys`, `Ingestions`, `Inventory`, `TestEvents` and
 * `SqlClient`; a change is recorded in its own transaction. A failure of the database is an `unavailable` that is safe
 * to repeat; any other error is a defect.
 */

import { Clock, Context, Effect, Layer, Option, Stream, type Types } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Directory } from "../directory/Directory.ts"
import { sourceName } from "../directory/files/read.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import type { IngestionEvent } from "../directory/ingestionSchema.ts"
import { catalogue } from "../events/index.ts"
import { type TestEventNotStored, TestEvents } from "../events/TestEvents.ts"
import { idempotentRequest } from "../http/idempotency.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { quote } from "../http/parameters.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { ApiKeys } from "../platform/ApiKeys.ts"
import { Organizations } from "../platform/Organizations.ts"
import { AccountList, RiskSignals } from "../send/index.ts"
import { Inventory } from "../telco/Inventory.ts"
import { normalizeNumber } from "../telco/numbers.ts"
import { hasEndpoint } from "../webhooks/endpoint/rows.ts"
import { ActList } from "./ActList.ts"
import { AdminActs } from "./AdminActs.ts"
import { layerAccounts } from "./accountsHttp.ts"
import { layerActs } from "./actsHttp.ts"
import { AdminAccess, AdminApi } from "./adminApi.ts"
import { ClusterView } from "./ClusterView.ts"
import { layerAdminConsole, layerSignIn } from "./consoleHttp.ts"
import { conflict, invalidCursor, notFound, repeatable, unavailable, withReplayed } from "./failures.ts"
import { Inspection } from "./Inspection.ts"
import { layerInvoices } from "./invoicesHttp.ts"
import { layerLookups } from "./lookupsHttp.ts"
import { OperatorSessions } from "./OperatorSessions.ts"
import { OrganizationDeletion } from "./OrganizationDeletion.ts"
import { layerAdminMembers } from "./organizationMembersHttp.ts"
import { layerOrganizations } from "./organizationsHttp.ts"
import { type NothingParked, ParkedRecords, type ParkedUnavailable } from "./ParkedRecords.ts"
import { layerSend } from "./sendHttp.ts"
import { layerSites } from "./sitesHttp.ts"
import { emittedId, receiversOf } from "./testEventReach.ts"
import { layerWhatIf } from "./whatIfHttp.ts"

/** How long an admin request may take before it is answered as not done. A stream of progress begins earlier. */
const requestTimeoutMillis = 10_000

/** The access by credential, or by the session of an operator who gave one. */
export const layerAdminAccess: Layer.Layer<AdminAccess, never, OperatorSessions> = Layer.effect(
  AdminAccess,
  Effect.map(OperatorSessions, (sessions) => {
    type Answer = Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      EnvelopeUnauthorized | EnvelopeUnavailable | Types.unhandled
    >
    return AdminAccess.of((httpEffect) =>
      Effect.withFiber((fiber): Answer => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        return Effect.flatMap(
          sessions.endOf(request.headers),
          (end): Answer =>
            end === undefined
              ? Effect.fail(EnvelopeUnauthorized.of("Invalid or missing admin credential"))
              : Effect.timeoutOrElse(httpEffect, {
                  duration: requestTimeoutMillis,
                  orElse: () => Effect.fail(EnvelopeUnavailable.of("The request took too long; it is safe to repeat"))
                })
        )
      })
    )
  })
)

const notStored = (error: TestEventNotStored) =>
  Effect.fail(EnvelopeUnavailable.of(`${error.message}. Repeating the request may emit the event twice.`))
const layerKeys = HttpApiBuilder.group(
  AdminApi,
  "keys",
  Effect.fn(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const acts = yield* AdminActs
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ params, payload, headers }) {
        const { expiresAt = null } = payload
        if (expiresAt !== null && expiresAt <= (yield* Clock.currentTimeMillis)) {
          const at = new Date(expiresAt).toISOString()
          return yield* EnvelopeInvalidRequest.of(`Invalid field 'expiresAt': ${at} is over. Expected a time to come.`)
        }
        return yield* apiKeys
          .create(
            params.id,
            {
              name: payload.name ?? null,
              mode: payload.mode ?? "live",
              services: payload.services,
              scopes: payload.scopes,
              expiresAtMillis: payload.expiresAt ?? null
            },
            idempotentRequest(headers["idempotency-key"], payload)
          )
          .pipe(
            Effect.tap(({ apiKey, key }) =>
              key === null ? Effect.void : acts.record("key.created", apiKey.id, payload, params.id)
            ),
            sql.withTransaction,
            Effect.map(({ apiKey, key }) => withReplayed({ ...apiKey, key }, key === null)),
            Effect.catchTags({
              OrganizationNotFound: (error) => Effect.fail(notFound(error)),
              IdempotencyConflict: (error) => Effect.fail(conflict(error)),
              SqlError: unavailable
            })
          )
      }),
      list: ({ params, query }) =>
        apiKeys
          .list({ organizationId: params.id, limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
          .pipe(
            Effect.catchTags({
              OrganizationNotFound: (error) => Effect.fail(notFound(error)),
              InvalidCursor: () => Effect.fail(invalidCursor()),
              SqlError: unavailable
            })
          ),
      revoke: ({ params }) =>
        apiKeys.revoke(params.id).pipe(
          Effect.tap((apiKey) => acts.record("key.revoked", apiKey.id, {}, apiKey.organizationId)),
          sql.withTransaction,
          Effect.catchTags({ ApiKeyNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
        )
    })
  })
)

const layerIngestions = HttpApiBuilder.group(
  AdminApi,
  "ingestions",
  Effect.fn(function* (handlers) {
    const ingestions = yield* Ingestions
    const acts = yield* AdminActs
    // A command that runs without a platform has no index to refresh.
    const directory = yield* Effect.serviceOption(Directory)
    /**
     * Refreshes this node's index before the end of a file is reported, so that the caller can ask for its data at
     * once.
     */
    const served = (event: IngestionEvent) =>
      event._tag === "Ingested" && !event.dryRun && Option.isSome(directory)
        ? Effect.ignore(directory.value.refresh)
        : Effect.void
    return handlers.handleAll({
      run: ({ payload }) =>
        Effect.as(
          payload.dryRun === true
            ? Effect.void
            : Effect.catchTag(
                acts.record("directory.ingested", payload.sources.map(sourceName).join(" "), {}),
                "SqlError",
                unavailable
              ),
          Stream.tap(ingestions.run(payload.sources, payload), served)
        ),
      state: () =>
        Effect.all({ present: ingestions.present, latest: ingestions.latest }).pipe(
          Effect.catchTag("SqlError", unavailable)
        ),
      failures: ({ query }) =>
        ingestions.failures(query).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("SqlError", unavailable)
        ),
      list: ({ query }) =>
        ingestions.historyPage(query).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("SqlError", unavailable)
        )
    })
  })
)

const layerNumbers = HttpApiBuilder.group(
  AdminApi,
  "numbers",
  Effect.fn(function* (handlers) {
    const inventory = yield* Inventory
    const organizations = yield* Organizations
    const acts = yield* AdminActs
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      add: ({ params, payload }) =>
        Effect.gen(function* () {
          yield* organizations.get(params.id)
          // Checked by the schema.
          const added = yield* inventory.add(
            params.id,
            payload.numbers.map((text) => normalizeNumber(text)!)
          )
          if (added > 0) yield* acts.record("numbers.added", params.id, { added })
          return { added }
        }).pipe(
          sql.withTransaction,
          Effect.catchTags({ OrganizationNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
        ),
      list: ({ params, query }) =>
        Effect.andThen(
          organizations.get(params.id),
          inventory.list(params.id, { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
        ).pipe(
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            InvalidCursor: () => Effect.fail(invalidCursor()),
            SqlError: unavailable
          })
        ),
      remove: ({ params }) =>
        Effect.gen(function* () {
          const tn = normalizeNumber(params.tn)!
          yield* organizations.get(params.id)
          yield* inventory.remove(params.id, tn)
          yield* acts.record("numbers.removed", params.id, { tn })
          return { tn }
        }).pipe(
          sql.withTransaction,
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            NumberNotFound: (error) => Effect.fail(notFound(error)),
            SqlError: unavailable
          })
        )
    })
  })
)

const layerTestEvents = HttpApiBuilder.group(
  AdminApi,
  "events",
  Effect.fn(function* (handlers) {
    const events = yield* TestEvents
    const sql = yield* SqlClient.SqlClient
    const endpointOf = (organizationId: string, endpointId: string) =>
      Effect.provideService(hasEndpoint(organizationId, endpointId), SqlClient.SqlClient, sql)
    const organizations = yield* Organizations
    const acts = yield* AdminActs
    return handlers.handleAll({
      trigger: ({ params, payload }) =>
        Effect.gen(function* () {
          const { endpoint, type } = payload
          yield* organizations.get(params.id)
          if (endpoint !== undefined && !(yield* endpointOf(params.id, endpoint)))
            return yield* EnvelopeNotFound.of(`The organization has no webhook endpoint ${quote(endpoint)}`)
          const sinceMillis = yield* Clock.currentTimeMillis
          const data = yield* events.trigger(params.id, type, endpoint)
          yield* acts.record("event.triggered", params.id, payload)
          const { service } = catalogue[type]
          const [eventId, endpoints] = yield* Effect.all([
            emittedId(params.id, type, sinceMillis),
            receiversOf(params.id, { type, service }, endpoint)
          ]).pipe(Effect.provideService(SqlClient.SqlClient, sql))
          return { eventId, type, livemode: false as const, data: { ...data }, endpoints }
        }).pipe(
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            TestEventNotStored: notStored,
            SqlError: unavailable
          })
        )
    })
  })
)

const layerEngine = HttpApiBuilder.group(
  AdminApi,
  "engine",
  Effect.fn(function* (handlers) {
    const inspection = yield* Inspection
    const acts = yield* AdminActs
    return handlers.handleAll({
      inspectPartition: ({ params }) => Effect.mapError(inspection.partition(params.partition), notFound),
      recoverPartition: ({ params, payload }) =>
        Effect.gen(function* () {
          const found = yield* Effect.mapError(inspection.recover(params.partition, payload), notFound)
          const hasActed = (payload.acceptLoss && !found.fits) || payload.acceptClock
          if (hasActed) yield* acts.record("partition.recovered", `${params.partition}`, payload)
          return found
        }).pipe(Effect.catchTag("SqlError", unavailable)),
      inspectActor: ({ params, query }) =>
        Effect.mapError(inspection.actor(params.kind, query.organization, query.key ?? ""), notFound)
    })
  })
)

const layerCluster = HttpApiBuilder.group(
  AdminApi,
  "cluster",
  Effect.fn(function* (handlers) {
    const view = yield* ClusterView
    return handlers.handleAll({
      show: () => Effect.mapError(view.show, ({ message }) => EnvelopeUnavailable.of(message)),
      drain: ({ params: { name } }) =>
        Effect.mapError(Effect.as(view.drain(name), { name }), (error) =>
          error._tag === "NoSuchNode" ? notFound(error) : EnvelopeUnavailable.of(error.message)
        )
    })
  })
)

const layerParked = HttpApiBuilder.group(
  AdminApi,
  "parked",
  Effect.fn(function* (handlers) {
    const parked = yield* ParkedRecords
    const answered = <A>(effect: Effect.Effect<A, NothingParked | ParkedUnavailable>) =>
      Effect.catchTags(effect, {
        NothingParked: (error) => Effect.fail(notFound(error)),
        ParkedUnavailable: repeatable
      })
    return handlers.handleAll({
      list: ({ query }) =>
        answered(parked.list(query.reactor, { after: query.after, limit: query.limit ?? defaultCursorPageSize })),
      show: ({ params, query }) =>
        answered(
          Effect.map(parked.show(params.id, query.reactor, query.limit ?? defaultCursorPageSize), (found) => ({
            reactor: found.reactor,
            records: found.records.map(({ error, index, record, sequence }) => ({ sequence, index, error, record }))
          }))
        ),
      retry: ({ params, payload }) => answered(parked.retry(params.id, payload.reactor)),
      dismiss: ({ params, payload: { index, reactor, sequence } }) =>
        answered(parked.dismiss(params.id, reactor, { sequence, index }))
    })
  })
)

/** All handlers. The access middleware stays a requirement, because the command line in process needs no credential. */
export const layerAdminHandlers = Layer.mergeAll(
  layerOrganizations,
  layerKeys,
  layerSites,
  layerAdminMembers,
  layerIngestions,
  layerNumbers,
  layerLookups,
  layerTestEvents,
  layerEngine,
  layerCluster,
  layerParked,
  layerSend,
  layerWhatIf,
  layerAccounts,
  layerActs,
  layerInvoices,
  layerSignIn,
  layerAdminConsole
).pipe(
  Layer.provide(OrganizationDeletion.layer),
  Layer.provide(Layer.mergeAll(AdminActs.layer, RiskSignals.layer(), AccountList.layer, ActList.layer))
)

/**
 * Handlers of the admin API. Needs `Organizations`, `ApiKeys`, `Ingestions`, `AdminActs` and `SqlClient`; what changes
 * something is recorded in the transaction of the change. A failure of the database is an `unavailable` that is safe to repeat, anything else a defect.
 */
import { timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Redacted, type Types } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { SqlClient, type SqlError } from "effect/sql"
import { sourceName } from "../directory/files/read.ts"
import { Ingestions } from "../directory/Ingestions.ts"
import {
  EnvelopeConflict,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { ApiKeys } from "../platform/ApiKeys.ts"
import { defaultCursorPageSize } from "../platform/Cursors.ts"
import { idempotentRequest } from "../platform/idempotency.ts"
import { keyDigest } from "../platform/identifiers.ts"
import { Organizations } from "../platform/Organizations.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminAccess, AdminApi } from "./api.ts"

/** The credentials of which admin requests must bear one. */
export const layerAdminAccess = (keys: ReadonlyArray<Redacted.Redacted<string>>): Layer.Layer<AdminAccess> =>
  Layer.sync(AdminAccess, () => {
    const expected = keys.map((key) => Buffer.from(keyDigest(Redacted.value(key))))
    type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, EnvelopeUnauthorized | Types.unhandled>
    return AdminAccess.of((httpEffect) =>
      Effect.withFiber((fiber): Answer => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const given = /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]
        const digest = given === undefined ? undefined : Buffer.from(keyDigest(given))
        // Digests of equal length, so that the comparison tells nothing about a key.
        return digest !== undefined && expected.some((one) => timingSafeEqual(digest, one))
          ? httpEffect
          : Effect.fail(EnvelopeUnauthorized.of("Invalid or missing admin credential"))
      })
    )
  })

const unavailable = (error: SqlError.SqlError) =>
  Effect.logError("The database failed", error).pipe(
    Effect.andThen(EnvelopeUnavailable.of("The database cannot be reached right now; the request is safe to repeat"))
  )

const notFound = (error: Error) => EnvelopeNotFound.of(error.message)
const conflict = (error: Error) => EnvelopeConflict.of(error.message)
const invalidCursor = () =>
  EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")

/** Marks the answer to a repeated request (decisions, "Status codes and bodies"). */
const withReplayed = <A>(body: A, replayed: boolean) =>
  HttpApiSchema.withHeaders({ body, headers: replayed ? { "idempotency-replayed": "true" } : {} })

const layerOrganizations = HttpApiBuilder.group(
  AdminApi,
  "organizations",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    const acts = yield* AdminActs
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      create: ({ payload, headers }) =>
        organizations
          .create(
            {
              name: payload.name,
              email: payload.email ?? null,
              plan: payload.plan ?? "free",
              sendPlan: payload.sendPlan ?? "hobby",
              risk: payload.risk ?? "standard"
            },
            idempotentRequest(headers["idempotency-key"], payload)
          )
          .pipe(
            Effect.tap(({ organization, replayed }) =>
              replayed ? Effect.void : acts.record("organization.created", organization.id, payload)
            ),
            sql.withTransaction,
            Effect.map(({ organization, replayed }) => withReplayed(organization, replayed)),
            Effect.catchTags({ IdempotencyConflict: (error) => Effect.fail(conflict(error)), SqlError: unavailable })
          ),
      list: ({ query }) =>
        organizations
          .list({ limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
          .pipe(Effect.catchTags({ InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable })),
      get: ({ params }) =>
        organizations
          .get(params.id)
          .pipe(
            Effect.catchTags({ OrganizationNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
          )
    })
  })
)

const layerKeys = HttpApiBuilder.group(
  AdminApi,
  "keys",
  Effect.fn(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const acts = yield* AdminActs
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      create: ({ params, payload, headers }) =>
        apiKeys
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
              key === null ? Effect.void : acts.record("key.created", apiKey.id, payload)
            ),
            sql.withTransaction,
            Effect.map(({ apiKey, key }) => withReplayed({ ...apiKey, key }, key === null)),
            Effect.catchTags({
              OrganizationNotFound: (error) => Effect.fail(notFound(error)),
              IdempotencyConflict: (error) => Effect.fail(conflict(error)),
              SqlError: unavailable
            })
          ),
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
          Effect.tap((apiKey) => acts.record("key.revoked", apiKey.id, {})),
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
          ingestions.run(payload.sources, { dryRun: payload.dryRun ?? false })
        ),
      list: ({ query }) =>
        ingestions.historyPage(query).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("SqlError", unavailable)
        )
    })
  })
)

/** All handlers; the access middleware stays a requirement, because the command line needs none in process. */
export const layerAdminHandlers = Layer.mergeAll(layerOrganizations, layerKeys, layerIngestions).pipe(
  Layer.provide(AdminActs.layer)
)

/**
 * Handles requests to the admin API's group for site credentials. Needs `SiteCredentials`, `AdminActs` and `SqlClient`.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { idempotentRequest } from "../http/idempotency.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { SiteCredentials } from "../platform/SiteCredentials.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { conflict, invalidCursor, notFound, unavailable, withReplayed } from "./failures.ts"

export const layerSites = HttpApiBuilder.group(
  AdminApi,
  "sites",
  Effect.fn(function* (handlers) {
    const sites = yield* SiteCredentials
    const acts = yield* AdminActs
    const sql = yield* SqlClient.SqlClient
    return handlers.handleAll({
      create: ({ params, payload, headers }) =>
        sites.create(params.id, payload.name ?? null, idempotentRequest(headers["idempotency-key"], payload)).pipe(
          Effect.tap(({ credential, site }) =>
            credential === null ? Effect.void : acts.record("site_credential.created", site.id, payload, params.id)
          ),
          sql.withTransaction,
          Effect.map(({ credential, site }) => withReplayed({ ...site, credential }, credential === null)),
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            IdempotencyConflict: (error) => Effect.fail(conflict(error)),
            SqlError: unavailable
          })
        ),
      list: ({ params, query }) =>
        sites
          .list({ organizationId: params.id, limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
          .pipe(
            Effect.catchTags({
              OrganizationNotFound: (error) => Effect.fail(notFound(error)),
              InvalidCursor: () => Effect.fail(invalidCursor()),
              SqlError: unavailable
            })
          ),
      revoke: ({ params }) =>
        sites.revoke(params.id).pipe(
          Effect.tap((site) => acts.record("site_credential.revoked", site.id, {}, site.organizationId)),
          sql.withTransaction,
          Effect.catchTags({ SiteCredentialNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
        )
    })
  })
)

/**
 * Handles requests to the admin API's groups for the console (docs/platform.md, 12). Needs `OperatorSessions`,
 * `ConsoleLinks`, `AdminActs` and `Inspection`.
 */
import { Clock, Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { version } from "../common/version.ts"
import { EnvelopeForbidden, EnvelopeNotFound, EnvelopeUnauthorized, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { ConsoleLinks } from "../platform/ConsoleSessions.ts"
import { consoleHeader, cookieText, operatorCookie } from "../platform/consoleCookie.ts"
import { Health } from "../platform/Health.ts"
import { services } from "../platform/model.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { notFound, unavailable } from "./failures.ts"
import { Inspection } from "./Inspection.ts"
import { OperatorSessions } from "./OperatorSessions.ts"

/** The address at which browsers reach the API, without a slash at its end; empty if unknown. */
export const PublicAddress = Context.Reference<() => string>("sluice/admin/PublicAddress", {
  defaultValue: () => () => ""
})

const withCookie = <A>(body: A, cookie: string) =>
  HttpApiSchema.withHeaders({ body, headers: { "set-cookie": cookie } })

export const layerSignIn = HttpApiBuilder.group(
  AdminApi,
  "signIn",
  Effect.fn(function* (handlers) {
    const sessions = yield* OperatorSessions
    return handlers.handleAll({
      open: ({ headers, payload }) =>
        Effect.gen(function* () {
          if (headers[consoleHeader] === undefined)
            return yield* EnvelopeForbidden.of("Signing in needs the header X-Sluice-Console, with any value.")
          const opened = yield* sessions.open(payload.key)
          if (opened === undefined) return yield* EnvelopeUnauthorized.of("Invalid or missing admin credential")
          const { expiresAtMillis, text } = opened
          const seconds = Math.floor((expiresAtMillis - (yield* Clock.currentTimeMillis)) / 1_000)
          return withCookie(
            { expiresAt: expiresAtMillis },
            cookieText(operatorCookie, text, { origin: headers.origin, seconds })
          )
        })
    })
  })
)

export const layerAdminConsole = HttpApiBuilder.group(
  AdminApi,
  "console",
  Effect.fn(function* (handlers) {
    const sessions = yield* OperatorSessions
    const links = yield* ConsoleLinks
    const acts = yield* AdminActs
    const inspection = yield* Inspection
    const sql = yield* SqlClient.SqlClient
    const address = yield* PublicAddress
    // A command that runs without a platform has none.
    const health = yield* Effect.serviceOption(Health)
    const headersOf = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => headers)
    return handlers.handleAll({
      session: () =>
        Effect.gen(function* () {
          const expiresAt = (yield* sessions.endOf(yield* headersOf)) ?? null
          return { expiresAt, version, actorKinds: inspection.kinds }
        }),
      close: ({ headers }) =>
        Effect.gen(function* () {
          const closed = yield* sessions.close(yield* headersOf)
          return withCookie({ closed }, cookieText(operatorCookie, "", { origin: headers.origin, seconds: 0 }))
        }),
      link: ({ payload }) =>
        Effect.gen(function* () {
          const { lifeSeconds, mode = "live", organization, scopes = ["*"] as const } = payload
          const rights = { mode, scopes, services: payload.services ?? services }
          const { expiresAtMillis, link } = yield* links.create(organization, rights, lifeSeconds)
          yield* acts.record("console_link.created", organization, { ...rights, expiresAt: expiresAtMillis })
          return { url: `${address()}/console#link=${link}`, expiresAt: expiresAtMillis }
        }).pipe(
          sql.withTransaction,
          Effect.catchTags({ OrganizationNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
        ),
      status: () =>
        Option.match(health, {
          onNone: () => Effect.fail(EnvelopeUnavailable.of("No platform is running; start it, then ask it")),
          onSome: ({ readiness }) => Effect.map(readiness, ({ checks, ready }) => ({ version, ready, checks }))
        }),
      partitions: () =>
        inspection.partitions.pipe(
          Effect.map((all) => ({
            data: all.map((one) => ({
              partition: one.partition,
              status: one.status._tag,
              reason: "reason" in one.status ? one.status.reason : null,
              epoch: one.head.epoch,
              sequence: one.head.sequence,
              frame: one.head.number,
              decidedAt: one.head.now,
              log:
                one.log === undefined
                  ? null
                  : {
                      firstSequence: one.log.firstSequence,
                      lastSequence: one.log.lastSequence,
                      bytes: one.log.bytes,
                      maximumBytes: one.log.maximumBytes
                    },
              checkpointSequence: one.checkpoint?.sequence ?? null,
              reactors: one.cursors.map(({ lag, reactor, sequence }) => ({ reactor, sequence, lag })),
              mailbox: one.mailboxDepth,
              actors: one.actorsInMemory,
              timers: one.timersInMemory,
              quarantined: one.quarantined
            }))
          })),
          Effect.mapError(notFound)
        ),
      frame: ({ params }) =>
        Effect.gen(function* () {
          const found = yield* Effect.mapError(inspection.frame(params.partition, params.sequence), notFound)
          if (found === undefined)
            return yield* EnvelopeNotFound.of(
              `The log of partition ${params.partition} does not hold the frame ${params.sequence}, or not any more.`
            )
          return found
        })
    })
  })
)

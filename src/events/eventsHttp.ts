/**
 * Handles requests to the event log. It answers with the stored texts, so that an event has the same bytes here and in
 * every delivery. Needs `EventLog`, `EventStreams`, `Engine` and `Authentication`.
 */
import { Clock, Duration, Effect, Result, Schema, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { Engine } from "../engine/Engine.ts"
import * as Reactors from "../engine/Reactors.ts"
import { baseApi } from "../http/baseApi.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { quote } from "../http/parameters.ts"
import { builtWith } from "../http/smallContext.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { Authentication } from "../platform/Authentication.ts"
import { CurrentPrincipal, EventsAccess } from "../platform/access.ts"
import { givenKey } from "../platform/layerAccess.ts"
import { catalogue } from "./catalogue.ts"
import { EventLog, type Followed } from "./EventLog.ts"
import { EventOrigins } from "./EventOrigins.ts"
import { EventStreams, maximumStreamsPerOrganization, type TooManyStreams } from "./EventStreams.ts"
import { EventId, eventIdPrefix } from "./event.ts"
import { EventsApi } from "./eventsApi.ts"
import { type EventPattern, matchesAny, parsePattern, parsePatterns } from "./patterns.ts"

// Waits for the row of an event that was delivered before its row was written (docs/platform.md, 5.4): a receiver that
// asks for the event it has just got finds it. Needs `Engine`.

/** The longest wait, milliseconds; where another process serves the partition, the only one. */
const longestMillis = 1_000
const elsewhereMillis = 200

const isEventId = Schema.is(EventId)

/** The partition that an event's id names (docs/architecture.md, rule 8). */
const partitionOf = (eventId: string): number =>
  Number.parseInt(eventId.slice(eventIdPrefix.length, eventIdPrefix.length + 4), 16)

/** Answers whether a second look may find an event that the first one did not. */
export const awaitRecent = (organizationId: string, eventId: string): Effect.Effect<boolean, never, Engine> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    if (!isEventId(eventId) || partitionOf(eventId) !== engine.partitionOf(organizationId)) return false
    const isHere = yield* Effect.timeoutOption(Reactors.settledFor(organizationId), Duration.millis(longestMillis))
    if (isHere._tag === "Some" && !isHere.value) yield* Effect.sleep(Duration.millis(elsewhereMillis))
    return true
  })

/** How often a stream shows that it lives while nothing happens. */
export const heartbeatMillis = 15_000

const unavailable = (error: SqlError.SqlError) =>
  databaseFailed(
    error,
    Effect.fail(EnvelopeUnavailable.of("The event log cannot be read right now; the request is safe to repeat"))
  )

const invalid = (parameter: string, expected: string) =>
  Effect.fail(EnvelopeInvalidRequest.of(`Invalid parameter '${parameter}'. ${expected}.`))

const json = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })

const tooMany = ({ of }: TooManyStreams) =>
  Effect.fail(
    of === "organization"
      ? EnvelopeRateLimited.of(
          `The organization has ${maximumStreamsPerOrganization} event streams open, which is the most there may be.`
        )
      : EnvelopeUnavailable.of("Too many event streams are open; try again later")
  )

const everything: ReadonlyArray<EventPattern> = [{ _tag: "All" }]

/** The format of server-sent events (HTML, "Server-sent events"). A stored body is one line. */
const written = (item: Followed): string =>
  item._tag === "Idle" ? ":\n\n" : `id: ${item.eventId}\nevent: ${item.type}\ndata: ${item.body}\n\n`

/**
 * Whether a key may still get this item, because a stream outlives the check at its beginning. An event goes only to a
 * key that is known to be valid; a heartbeat may also go while the database is away.
 */
const isStillValid = (authentication: Authentication["Service"], key: string, item: Followed) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const warm = authentication.verifyWarm(key, now)
    return warm !== undefined
      ? Effect.succeed(warm !== null)
      : Effect.match(authentication.verify(key), {
          onFailure: () => item._tag === "Idle",
          onSuccess: (principal) => principal !== null
        })
  })

/** Answers about events and their types, beside the events themselves. */
const describing = (log: EventLog["Service"], origins: EventOrigins["Service"]) => ({
  types: ({ query }: { readonly query: { readonly pattern?: ReadonlyArray<string> | undefined } }) =>
    Effect.gen(function* () {
      const patterns = query.pattern === undefined ? undefined : parsePatterns(query.pattern)
      if (patterns !== undefined && Result.isFailure(patterns))
        return yield* invalid("pattern", patterns.failure.message)
      const wanted = patterns?.success ?? everything
      return {
        data: Object.entries(catalogue).map(([type, { description, example, service }]) => ({
          type,
          service,
          description,
          example: example as unknown,
          matches: matchesAny(wanted, { type, service })
        }))
      }
    }),

  rates: () =>
    Effect.gen(function* () {
      return { data: yield* log.rates(yield* CurrentPrincipal) }
    }).pipe(Effect.catchTag("SqlError", unavailable)),

  origin: ({ params }: { readonly params: { readonly id: string } }) =>
    Effect.gen(function* () {
      const found = yield* origins.of(yield* CurrentPrincipal, params.id)
      if (found === undefined) return yield* EnvelopeNotFound.of(`No event has the id ${quote(params.id)}.`)
      return found
    }).pipe(Effect.catchTag("SqlError", unavailable))
})

/** Reads one event, also one whose row is not written yet. */
const reading =
  (log: EventLog["Service"], engine: Engine["Service"]) =>
  ({ params: { id } }: { readonly params: { readonly id: string } }) =>
    Effect.gen(function* () {
      const reader = yield* CurrentPrincipal
      let body = yield* log.get(reader, id)
      if (body === undefined && (yield* awaitRecent(reader.organizationId, id))) body = yield* log.get(reader, id)
      if (body === undefined) return yield* EnvelopeNotFound.of(`No event has the id ${quote(id)}.`)
      return json(body)
    }).pipe(Effect.provideService(Engine, engine), Effect.catchTag("SqlError", unavailable))

export const layerEvents = HttpApiBuilder.group(
  baseApi.add(EventsApi),
  "events",
  Effect.fn(function* (handlers) {
    const log = yield* EventLog
    const streams = yield* EventStreams
    const authentication = yield* Authentication
    const origins = yield* EventOrigins
    const engine = yield* Engine

    return handlers.handleAll({
      list: ({ query }) =>
        Effect.gen(function* () {
          const { mode, organizationId } = yield* CurrentPrincipal
          const pattern = query.type === undefined ? undefined : parsePattern(query.type)
          if (pattern !== undefined && Result.isFailure(pattern)) return yield* invalid("type", pattern.failure.message)
          const { data, pagination } = yield* log.list({
            organizationId,
            mode,
            pattern: pattern?.success,
            since: query.since,
            until: query.until,
            object: query.object,
            text: query.text,
            withTotal: query.include === "total",
            limit: query.limit ?? defaultCursorPageSize,
            cursor: query.cursor
          })
          return json(`{"data":[${data.join(",")}],"pagination":${JSON.stringify(pagination)}}`)
        }).pipe(
          Effect.catchTags({
            InvalidCursor: () => invalid("cursor", "Expected one that this list's answer gave in the last 30 days"),
            SqlError: unavailable
          })
        ),

      ...describing(log, origins),

      get: reading(log, engine),

      stream: ({ headers, query }) =>
        Effect.gen(function* () {
          const reader = yield* CurrentPrincipal
          const { mode, organizationId } = reader
          const request = yield* HttpServerRequest.HttpServerRequest
          const given = [...(query.type ?? []), ...(query.types?.split(",") ?? [])]
          const patterns = given.length === 0 ? undefined : parsePatterns(given)
          if (patterns !== undefined && Result.isFailure(patterns)) {
            return yield* invalid(query.type === undefined ? "types" : "type", patterns.failure.message)
          }
          // The place is given back when the answer ends or nobody reads it any more.
          yield* streams.open(organizationId)
          const last = headers["last-event-id"]
          const after = yield* last === undefined ? log.end(organizationId) : log.positionOf(reader, last)
          if (after === undefined) {
            return yield* Effect.fail(
              EnvelopeInvalidRequest.of(`Invalid header 'Last-Event-ID': ${quote(last ?? "")}. No event has this id.`)
            )
          }
          const key = givenKey(request.headers, undefined) ?? ""
          const events = log
            .follow({
              organizationId,
              mode,
              patterns: patterns?.success ?? everything,
              after: { createdAt: after.createdAt, sequence: after.sequence, index: after.index },
              idleMillis: heartbeatMillis
            })
            .pipe(
              Stream.takeWhileEffect((item) => isStillValid(authentication, key, item)),
              Stream.map(written),
              // Sent immediately, so that the reader knows that it is connected.
              (rest) => Stream.concat(Stream.succeed(":\n\n"), rest),
              Stream.interruptWhen(streams.stopping),
              Stream.encodeText
            )
          return HttpServerResponse.stream(events, {
            contentType: "text/event-stream",
            headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
          })
        }).pipe(Effect.catchTags({ SqlError: unavailable, TooManyStreams: tooMany }))
    })
  })
).pipe(builtWith(EventLog, EventOrigins, EventStreams, Engine, Authentication, EventsAccess))

/**
 * Answers with a list as CSV, which is written as it is read (docs/platform.md, 9.15 and 9.20). Needs the request's
 * scope.
 */
import { Effect, type Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { BulkheadFull } from "../../common/Bulkhead.ts"
import { cutSlowCaller } from "../../http/cutSlowCaller.ts"
import { retryAfter } from "../../http/RequestState.ts"
import { SendRateLimited, SendUnavailable } from "./sendErrors.ts"

/** Most lists that are written concurrently, of each kind. */
export const csvPlaces = { total: 8, ofOrganization: 2 } as const

/** The time after which another list may be exported: most are written in less. */
const placeRetryMillis = 5_000

/** The longest time that a list is written for a caller who reads it slowly. */
const exportMillis = 10 * 60_000

const full = ({ of }: BulkheadFull): Effect.Effect<never, SendRateLimited | SendUnavailable> =>
  Effect.andThen(
    retryAfter(placeRetryMillis),
    Effect.fail(
      of === "all"
        ? SendUnavailable.of("Too many lists are exported right now; repeat the request later.")
        : SendRateLimited.of(
            `An organization can have ${csvPlaces.ofOrganization} lists exported concurrently; repeat the request later.`
          )
    )
  )

/** The answer with the lines of a list, once its first page is read. */
export const csvAnswer = <E, E2, R>(
  fileName: string,
  lines: Effect.Effect<Stream.Stream<Uint8Array, E2>, E | BulkheadFull, R>
) =>
  Effect.gen(function* () {
    yield* cutSlowCaller(exportMillis)
    const bytes = yield* lines
    return HttpServerResponse.stream(bytes, {
      contentType: "text/csv; charset=utf-8",
      headers: { "cache-control": "no-store", "content-disposition": `attachment; filename="${fileName}"` }
    })
  }).pipe(Effect.catchIf((error): error is BulkheadFull => (error as BulkheadFull)._tag === "BulkheadFull", full))

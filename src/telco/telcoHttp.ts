/** Handles requests to telco. Needs `Telco`. */

import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { baseApi } from "../http/baseApi.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import { defaultPageSize } from "../http/parameters.ts"
import { retryAfter, retryAfterMillis } from "../http/RequestState.ts"
import { builtWith } from "../http/smallContext.ts"
import { NotFound, Unavailable } from "../http/wireErrors.ts"
import { CurrentPrincipal, TelcoAccess } from "../platform/access.ts"
import type { EventNotStored } from "../platform/awaitEventStored.ts"
import type { Principal } from "../platform/model.ts"
import { type Caller, Telco } from "./Telco.ts"
import { TelcoApi } from "./telcoApi.ts"

const unavailable = (message: string) => Effect.fail(new Unavailable({ error: "unavailable", message }))

/** The same with a `Retry-After`, for what is away for a while. */
const unavailableFor = (afterMillis: number, message: string) =>
  Effect.andThen(retryAfter(afterMillis), unavailable(message))

const callerOf = ({ mode, organizationId }: Principal): Caller => ({ organizationId, livemode: mode === "live" })

const notRead = (error: SqlError.SqlError) =>
  databaseFailed(
    error,
    unavailableFor(retryAfterMillis, "The inventory cannot be read right now; the request is safe to repeat")
  )

const notStored = (error: EventNotStored) => {
  const message = "The event of this request cannot be stored right now; the request is safe to repeat"
  const afterMillis = error.retryAfterMillis(retryAfterMillis)
  return afterMillis === undefined ? unavailable(message) : unavailableFor(afterMillis, message)
}

const failures = {
  DirectoryUnavailable: () => unavailable("The number directory is not loaded yet"),
  SqlError: notRead,
  EventNotStored: notStored
}

export const layerTelco = HttpApiBuilder.group(
  baseApi.add(TelcoApi),
  "telco",
  Effect.fn(function* (handlers) {
    const telco = yield* Telco
    return handlers.handleAll({
      lookup: ({ params }) =>
        Effect.flatMap(CurrentPrincipal, (principal) => telco.lookup(callerOf(principal), params.tn)).pipe(
          Effect.catchTags({
            CodeNotFound: (error) => Effect.fail(new NotFound({ error: "not_found", message: error.message })),
            ...failures
          })
        ),
      lookups: ({ payload }) =>
        Effect.flatMap(CurrentPrincipal, (principal) => telco.lookups(callerOf(principal), payload.numbers)).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTags(failures)
        ),
      search: ({ query }) =>
        Effect.flatMap(CurrentPrincipal, (principal) =>
          telco.search(callerOf(principal), {
            ...query,
            source: query.source ?? "npanxx",
            limit: query.limit ?? defaultPageSize,
            offset: query.offset ?? 0
          })
        ).pipe(Effect.catchTags(failures))
    })
  })
).pipe(builtWith(Telco, TelcoAccess))

/** Handles requests to the admin API's group for decisions under other rules. Needs `Organizations` and `WhatIf`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { EnvelopeInvalidRequest } from "../http/wireErrors.ts"
import { Organizations } from "../platform/Organizations.ts"
import { WhatIf } from "../send/whatIf/WhatIf.ts"
import { AdminApi } from "./adminApi.ts"
import { notFound, repeatable, unavailable } from "./failures.ts"

export const layerWhatIf = HttpApiBuilder.group(
  AdminApi,
  "whatIf",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    const whatIf = yield* WhatIf
    return handlers.handleAll({
      ask: ({ params, payload: { mode = "live", rules, since, until = Number.MAX_SAFE_INTEGER } }) =>
        Effect.gen(function* () {
          if (until <= since) return yield* EnvelopeInvalidRequest.of("Invalid 'until'. Expected a time after 'since'.")
          const organization = yield* organizations.get(params.id)
          return yield* whatIf.ask({ organization, mode, since, until, rules })
        }).pipe(
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            HistoryTooLong: ({ message }) => Effect.fail(EnvelopeInvalidRequest.of(`${message}.`)),
            AccountUnavailable: repeatable,
            SqlError: unavailable
          })
        )
    })
  })
)

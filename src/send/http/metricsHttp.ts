/** Handles the figures of an account's emails. Needs `EmailFigures`; the access middleware gives the key. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { figuresPeriodOf } from "../../common/figuresPeriod.ts"
import { baseApi } from "../../http/baseApi.ts"
import { CurrentPrincipal } from "../../platform/access.ts"
import { EmailFigures } from "../metrics/EmailFigures.ts"
import { SendMetricsApi } from "./metricsApi.ts"
import { available, SendInvalidRequest } from "./sendErrors.ts"

export const layerSendMetrics = HttpApiBuilder.group(
  baseApi.add(SendMetricsApi),
  "sendMetrics",
  Effect.fn(function* (handlers) {
    const figures = yield* EmailFigures
    return handlers.handleAll({
      get: ({ query: { domain: asked, ...times } }) =>
        Effect.gen(function* () {
          const { mode, organizationId } = yield* CurrentPrincipal
          const now = yield* Clock.currentTimeMillis
          const period = yield* Effect.fromResult(figuresPeriodOf(times, now))
          const domain = asked?.toLowerCase()
          const { series, totals } = yield* figures.of({ mode, organizationId }, period, domain)
          const { interval, since, until } = period
          return { mode, domain: domain ?? null, interval, since, until, totals, series }
        }).pipe(
          available,
          Effect.catchTag("PeriodInvalid", ({ message }) => Effect.fail(SendInvalidRequest.of(message)))
        )
    })
  })
)

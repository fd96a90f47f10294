/** Handlers of the probes and of the metrics. Needs `Health`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Health } from "../platform/Health.ts"
import { SluiceApi } from "./api.ts"

export const layerSystem = HttpApiBuilder.group(
  SluiceApi,
  "system",
  Effect.fn(function* (handlers) {
    const health = yield* Health
    return handlers.handleAll({
      livez: () => Effect.succeed({ status: "alive" as const }),
      readyz: () =>
        Effect.flatMap(health.readiness, ({ ready, checks }) =>
          ready
            ? Effect.succeed({ status: "ready" as const, checks })
            : Effect.fail({ status: "not_ready" as const, checks })
        ),
      metrics: () => PrometheusMetrics.format()
    })
  })
)

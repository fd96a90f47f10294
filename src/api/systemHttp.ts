/** Handles the probes and the metrics. Needs `Health`. */
import { timingSafeEqual } from "node:crypto"
import { Context, Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { keyDigest } from "../common/identifiers.ts"
import { baseApi } from "../http/baseApi.ts"
import { EnvelopeUnauthorized } from "../http/wireErrors.ts"
import { Health } from "../platform/Health.ts"
import { SystemApi } from "./systemApi.ts"

/** The permitted readers of the metrics: anybody, or the bearer of one of these credentials. */
export type MetricsReaders = "anybody" | ReadonlyArray<Redacted.Redacted<string>>

const isOneOf = (given: string | undefined, keys: ReadonlyArray<Redacted.Redacted<string>>): boolean => {
  const bearer = /^bearer +(.+)$/i.exec(given ?? "")?.[1]
  if (bearer === undefined) return false
  // Digests of equal length, so that the comparison tells nothing about a key.
  const digest = Buffer.from(keyDigest(bearer))
  return keys.some((key) => timingSafeEqual(digest, Buffer.from(keyDigest(Redacted.value(key)))))
}

/** `metrics` makes their text; default: this process's own. */
export const layerSystem = (readers: MetricsReaders, metrics: Effect.Effect<string> = PrometheusMetrics.format()) =>
  HttpApiBuilder.group(
    baseApi.add(SystemApi),
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
        metrics: () =>
          Effect.withFiber((fiber) => {
            const { headers } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
            return readers === "anybody" || isOneOf(headers.authorization, readers)
              ? metrics
              : Effect.fail(EnvelopeUnauthorized.of("The metrics need the admin API's credential as a bearer here"))
          })
      })
    })
  )

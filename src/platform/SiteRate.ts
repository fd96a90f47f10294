/**
 * Limits the requests of a site credential per minute (docs/platform.md, 2.8): a limiter for each in a lane of the
 * engine, beside the rates of keys, so that a site takes no other caller's share. It fails open like them. Without a
 * layer nothing is limited: an embedded server has no engine. The layer needs `Engine`.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { Engine } from "../engine/Engine.ts"
import * as Lane from "../engine/Lane.ts"
import * as Limiter from "../limits/actor.ts"
import type { Site } from "./SiteCredentials.ts"
import { type LaneTaken, makeTakeFromLimiter } from "./takeFromLimiter.ts"

/** Requests of one site credential a minute. */
export const siteRequestsPerMinute = 600

/** One limiter a credential, by its id. */
export const siteRequestLimiter = Lane.make<null, Limiter.LimiterState, Limiter.LimiterReply>({
  kind: "site-rate",
  initial: Limiter.initial,
  touches: () => [],
  decide: (state, _, { now }) => Limiter.decide(state, { _tag: "Take", cost: 1 }, siteRequestsPerMinute, now),
  keepUntil: Limiter.keepUntil
})

const passed = Metric.counter("sluice_site_rate_passed_total", {
  description: "Requests with a site credential that passed uncounted because their limiter could not be reached",
  incremental: true
})

export interface SiteRateShape {
  /** Counts a request of a site, as `RequestRate` does for an organization. */
  readonly take: (site: Site) => LaneTaken
}

export const SiteRate = Context.Reference<SiteRateShape>("sluice/platform/SiteRate", {
  defaultValue: () => ({ take: () => undefined })
})

export const layerSiteRate: Layer.Layer<never, never, Engine> = Layer.effect(
  SiteRate,
  Effect.gen(function* () {
    const engine = yield* Engine
    const context = yield* Effect.context<never>()
    const take = makeTakeFromLimiter(engine, siteRequestLimiter, () => passed.updateUnsafe(1, context))
    return {
      take: ({ credentialId, organizationId }) => take({ organization: organizationId, key: credentialId }, null)
    }
  })
)

/**
 * Limits the requests of a site credential per minute (docs/platform.md, 2.8): a limiter for each in a lane of the
 * engine, beside the rates of keys, so that a site takes no other caller's share. It fails open like them. Without a
 * layer nothing is limited: an embedded server has no engine. The layer needs `Engine`.
 */
import { Context, Effect, Layer } from "effect"
import type { Engine } from "../engine/Engine.ts"
import { type LaneTaken, makeRateLane } from "./rateLane.ts"
import type { Site } from "./SiteCredentials.ts"

/** Requests of one site credential a minute. */
export const siteRequestsPerMinute = 600

/** One limiter a credential, by its id. */
const rate = makeRateLane<null>({
  kind: "site-rate",
  touches: () => [],
  limitOf: () => siteRequestsPerMinute,
  passed: {
    name: "sluice_site_rate_passed_total",
    description: "Requests with a site credential that passed uncounted because their limiter could not be reached"
  }
})

export const siteRequestLimiter = rate.lane

export interface SiteRateShape {
  /** Counts a request of a site, as `RequestRate` does for an organization. */
  readonly take: (site: Site) => LaneTaken
}

export const SiteRate = Context.Reference<SiteRateShape>("sluice/platform/SiteRate", {
  defaultValue: () => ({ take: () => undefined })
})

export const layerSiteRate: Layer.Layer<never, never, Engine> = Layer.effect(
  SiteRate,
  Effect.map(rate.take, (take) => ({
    take: ({ credentialId, organizationId }) => take({ organization: organizationId, key: credentialId }, null)
  }))
)

/**
 * Limits the platform's request rate (docs/platform.md, 3.1). Each organization has one limiter over all its keys, in a
 * lane of the engine, which answers from memory and keeps the limiter for the whole window. The count outlives a change
 * of plan, because plan and limits are read from the organization's facts at each decision. The rate fails open: after
 * 250 ms without an answer of the owner a request passes, and a metric counts it. Needs `Engine`.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Engine } from "../engine/Engine.ts"
import * as Limiter from "../limits/actor.ts"
import { requestsPerMinute } from "../limits/plans.ts"
import { type PlatformPlan, type Principal, platformPlans } from "./model.ts"
import { OrganizationActor } from "./OrganizationActor.ts"
import { type LaneTaken, makeRateLane } from "./rateLane.ts"

/**
 * The request to the lane. The cost is 1; nodes of older versions need it. The plan is that of the organization's row,
 * and counts while the log has none yet; the least limit is for people's work in the console.
 */
const TakeRequest = Schema.Struct({
  cost: Limiter.Cost,
  plan: Schema.Literals(platformPlans),
  least: Schema.optionalKey(Schema.Int),
  /** Says how much is left, and counts nothing. An older node counts it. */
  isLook: Schema.optionalKey(Schema.Boolean)
})
export type TakeRequest = typeof TakeRequest.Type

/**
 * The key of the limiter of an organization's console: its use takes nothing from the organization's programs. The
 * portals of each label have one of their own, so that no customer takes anything from another one.
 */
const consoleKey = ({ portal }: NonNullable<Principal["session"]>): string =>
  portal === undefined ? "console" : `portal ${portal.label}`

/** Requests a minute that every console has, and every label of portals. */
export const consoleRequestsPerMinute = 600

/** One limiter an organization, one for its console, and one for each label of its portals. */
const rate = makeRateLane<TakeRequest>({
  kind: "request-rate",
  command: TakeRequest,
  touches: () => [OrganizationActor.at()],
  isLook: ({ isLook = false }) => isLook,
  limitOf: ({ least = 0, plan }, { read }) => {
    const organization = read(OrganizationActor)
    const own = requestsPerMinute(organization.plan ?? plan, organization.limits.requestsPerMinute)
    return own === "unlimited" ? own : Math.max(own, least)
  },
  passed: {
    name: "sluice_request_rate_passed_total",
    description: "Requests that passed uncounted because their limiter could not be reached"
  }
})

export const requestLimiter = rate.lane

export class RequestRate extends Context.Service<
  RequestRate,
  {
    /**
     * Counts a request of the key's organization. Returns the decision, nearly always immediately, or an Effect that
     * waits for the owner. Undefined means that the limiter could not be reached and the request passes.
     */
    readonly take: (principal: Principal) => LaneTaken
    /** How much the programs of an organization have left in the present minute; undefined if nobody says. */
    readonly look: (organization: { readonly id: string; readonly plan: PlatformPlan }) => LaneTaken
  }
>()("sluice/platform/RequestRate") {
  static readonly layer: Layer.Layer<RequestRate, never, Engine> = Layer.effect(
    RequestRate,
    Effect.map(rate.take, (take) =>
      RequestRate.of({
        take: ({ organizationId: organization, plan, session }) =>
          session === undefined
            ? take({ organization }, { cost: 1, plan })
            : take({ organization, key: consoleKey(session) }, { cost: 1, plan, least: consoleRequestsPerMinute }),
        look: ({ id: organization, plan }) => take({ organization }, { cost: 1, plan, isLook: true })
      })
    )
  )

  /** Limits nothing, for embedding the server without an engine. */
  static readonly layerUnlimited: Layer.Layer<RequestRate> = Layer.succeed(
    RequestRate,
    RequestRate.of({ take: () => undefined, look: () => undefined })
  )
}

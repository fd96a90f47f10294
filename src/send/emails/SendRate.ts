/**
 * Limits the requests to send of each key per minute (docs/platform.md, 9.10): a limiter for each key in a lane of the
 * engine, beside the platform's rate, which does not count these requests. Plan and custom limit are read from the
 * log's facts at each decision, and it fails open like that rate. Needs `Engine`.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Engine } from "../../engine/Engine.ts"
import type { Decision } from "../../limits/rules.ts"
import { type Principal, sendPlans } from "../../platform/model.ts"
import { OrganizationActor } from "../../platform/OrganizationActor.ts"
import { type LaneTaken, makeRateLane } from "../../platform/rateLane.ts"
import { type Mode, SendAccount } from "../account/actors/index.ts"
import { sendRequestsPerMinute } from "../rules/account.ts"

/** The request to the lane. The plan is that of the organization's row, and counts while the log has none yet. */
const TakeSendRequest = Schema.Struct({ plan: Schema.Literals(sendPlans) })
export type TakeSendRequest = typeof TakeSendRequest.Type

/** The mode of a limiter's key, which is `<mode>/<id of the API key>`. */
const modeOf = (key: string): Mode => (key.startsWith("test/") ? "test" : "live")

/** One limiter a key. */
const rate = makeRateLane<TakeSendRequest>({
  kind: "send-rate",
  command: TakeSendRequest,
  touches: ({ key }) => [OrganizationActor.at(), SendAccount.at(modeOf(key))],
  limitOf: ({ plan }, { read, self }) => {
    const { custom } = read(SendAccount, modeOf(self.key))
    return sendRequestsPerMinute(custom, read(OrganizationActor).sendPlan ?? plan)
  },
  passed: {
    name: "sluice_send_rate_passed_total",
    description: "Requests to send that passed uncounted because their limiter could not be reached"
  }
})

export const sendRequestLimiter = rate.lane

/** The headers of a counted request, names in lower case: without `X-RateLimit-Reset`; none without a limit. */
export const sendRateFields = (decision: Decision): Record<string, string> | undefined =>
  decision.limit === "unlimited"
    ? undefined
    : {
        "x-ratelimit-limit": String(decision.limit),
        "x-ratelimit-remaining": String(decision.remaining),
        ...(decision.allowed ? {} : { "retry-after": String(decision.retryAfterSeconds) })
      }

export class SendRate extends Context.Service<
  SendRate,
  {
    /** Counts a request of a key, as `RequestRate` does for an organization. */
    readonly take: (principal: Principal) => LaneTaken
  }
>()("sluice/send/SendRate") {
  static readonly layer: Layer.Layer<SendRate, never, Engine> = Layer.effect(
    SendRate,
    Effect.map(rate.take, (take) =>
      SendRate.of({
        take: ({ keyId, mode, organizationId: organization, sendPlan: plan }) =>
          take({ organization, key: `${mode}/${keyId}` }, { plan })
      })
    )
  )
}

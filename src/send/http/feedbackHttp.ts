/**
 * Handles the reports of other mail systems, and grants access to them. Needs `SiteFeedback` and `SiteCredentials`; the
 * access gives the organization.
 */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { builtWith } from "../../http/smallContext.ts"
import { makeSiteAccess, siteServices } from "../../platform/layerSiteAccess.ts"
import type { SiteCredentials } from "../../platform/SiteCredentials.ts"
import { CurrentSite } from "../../platform/siteAccess.ts"
import type { FeedbackSignal } from "../feedback/intake/feedbackSignal.ts"
import { SiteFeedback } from "../feedback/intake/SiteFeedback.ts"
import { SendFeedbackApi, SendSiteAccess } from "./feedbackApi.ts"
import { available, SendInvalidRequest, SendRateLimited, SendUnauthorized, SendUnavailable } from "./sendErrors.ts"

export const layerSendSiteAccess: Layer.Layer<SendSiteAccess, never, SiteCredentials> = Layer.effect(
  SendSiteAccess,
  Effect.map(siteServices, (given) =>
    makeSiteAccess<SendInvalidRequest | SendUnauthorized | SendRateLimited | SendUnavailable>(given, {
      unauthorized: SendUnauthorized.of,
      invalid: SendInvalidRequest.of,
      rateLimited: SendRateLimited.of,
      unavailable: SendUnavailable.of
    })
  )
)

const listOf = (payload: FeedbackSignal | ReadonlyArray<FeedbackSignal>): ReadonlyArray<FeedbackSignal> =>
  "id" in payload ? [payload] : payload

export const layerSendFeedback = HttpApiBuilder.group(
  baseApi.add(SendFeedbackApi),
  "sendFeedback",
  Effect.fn(function* (handlers) {
    const feedback = yield* SiteFeedback
    return handlers.handleAll({
      report: ({ payload }) =>
        Effect.gen(function* () {
          const { organizationId } = yield* CurrentSite
          const reports = listOf(payload)
          const outcomes = yield* feedback.take(organizationId, reports)
          // One for each report.
          return { data: reports.map(({ id }, at) => ({ id, outcome: outcomes[at]! })) }
        }).pipe(available)
    })
  })
).pipe(builtWith(SiteFeedback, SendSiteAccess))

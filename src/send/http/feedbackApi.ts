/**
 * Describes the reports of other mail systems as an HttpApi group (docs/platform.md, 9.17). Definitions only:
 * `feedbackHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "effect/http-api"
import type { CurrentSite } from "../../platform/siteAccess.ts"
import { FeedbackSignal } from "../feedback/intake/feedbackSignal.ts"
import { siteFeedbackOutcomes } from "../feedback/intake/SiteFeedback.ts"
import { maximumEmails } from "../limits.ts"
import {
  SendInternalError,
  SendInvalidRequest,
  SendRateLimited,
  SendUnauthorized,
  SendUnavailable
} from "./sendErrors.ts"

/** Access by site credential, with errors in send's shape. Errors: 400, 401, 429, 503. */
export class SendSiteAccess extends HttpApiMiddleware.Service<SendSiteAccess, { provides: CurrentSite }>()(
  "sluice/send/SendSiteAccess",
  { error: [SendInvalidRequest, SendUnauthorized, SendRateLimited, SendInternalError, SendUnavailable] }
) {}

const message = `Expected a report, or a list of 1 to ${maximumEmails}`

const Taken = Schema.Struct({
  id: Schema.String.annotate({ description: "The email's, as it was given" }),
  outcome: Schema.Literals(siteFeedbackOutcomes).annotate({
    description:
      "`taken`: counted, now or before. `unsent`: no mail system has got the email. `unknown`: the organization has no such email of this mode and sender, or not any more"
  })
}).annotate({ identifier: "SendFeedbackTaken" })

const report = HttpApiEndpoint.post("report", "/v1/send/feedback", {
  payload: Schema.Union([
    FeedbackSignal,
    Schema.Array(FeedbackSignal).check(Schema.isBetweenLength(1, maximumEmails, { message }))
  ]).annotate({ identifier: "SendFeedback" }),
  success: Schema.Struct({ data: Schema.Array(Taken) })
    .annotate({ identifier: "SendFeedbackAnswer" })
    .pipe(HttpApiSchema.status(202)),
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Report what became of emails",
    description:
      "With a site credential, `Authorization: Bearer site_…`, for emails of the organization that it speaks for: one report or up to 100, with one answer for each, in order. A report counts once, however often it comes."
  })
)

/** The report of another mail system. */
export class SendFeedbackApi extends HttpApiGroup.make("sendFeedback")
  .add(report)
  .middleware(SendSiteAccess)
  .annotateMerge(OpenApi.annotations({ title: "Send: feedback", description: "From other mail systems." })) {}

/**
 * Describes the figures of an account's emails as an HttpApi group (docs/platform.md, 9.19). Definitions only:
 * `metricsHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { figuresAt, figuresParameters, figuresPeriodFields, Percentiles, Rate } from "../../http/figuresParameters.ts"
import { SendAccess } from "../../platform/access.ts"
import { modes } from "../account/actors/index.ts"
import { emailDomainParameter } from "./emailsApi.ts"
import { SendInvalidRequest, SendUnavailable } from "./sendErrors.ts"

const count = (description: string) => Schema.Int.annotate({ description })

const figures = {
  accepted: count("Accepted emails"),
  held: count("Emails that waited for a daily cap or for the end of a pause"),
  sent: count("Emails that were handed over: the relay took them, or refused them for good"),
  delivered: count("Those of which a recipient's server reported that it has them"),
  bounced: count("Emails that a recipient's server refused"),
  complained: count("Emails that a recipient complained about"),
  suppressed: count("Emails whose recipients were all suppressed"),
  failed: count("Emails that were given up and not sent"),
  canceled: count("Emails that were cancelled"),
  rates: Schema.Struct({
    held: Rate("Held of accepted emails"),
    suppressed: Rate("Suppressed of accepted emails"),
    failed: Rate("Failed of accepted emails"),
    delivered: Rate("Delivered of sent emails"),
    bounced: Rate("Bounced of sent emails"),
    complained: Rate("Complaints of sent emails")
  }).annotate({ identifier: "SendRates" }),
  timeToHandOver: Percentiles.annotate({
    description: "From acceptance, or from the scheduled time, until the hand-over"
  })
}

export const SendMetrics = Schema.Struct({
  mode: Schema.Literals(modes),
  domain: Schema.NullOr(Schema.String).annotate({ description: "Null for all domains" }),
  ...figuresPeriodFields,
  totals: Schema.Struct(figures).annotate({ identifier: "SendFigures" }),
  series: Schema.Array(Schema.Struct({ at: figuresAt, ...figures }).annotate({ identifier: "SendFiguresAt" })).annotate(
    {
      description: "Every hour or day of the period, in order"
    }
  )
}).annotate({ identifier: "SendMetrics" })

const get = HttpApiEndpoint.get("get", "/v1/send/metrics", {
  query: { ...figuresParameters, domain: emailDomainParameter },
  success: SendMetrics,
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get figures of emails by hour or day",
    description:
      "Those of the key's mode, for 30 days. An email counts in the hour of its acceptance, once for each thing that happened to it, however many recipients it has; so the figures of an hour change while reports arrive."
  })
)

/** The figures of an account. */
export class SendMetricsApi extends HttpApiGroup.make("sendMetrics")
  .add(get)
  .middleware(SendAccess)
  .annotateMerge(OpenApi.annotations({ title: "Send: metrics", description: "What becomes of emails, over time." })) {}

/** Describes the part of the admin API that decides an account's history again (docs/what-if.md). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { sendPlans } from "../platform/model.ts"
import { modes, pauseReasons, SendLimits } from "../send/index.ts"
import { maximumPastEmails } from "../send/whatIf/readHistory.ts"
import { AdminAccess } from "./access.ts"
import { organizationId } from "./organizationId.ts"

const { maximumProbationCaps } = SendLimits

const whole = (minimum: number, maximum: number, description: string) =>
  Schema.optionalKey(
    Schema.Int.check(
      Schema.isBetween({ minimum, maximum }, { message: `Expected a whole number from ${minimum} to ${maximum}` })
    ).annotate({ description })
  )

const mostEmails = 1_000_000_000
const cap = (tier: string) => whole(1, mostEmails, `Emails a day of a sender in the tier \`${tier}\``)

/** The rules that differ from those in force. */
export const WhatIfRules = Schema.Struct({
  plan: Schema.optionalKey(Schema.Literals(sendPlans)).annotate({ description: "The send plan, with its own limit" }),
  emailsPerMonth: Schema.optionalKey(
    Schema.Union([
      Schema.Int.check(
        Schema.isBetween(
          { minimum: 1, maximum: mostEmails },
          { message: `Expected a whole number from 1 to ${mostEmails}, or unlimited` }
        )
      ),
      Schema.Literal("unlimited")
    ])
  ),
  probationHour: whole(1, maximumProbationCaps.emailsPerHour, "Emails in any hour on probation"),
  probationDay: whole(1, maximumProbationCaps.emailsPerDay, "Emails in any 24 hours on probation"),
  probationHours: whole(1, 8_760, "Hours of a probation"),
  tiers: Schema.optionalKey(
    Schema.Struct({ new: cap("new"), warming: cap("warming"), trusted: cap("trusted") })
  ).annotate({ description: "Daily caps by tier; one that an operator has set for a sender stays" }),
  pauseBounces: whole(0, 25, "Bounces among the first 25 emails that pause an account; 0 for none"),
  pauseComplaints: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Whether a complaint about one of the first 100 emails pauses an account"
  }),
  pauseSpike: whole(0, mostEmails, "The least emails of an hour that may be a spike; 0 for no pause by one"),
  pauseSignals: whole(0, 1_000, "Risky signals in 24 hours that pause an account; 0 for none"),
  liftHours: whole(
    1,
    8_760,
    "Hours after which a pause is lifted that was not in the history; without it the next lift of the history ends it"
  )
}).annotate({ identifier: "WhatIfRules" })

const time = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 253_402_300_799_999 }))

const refusal = Schema.optionalKey(Schema.Int)

const Day = Schema.Struct({
  day: Schema.String.annotate({ description: "The UTC day" }),
  requests: Schema.Int,
  accepted: Schema.Int.annotate({ description: "Emails" }),
  refused: Schema.Struct({
    sender_not_verified: refusal,
    sending_paused: refusal,
    monthly_limit_reached: refusal,
    probation_limit_reached: refusal
  }).annotate({ description: "Refused emails by the reason" }),
  held: Schema.Int.annotate({ description: "Accepted emails that waited for a daily cap or the end of a pause" }),
  heldMillis: Schema.NullOr(Schema.Struct({ median: Schema.Int, longest: Schema.Int })).annotate({
    description: "How long the emails had waited that were released on this day"
  }),
  monthUsed: Schema.NullOr(Schema.Int).annotate({ description: "The month's limit, used at most, in percent" }),
  probationUsed: Schema.NullOr(Schema.Int).annotate({
    description: "The fuller cap of the probation, used at most, in percent"
  })
}).annotate({ identifier: "WhatIfDay" })

const Decided = Schema.Struct({
  days: Schema.Array(Day),
  pauses: Schema.Array(
    Schema.Struct({
      at: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
      reason: Schema.Literals(pauseReasons)
    })
  )
}).annotate({ identifier: "WhatIfDecided" })

export const WhatIfShown = Schema.Struct({
  asItWas: Decided.annotate({ description: "Decided again under the rules in force" }),
  underRules: Decided,
  agreement: Schema.Struct({ same: Schema.Int, other: Schema.Int }).annotate({
    description:
      "Requests that the rules in force decide as they were answered, and the others: how far the history is known"
  }),
  unknown: Schema.Struct({
    fates: Schema.Int.annotate({
      description: "Emails that were refused and would be accepted; they are taken to be handed over without a bounce"
    }),
    requests: Schema.Int.annotate({ description: "Refused requests of which the request log kept only the number" }),
    refusedSince: Schema.NullOr(Schema.Int).annotate({
      description: "Milliseconds since the Unix epoch, from which on refused requests are known; null if none is"
    }),
    beginning: Schema.Boolean.annotate({
      description: "Whether the facts do not reach back far enough, so that it begins with the present stage"
    })
  })
}).annotate({ identifier: "WhatIfShown" })
export type WhatIfShown = typeof WhatIfShown.Type

export const whatIfGroup = HttpApiGroup.make("whatIf")
  .add(
    HttpApiEndpoint.post("ask", "/admin/v1/organizations/:id/send/what-if", {
      params: { id: organizationId },
      payload: Schema.Struct({
        mode: Schema.optionalKey(Schema.Literals(modes)).annotate({
          description: "Whose account: that of live keys, which is the default, or that of test keys"
        }),
        since: time.annotate({ description: "Milliseconds since the Unix epoch" }),
        until: Schema.optionalKey(time).annotate({ description: "The same, exclusive; default: now" }),
        rules: WhatIfRules
      }),
      success: WhatIfShown.pipe(HttpApiSchema.status(200)),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Decide an account's history again",
        description: `Nothing is changed. Emails are known for 30 days after their end, refused requests for seven. At most ${maximumPastEmails} emails are decided again.`
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "What if" }))

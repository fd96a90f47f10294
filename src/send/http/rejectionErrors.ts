/** What admission rejects a request to send with, as the API describes it (docs/platform.md, 9.7). */
import { Schema } from "effect"
import type { SendRejection } from "../rules/rejections.ts"

const rejected = <const Code extends SendRejection["code"], Fields extends Schema.Struct.Fields>(
  code: Code,
  fields: Fields
) => ({ error: Schema.Struct({ code: Schema.Literal(code), message: Schema.String, ...fields }) })

const resetsAt = Schema.String.annotate({ description: "ISO 8601" })

/** 403: a sender of the request is not verified. */
export class SenderNotVerified extends Schema.Error<SenderNotVerified>("sluice/SenderNotVerified")(
  { _tag: Schema.tagDefaultOmit("SenderNotVerified"), ...rejected("sender_not_verified", {}) },
  { httpApiStatus: 403, description: "A sender is neither a verified domain nor a verified address" }
) {}

/** 403: the account is paused. */
export class SendingPaused extends Schema.Error<SendingPaused>("sluice/SendingPaused")(
  { _tag: Schema.tagDefaultOmit("SendingPaused"), ...rejected("sending_paused", {}) },
  { httpApiStatus: 403, description: "Sending is paused until support lifts the pause" }
) {}

/** 429: the month's emails are used up. Waiting does not help before the next month, so there is no `Retry-After`. */
export class MonthlyLimitReached extends Schema.Error<MonthlyLimitReached>("sluice/MonthlyLimitReached")(
  {
    _tag: Schema.tagDefaultOmit("MonthlyLimitReached"),
    ...rejected("monthly_limit_reached", {
      limit: Schema.Int,
      used: Schema.Int,
      resetsAt,
      upgradeUrl: Schema.String
    })
  },
  { httpApiStatus: 429, description: "The plan's emails of this month do not take the request" }
) {}

/** 429: a probation cap; `Retry-After` says when the request passes it. */
export class ProbationLimitReached extends Schema.Error<ProbationLimitReached>("sluice/ProbationLimitReached")(
  {
    _tag: Schema.tagDefaultOmit("ProbationLimitReached"),
    ...rejected("probation_limit_reached", {
      limit: Schema.Int,
      window: Schema.Literals(["hour", "day"]),
      metric: Schema.Literals(["sends", "recipient_domains"]),
      resetsAt
    })
  },
  { httpApiStatus: 429, description: "A cap of the probation does not take the request" }
) {}

/** A rejection as the error that the API describes. */
export const rejectedAs = (
  error: SendRejection
): SenderNotVerified | SendingPaused | MonthlyLimitReached | ProbationLimitReached => {
  switch (error.code) {
    case "sender_not_verified":
      return new SenderNotVerified({ error: { ...error } })
    case "sending_paused":
      return new SendingPaused({ error: { ...error } })
    case "monthly_limit_reached":
      return new MonthlyLimitReached({ error: { ...error } })
    case "probation_limit_reached":
      return new ProbationLimitReached({ error: { ...error } })
  }
}

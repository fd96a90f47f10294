/** Defines the errors of requests to send that admission rejects, for the API's description (docs/platform.md, 9.7). */
import { Schema } from "effect"
import { nestedError } from "../../http/errorClass.ts"
import type { SendRejection } from "../rules/rejections.ts"

const resetsAt = Schema.String.annotate({ description: "ISO 8601" })

/** 403: a sender of the request is not verified. */
export class SenderNotVerified extends nestedError<SenderNotVerified>()("SenderNotVerified", "sender_not_verified") {}

/** 403: the account is paused. */
export class SendingPaused extends nestedError<SendingPaused>()("SendingPaused", "sending_paused") {}

/** 429: the month's emails are used up. Waiting does not help before the next month, so there is no `Retry-After`. */
export class MonthlyLimitReached extends nestedError<MonthlyLimitReached>()(
  "MonthlyLimitReached",
  "monthly_limit_reached",
  undefined,
  { limit: Schema.Int, used: Schema.Int, resetsAt, upgradeUrl: Schema.String }
) {}

/** 429: a probation cap; `Retry-After` says when the request passes it. */
export class ProbationLimitReached extends nestedError<ProbationLimitReached>()(
  "ProbationLimitReached",
  "probation_limit_reached",
  undefined,
  {
    limit: Schema.Int,
    window: Schema.Literals(["hour", "day"]),
    metric: Schema.Literals(["sends", "recipient_domains"]),
    resetsAt
  }
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

/**
 * Defines the rejections of a request to send in the shape of its answer (docs/platform.md, 9.7): `{error: {code,
 * message, …}}` with exactly the fields of the code. Pure.
 */
import type { CapReached } from "./probation.ts"

/** A sender is neither a verified domain nor a verified address. See {@link Admission}. */
export interface SenderNotVerified {
  readonly code: "sender_not_verified"
  readonly message: string
}

/** Sending is paused until support lifts the pause. See {@link Admission}. */
export interface SendingPaused {
  readonly code: "sending_paused"
  readonly message: string
}

/** The plan's emails of this month do not take the request. See {@link Admission}. */
export interface MonthlyLimitReached {
  readonly code: "monthly_limit_reached"
  readonly message: string
  readonly limit: number
  readonly used: number
  /** ISO 8601: the first of the next month. */
  readonly resetsAt: string
  readonly upgradeUrl: string
}

/** A cap of the probation does not take the request. See {@link Admission}. */
export interface ProbationLimitReached {
  readonly code: "probation_limit_reached"
  readonly message: string
  readonly limit: number
  readonly window: "hour" | "day"
  readonly metric: "sends" | "recipient_domains"
  /** ISO 8601: the earliest instant at which the same request would pass this cap. */
  readonly resetsAt: string
}

/** The rejection of a request to send, in the form of its answer (docs/platform.md, 9.7). See {@link statusOf}. */
export type SendRejection = SenderNotVerified | SendingPaused | MonthlyLimitReached | ProbationLimitReached

const codes: ReadonlySet<unknown> = new Set<SendRejection["code"]>([
  "sender_not_verified",
  "sending_paused",
  "monthly_limit_reached",
  "probation_limit_reached"
])

/**
 * Whether a failure is the rules' refusal of a request to send. Errors of a store have a `code` too, but none of these.
 */
export const isSendRejection = (error: unknown): error is SendRejection =>
  typeof error === "object" && error !== null && "code" in error && codes.has(error.code)

/**
 * The HTTP status of a refusal.
 *
 * @example
 * ```ts
 * import { statusOf } from "sluice/send"
 *
 * console.log(statusOf({ code: "sending_paused", message: "paused" })) // 403
 * ```
 */
export const statusOf = (rejection: SendRejection): 403 | 429 =>
  rejection.code === "sender_not_verified" || rejection.code === "sending_paused" ? 403 : 429

/**
 * Whole seconds for a Retry-After, rounded up so that a retry then passes the cap. Undefined where waiting does not
 * help, or, for the month, where an upgrade helps sooner.
 *
 * @example
 * ```ts
 * import { retryAfterSeconds } from "sluice/send"
 *
 * // a pause does not end by waiting
 * console.log(retryAfterSeconds({ code: "sending_paused", message: "paused" }, 0)) // undefined
 * ```
 */
export const retryAfterSeconds = (rejection: SendRejection, now: number): number | undefined =>
  rejection.code === "probation_limit_reached"
    ? Math.max(1, Math.ceil((Date.parse(rejection.resetsAt) - now) / 1000))
    : undefined

export const senderNotVerified = (sender: string): SenderNotVerified => ({
  code: "sender_not_verified",
  message: `The sender ${JSON.stringify(sender)} is not verified`
})

export const sendingPaused = (): SendingPaused => ({
  code: "sending_paused",
  message: "Sending is paused for this account until support lifts the pause"
})

export const monthlyLimitReached = (
  limit: number,
  used: number,
  resetsAt: number,
  upgradeUrl: string
): MonthlyLimitReached => ({
  code: "monthly_limit_reached",
  message: `The plan's limit of ${limit} emails a month does not take this request: ${used} are used`,
  limit,
  used,
  resetsAt: new Date(resetsAt).toISOString(),
  upgradeUrl
})

export const probationLimitReached = (cap: CapReached, now: number): ProbationLimitReached => {
  const { limit, metric, neverFits, resetsAt, window } = cap
  const what = metric === "sends" ? "emails" : "recipient domains"
  return {
    code: "probation_limit_reached",
    message: neverFits
      ? `This request alone is over the probation limit of ${limit} ${what} per ${window}, so it never fits; send it in parts`
      : `The probation limit of ${limit} ${what} per ${window} is reached. Retry after ${Math.ceil((resetsAt - now) / 1000)} s.`,
    limit,
    window,
    metric,
    resetsAt: new Date(resetsAt).toISOString()
  }
}

/**
 * Classifies an attempt of a delivery and schedules the next one (docs/platform.md, 7.4 and 7.5). Time and random
 * numbers are arguments, so that simulations replay. Pure, needs no service.
 */
import { Schema } from "effect"
import { eventRetentionMillis } from "../../events/index.ts"

/** How long an endpoint has for its answer. */
export const attemptTimeoutMillis = 15_000

/** The waits before the five retries: 5 s, 30 s, 2 min, 15 min, 1 h. */
export const retryDelaysMillis: ReadonlyArray<number> = [5_000, 30_000, 120_000, 900_000, 3_600_000]

/** The largest share of a wait that is added to it at random. */
export const retryJitter = 0.2

/** The longest wait that an endpoint can ask for with `Retry-After`. */
export const maximumRetryAfterMillis = 3_600_000

/** The most retries that can be configured. */
export const maximumRetries = 20

/** When retries happen. There is one attempt more than there are delays. See {@link defaultSettings}. */
export const RetrySchedule = Schema.Struct({
  delaysMillis: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: eventRetentionMillis }))).check(
    Schema.isMaxLength(maximumRetries)
  ),
  jitter: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  maximumRetryAfterMillis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: eventRetentionMillis }))
})
export type RetrySchedule = typeof RetrySchedule.Type

/** The default schedule of events. See {@link defaultSettings}. */
export const defaultSchedule: RetrySchedule = {
  delaysMillis: retryDelaysMillis,
  jitter: retryJitter,
  maximumRetryAfterMillis
}

/** The schedule of test events and manual retries: one attempt. */
export const singleAttempt: RetrySchedule = { ...defaultSchedule, delaysMillis: [] }

/** The result of one attempt, as the HTTP client reports it. See {@link Webhooks}. */
export type Attempt =
  /** An answer arrived in time. `retryAfter` is that header as received. */
  | { readonly _tag: "Answered"; readonly status: number; readonly retryAfter?: string | undefined }
  /** No answer within `attemptTimeoutMillis`. */
  | { readonly _tag: "TimedOut" }
  /** No answer at all: no such name, a refused target or connection, a failed handshake, a connection that broke. */
  | {
      readonly _tag: "NoAnswer"
      /** Whether the endpoint is certainly not at fault: it was not asked, because the way out of here is closed. */
      readonly isOurs?: boolean
    }

export interface AttemptOutcome {
  /** `gone` is a failure after which the endpoint is paused immediately (410). */
  readonly result: "succeeded" | "failed" | "gone"
  /** HTTP status; 0 without an answer. */
  readonly status: number
  /** Whether the endpoint is certainly not at fault. */
  readonly isOurs?: boolean
  /** The wait that the endpoint asks for, in milliseconds, not yet bounded; 0 when it asks for none. */
  readonly retryAfterMillis: number
}

/** Statuses whose `Retry-After` is heeded. */
const heeded: ReadonlySet<number> = new Set([429, 503])

/** The forms of a date in HTTP: the preferred one, that of RFC 850 and that of asctime. */
const httpDates: ReadonlyArray<RegExp> = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/
]

/**
 * The wait that a `Retry-After` (seconds or a date) asks for, in milliseconds; 0 for a past time or any other text.
 */
export const parseRetryAfter = (header: string, nowMillis: number): number => {
  const text = header.trim()
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER)
  if (!httpDates.some((form) => form.test(text))) return 0
  const time = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`)
  return Number.isNaN(time) ? 0 : Math.max(0, time - nowMillis)
}

/**
 * Classifies an attempt: any 2xx is a success, everything else a failure, redirects included. `nowMillis` is when it
 * ended.
 */
export const classify = (attempt: Attempt, nowMillis: number): AttemptOutcome => {
  if (attempt._tag === "NoAnswer" && attempt.isOurs === true)
    return { result: "failed", status: 0, retryAfterMillis: 0, isOurs: true }
  if (attempt._tag !== "Answered") return { result: "failed", status: 0, retryAfterMillis: 0 }
  const { retryAfter, status } = attempt
  if (status >= 200 && status <= 299) return { result: "succeeded", status, retryAfterMillis: 0 }
  if (status === 410) return { result: "gone", status, retryAfterMillis: 0 }
  const isHeeded = retryAfter !== undefined && heeded.has(status)
  return { result: "failed", status, retryAfterMillis: isHeeded ? parseRetryAfter(retryAfter, nowMillis) : 0 }
}

/** The next step of a delivery after an attempt. */
export type NextStep =
  | { readonly _tag: "Succeeded" }
  /** Another attempt is due. If the endpoint is paused meanwhile, the delivery waits for it. */
  | { readonly _tag: "RetryAt"; readonly atMillis: number }
  /** That was the last attempt: the delivery has failed and counts for its endpoint. */
  | { readonly _tag: "Failed" }

/**
 * Decides the next step of a delivery. `attempts` is how many were made, this one included; `nowMillis` is when it
 * ended; `random` is at least 0 and below 1. The next attempt is due after the delay with its jitter or after
 * `Retry-After`, whichever is later.
 */
export const nextStep = (
  schedule: RetrySchedule,
  attempts: number,
  outcome: AttemptOutcome,
  nowMillis: number,
  random: number
): NextStep => {
  if (outcome.result === "succeeded") return { _tag: "Succeeded" }
  const delayMillis = schedule.delaysMillis[attempts - 1]
  if (delayMillis === undefined) return { _tag: "Failed" }
  const waitMillis = Math.floor(delayMillis * (1 + schedule.jitter * random))
  const askedMillis = Math.min(outcome.retryAfterMillis, schedule.maximumRetryAfterMillis)
  return { _tag: "RetryAt", atMillis: nowMillis + Math.max(waitMillis, askedMillis) }
}

/**
 * Whether a pending delivery ends as `expired`, because its event is older than the event log. Both in Unix
 * milliseconds.
 */
export const isExpired = (eventCreatedAt: number, nowMillis: number): boolean =>
  nowMillis - eventCreatedAt > eventRetentionMillis

/** Describes the finding of one check of `sluice doctor` (docs/operating.md, "Before a start"). */
import { Schema } from "effect"

export const CheckResult = Schema.Struct({
  check: Schema.String,
  result: Schema.Literals(["ok", "warning", "failed"]),
  detail: Schema.String.annotate({ description: "A sentence without secrets; of a fault it says what to do" })
})
export type CheckResult = typeof CheckResult.Type

const checkResult =
  (result: CheckResult["result"]) =>
  (check: string, detail: string): CheckResult => ({ check, result, detail })

export const ok = checkResult("ok")
export const warning = checkResult("warning")
export const failed = checkResult("failed")

const seconds = (millis: number): string => `${(Math.abs(millis) / 1_000).toFixed(1)} s`

/** Beyond this difference a clock is worth a look, and beyond the second one no partition is served. */
const doubtfulMillis = 1_000
export const refusedMillis = 5_000

/** Judges how far this machine's clock is ahead of another one. */
export const clockCheck = (check: string, aheadMillis: number): CheckResult => {
  const difference = `this machine's clock is ${seconds(aheadMillis)} ${aheadMillis < 0 ? "behind" : "ahead of"} it`
  if (aheadMillis > refusedMillis)
    return failed(check, `${difference}, and no partition is served beyond 5 s: set the clocks with NTP`)
  if (Math.abs(aheadMillis) > doubtfulMillis) return warning(check, `${difference}: set the clocks with NTP`)
  return ok(check, `within ${seconds(doubtfulMillis)} of this machine's`)
}

const dayMillis = 24 * 60 * 60 * 1_000
/** Days before the end of a certificate in which it is worth a look. */
const renewalDays = 14

/** Judges until when a certificate is valid. */
export const certificateCheck = (check: string, validUntilMillis: number, now: number): CheckResult => {
  const day = new Date(validUntilMillis).toISOString().slice(0, 10)
  if (validUntilMillis <= now) return failed(check, `the certificate has expired on ${day}: renew it`)
  return validUntilMillis - now < renewalDays * dayMillis
    ? warning(check, `the certificate expires on ${day}: renew it`)
    : ok(check, `the certificate is valid until ${day}`)
}

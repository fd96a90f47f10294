/** Formats times as people say them. */
import { signal } from "@preact/signals"

/** The present, moved on every few seconds so that what is shown stays true. */
export const now = signal(Date.now())

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now()
}, 5_000)

const steps: ReadonlyArray<readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit]> = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"]
]

const words = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" })
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" })
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })

export const absolute = (millis: number): string => exact.format(millis)

export const clockTime = (millis: number): string => clock.format(millis)

export const relative = (millis: number, present: number): string => {
  const seconds = Math.round((millis - present) / 1_000)
  const far = Math.abs(seconds)
  if (far < 3) return "now"
  for (const [length, unit] of steps) if (far >= length) return words.format(Math.trunc(seconds / length), unit)
  return "now"
}

const dayOfYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" })
const moment = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hour12: false
})

/** A day of UTC, such as Nov 28. */
export const dayOf = (millis: number): string => dayOfYear.format(millis)

/** A minute of a day, such as Nov 28, 14:00. */
export const momentOf = (millis: number): string => moment.format(millis)

/** A span of time, such as 4.2 s or 3 hr. */
export const span = (millis: number): string => {
  if (millis < 1_000) return `${millis} ms`
  if (millis < 60_000) return `${(millis / 1_000).toFixed(1)} s`
  return millis < 3_600_000 ? `${Math.round(millis / 60_000)} min.` : `${(millis / 3_600_000).toFixed(1)} hr.`
}

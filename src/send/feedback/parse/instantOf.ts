/** Reads dates as mails write them (RFC 5322, 3.3). */
import { maximumDateLength } from "./limits.ts"

/** Unix milliseconds, or null; a date without a time zone tells no instant. */
export const instantOf = (field: string | null): number | null => {
  const text = (field ?? "").slice(0, maximumDateLength)
  if (!/[+-]\d{4}\b|\b(?:GMT|UTC|UT|[ECMP][SD]T)\b/.test(text)) return null
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? null : instant
}

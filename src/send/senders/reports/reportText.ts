/** Reads the texts of a report: names, domains and times, each within its bound. Pure. */
import { normalizedDomain } from "../domains/normalizedDomain.ts"
import { keptReportsMillis, maximumAheadMillis, maximumPeriodMillis, maximumReportName } from "./limits.ts"

/** One line that says something and that a database keeps; undefined for any other text. */
export const nameIn = (text: string): string | undefined => {
  const name = text.trim()
  return name.length <= maximumReportName && /^[^\p{Cc}\p{Cs}]+$/u.test(name) ? name : undefined
}

/** A domain as rows of domains have it. */
export const domainIn = (text: string): string | undefined => normalizedDomain(text.trim().toLowerCase())

const latest = 8_640_000_000_000_000

/** Whether two instants make a period of a report. Unix milliseconds. */
export const isPeriod = (beginsAt: number, endsAt: number): boolean =>
  beginsAt >= 0 && endsAt <= latest && beginsAt <= endsAt && endsAt - beginsAt <= maximumPeriodMillis

const dayMillis = 24 * 60 * 60 * 1000

/** The start of the UTC day of an instant. Unix milliseconds. */
export const dayOf = (at: number): number => at - (at % dayMillis)

/** Whether a report comes in time: not too late for figures that are kept, and not about the future. */
export const timeliness = (
  { beginsAt, endsAt }: { readonly beginsAt: number; readonly endsAt: number },
  now: number
): "timely" | "late" | "early" => {
  if (endsAt > now + maximumAheadMillis) return "early"
  return dayOf(beginsAt) < now - keptReportsMillis ? "late" : "timely"
}

/** Tells the time in a zone (docs/platform.md, 4.2). Pure. */
import { DateTime } from "effect"

/** The time in a zone of an IANA name, to the second: `2026-07-06T08:30:00-04:00`. */
export const localTime = (atMillis: number, timeZone: string): string => {
  const wholeSeconds = Math.floor(atMillis / 1000) * 1000
  const local = DateTime.setZoneNamedUnsafe(DateTime.makeUnsafe(wholeSeconds), timeZone)
  return DateTime.formatIsoOffset(local).replace(".000", "")
}

/** The time of a scheduled email (docs/platform.md, 9.10): each form, and drawn days against a calendar that is walked. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { scheduleTimeOf } from "../../../src/send/emails/scheduleTime.ts"

const read = (text: string, now: string): string | undefined => {
  const millis = scheduleTimeOf(text, Date.parse(now))
  return millis === undefined ? undefined : new Date(millis).toISOString().replace(":00.000Z", "Z")
}

/** A Wednesday, 07:20 in New York. */
const now = "2026-07-15T11:20:00Z"

describe("[platform 9.10] a time to send at", () => {
  it.each([
    ["2026-07-16T09:00:00Z", "2026-07-16T09:00Z"],
    ["2026-07-16T09:00:00+02:00", "2026-07-16T07:00Z"],
    ["2026-07-16T09:00:00", "2026-07-16T09:00Z"],
    ["2026-07-16T09:00", "2026-07-16T09:00Z"],
    ["in 1 min", "2026-07-15T11:21Z"],
    ["in 30 minutes", "2026-07-15T11:50Z"],
    ["In  2 Hours", "2026-07-15T13:20Z"],
    ["in an hour", "2026-07-15T12:20Z"],
    ["in 1h", "2026-07-15T12:20Z"],
    ["in 90 secs", "2026-07-15T11:21:30.000Z"],
    ["in 3 days", "2026-07-18T11:20Z"],
    ["in 30 days", "2026-08-14T11:20Z"],
    ["in 2 weeks", "2026-07-29T11:20Z"],
    ["tomorrow at 9am", "2026-07-16T09:00Z"],
    ["9am tomorrow", "2026-07-16T09:00Z"],
    ["tomorrow 9:30 p.m.", "2026-07-16T21:30Z"],
    ["tomorrow at noon", "2026-07-16T12:00Z"],
    ["tomorrow at 12am", "2026-07-16T00:00Z"],
    ["next day at 9am PST", "2026-07-16T17:00Z"],
    ["the next day at 9am PT", "2026-07-16T16:00Z"],
    ["today at 15:45", "2026-07-15T15:45Z"],
    ["today at 9am", "2026-07-15T09:00Z"],
    ["Friday at 3pm ET", "2026-07-17T19:00Z"],
    ["Friday at 3pm EST", "2026-07-17T20:00Z"],
    ["3pm ET on Fri", "2026-07-17T19:00Z"],
    ["3pm on Friday", "2026-07-17T15:00Z"],
    ["9am the next day", "2026-07-16T09:00Z"],
    ["on thurs, at 8am UTC+2", "2026-07-16T06:00Z"],
    ["tomorrow at 18:00 Europe/Berlin", "2026-07-16T16:00Z"],
    ["tomorrow at 18:00 asia/kolkata", "2026-07-16T12:30Z"],
    ["tomorrow at 18:00 -03:30", "2026-07-16T21:30Z"],
    // A weekday is the coming one: today's while its hour is still to come.
    ["Wednesday at 11:21", "2026-07-15T11:21Z"],
    ["Wednesday at 11:20", "2026-07-22T11:20Z"]
  ])("%s", (text, expected) => {
    expect(read(text, now)).toBe(expected)
  })

  it("counts days by the clocks of its zone", () => {
    // There it is still Tuesday.
    const night = "2026-07-15T02:00:00Z"
    expect(read("tomorrow at 9am ET", night)).toBe("2026-07-15T13:00Z")
    expect(read("tomorrow at 9am", night)).toBe("2026-07-16T09:00Z")
    expect(read("Tuesday at 11pm PT", night)).toBe("2026-07-15T06:00Z")
  })

  it("given clocks that skip an hour or have one twice, then it is the hour after, or the first one", () => {
    expect(read("tomorrow at 2:30am ET", "2026-03-07T12:00:00Z")).toBe("2026-03-08T07:30Z")
    expect(read("tomorrow at 1:30am ET", "2026-10-31T12:00:00Z")).toBe("2026-11-01T05:30Z")
    expect(read("tomorrow at 9am", "2026-12-31T12:00:00Z")).toBe("2027-01-01T09:00Z")
  })

  it.each([
    "",
    "soon",
    "tomorrow",
    "9am",
    "in 3",
    "in 3 months",
    "in 2 ms",
    "in -1 hours",
    "in 12345678 min",
    "tomorrow at 9",
    "tomorrow at 13pm",
    "tomorrow at 0am",
    "tomorrow at 24:00",
    "tomorrow at 9:60",
    "next Friday at 3pm",
    "someday at 3pm",
    "Friday at 3pm IST",
    "Friday at 3pm Mars/Base",
    "Friday at 3pm UTC+15",
    "Friday at 3pm constructor",
    "constructor at 3pm",
    "in 3 constructor",
    `in 1${" ".repeat(100)}hour`,
    "2026-02-29T00:00:00",
    "2026-03-01T24:00:00Z"
  ])("%j is none", (text) => {
    expect(read(text, now)).toBeUndefined()
  })
})

describe("[platform 9.10] words for a day against a calendar that is walked", () => {
  const zones = [
    ["", "UTC"],
    [" ET", "America/New_York"],
    [" PT", "America/Los_Angeles"],
    [" Europe/Berlin", "Europe/Berlin"],
    [" Asia/Kolkata", "Asia/Kolkata"],
    [" UTC+5:45", "Asia/Kathmandu"],
    [" Pacific/Auckland", "Pacific/Auckland"]
  ] as const
  const formats = new Map<string, Intl.DateTimeFormat>(
    zones.map(([, zone]) => [
      zone,
      new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        weekday: "long",
        day: "2-digit",
        month: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23"
      })
    ])
  )
  const quarter = 900_000
  const label = (zone: string, at: number) => {
    const parts = new Map(
      formats
        .get(zone)!
        .formatToParts(at)
        .map(({ type, value }) => [type, value])
    )
    return {
      weekday: parts.get("weekday")!,
      date: `${parts.get("month")}-${parts.get("day")}`,
      clock: `${parts.get("hour")}:${parts.get("minute")}`
    }
  }
  /** The first quarter of an hour after `from` of which `isIt` holds. */
  const walk = (from: number, isIt: (at: number) => boolean): number => {
    let at = Math.floor(from / quarter) * quarter + quarter
    while (!isIt(at)) at += quarter
    return at
  }
  const Draw = Schema.Struct({
    at: Schema.Int.check(Schema.isBetween({ minimum: Date.UTC(2026, 0, 1), maximum: Date.UTC(2027, 11, 31) })),
    zone: Schema.Literals(zones.map((_, index) => index)),
    day: Schema.Literals(["tomorrow", "Monday", "Saturday", "wed"]),
    // No clocks are changed at these hours.
    hour: Schema.Int.check(Schema.isBetween({ minimum: 4, maximum: 23 })),
    minute: Schema.Literals(["00", "15", "30", "45"]),
    form: Schema.Literals(["day first", "hour first", "24 hours"])
  })

  it.prop("is the first such hour", [Draw], ([{ at, day, form, hour, minute, zone: index }]) => {
    const [suffix, zone] = zones[index]!
    const clock = `${String(hour).padStart(2, "0")}:${minute}`
    const half = `${hour % 12 === 0 ? 12 : hour % 12}:${minute}${hour < 12 ? "am" : "pm"}`
    const text = {
      "day first": `${day} at ${half}${suffix}`,
      "hour first": `${half}${suffix} ${day}`,
      "24 hours": `${day} at ${clock}${suffix}`
    }[form]
    const today = label(zone, at).date
    const expected =
      day === "tomorrow"
        ? walk(walk(at, (one) => label(zone, one).date !== today) - quarter, (one) => label(zone, one).clock === clock)
        : walk(at, (one) => {
            const seen = label(zone, one)
            return seen.clock === clock && seen.weekday.toLowerCase().startsWith(day.toLowerCase())
          })
    expect(scheduleTimeOf(text, at), text).toBe(expected)
  })
})

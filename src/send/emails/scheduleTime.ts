/**
 * Reads the time at which an email is to be sent (docs/platform.md, 9.10): ISO 8601, or the words that Resend's API
 * documents, such as `in 2 hours`, `tomorrow at 9am` and `Friday at 3pm ET`. Words count from the time of the request.
 * A time without a zone is UTC. Pure: the time of the request is an argument.
 */
import { DateTime } from "effect"
import { BoundedMap } from "../../common/BoundedMap.ts"

/** Longest text that is read as a time, in UTF-16 units. */
const maximumLength = 100

/** The forms, for a fault. */
export const expectedScheduleTime =
  "Expected ISO 8601 such as 2026-03-01T09:30:00Z, or words such as 'in 2 hours', 'tomorrow at 9am' or 'Friday at 3pm ET'"

const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/

/** Unix milliseconds of a time in ISO 8601; undefined if it is none, such as a day that its month lacks. */
const isoTimeOf = (text: string): number | undefined => {
  const [, year, month, day, , , , zone] = isoPattern.exec(text) ?? []
  if (year === undefined) return undefined
  // A day that the month lacks would be taken for one of the next month.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  const millis = Date.parse(zone === undefined ? `${text}Z` : text)
  return Number.isNaN(millis) ? undefined : millis
}

const unitMillis = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const

/** The words for each unit. */
const unitWords = {
  second: ["s", "sec", "secs", "second", "seconds"],
  minute: ["m", "min", "mins", "minute", "minutes"],
  hour: ["h", "hr", "hrs", "hour", "hours"],
  day: ["d", "day", "days"],
  week: ["w", "wk", "wks", "week", "weeks"]
} as const

const millisByWord: ReadonlyMap<string, number> = new Map(
  // An object's keys are these and no others.
  (Object.keys(unitMillis) as ReadonlyArray<keyof typeof unitMillis>).flatMap((unit) =>
    unitWords[unit].map((word) => [word, unitMillis[unit]] as const)
  )
)

const spanPattern = /^in (\d{1,7}|an?|one) ?([a-z]{1,7})$/

/** The time after a span from now, such as `in 3 days`. A day has 24 hours. */
const afterSpan = (lower: string, now: number): number | undefined => {
  const [, count = "", word = ""] = spanPattern.exec(lower) ?? []
  const millis = millisByWord.get(word)
  if (millis === undefined) return undefined
  return now + (/^\d/.test(count) ? Number(count) : 1) * millis
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

/** Names of weekdays and their usual short forms, with the number of the day from Sunday. */
const weekdayNumbers: ReadonlyMap<string, number> = new Map([
  ...weekdays.flatMap((name, day) => [[name, day] as const, [name.slice(0, 3), day] as const]),
  ["tues", 2],
  ["thur", 4],
  ["thurs", 4]
])

/** Minutes of a day for an hour of the clock, such as `9am`, `9:30 p.m.`, `15:00` and `noon`. */
const minutesOf = (text: string): number | undefined => {
  if (text === "noon") return 12 * 60
  const [, hours, minutes = "00", half] = /^(\d{1,2})(?::([0-5]\d))? ?(?:([ap])\.?m\.?)?$/.exec(text) ?? []
  if (hours === undefined) return undefined
  const hour = Number(hours)
  if (half !== undefined)
    return hour < 1 || hour > 12 ? undefined : ((hour % 12) + (half === "p" ? 12 : 0)) * 60 + Number(minutes)
  // A bare number may be in either half of the day.
  return hour > 23 || !text.includes(":") ? undefined : hour * 60 + Number(minutes)
}

/** Words for zones. `ET` and its kind follow the clocks of a place, which change with the season. */
const zoneWords: Readonly<Record<string, string | number>> = {
  utc: 0,
  gmt: 0,
  z: 0,
  et: "America/New_York",
  est: -5,
  edt: -4,
  ct: "America/Chicago",
  cst: -6,
  cdt: -5,
  mt: "America/Denver",
  mst: -7,
  mdt: -6,
  pt: "America/Los_Angeles",
  pst: -8,
  pdt: -7
}

const hourMillis = 3_600_000

/** The zones of names in small letters; null for names of none. */
const zonesByName = new BoundedMap<string, DateTime.TimeZone | null>(1_000)

/** A zone of the database of zones. Its keeper is asked for its own spelling first, because others are remembered for ever. */
const namedZone = (given: string): DateTime.TimeZone | undefined => {
  const name = given.toLowerCase()
  const known = zonesByName.get(name)
  if (known !== undefined) return known ?? undefined
  let zone: DateTime.TimeZone | null
  try {
    zone = DateTime.zoneMakeNamedUnsafe(new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone)
  } catch {
    zone = null
  }
  zonesByName.set(name, zone)
  return zone ?? undefined
}

const offsetPattern = /^(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?$/i

/** A zone by its word (`ET`), its offset (`UTC+2`, `+02:00`) or its name (`Europe/Berlin`). */
const zoneOf = (text: string): DateTime.TimeZone | undefined => {
  const lower = text.toLowerCase()
  if (Object.hasOwn(zoneWords, lower)) {
    const zone = zoneWords[lower]!
    return typeof zone === "string" ? namedZone(zone) : DateTime.zoneMakeOffset(zone * hourMillis)
  }
  const [, sign, hours, minutes = "00"] = offsetPattern.exec(text) ?? []
  if (hours !== undefined) {
    const offset = Number(hours) * 60 + Number(minutes)
    return offset > 14 * 60 ? undefined : DateTime.zoneMakeOffset((sign === "-" ? -offset : offset) * 60_000)
  }
  return /^[a-z]{2,20}(?:\/[a-z0-9_+-]{2,20}){1,2}$/i.test(text) ? namedZone(text) : undefined
}

const hourWords = String.raw`noon|\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?)?`
const dayWords = "today|tomorrow|(?:the )?next day|(?:on )?[a-z]{3,9}"
const zoneWordsPattern = "[A-Za-z0-9_/:+-]{1,60}"
const dayFirst = new RegExp(
  `^(?<day>${dayWords}),?(?: at)? (?<hour>${hourWords})(?: (?<zone>${zoneWordsPattern}))?$`,
  "i"
)
const hourFirst = new RegExp(
  `^(?:at )?(?<hour>${hourWords})(?: (?!(?:on|the) )(?<zone>${zoneWordsPattern}?))?,? (?<day>${dayWords})$`,
  "i"
)

/** A day as counted from today: a number of days, or the coming day of that name. */
type Day = { readonly after: number } | { readonly weekday: number }

const dayOf = (text: string): Day | undefined => {
  if (text === "today") return { after: 0 }
  if (text === "tomorrow" || text.endsWith("next day")) return { after: 1 }
  const weekday = weekdayNumbers.get(text.replace(/^on /, ""))
  return weekday === undefined ? undefined : { weekday }
}

/** The hour of a day, by the clocks of a zone. An hour that the clocks skip is the one after; of two the first. */
const onDay = (day: Day, minutes: number, zone: DateTime.TimeZone, now: number): number => {
  const today = DateTime.toParts(DateTime.makeZonedUnsafe(now, { timeZone: zone }))
  const at = (after: number) =>
    DateTime.toEpochMillis(
      DateTime.makeZonedUnsafe(
        {
          year: today.year,
          month: today.month,
          day: today.day + after,
          hour: Math.floor(minutes / 60),
          minute: minutes % 60
        },
        { timeZone: zone, adjustForTimeZone: true }
      )
    )
  if ("after" in day) return at(day.after)
  const after = (day.weekday - today.weekDay + 7) % 7
  const next = at(after)
  return next > now ? next : at(after + 7)
}

/** Reads `Friday at 3pm ET` or `3pm ET Friday`. */
const onNamedDay = (text: string, now: number): number | undefined => {
  const { day = "", hour = "", zone = "UTC" } = (dayFirst.exec(text) ?? hourFirst.exec(text))?.groups ?? {}
  const named = dayOf(day.toLowerCase())
  const minutes = minutesOf(hour.toLowerCase())
  const clocks = zoneOf(zone)
  if (named === undefined || minutes === undefined || clocks === undefined) return undefined
  return onDay(named, minutes, clocks, now)
}

/** Reads a time in Unix milliseconds; undefined if the text is none of the forms. `now` is that of the request. */
export const scheduleTimeOf = (given: string, now: number): number | undefined => {
  if (given.length > maximumLength) return undefined
  const iso = isoTimeOf(given)
  if (iso !== undefined) return iso
  const text = given.trim().replaceAll(/\s+/g, " ")
  return afterSpan(text.toLowerCase(), now) ?? onNamedDay(text, now)
}

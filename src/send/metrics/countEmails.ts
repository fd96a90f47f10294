/**
 * Counts emails by the hour of their acceptance (docs/platform.md, 9.19): each email once for each thing that happened
 * to it, however many recipients reported it. So the figures of an hour say what became of its emails, and a share of
 * them is never more than all. Pure: the projection adds the result up in PostgreSQL, and a count of all emails' rows
 * finds the same.
 */
import { bucketOf, bucketsOf, type DurationBounds } from "../../common/DurationHistogram.ts"
import { hourOf } from "../../common/figuresPeriod.ts"
import type { Mode } from "../account/actors/index.ts"

/** The counts of an hour, each of emails. */
export const emailMeasures = [
  "accepted",
  "held",
  "sent",
  "delivered",
  "bounced",
  "complained",
  "suppressed",
  "failed",
  "canceled"
] as const
export type EmailMeasure = (typeof emailMeasures)[number]

/** Bounds of the time from acceptance to hand-over: from a tenth of a second to a day. */
export const deliveryTimeBounds: DurationBounds = [
  100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000
]

/**
 * The measures of each state. A report of a recipient says that the email was handed over too: it may come before the
 * report of the hand-over, and a relay that refuses an email for good takes none.
 */
const measuresOf: Readonly<Record<string, ReadonlyArray<EmailMeasure>>> = {
  held: ["held"],
  sent: ["sent"],
  delivered: ["sent", "delivered"],
  bounced: ["sent", "bounced"],
  complained: ["sent", "complained"],
  suppressed: ["suppressed"],
  failed: ["failed"],
  canceled: ["canceled"]
}

/** An email that something happened to. Times in milliseconds since the Unix epoch. */
export interface CountedEmail {
  readonly organization: string
  readonly mode: Mode
  /** The domain of its sender; empty for an email of an earlier version. */
  readonly domain: string
  readonly acceptedAt: number
  readonly scheduledAt: number | null
  /** Whether it was accepted now. */
  readonly isNew: boolean
  /** The states that it has had before. */
  readonly before: ReadonlyArray<string>
  /** The states that it has reached now, in order. */
  readonly reached: ReadonlyArray<{ readonly state: string; readonly at: number }>
}

/** An addition to the figures of an organization's mode, hour and domain. */
export interface EmailHour {
  readonly organization: string
  readonly mode: Mode
  /** The start of the hour. */
  readonly hour: number
  readonly domain: string
  readonly counts: Record<EmailMeasure, number>
  /** Emails by the bucket of their time to the hand-over (`deliveryTimeBounds`). */
  readonly times: Array<number>
}

const noCounts = (): Record<EmailMeasure, number> => ({
  accepted: 0,
  held: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  complained: 0,
  suppressed: 0,
  failed: 0,
  canceled: 0
})

/** Adds an email to the figures of its hour. */
const add = ({ counts, times }: EmailHour, email: CountedEmail): void => {
  const had = new Set(email.before.flatMap((state) => measuresOf[state] ?? []))
  if (email.isNew) counts.accepted++
  for (const { at, state } of email.reached)
    for (const measure of measuresOf[state] ?? []) {
      if (had.has(measure)) continue
      had.add(measure)
      counts[measure]++
      if (measure !== "sent") continue
      // An email with a time waits for it by its sender's will.
      const since = Math.max(email.acceptedAt, email.scheduledAt ?? 0)
      const bucket = bucketOf(deliveryTimeBounds, at - since)
      times[bucket] = times[bucket]! + 1
    }
}

/** The figures that emails add, one for each organization, mode, hour and domain. Emails from before `since` add none. */
export const countEmails = (emails: Iterable<CountedEmail>, since: number): ReadonlyArray<EmailHour> => {
  const hours = new Map<string, EmailHour>()
  for (const email of emails) {
    const hour = hourOf(email.acceptedAt)
    if (hour < since) continue
    const { domain, mode, organization } = email
    const name = `${organization}\n${mode}\n${hour}\n${domain}`
    const found = hours.get(name) ?? {
      organization,
      mode,
      hour,
      domain,
      counts: noCounts(),
      times: new Array<number>(bucketsOf(deliveryTimeBounds)).fill(0)
    }
    hours.set(name, found)
    add(found, email)
  }
  return [...hours.values()].filter(({ counts }) => emailMeasures.some((measure) => counts[measure] > 0))
}

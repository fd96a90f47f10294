/** Figures of emails by the hour of their acceptance (docs/platform.md, 9.19). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { bucketOf, bucketsOf } from "../../../src/common/DurationHistogram.ts"
import { hourOf } from "../../../src/common/figuresPeriod.ts"
import {
  type CountedEmail,
  countEmails,
  deliveryTimeBounds,
  type EmailHour,
  type EmailMeasure,
  emailMeasures
} from "../../../src/send/metrics/countEmails.ts"

const hour = 3_600_000

const email = (more: Partial<CountedEmail>): CountedEmail => ({
  organization: "org_1",
  mode: "live",
  domain: "one.test",
  acceptedAt: hour,
  scheduledAt: null,
  isNew: false,
  before: [],
  reached: [],
  ...more
})

const reached = (...states: ReadonlyArray<string>) => states.map((state, at) => ({ state, at: hour + 200 * at }))

const counted = (...emails: ReadonlyArray<CountedEmail>) =>
  countEmails(emails, 0).map(({ counts }) =>
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
  )

describe("[platform 9.19] an email", () => {
  it("counts in the hour of its acceptance, for what has happened to it since", () => {
    expect(counted(email({ isNew: true, reached: reached("queued", "sending", "sent", "delivered") }))).toEqual([
      { accepted: 1, sent: 1, delivered: 1 }
    ])
    const later = email({ before: ["queued", "sending", "sent"], reached: [{ state: "bounced", at: 40 * hour }] })
    expect(counted(later)).toEqual([{ bounced: 1 }])
    expect(countEmails([later], 0)[0]).toMatchObject({ hour, domain: "one.test", mode: "live" })
  })

  it("counts once, however many of its recipients report it", () => {
    const two = email({ before: ["queued", "sending", "sent", "delivered"], reached: reached("delivered", "bounced") })
    expect(counted(two)).toEqual([{ bounced: 1 }])
    expect(counted(email({ before: ["bounced"], reached: reached("bounced") }))).toEqual([])
  })

  it("was sent where a recipient's report comes first, or the relay refuses it for good", () => {
    expect(counted(email({ before: ["queued", "sending"], reached: reached("bounced") }))).toEqual([
      { sent: 1, bounced: 1 }
    ])
    expect(counted(email({ before: ["queued", "sending", "delivered"], reached: reached("sent") }))).toEqual([])
  })

  it("with a time waits for the hand-over from that time on", () => {
    const sent = [{ state: "sent", at: 5 * hour + 300 }]
    const timesOf = (more: Partial<CountedEmail>) => countEmails([email({ reached: sent, ...more })], 0)[0]!.times
    expect(timesOf({ scheduledAt: 5 * hour })[bucketOf(deliveryTimeBounds, 300)]).toBe(1)
    expect(timesOf({})[bucketOf(deliveryTimeBounds, 4 * hour + 300)]).toBe(1)
  })

  it("that was accepted longer ago than figures are kept counts no more", () => {
    expect(countEmails([email({ reached: reached("bounced") })], 2 * hour)).toEqual([])
  })
})

const State = Schema.Literals([
  "held",
  "queued",
  "sending",
  "sent",
  "delivered",
  "bounced",
  "complained",
  "failed",
  "canceled"
])
const Life = Schema.Struct({
  domain: Schema.Literals(["one.test", "two.test"]),
  acceptedAt: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * hour })),
  first: Schema.Literals(["queued", "held", "scheduled", "suppressed"]),
  later: Schema.Array(
    Schema.Struct({ state: State, wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: hour })) })
  ).check(Schema.isMaxLength(8)),
  /** How many of the later states come with the acceptance, and with each batch behind it. */
  cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))).check(Schema.isMaxLength(4))
})

/** The whole life of an email as its row has it: states with their times. */
const lifeOf = ({ acceptedAt, first, later }: typeof Life.Type) => {
  const all = [{ state: first as string, at: acceptedAt }]
  for (const { state, wait } of later) all.push({ state, at: all.at(-1)!.at + wait })
  return all
}

/** Counts emails from all that ever happened to each. */
const naive = (lives: ReadonlyArray<typeof Life.Type>) => {
  const sums = new Map<string, number>()
  const add = (...name: ReadonlyArray<string | number>) => sums.set(name.join(), (sums.get(name.join()) ?? 0) + 1)
  for (const life of lives) {
    const all = lifeOf(life)
    const place = [hourOf(life.acceptedAt), life.domain]
    const has = (...wanted: ReadonlyArray<string>) => all.find(({ state }) => wanted.includes(state))
    const sent = has("sent", "delivered", "bounced", "complained")
    add(...place, "accepted")
    if (sent !== undefined) {
      add(...place, "sent")
      add(...place, "time", bucketOf(deliveryTimeBounds, sent.at - life.acceptedAt))
    }
    for (const measure of ["held", "delivered", "bounced", "complained", "suppressed", "failed", "canceled"])
      if (has(measure) !== undefined) add(...place, measure)
  }
  return Object.fromEntries([...sums].toSorted())
}

/** Adds up what batches give. */
const addedUp = (hours: Iterable<EmailHour>) => {
  const sums = new Map<string, number>()
  const add = (count: number, ...name: ReadonlyArray<string | number>) => {
    if (count > 0) sums.set(name.join(), (sums.get(name.join()) ?? 0) + count)
  }
  for (const { counts, domain, hour: at, times } of hours) {
    expect(times).toHaveLength(bucketsOf(deliveryTimeBounds))
    for (const measure of emailMeasures) add(counts[measure as EmailMeasure], at, domain, measure)
    for (const [bucket, count] of times.entries()) add(count, at, domain, "time", bucket)
  }
  return Object.fromEntries([...sums].toSorted())
}

describe("figures of emails", () => {
  it.prop(
    "[platform 9.19] are a count of all emails, however what happened to them is cut into batches",
    { lives: Schema.Array(Life).check(Schema.isMaxLength(12)) },
    ({ lives }) => {
      const batches: Array<Array<CountedEmail>> = []
      for (const [index, life] of lives.entries()) {
        const all = lifeOf(life)
        let done = 0
        for (const [batch, cut] of [...life.cuts, all.length].entries()) {
          const isNew = batch === 0
          const until = Math.min(all.length, done + cut + (isNew ? 1 : 0))
          if (until === done) continue
          const states = all.slice(0, done).map(({ state }) => state)
          const { acceptedAt, domain } = life
          // Emails of one batch are decided together.
          const place = (batch + index) % 4
          batches[place] = [
            ...(batches[place] ?? []),
            email({ domain, acceptedAt, isNew, before: states, reached: all.slice(done, until) })
          ]
          done = until
        }
      }
      expect(addedUp(batches.flatMap((batch) => countEmails(batch ?? [], 0)))).toEqual(naive(lives))
    }
  )
})

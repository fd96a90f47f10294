/**
 * Figures of emails as the SQL reactor keeps them, on PostgreSQL (docs/platform.md, 9.19): they are a count of the rows,
 * whatever transactions were rolled back and whichever records came again.
 */
import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { bucketOf } from "../../../src/common/DurationHistogram.ts"
import { hourOf } from "../../../src/common/figuresPeriod.ts"
import { ReactorTransaction } from "../../../src/engine/ports/Cursors.ts"
import type { FactRecord } from "../../../src/engine/records.ts"
import { removeAged } from "../../../src/postgres/agedRows.ts"
import { DayPartitions } from "../../../src/postgres/dayPartitions.ts"
import { type EmailFact, SendEmail } from "../../../src/send/account/actors/index.ts"
import { emailsProjection } from "../../../src/send/emails/projection.ts"
import { createEmailTerms } from "../../../src/send/emails/searchTable.ts"
import { addDomainOfEmails, createEmailsTable } from "../../../src/send/emails/table.ts"
import { deliveryTimeBounds, emailMeasures } from "../../../src/send/metrics/countEmails.ts"
import { createEmailHours, emailHoursTable } from "../../../src/send/metrics/emailHours.ts"
import { AcceptedTerms } from "../../../src/send/search/AcceptedTerms.ts"
import { freshDatabase } from "../../support/database.ts"

const minute = 60_000
const begin = Date.now() - 6 * 60 * minute

type Written = readonly [key: string, fact: EmailFact]

const accepted = (index: number, state: "queued" | "held" | "suppressed" = "queued"): EmailFact => ({
  _tag: "Accepted",
  at: begin + index * 7 * minute,
  state,
  mode: index % 3 === 0 ? "test" : "live",
  sender: index % 2 === 0 ? "one.test" : "ann@two.test",
  place: null,
  scheduledAt: null,
  pointer: "1.0"
})

/** What becomes of an email, behind its acceptance: each kind of life is there, with reports that come early or twice. */
const lives: ReadonlyArray<(at: number) => ReadonlyArray<EmailFact>> = [
  (at) => [
    { _tag: "Dispatched", at },
    { _tag: "HandedOver", at: at + 300 },
    { _tag: "Delivered", at: at + minute, recipient: "a@x.test" },
    { _tag: "Delivered", at: at + 2 * minute, recipient: "b@x.test" }
  ],
  (at) => [
    { _tag: "Dispatched", at },
    { _tag: "Delivered", at: at + 500, recipient: "a@x.test" },
    { _tag: "HandedOver", at: at + 900 },
    { _tag: "Bounced", at: at + minute, recipient: "b@x.test" },
    { _tag: "Complained", at: at + 2 * minute, recipient: "a@x.test" },
    { _tag: "Bounced", at: at + 3 * minute, recipient: "c@x.test" }
  ],
  (at) => [
    { _tag: "Dispatched", at },
    { _tag: "Bounced", at: at + 100, recipient: "a@x.test" }
  ],
  (at) => [
    { _tag: "Dispatched", at },
    { _tag: "Delayed", at: at + 100 },
    { _tag: "Failed", at: at + 90 * minute }
  ],
  (at) => [{ _tag: "Canceled", at: at + minute }]
]

/** Frames of facts: what happens to one email is spread over many of them. */
const frames = (emails: number): ReadonlyArray<ReadonlyArray<Written>> => {
  const all: Array<Array<Written>> = []
  for (let index = 0; index < emails; index++) {
    const key = `em_${index}`
    const first = accepted(index, index % 11 === 0 ? "held" : "queued")
    const facts = [first, ...lives[index % lives.length]!(first.at + index * 1_000)]
    for (const [step, fact] of facts.entries()) {
      const frame = index + step * (index % 4)
      all[frame] = [...(all[frame] ?? []), [key, fact]]
    }
  }
  return all.filter((frame) => frame !== undefined)
}

const recordsOf = (sequence: number, written: ReadonlyArray<Written>): ReadonlyArray<FactRecord> =>
  written.map(([key, fact], index) => ({
    _tag: "Fact",
    partition: 0,
    sequence,
    index,
    now: fact.at,
    organization: "org_1",
    kind: SendEmail.kind,
    key,
    fact
  }))

/** A transaction of the reactor. */
const project = Effect.fnUntraced(function* (records: ReadonlyArray<FactRecord>, end: Effect.Effect<void, "crash">) {
  const sql = yield* SqlClient.SqlClient
  yield* sql
    .withTransaction(Effect.andThen(emailsProjection.handle(records), end))
    .pipe(Effect.provideService(ReactorTransaction, { onCommit: () => undefined }))
})

/** Counts the rows of emails by what their histories say. */
const countOfRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ mode: string; domain: string; acceptedAt: number; history: string }>`
    select mode, domain, accepted_at as "acceptedAt", history from send_emails`
  const sums: Record<string, Record<string, number>> = {}
  for (const { acceptedAt, domain, history, mode } of rows) {
    const lines = history.split("\n").map((line) => JSON.parse(line) as [string, number])
    const place = `${mode} ${domain} ${hourOf(acceptedAt)}`
    const found = sums[place] ?? {}
    sums[place] = found
    const add = (name: string) => {
      found[name] = (found[name] ?? 0) + 1
    }
    const first = (...states: ReadonlyArray<string>) => lines.find(([state]) => states.includes(state))
    add("accepted")
    const sent = first("sent", "delivered", "bounced", "complained")
    if (sent !== undefined) {
      add("sent")
      add(`t${bucketOf(deliveryTimeBounds, sent[1] - acceptedAt)}`)
    }
    for (const measure of ["held", "delivered", "bounced", "complained", "suppressed", "failed", "canceled"])
      if (first(measure) !== undefined) add(measure)
  }
  return sums
})

const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Record<string, unknown>>`select * from ${sql(emailHoursTable)}`
  return Object.fromEntries(
    rows.map(({ domain, hour, mode, organization_id: _, ...counts }) => [
      `${mode} ${domain} ${hour}`,
      Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
    ])
  )
})

const layerRows = Layer.mergeAll(DayPartitions.layer, AcceptedTerms.layer).pipe(
  Layer.provideMerge(freshDatabase({ maxConnections: 2 }))
)

layer(layerRows, { excludeTestServices: true })("[platform 9.19] figures of emails", (it) => {
  it.effect("are a count of the rows after crashes and repeats", () =>
    Effect.gen(function* () {
      yield* createEmailsTable
      yield* addDomainOfEmails
      yield* createEmailHours
      yield* createEmailTerms
      const all = frames(60).map((frame, index) => recordsOf(index + 1, frame))
      // A transaction takes several frames; each third one is rolled back once, and its records come again.
      for (let at = 0; at < all.length; at += 3) {
        const records = all.slice(at, at + 3).flat()
        if (at % 9 === 0) {
          const crashed = yield* Effect.exit(project(records, Effect.fail("crash")))
          expect(Exit.isFailure(crashed)).toBe(true)
        }
        yield* project(records, Effect.void)
      }
      const counted = yield* countOfRows
      expect(yield* figures).toEqual(counted)
      const total = (measure: string) => Object.values(counted).reduce((sum, one) => sum + (one[measure] ?? 0), 0)
      expect(total("accepted")).toBe(60)
      for (const measure of emailMeasures)
        if (measure !== "suppressed") expect([measure, total(measure) > 0]).toEqual([measure, true])
      // A log that was restored from an older copy brings all of them again, in other batches.
      for (const records of all) yield* project(records, Effect.void)
      expect(yield* figures).toEqual(counted)
      // Some of them with emails that are new.
      const [first = []] = all
      yield* project([...first, ...recordsOf(900, [["em_new", accepted(1)]])], Effect.void)
      expect(yield* figures).toEqual(yield* countOfRows)
    })
  )

  it.effect("go with their age, and nothing comes back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const aged = { table: emailHoursTable, column: "hour", retentionMillis: 3 * 60 * minute }
      const [kept] = yield* sql<{ readonly count: number }>`
        select count(*)::int4 as count from ${sql(emailHoursTable)} where hour >= ${Date.now() - aged.retentionMillis}`
      yield* removeAged(aged, 2)
      expect(yield* sql`select count(*)::int4 as count from ${sql(emailHoursTable)}`).toEqual([{ count: kept!.count }])
      const long = { ...accepted(1), at: begin - 40 * 24 * 60 * minute } as EmailFact
      yield* project(recordsOf(901, [["em_long", long]]), Effect.void)
      expect(yield* sql`select count(*)::int4 as count from ${sql(emailHoursTable)}`).toEqual([{ count: kept!.count }])
    })
  )
})

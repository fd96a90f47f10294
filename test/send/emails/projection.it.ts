/** Rows of emails (docs/platform.md, 9.11) as the SQL reactor keeps them, on PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ReactorTransaction } from "../../../src/engine/ports/Cursors.ts"
import type { FactRecord } from "../../../src/engine/records.ts"
import { DayPartitions } from "../../../src/postgres/dayPartitions.ts"
import { type EmailFact, SendEmail } from "../../../src/send/account/actors/index.ts"
import { emailsProjection } from "../../../src/send/emails/projection.ts"
import { createEmailTerms } from "../../../src/send/emails/searchTable.ts"
import { addDomainOfEmails, createEmailsTable } from "../../../src/send/emails/table.ts"
import { createEmailHours } from "../../../src/send/metrics/emailHours.ts"
import { AcceptedTerms } from "../../../src/send/search/AcceptedTerms.ts"
import { freshDatabase } from "../../support/database.ts"

const accepted = (at: number): Extract<EmailFact, { readonly _tag: "Accepted" }> => ({
  _tag: "Accepted",
  at,
  state: "queued",
  mode: "live",
  sender: "one.test",
  place: null,
  scheduledAt: null,
  pointer: "1.0"
})

/** Gives the projection facts of one email, in the frame of that sequence. */
const project = Effect.fnUntraced(function* (sequence: number, key: string, ...facts: ReadonlyArray<EmailFact>) {
  const sql = yield* SqlClient.SqlClient
  const records = facts.map(
    (fact, index): FactRecord => ({
      _tag: "Fact",
      partition: 0,
      sequence,
      index,
      now: fact.at,
      organization: "org_1",
      kind: SendEmail.kind,
      key,
      fact
    })
  )
  yield* sql
    .withTransaction(emailsProjection.handle(records))
    .pipe(Effect.provideService(ReactorTransaction, { onCommit: () => undefined }))
})

const rowOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Record<string, unknown>>`
    select state, scheduled_at, history from send_emails where organization_id = 'org_1' and id = ${id}`
  return row
})

const historyOf = (...entries: ReadonlyArray<ReadonlyArray<unknown>>) =>
  entries.map((entry) => JSON.stringify(entry)).join("\n")

const layerRows = Layer.mergeAll(DayPartitions.layer, AcceptedTerms.layer).pipe(
  Layer.provideMerge(freshDatabase({ maxConnections: 2 }))
)

layer(layerRows, { excludeTestServices: true })("the row of an email", (it) => {
  it.effect("follows its facts, in one batch or in several, and goes when it is forgotten", () =>
    Effect.gen(function* () {
      yield* createEmailsTable
      yield* addDomainOfEmails
      yield* createEmailHours
      yield* createEmailTerms
      // A sender is a domain or an address.
      yield* project(1, "of-domain", accepted(10))
      yield* project(1, "of-address", { ...accepted(10), sender: "ann@one.test" })
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select id, domain from send_emails order by id`).toEqual([
        { id: "of-address", domain: "one.test" },
        { id: "of-domain", domain: "one.test" }
      ])
      yield* project(1, "a", accepted(10), { _tag: "Dispatched", at: 11 })
      expect(yield* rowOf("a")).toEqual({
        state: "sending",
        scheduled_at: null,
        history: historyOf(["queued", 10], ["sending", 11])
      })
      const later: ReadonlyArray<EmailFact> = [
        { _tag: "HandedOver", at: 12 },
        { _tag: "Delivered", at: 13, recipient: "bob@two.test" }
      ]
      yield* project(2, "a", ...later)
      const after = {
        state: "delivered",
        scheduled_at: null,
        history: historyOf(["queued", 10], ["sending", 11], ["sent", 12], ["delivered", 13, "bob@two.test"])
      }
      expect(yield* rowOf("a")).toEqual(after)
      // A log that was restored from an older copy brings them again.
      yield* project(1, "a", accepted(10), { _tag: "Dispatched", at: 11 })
      yield* project(2, "a", ...later)
      expect(yield* rowOf("a")).toEqual(after)
      yield* project(3, "a", { _tag: "Forgotten", at: 14 })
      expect(yield* rowOf("a")).toBeUndefined()
    })
  )

  it.effect("keeps the last time that the email was given", () =>
    Effect.gen(function* () {
      const scheduled: EmailFact = { ...accepted(10), state: "scheduled", scheduledAt: 100 }
      yield* project(4, "b", scheduled)
      yield* project(5, "b", { _tag: "Rescheduled", at: 11, scheduledAt: 200 })
      expect(yield* rowOf("b")).toMatchObject({ state: "scheduled", scheduled_at: 200 })
      yield* project(6, "b", { _tag: "Canceled", at: 12 })
      expect(yield* rowOf("b")).toMatchObject({ state: "canceled", scheduled_at: 200 })
    })
  )

  it.effect("has a history that stops growing", () =>
    Effect.gen(function* () {
      yield* project(7, "c", accepted(10))
      const reports = Array.from(
        { length: 1_000 },
        (_, at): EmailFact => ({ _tag: "Delivered", at, recipient: `${"x".repeat(100)}@two.test` })
      )
      yield* project(8, "c", ...reports)
      const long = String((yield* rowOf("c"))!.history).length
      yield* project(9, "c", ...reports)
      expect(String((yield* rowOf("c"))!.history)).toHaveLength(long)
      expect(yield* rowOf("c")).toMatchObject({ state: "delivered" })
    })
  )
})

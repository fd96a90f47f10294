/** An operator reads the size of a loss: events, emails, organizations and minutes of the partition that has lost, out of PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { lossSummary } from "../../src/cli/recover.ts"
import { partitionOf } from "../../src/engine/address.ts"
import { createEventTables } from "../../src/events/migrations.ts"
import { createEmailsTable } from "../../src/send/emails/table.ts"
import { freshDatabase } from "../support/database.ts"

const partitions = 4

/** Organizations of a partition. */
const ofPartition = (partition: number, count: number): ReadonlyArray<string> =>
  Array.from({ length: 1_000 }, (_, n) => `org_${n}`)
    .filter((id) => partitionOf(id, partitions) === partition)
    .slice(0, count)

const minute = 60_000
const since = Date.UTC(2026, 6, 1, 10)

const [ann, bob] = ofPartition(2, 2) as [string, string]
const [stranger] = ofPartition(3, 1) as [string]

const database = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* createEventTables
    yield* createEmailsTable
    yield* sql`create table events_of_test partition of events default`
    let number = 0
    const event = (organization: string, at: number) => sql`
      insert into events (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body)
      values (${organization}, ${`evt_${++number}`}, 'platform.test', 'platform', true, ${at}, 1, ${number}, '{}')`
    const email = (organization: string, at: number) => sql`
      insert into send_emails (organization_id, id, mode, accepted_at, state, pointer, sequence, history)
      values (${organization}, ${`em_${++number}`}, 'live', ${at}, 'sent', '', 1, '')`
    // What was decided at the last moment that is known is not lost.
    for (const at of [since, since + 1, since + 90_000]) yield* event(ann, at)
    yield* event(bob, since + 4 * minute)
    yield* email(ann, since - 1)
    yield* email(ann, since + 5)
    yield* event(stranger, since + 30 * minute)
    yield* email(stranger, since + 2)
  })
).pipe(Layer.provideMerge(freshDatabase()))

layer(database, { excludeTestServices: true })("the summary of a loss", (it) => {
  const start = new Date(since).toISOString()

  it.effect("counts what PostgreSQL has of the time that is gone, of the partition's organizations alone", () =>
    Effect.gen(function* () {
      expect(yield* lossSummary(2, partitions, { sinceMillis: since, untilMillis: since + 10 * minute })).toBe(
        `Of 10 minutes from ${start} on: PostgreSQL shows 3 events and 1 email of 2 organizations, whose states may lack them.`
      )
      // Its end belongs to it, and a minute that has begun counts.
      expect(yield* lossSummary(2, partitions, { sinceMillis: since, untilMillis: since + 90_000 })).toBe(
        `Of 2 minutes from ${start} on: PostgreSQL shows 2 events and 1 email of 1 organization, whose states may lack them.`
      )
    })
  )

  it.effect("ends with the last thing that the partition's organizations have where no end is known", () =>
    Effect.gen(function* () {
      expect(yield* lossSummary(2, partitions, { sinceMillis: since, untilMillis: undefined })).toBe(
        `Of 4 minutes from ${start} on: PostgreSQL shows 3 events and 1 email of 2 organizations, whose states may lack them.`
      )
      expect(yield* lossSummary(1, partitions, { sinceMillis: since, untilMillis: undefined })).toBe(
        `Of 0 minutes from ${start} on: PostgreSQL shows 0 events and 0 emails of 0 organizations, whose states may lack them.`
      )
    })
  )
})

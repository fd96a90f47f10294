/**
 * Tables behind the hand-off (docs/handoff.md, 2): jobs of the work queue, emails that wait for a time or a place, and notices that were ordered. `send_waiting`
 * also keeps the contents that outlive their stream.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createWorkQueue } from "../../postgres/workQueueTable.ts"

/** The work queue of the hand-off. */
export const sendJobsTable = "send_jobs"

/** `sender` is the key of the sender's actor; `content` is encrypted, and null while the stream has it. Times in Unix milliseconds. */
export const createHandoffTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* createWorkQueue(sendJobsTable)
  yield* sql`
    create table send_content_keys (
      organization_id text collate "C" primary key,
      key_id text not null,
      ciphertext text not null,
      created_at int8 not null
    )`
  yield* sql`
    create table send_waiting (
      organization_id text collate "C" not null,
      email_id text collate "C" not null,
      mode text not null,
      sender text collate "C" not null,
      place int8,
      pointer text collate "C" not null,
      accepted_at int8 not null,
      ended_at int8,
      content bytea,
      primary key (organization_id, email_id)
    )`
  yield* sql`create index send_waiting_places on send_waiting (organization_id, sender, place) where place is not null`
  yield* sql`create index send_waiting_contents on send_waiting (organization_id, pointer) where content is not null`
  yield* sql`create index send_waiting_uncopied on send_waiting (accepted_at) where content is null and ended_at is null`
  yield* sql`create index send_waiting_ended on send_waiting (ended_at) where ended_at is not null`
  yield* sql`create table send_notices (id text collate "C" primary key, created_at int8 not null)`
  yield* sql`create index send_notices_old on send_notices (created_at)`
})

/** Makes the tables of sending. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createDayPartitioned } from "../postgres/dayPartitions.ts"
import { accountFactsTable } from "./account/operator/accountFacts.ts"

/**
 * Facts of accounts that operators are shown (docs/platform.md, 9.9). Those of one account are in the order of
 * (decided_at, sequence, idx).
 */
export const createAccountFacts = createDayPartitioned(accountFactsTable, {
  column: "decided_at",
  columns: `
    organization_id text collate "C" not null,
    mode text collate "C" not null,
    decided_at int8 not null,
    sequence int8 not null,
    idx int4 not null,
    tag text collate "C" not null,
    signals int4 not null,
    fact text not null,
    primary key (organization_id, mode, decided_at, sequence, idx)`
})

/**
 * Makes the tables of domains and addresses that are to become senders, and of suppressed addresses (docs/platform.md,
 * 9.13 to 9.15). Whether a sender is verified is decided in the log; these rows hold what was never in it: keys,
 * tokens, and what name servers said. Times are Unix milliseconds.
 */
export const createSenderTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Private keys are sealed; `key_id` names the key. `check_at` is null where nothing is looked for any more.
  yield* sql`
    create table send_domains (
      id text collate "C" primary key,
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      name text collate "C" not null,
      region text,
      token text not null,
      selector text not null,
      public_key text not null,
      key_id text not null,
      private_key text not null,
      status text not null,
      proof text,
      ownership text not null,
      dkim text not null,
      created_at int8 not null,
      verified_at int8,
      checked_at int8,
      check_at int8,
      checks int4 not null,
      checks_since int8 not null,
      idempotency_key text collate "C",
      request_digest text,
      unique (organization_id, mode, name),
      unique (organization_id, mode, idempotency_key)
    )`
  yield* sql`create index send_domains_in_order on send_domains (organization_id, mode, created_at, id)`
  yield* sql`create index send_domains_due on send_domains (check_at) where check_at is not null`
  yield* sql`
    create table send_senders (
      id text collate "C" primary key,
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      email text collate "C" not null,
      status text not null,
      token_digest text collate "C",
      expires_at int8,
      created_at int8 not null,
      verified_at int8,
      idempotency_key text collate "C",
      request_digest text,
      unique (organization_id, mode, email),
      unique (organization_id, mode, idempotency_key)
    )`
  yield* sql`create index send_senders_in_order on send_senders (organization_id, mode, created_at, id)`
  yield* sql`create unique index send_senders_by_token on send_senders (token_digest) where token_digest is not null`
  // The time of an address's last mail, by its digest, whichever account asked.
  yield* sql`create table send_sender_mails (digest text collate "C" primary key, mailed_at int8 not null)`
  yield* sql`create index send_sender_mails_old on send_sender_mails (mailed_at)`
  yield* sql`
    create table send_suppressions (
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      id text collate "C" not null,
      email text collate "C" not null,
      origin text not null,
      created_at int8 not null,
      primary key (organization_id, mode, id)
    )`
  yield* sql`create index send_suppressions_in_order on send_suppressions (organization_id, mode, created_at, id)`
})

/** The indexes by which operators list domains and addresses of all organizations (docs/platform.md, 9.9). */
export const addOperatorIndexesOfSenders = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index send_domains_newest on send_domains (created_at desc, id desc)`
  yield* sql`create index send_domains_by_any_name on send_domains (name)`
  yield* sql`create index send_senders_newest on send_senders (created_at desc, id desc)`
  yield* sql`create index send_senders_by_email on send_senders (email)`
})

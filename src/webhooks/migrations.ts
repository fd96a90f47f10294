/**
 * Creates the tables of the webhook endpoints over HTTP: signing secrets, replays, and requests with an
 * `Idempotency-Key`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { deliveriesTable } from "./delivery/model.ts"
import { endpointsTable } from "./endpoint/model.ts"

/**
 * Secrets are sealed; `key_id` names the key. Answers of idempotent requests are sealed too, since they may show a
 * secret.
 */
export const createWebhookTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table webhook_secrets (
      id text collate "C" primary key,
      organization_id text not null,
      endpoint_id text not null,
      key_id text not null,
      ciphertext text not null,
      created_at int8 not null
    )`
  // `after_*` is the place in the event log of the last event that was processed.
  yield* sql`
    create table webhook_replays (
      id text collate "C" primary key,
      organization_id text not null,
      endpoint_id text collate "C" not null,
      partition int4 not null,
      since_at int8 not null,
      until_at int8 not null,
      patterns text not null,
      types text,
      sent int8 not null,
      after_created_at int8 not null,
      after_sequence int8 not null,
      after_idx int4 not null,
      status text not null,
      created_at int8 not null,
      finished_at int8
    )`
  yield* sql`create index webhook_replays_open on webhook_replays (endpoint_id) where finished_at is null`
  yield* sql`create index webhook_replays_of_endpoint on webhook_replays (endpoint_id, created_at)`
  yield* sql`create index webhook_replays_old on webhook_replays (finished_at) where finished_at is not null`
  yield* sql`
    create table webhook_idempotency (
      organization_id text not null,
      key text collate "C" not null,
      digest text not null,
      chosen text not null,
      busy_until int8 not null,
      key_id text,
      answer text,
      created_at int8 not null,
      primary key (organization_id, key)
    )`
  yield* sql`create index webhook_idempotency_old on webhook_idempotency (created_at)`
})

/** Adds modes: existing rows are from before there were any, and are live. */
export const addWebhookModes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_replays add livemode bool not null default true`
  yield* sql`alter table webhook_idempotency add livemode bool not null default true`
  yield* sql`
    alter table webhook_idempotency drop constraint webhook_idempotency_pkey, add primary key (organization_id, livemode, key)`
  // Of the actor's state in the row.
  yield* sql`alter table ${sql(endpointsTable)} add version int4 not null default 1`
})

/** Keeps the public keys of secrets that have a private key, readable without the keys of the secrets. */
export const addPublicKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_secrets add public_key text`
  yield* sql`create index webhook_secrets_public on webhook_secrets (endpoint_id) where public_key is not null`
})

/** Lets a delivery name the replay that made it; those from before name none. */
export const addReplayOfDeliveries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ${sql(deliveriesTable)} add replay_id text collate "C"`
  // Never written again with an outcome, and empty but for replays.
  yield* sql`create index webhook_deliveries_of_replay on ${sql(deliveriesTable)} (replay_id) where replay_id is not null`
})

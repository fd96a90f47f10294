/** Creates the tables of organizations, API keys and recorded admin acts, and the database's own secrets. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { organizationWords } from "./organizationSearch.ts"

/** Organizations own everything; keys are stored as digests only (docs/platform.md, 2). */
export const createPlatformTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table organizations (
      id text primary key,
      name text not null,
      email text,
      plan text not null,
      send_plan text not null,
      risk text not null,
      created_at timestamptz not null,
      idempotency_key text unique,
      request_digest text
    )`
  yield* sql`create index organizations_newest on organizations (created_at desc, id desc)`
  yield* sql`
    create table api_keys (
      id text primary key,
      organization_id text not null references organizations (id),
      name text,
      prefix text not null,
      digest text not null unique,
      mode text not null,
      services text[] not null,
      scopes text[] not null,
      active boolean not null default true,
      created_at timestamptz not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz,
      idempotency_key text,
      request_digest text,
      unique (organization_id, idempotency_key)
    )`
  yield* sql`create index api_keys_of_organization on api_keys (organization_id, created_at desc, id desc)`
  yield* sql`create table platform_secrets (name text primary key, value text not null)`
  // Signs the cursors of lists, the same on every node of this database.
  yield* sql`
    insert into platform_secrets
    values ('cursors', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''))`
  yield* sql`
    create table admin_acts (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      act text not null,
      subject text not null,
      detail jsonb not null
    )`
})

/**
 * The remains of a deleted organization: its id, without name and address once the rest was erased. They show late
 * callers, and a repeat of the deletion, that it was here.
 */
export const addDeletionOfOrganizations = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table organizations add column deleted_at timestamptz, add column erased_at timestamptz`
)

/**
 * The custom request rate, a projection of the organization's facts: a number, `unlimited`, or null for the plan's
 * own.
 */
export const addRequestRate = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table organizations add column requests_per_minute text`
)

/** Credentials of other product sites, stored as digests only (docs/platform.md, 2.8). */
export const createSiteCredentials = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table site_credentials (
      id text primary key,
      organization_id text not null references organizations (id),
      name text,
      prefix text not null,
      digest text not null unique,
      active boolean not null default true,
      created_at timestamptz not null,
      revoked_at timestamptz,
      idempotency_key text,
      request_digest text,
      unique (organization_id, idempotency_key)
    )`
  yield* sql`create index site_credentials_of_organization on site_credentials (organization_id, created_at desc, id desc)`
})

/**
 * Sessions of the console, which are short-lived keys that act for another one, and links that open one once
 * (docs/platform.md, 12.1). Both are stored as digests only.
 */
export const createConsoleTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table api_keys add column is_session boolean not null default false,
      add column parent_id text references api_keys (id) on delete cascade`
  yield* sql`create index api_keys_sessions on api_keys (organization_id, created_at) where is_session`
  yield* sql`create index api_keys_of_parent on api_keys (parent_id) where parent_id is not null`
  yield* sql`
    create table console_links (
      digest text primary key,
      organization_id text not null references organizations (id),
      mode text not null,
      services text[] not null,
      scopes text[] not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`
  yield* sql`create index console_links_of_organization on console_links (organization_id, created_at)`
})

/**
 * Sessions of portals, which see the webhook endpoints of one label, and links that open one once (docs/platform.md,
 * 6.14). Links are in a table of their own: a program that knows no portals must not open one.
 */
export const createPortalTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table api_keys add column portal_label text, add column portal_types text[]`
  yield* sql`
    create table portal_links (
      digest text primary key,
      organization_id text not null references organizations (id),
      parent_id text not null references api_keys (id) on delete cascade,
      mode text not null,
      label text not null,
      types text[] not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      session_ends_at timestamptz not null
    )`
  yield* sql`create index portal_links_of_organization on portal_links (organization_id, created_at)`
  yield* sql`create index portal_links_of_parent on portal_links (parent_id)`
})

/** The indexes by which operators find organizations and their own acts (docs/platform.md, 8.3). */
export const addOperatorIndexes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table organizations add column words tsvector generated always as (${sql.literal(organizationWords)}) stored`
  yield* sql`create index organizations_by_words on organizations using gin (words)`
  yield* sql`
    create index organizations_own_limits on organizations (created_at desc, id desc)
    where requests_per_minute is not null`
  yield* sql`create index admin_acts_by_act on admin_acts (act, id)`
  yield* sql`create index admin_acts_by_subject on admin_acts (subject, id)`
  yield* sql`create index admin_acts_by_time on admin_acts (at)`
})

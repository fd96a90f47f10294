/**
 * Defines the tables of billing (docs/platform.md, 11): checkouts, whose addresses are secrets, and invoices, a
 * projection of the actor's facts.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The mode of the key or session that has begun a checkout, which its page shows. */
export const addModeOfCheckouts = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table billing_checkouts add column livemode boolean not null default true`
)

export const createBillingTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Only a digest of a checkout's address is kept, as of keys. A price here is what the page shows.
  yield* sql`
    create table billing_checkouts (
      id text primary key,
      organization_id text not null references organizations (id),
      price jsonb not null,
      success_url text not null,
      cancel_url text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`
  yield* sql`create index billing_checkouts_expired on billing_checkouts (expires_at)`
  // The customer's name is kept as it was when the invoice was made. Where another service makes invoices, pdf_url is
  // its address of the document.
  yield* sql`
    create table invoices (
      id text primary key,
      organization_id text not null,
      number int4 not null,
      amount int8 not null,
      currency text not null,
      status text not null,
      description text not null,
      customer_name text not null,
      customer_email text,
      created_at timestamptz not null,
      settled_at timestamptz,
      failed_at timestamptz,
      pdf_url text
    )`
  yield* sql`create index invoices_newest on invoices (organization_id, created_at desc, id desc)`
  yield* sql`create index invoices_open on invoices (created_at desc, id desc) where status = 'open'`
  yield* sql`
    create table stripe_customers (
      organization_id text primary key references organizations (id),
      customer_id text not null unique
    )`
  // Signs the addresses of documents, the same on every node of this database.
  yield* sql`
    insert into platform_secrets
    values ('invoices', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''))`
})

/** The indexes by which operators list invoices of all organizations (docs/platform.md, 11.6). */
export const addOperatorIndexesOfInvoices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index invoices_of_all on invoices (created_at desc, id desc)`
  yield* sql`create index invoices_by_status on invoices (status, created_at desc, id desc)`
})

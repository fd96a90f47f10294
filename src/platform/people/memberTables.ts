/** Creates the tables of members and of the links that are mailed to them (docs/platform.md, 2.13). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const memberLinksTable = "member_links"

/** Members, links as digests only, and whose a session of the console is. */
export const createMemberTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table members (
      id text primary key,
      organization_id text not null references organizations (id),
      email text not null,
      role text not null,
      invited_at int8 not null,
      joined_at int8,
      unique (organization_id, email)
    )`
  yield* sql`create index members_by_email on members (email)`
  yield* sql`
    create table ${sql(memberLinksTable)} (
      digest text primary key,
      kind text not null,
      organization_id text not null references organizations (id),
      member_id text references members (id) on delete set null,
      email text not null,
      is_shown boolean not null default false,
      made_at int8 not null,
      expires_at int8 not null,
      ended_at int8
    )`
  yield* sql`create index member_links_by_address on ${sql(memberLinksTable)} (email, kind, made_at)`
  yield* sql`create index member_links_of_organization on ${sql(memberLinksTable)} (organization_id, made_at)`
  yield* sql`create index member_links_of_member on ${sql(memberLinksTable)} (member_id)`
  yield* sql`create index member_links_by_age on ${sql(memberLinksTable)} (made_at)`
  yield* sql`
    alter table api_keys add column member_id text references members (id) on delete cascade,
      add column is_proven boolean not null default false, add column opened_from text, add column browser text`
  yield* sql`create index api_keys_of_member on api_keys (member_id) where member_id is not null`
})

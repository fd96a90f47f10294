/**
 * The key that a domain is to sign with next (docs/platform.md, 9.13): it waits here until its record is there, and takes the place of the one in the domain's row then. Each function
 * is one statement and joins the caller's transaction. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Sealed } from "../../../common/secretsKeys.ts"
import type { DomainIdentity } from "./records.ts"

/** The private key is sealed like that of the row, for the same domain. */
export const createNextDomainKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table send_domain_keys (
      domain_id text collate "C" primary key references send_domains (id) on delete cascade,
      selector text not null,
      public_key text not null,
      key_id text not null,
      private_key text not null,
      created_at int8 not null
    )`
})

/** What is shown of a key, and looked for. */
export type NextKey = Pick<DomainIdentity, "selector" | "publicKey">

export const nextKeyRows = Effect.map(SqlClient.SqlClient, (sql) => ({
  find: (domainId: string): Effect.Effect<NextKey | undefined, SqlError.SqlError> =>
    Effect.map(
      sql<NextKey>`select selector, public_key as "publicKey" from send_domain_keys where domain_id = ${domainId}`,
      ([row]) => row
    ),

  /** Puts a key in and has the domain looked at by then; one that waits already stays. */
  put: (
    domainId: string,
    { publicKey, selector }: NextKey,
    { ciphertext, keyId }: Sealed,
    times: { readonly now: number; readonly checkAt: number }
  ): Effect.Effect<void, SqlError.SqlError> =>
    Effect.asVoid(sql`
      with put as (
        insert into send_domain_keys (domain_id, selector, public_key, key_id, private_key, created_at)
        values (${domainId}, ${selector}, ${publicKey}, ${keyId}, ${ciphertext}, ${times.now})
        on conflict do nothing
      )
      update send_domains set check_at = least(check_at, ${times.checkAt}) where id = ${domainId}`),

  /** Its record was not there: it is looked for again by then. */
  lookAgain: (domainId: string, checkAt: number): Effect.Effect<void, SqlError.SqlError> =>
    Effect.asVoid(sql`
      update send_domains set check_at = least(check_at, ${checkAt}) where id = ${domainId}`),

  /** The domain signs with it from now on. */
  adopt: (domainId: string): Effect.Effect<void, SqlError.SqlError> =>
    Effect.asVoid(sql`
      with next as (delete from send_domain_keys where domain_id = ${domainId} returning *)
      update send_domains d
      set selector = next.selector, public_key = next.public_key, key_id = next.key_id, private_key = next.private_key
      from next where d.id = next.domain_id`)
}))

export type NextKeyRows = Effect.Success<typeof nextKeyRows>

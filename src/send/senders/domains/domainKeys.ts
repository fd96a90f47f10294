/** Makes DKIM keys of domains, whose private part is sealed before it is stored. Needs no service. */

import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import { Data, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Sealed, SecretsKeys } from "../../../common/secretsKeys.ts"
import { sealedTexts } from "../../emails/sealedTexts.ts"
import type { DomainIdentity } from "./dnsRecords.ts"
import { dkimKeyBits } from "./limits.ts"

const generate = promisify(generateKeyPair)

export interface DkimKey {
  /** SubjectPublicKeyInfo in base64, as a DKIM record has it. */
  readonly publicKey: string
  /** PKCS #8 in PEM. */
  readonly privateKey: string
}

/** Makes a key, on a thread of Node's. */
export const makeDkimKey: Effect.Effect<DkimKey> = Effect.map(
  Effect.promise(() =>
    generate("rsa", {
      modulusLength: dkimKeyBits,
      publicKeyEncoding: { type: "spki", format: "der" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" }
    })
  ),
  ({ privateKey, publicKey }) => ({ publicKey: publicKey.toString("base64"), privateKey })
)

/** Binds a sealed key to its domain: in another domain's row it does not open. */
export const aboutDkimKey = (domainId: string): string => `dkim key\n${domainId}`

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

/** The public part of a key, as it is shown and looked up. */
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

/** Stored keys of domains need a key that is not configured. Terminal. */
export class DomainKeysClosed extends Data.TaggedError("DomainKeysClosed")<{ readonly keyId: string }> {
  override get message(): string {
    return `Keys of domains in this database were stored under another key (${this.keyId}) than those in SLUICE_SECRETS_KEY: put that key behind the new one there, separated by a comma`
  }
}

/** Fails where a domain's key is under none of these. */
export const requireDomainKeys = (
  keys: SecretsKeys
): Effect.Effect<void, DomainKeysClosed | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = keys.map(({ id }) => id)
    const [row] = yield* sql<{ readonly keyId: string }>`
      select key_id as "keyId" from send_domains where not key_id = any(${ids}::text[])
      union all select key_id from send_domain_keys where not key_id = any(${ids}::text[]) limit 1`
    if (row !== undefined) return yield* new DomainKeysClosed(row)
  })

/** Seals the stored keys again under the newest secret. */
export const sealedDomainKeys = sealedTexts({
  table: "send_domains",
  id: "id",
  text: "private_key",
  about: aboutDkimKey
})

/** The same for the keys that domains are to sign with next. */
export const sealedNextKeys = sealedTexts({
  table: "send_domain_keys",
  id: "domain_id",
  text: "private_key",
  about: aboutDkimKey
})

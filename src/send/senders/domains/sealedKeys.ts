/** Private keys of domains as texts that were sealed: whether the configured keys open them, and how they are sealed anew. Needs `SqlClient`. */
import { Data, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { SecretsKeys } from "../../../common/secretsKeys.ts"
import { sealedTexts } from "../../emails/sealedTexts.ts"
import { aboutDkimKey } from "./dkim.ts"

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

/** What seals them anew. */
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

/**
 * Stores secrets of webhook endpoints: signing secrets, which are made here, and headers of their own, which are given.
 * They are encrypted before they reach PostgreSQL (`secretsKeys.ts`), and decrypted for deliveries. The log and the
 * rules know only their ids. A bounded number of decrypted ones is kept in memory. Needs `SqlClient`.
 */

import { Clock, Context, Data, Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { fingerprint, type Sealed, type SecretsKeys, seal, unseal } from "../../common/secretsKeys.ts"
import { Sealing } from "../../platform/IdempotentRequests.ts"
import { unnest } from "../../postgres/unnest.ts"
import { SecretsUnavailable } from "./errors.ts"
import { publicKeyOf, withKeyPair } from "./keyPair.ts"
import { makeSecret } from "./signature.ts"

/** Most decrypted secrets in memory, about 200 bytes each. */
export const maximumOpenSecrets = 20_000

/** The longest text that is kept so, in characters: any signing secret. Headers are kept where they are used. */
const maximumOpenLength = 256

/** The id of a secret and its endpoint. */
export interface SecretPlace {
  /** Random, chosen by the caller. */
  readonly id: string
  readonly organizationId: string
  readonly endpointId: string
}

/** A public key of an endpoint, `whpk_…`, with the time when it was made, milliseconds since the Unix epoch. */
export interface PublicKey {
  readonly key: string
  readonly createdAt: number
}

/** Stored secrets need a key that is not configured: most likely the configuration has another one. Terminal. */
export class SecretsKeyMissing extends Data.TaggedError("SecretsKeyMissing")<{ readonly keyId: string }> {
  override get message(): string {
    return `Webhooks' signing secrets in this database were stored under another key (${this.keyId}) than those in SLUICE_SECRETS_KEY, or without it in the data folder's secrets/secrets.key: put that key behind the new one there, separated by a comma`
  }
}

interface Row {
  readonly id: string
  readonly endpoint_id: string
  readonly key_id: string
  readonly ciphertext: string
}

export class WebhookSecrets extends Context.Service<
  WebhookSecrets,
  {
    /**
     * Makes a secret, with a private key behind it where that is asked for (`keyPair.ts`), and answers its text. The
     * same id again is the same secret. Joins the caller's transaction.
     */
    readonly create: (place: SecretPlace, hasKeyPair?: boolean) => Effect.Effect<string, SecretsUnavailable>
    /** The public keys of an endpoint's secrets, the newest first. */
    readonly publicKeys: (endpointId: string) => Effect.Effect<ReadonlyArray<PublicKey>, SecretsUnavailable>
    /** Stores a given text. The same id again changes nothing. Joins the caller's transaction. */
    readonly put: (place: SecretPlace, text: string) => Effect.Effect<void, SecretsUnavailable>
    /**
     * The texts of secrets, by id; one statement for all that are not in memory. One that is not there, or that no key
     * opens, is missing from the answer (and the latter is logged).
     */
    readonly open: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, SecretsUnavailable>
    /** Removes secrets for good. Joins the caller's transaction. */
    readonly forget: (ids: ReadonlyArray<string>) => Effect.Effect<void, SecretsUnavailable>
    /** Seals any text under the same keys; `about` names its owner. */
    readonly seal: (text: string, about: string) => Sealed
    /**
     * A fingerprint: the same for the same text, without revealing it. Texts cannot be tried against it without the
     * configured keys. It changes when the last of them is removed.
     */
    readonly fingerprint: (text: string) => string
    /** Opens a sealed text; undefined when it does not fit. */
    readonly unseal: (sealed: Sealed, about: string) => string | undefined
  }
>()("sluice/webhooks/WebhookSecrets") {
  /** The secrets of this database under these keys. Fails when stored secrets need a key that is not given. */
  static readonly layer = (
    keys: Redacted.Redacted<SecretsKeys>
  ): Layer.Layer<WebhookSecrets, SecretsKeyMissing | SqlError.SqlError, SqlClient.SqlClient> =>
    Layer.effect(WebhookSecrets, Effect.andThen(requireKeys(Redacted.value(keys)), make(Redacted.value(keys))))
}

const requireKeys = (keys: SecretsKeys) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = keys.map(({ id }) => id)
    // Kept answers are sealed too.
    const [row] = yield* sql<{ readonly keyId: string }>`
      select key_id as "keyId" from webhook_secrets where not key_id = any(${ids}::text[])
      union all
      select key_id as "keyId" from webhook_idempotency where not key_id = any(${ids}::text[])
      limit 1`
    if (row !== undefined) return yield* new SecretsKeyMissing(row)
  })

const unavailable = (cause: SqlError.SqlError) =>
  new SecretsUnavailable({ message: `signing secrets cannot be reached: ${cause.message}`, cause })

/** Binds a sealed secret to its endpoint: in another endpoint's row it does not open. */
export const aboutSecret = (id: string, endpointId: string): string => `webhook secret\n${id}\n${endpointId}`

/** Removes secrets without needing a key, for the reactor of a command. Joins the caller's transaction. */
export const forgetSecrets = (
  ids: ReadonlyArray<string>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  ids.length === 0
    ? Effect.void
    : Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.asVoid(sql`
          delete from webhook_secrets s using ${unnest(
            ids.map((id) => ({ id })),
            { id: "text" }
          )} where s.id = batch.id`)
      )

const makePublicKeys = (sql: SqlClient.SqlClient) =>
  Effect.fn("WebhookSecrets.publicKeys")((endpointId: string) =>
    sql<PublicKey>`
      select public_key as key, created_at as "createdAt" from webhook_secrets
      where endpoint_id = ${endpointId} and public_key is not null order by created_at desc, id`.pipe(
      Effect.mapError(unavailable)
    )
  )

const make = (keys: SecretsKeys) =>
  Effect.map(SqlClient.SqlClient, (sql) => {
    /** Moved to the end by each use. */
    const open = new BoundedMap<string, string>(maximumOpenSecrets)

    const opened = (row: Row): string | undefined =>
      unseal(keys, { keyId: row.key_id, ciphertext: row.ciphertext }, aboutSecret(row.id, row.endpoint_id))

    const read = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      const rows = yield* sql<Row>`
        select s.id, s.endpoint_id, s.key_id, s.ciphertext from webhook_secrets s
        join ${unnest(
          ids.map((id) => ({ id })),
          { id: "text" }
        )} on s.id = batch.id`
      const texts = new Map<string, string>()
      for (const row of rows) {
        const text = opened(row)
        if (text === undefined) {
          yield* Effect.logError(
            `The secret ${row.id} of the webhook endpoint ${row.endpoint_id} cannot be opened with the configured keys`
          )
        } else texts.set(row.id, text)
      }
      return texts
    }, Effect.mapError(unavailable))

    return WebhookSecrets.of({
      create: Effect.fn("WebhookSecrets.create")(
        function* ({ endpointId, id, organizationId }: SecretPlace, hasKeyPair = false) {
          const now = yield* Clock.currentTimeMillis
          const text = hasKeyPair ? withKeyPair(makeSecret()) : makeSecret()
          const { ciphertext, keyId } = seal(keys, text, aboutSecret(id, endpointId))
          const [row] = yield* sql<Row & { readonly isNew: boolean }>`
          insert into webhook_secrets as s
            (id, organization_id, endpoint_id, key_id, ciphertext, created_at, public_key)
          values (${id}, ${organizationId}, ${endpointId}, ${keyId}, ${ciphertext}, ${now}, ${publicKeyOf(text)})
          on conflict (id) do update set id = s.id
          returning s.id, s.endpoint_id, s.key_id, s.ciphertext`
          // Not cached, because the transaction may still be rolled back.
          return row!.ciphertext === ciphertext
            ? text
            : (opened(row!) ?? (yield* Effect.die(new SecretsKeyMissing({ keyId: row!.key_id }))))
        },
        Effect.mapError((error: SqlError.SqlError) => unavailable(error))
      ),

      publicKeys: makePublicKeys(sql),

      put: Effect.fn("WebhookSecrets.put")(
        function* ({ endpointId, id, organizationId }: SecretPlace, text: string) {
          const now = yield* Clock.currentTimeMillis
          const { ciphertext, keyId } = seal(keys, text, aboutSecret(id, endpointId))
          yield* sql`
            insert into webhook_secrets (id, organization_id, endpoint_id, key_id, ciphertext, created_at)
            values (${id}, ${organizationId}, ${endpointId}, ${keyId}, ${ciphertext}, ${now})
            on conflict (id) do nothing`
        },
        Effect.mapError((error: SqlError.SqlError) => unavailable(error))
      ),

      open: Effect.fn("WebhookSecrets.open")(function* (ids: ReadonlyArray<string>) {
        const texts = new Map<string, string>()
        const missing: Array<string> = []
        for (const id of new Set(ids)) {
          const text = open.get(id)
          if (text === undefined) missing.push(id)
          else texts.set(id, text)
        }
        if (missing.length > 0) for (const [id, text] of yield* read(missing)) texts.set(id, text)
        for (const [id, text] of texts) if (text.length <= maximumOpenLength) open.set(id, text)
        return texts
      }),

      forget: Effect.fn("WebhookSecrets.forget")((ids) =>
        Effect.provideService(forgetSecrets(ids), SqlClient.SqlClient, sql).pipe(
          Effect.mapError(unavailable),
          Effect.tap(() =>
            Effect.sync(() => {
              for (const id of ids) open.delete(id)
            })
          )
        )
      ),

      seal: (text, about) => seal(keys, text, about),
      unseal: (sealed, about) => unseal(keys, sealed, about),
      fingerprint: (text) => fingerprint(keys, text)
    })
  })

/** Seals kept answers under the keys of these secrets. */
export const layerSealing: Layer.Layer<Sealing, never, WebhookSecrets> = Layer.effect(
  Sealing,
  Effect.map(WebhookSecrets, (secrets) => Sealing.of({ seal: secrets.seal, unseal: secrets.unseal }))
)

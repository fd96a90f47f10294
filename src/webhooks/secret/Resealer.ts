/**
 * Encrypts stored texts of older keys again under the first key, so that a changed `SLUICE_SECRETS_KEY` need not hold
 * the old key for ever. A supervised fiber goes through signing secrets and kept answers in batches, at the start and
 * every hour, and reports when nothing needs the older keys. Several nodes may do this concurrently: a row changes only
 * if it still holds the text that was read. Needs `SqlClient`.
 */

import { Duration, Effect, Layer, Metric, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type SecretsKeys, seal, unseal } from "../../common/secretsKeys.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { aboutAnswer } from "../../platform/IdempotentRequests.ts"
import { unnest } from "../../postgres/unnest.ts"
import { aboutSecret } from "./WebhookSecrets.ts"

/** Rows that are read and written together. */
const resealBatch = 200

/** How often it looks again: another node may still put its own key first. */
const lookIntervalMillis = 60 * 60 * 1000

/** After a failure it looks sooner. */
const retryMillis = 5_000

/** The result of one round through everything stored. */
export interface ResealRound {
  /** Rows that were sealed again. */
  readonly resealed: number
  /** Rows that none of the keys opens; they stay as they are. */
  readonly unreadable: number
  /** Rows that are not under the first key after the round; 0 means that the older keys are no longer needed. */
  readonly remaining: number
}

/** A row by its owner; `id` is its key in its table, as JSON. */
interface Row {
  readonly id: string
  readonly about: string
  readonly keyId: string
  readonly ciphertext: string
}

/** How a table's rows are read and changed. */
export interface SealedStore {
  readonly read: (after: string | undefined, limit: number) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
  /** Replaces texts that are still the ones that were read; returns how many it replaced. */
  readonly write: (
    rows: ReadonlyArray<{ readonly id: string; readonly before: string; readonly after: string }>
  ) => Effect.Effect<number, SqlError.SqlError>
  /** Rows that are not under the first key. */
  readonly remaining: Effect.Effect<number, SqlError.SqlError>
}

/** Tables of other products, for the key that texts are to be under. */
export type FurtherStores = (sql: SqlClient.SqlClient, keyId: string) => ReadonlyArray<SealedStore>

const secretsOf = (sql: SqlClient.SqlClient, keyId: string): Omit<SealedStore, "remaining"> => ({
  read: (after, limit) =>
    Effect.map(
      sql<{ readonly id: string; readonly endpointId: string; readonly keyId: string; readonly ciphertext: string }>`
        select id, endpoint_id as "endpointId", key_id as "keyId", ciphertext from webhook_secrets
        where key_id <> ${keyId} and id > ${after ?? ""} order by id limit ${limit}`,
      (rows) => rows.map(({ endpointId, ...row }) => ({ ...row, about: aboutSecret(row.id, endpointId) }))
    ),
  write: (rows) =>
    Effect.map(
      sql`
        update webhook_secrets s set key_id = ${keyId}, ciphertext = batch.after
        from ${unnest(rows, { id: "text", before: "text", after: "text" })}
        where s.id = batch.id and s.ciphertext = batch.before
        returning s.id`,
      ({ length }) => length
    )
})

const answersOf = (sql: SqlClient.SqlClient, keyId: string): Omit<SealedStore, "remaining"> => {
  const placeOf = (id: string) => JSON.parse(id) as [organizationId: string, livemode: boolean, key: string]
  return {
    read: (after, limit) => {
      const [organizationId, livemode, key] = after === undefined ? ["", false, ""] : placeOf(after)
      return Effect.map(
        sql<{
          readonly organizationId: string
          readonly livemode: boolean
          readonly key: string
          readonly keyId: string
          readonly ciphertext: string
        }>`
          select organization_id as "organizationId", livemode, key, key_id as "keyId", answer as ciphertext
          from webhook_idempotency
          where key_id <> ${keyId} and answer is not null
            and (organization_id, livemode, key) > (${organizationId}, ${livemode}, ${key})
          order by organization_id, livemode, key limit ${limit}`,
        (rows) =>
          rows.map(({ key, livemode, organizationId, ...row }) => ({
            ...row,
            id: JSON.stringify([organizationId, livemode, key]),
            about: aboutAnswer({ organizationId, livemode }, key)
          }))
      )
    },
    write: (rows) => {
      const placed = rows.map(({ after, before, id }) => {
        const [organization_id, livemode, key] = placeOf(id)
        return { organization_id, livemode, key, before, after }
      })
      return Effect.map(
        sql`
          update webhook_idempotency w set key_id = ${keyId}, answer = batch.after
          from ${unnest(placed, { organization_id: "text", livemode: "bool", key: "text", before: "text", after: "text" })}
          where w.organization_id = batch.organization_id and w.livemode = batch.livemode and w.key = batch.key
            and w.answer = batch.before
          returning w.key`,
        ({ length }) => length
      )
    }
  }
}

/** Makes a round. `batch` is how many rows are read and written together. */
export const make = (keys: SecretsKeys, batch: number = resealBatch, furtherStores: FurtherStores = () => []) =>
  Effect.map(SqlClient.SqlClient, (sql): Effect.Effect<ResealRound, SqlError.SqlError> => {
    const first = keys[0].id

    const reseal = Effect.fnUntraced(function* ({ read, write }: Omit<SealedStore, "remaining">) {
      let [resealed, unreadable] = [0, 0]
      let after: string | undefined
      for (;;) {
        const rows = yield* read(after, batch)
        const changes = rows.flatMap(({ about, ciphertext, id, keyId }) => {
          const text = unseal(keys, { keyId, ciphertext }, about)
          return text === undefined ? [] : [{ id, before: ciphertext, after: seal(keys, text, about).ciphertext }]
        })
        if (changes.length > 0) resealed += yield* write(changes)
        unreadable += rows.length - changes.length
        after = rows.at(-1)?.id
        if (rows.length < batch) return { resealed, unreadable }
      }
    })

    const further = furtherStores(sql, first)
    return Effect.gen(function* () {
      const rounds = yield* Effect.forEach([secretsOf(sql, first), answersOf(sql, first), ...further], reseal)
      const [row] = yield* sql<{ readonly remaining: number }>`
        select (select count(*) from webhook_secrets where key_id <> ${first})
          + (select count(*) from webhook_idempotency where key_id <> ${first}) as remaining`
      const others = yield* Effect.forEach(further, ({ remaining }) => remaining)
      const sum = (counts: ReadonlyArray<number>) => counts.reduce((all, count) => all + count, 0)
      return {
        resealed: sum(rounds.map(({ resealed }) => resealed)),
        unreadable: sum(rounds.map(({ unreadable }) => unreadable)),
        remaining: row!.remaining + sum(others)
      }
    })
  })

const underOlderKeys = Metric.gauge("sluice_webhook_secrets_under_older_keys", {
  description:
    "Signing secrets, kept answers and keys of domains that are not sealed under the first of the configured keys"
})

/** Logs for the operator whether the older keys can be removed. A later round without work logs nothing. */
const tell = ({ remaining, resealed, unreadable }: ResealRound, isFirst: boolean): Effect.Effect<void> => {
  if (unreadable > 0) {
    return Effect.logError(
      `${unreadable} signing secrets, kept answers or keys of domains cannot be opened with the keys in SLUICE_SECRETS_KEY; keep the older ones`
    )
  }
  if (remaining > 0) {
    return Effect.logWarning(
      `${remaining} signing secrets, kept answers or keys of domains still need the older keys in SLUICE_SECRETS_KEY: another node puts one of them first`
    )
  }
  return isFirst || resealed > 0
    ? Effect.logInfo(
        `No secret needs the older keys in SLUICE_SECRETS_KEY any more (sealed anew: ${resealed}); once every node has this key first, they can be removed`
      )
    : Effect.void
}

/** The fiber that makes rounds while there are older keys. Failures are logged and tried again. */
export const layer = (
  keys: Redacted.Redacted<SecretsKeys>,
  furtherStores?: FurtherStores
): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const given = Redacted.value(keys)
      // With a single key, the start has checked that it opens everything.
      if (given.length === 1) return yield* Metric.update(underOlderKeys, 0)
      const round = yield* make(given, resealBatch, furtherStores)
      let isFirst = true
      const once = Effect.gen(function* () {
        const done = yield* round
        yield* Metric.update(underOlderKeys, done.remaining)
        yield* tell(done, isFirst)
        isFirst = false
        yield* Effect.sleep(Duration.millis(lookIntervalMillis))
      })
      yield* Effect.forkScoped(superviseLoop(once, { failed: "Signing secrets could not be sealed anew", retryMillis }))
    })
  )

/** Data keys as texts that were sealed: how they are sealed anew when the configuration puts another key first. Needs `SqlClient`. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { unnest } from "../../postgres/unnest.ts"
import { aboutContentKey } from "./ContentKeys.ts"

interface Row {
  /** The organization. */
  readonly id: string
  readonly about: string
  readonly keyId: string
  readonly ciphertext: string
}

/** The rows that are not under the key of this id. */
export const sealedContentKeys = (sql: SqlClient.SqlClient, keyId: string) => ({
  read: (after: string | undefined, limit: number): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> =>
    Effect.map(
      sql<Omit<Row, "about">>`
        select organization_id as id, key_id as "keyId", ciphertext from send_content_keys
        where key_id <> ${keyId} and organization_id > ${after ?? ""} order by organization_id limit ${limit}`,
      (rows) => rows.map((row) => ({ ...row, about: aboutContentKey(row.id) }))
    ),
  write: (
    rows: ReadonlyArray<{ readonly id: string; readonly before: string; readonly after: string }>
  ): Effect.Effect<number, SqlError.SqlError> =>
    Effect.map(
      sql`
        update send_content_keys k set key_id = ${keyId}, ciphertext = batch.after
        from ${unnest(rows, { id: "text", before: "text", after: "text" })}
        where k.organization_id = batch.id and k.ciphertext = batch.before
        returning k.organization_id`,
      ({ length }) => length
    ),
  remaining: Effect.map(
    sql<{ readonly count: number }>`select count(*) as count from send_content_keys where key_id <> ${keyId}`,
    ([row]) => row?.count ?? 0
  )
})

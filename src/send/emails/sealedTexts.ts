/** Seals texts in a column of a table again when the configuration puts another key first. Needs `SqlClient`. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { unnest } from "../../postgres/unnest.ts"

/** The columns of sealed texts; the table has the id of each one's key in `key_id`. */
export interface SealedColumn {
  readonly table: string
  /** The column that tells rows apart. */
  readonly id: string
  readonly text: string
  /** The object that the text of a row belongs to. */
  readonly about: (id: string) => string
}

export interface SealedRow {
  readonly id: string
  readonly about: string
  readonly keyId: string
  readonly ciphertext: string
}

/** The texts that are not under the key of this id. */
export const sealedTexts =
  ({ about, id, table, text }: SealedColumn) =>
  (sql: SqlClient.SqlClient, keyId: string) => ({
    read: (after: string | undefined, limit: number): Effect.Effect<ReadonlyArray<SealedRow>, SqlError.SqlError> =>
      Effect.map(
        sql<Omit<SealedRow, "about">>`
        select ${sql(id)} as id, key_id as "keyId", ${sql(text)} as ciphertext from ${sql(table)}
        where key_id <> ${keyId} and ${sql(id)} > ${after ?? ""} order by ${sql(id)} limit ${limit}`,
        (rows) => rows.map((row) => ({ ...row, about: about(row.id) }))
      ),
    write: (
      rows: ReadonlyArray<{ readonly id: string; readonly before: string; readonly after: string }>
    ): Effect.Effect<number, SqlError.SqlError> =>
      Effect.map(
        sql`
        update ${sql(table)} t set key_id = ${keyId}, ${sql(text)} = batch.after
        from ${unnest(rows, { id: "text", before: "text", after: "text" })}
        where t.${sql(id)} = batch.id and t.${sql(text)} = batch.before
        returning t.${sql(id)}`,
        ({ length }) => length
      ),
    remaining: Effect.map(
      sql<{ readonly count: number }>`select count(*) as count from ${sql(table)} where key_id <> ${keyId}`,
      ([row]) => row?.count ?? 0
    )
  })

/**
 * Lists what ingestions changed (docs/directory.md, 3.8), oldest first. Reads PostgreSQL. Needs `SqlClient` and
 * `PageCursors`.
 */
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import type { DirectoryChange } from "./schema.ts"

/** A page of changes, and where the next one begins. */
export interface DirectoryChangesPage {
  readonly data: ReadonlyArray<DirectoryChange>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

export class DirectoryChanges extends Context.Service<
  DirectoryChanges,
  {
    /** Changes of ingestions that ended at a time or later, of all that are kept without one. */
    readonly list: (options: {
      readonly sinceMillis: number | undefined
      readonly limit: number
      readonly cursor: string | undefined
    }) => Effect.Effect<DirectoryChangesPage, InvalidCursor | SqlError.SqlError>
  }
>()("sluice/directory/DirectoryChanges") {
  static readonly layer: Layer.Layer<DirectoryChanges, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    DirectoryChanges,
    Effect.suspend(() => make)
  )
}

const listName = "changes of the directory"

interface Row extends Omit<DirectoryChange, "ingested_at"> {
  readonly ingestion: number
  readonly at: Date
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* PageCursors

  const list: DirectoryChanges["Service"]["list"] = Effect.fn("DirectoryChanges.list")(function* ({
    cursor,
    limit,
    sinceMillis
  }) {
    // The position is the ingestion and the key, which is their order too.
    const after = Option.getOrUndefined(yield* cursors.decode(listName, cursor))
    const rows = yield* sql<Row>`
      select c.ingestion, i.kind as source, i.publication_date::text as publication, i.finished_at as at,
        c.key, c.change, c.before, c.after
      from directory_changes c join directory_ingestions i on i.id = c.ingestion
      where (c.ingestion, c.key) > (${after?.atMillis ?? 0}::int8, ${after?.id ?? ""})
        and ${sinceMillis === undefined ? sql`true` : sql`i.finished_at >= ${new Date(sinceMillis)}`}
      order by c.ingestion, c.key limit ${limit + 1}`
    const page = pageOf(rows, limit, ({ ingestion, key }) =>
      cursors.encode(listName, { atMillis: Number(ingestion), id: key })
    )
    return {
      ...page,
      data: page.data.map(({ after, at, before, change, key, publication, source }) => ({
        source,
        publication,
        ingested_at: at.toISOString(),
        key,
        change,
        before,
        after
      }))
    }
  })

  return DirectoryChanges.of({ list })
})

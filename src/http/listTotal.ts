/** Describes totals of lists with cursors (docs/platform.md, 3.4): exact up to a bound, so that no count is long. */
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"

/** Highest total that is counted; a longer list has more than that. */
export const maximumTotal = 10_000

/** The number of items of a whole list. */
export const ListTotal = Schema.Struct({
  count: Schema.Int.annotate({ description: `Items of the whole list, at most ${maximumTotal}` }),
  isExact: Schema.Boolean.annotate({ description: "False where there are more than `count`" })
}).annotate({ identifier: "ListTotal" })
export type ListTotal = typeof ListTotal.Type

/** Counts the rows of a statement that is limited to one more than the bound, for `pagination`. */
export const countOf = (sql: SqlClient.SqlClient, rows: Statement.Fragment) =>
  Effect.map(
    sql<{ readonly count: number }>`select count(*)::int4 as count from (${rows}) listed`,
    ([row]): { readonly total: ListTotal } => ({
      total: { count: Math.min(row!.count, maximumTotal), isExact: row!.count <= maximumTotal }
    })
  )

/** The parameter with which a list returns its total. */
export const includeTotal = Schema.optional(
  Schema.Literal("total").annotate({
    message: "Expected total",
    description: "`total` counts the whole list too, exactly up to 10,000"
  })
)

/** `pagination` of a list that may have a total. */
export const PaginationWithTotal = Schema.Struct({
  hasMore: Schema.Boolean,
  nextCursor: Schema.optional(Schema.String),
  total: Schema.optional(ListTotal)
})

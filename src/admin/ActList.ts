/** Lists the acts of operators, newest first (docs/platform.md, 8.3). Needs `SqlClient` and `PageCursors`. */
import { Context, Effect, Layer, Option, type Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import type { Page } from "../platform/Organizations.ts"

/** An act that was done. */
export interface OperatorAct {
  readonly id: number
  /** Unix milliseconds. */
  readonly at: number
  readonly act: string
  readonly subject: string
  readonly detail: typeof Schema.JsonObject.Type
}

/** A page of acts to read. Times are Unix milliseconds: from `since` on, before `until`. */
export interface ActsFilter {
  readonly act?: string | undefined
  readonly subject?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export class ActList extends Context.Service<
  ActList,
  {
    readonly list: (filter: ActsFilter) => Effect.Effect<Page<OperatorAct>, InvalidCursor | SqlError.SqlError>
  }
>()("sluice/admin/ActList") {
  static readonly layer: Layer.Layer<ActList, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    ActList,
    Effect.gen(function* () {
      return ActList.of({ list: makeList(yield* SqlClient.SqlClient, yield* PageCursors) })
    })
  )
}

interface Row extends Omit<OperatorAct, "at"> {
  readonly at: Date
}

const makeList = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): ActList["Service"]["list"] =>
  Effect.fn("ActList.list")(function* ({ act, cursor, limit, since, subject, until }) {
    // Not the range of time: that of a view ends now, and its place stays the same.
    const name = JSON.stringify(["acts", act, subject])
    const place = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const conditions = [
      sql`true`,
      ...(act === undefined ? [] : [sql`act = ${act}`]),
      ...(subject === undefined ? [] : [sql`subject = ${subject}`]),
      ...(since === undefined ? [] : [sql`at >= ${new Date(since)}`]),
      ...(until === undefined ? [] : [sql`at < ${new Date(until)}`]),
      ...(place === undefined ? [] : [sql`id < ${Number(place.id)}::int8`])
    ]
    const rows = yield* sql<Row>`
      select id, at, act, subject, detail from admin_acts where ${sql.and(conditions)}
      order by id desc limit ${limit + 1}`.unprepared
    return pageOf(
      rows.map((row): OperatorAct => ({ ...row, id: Number(row.id), at: row.at.getTime() })),
      limit,
      ({ at, id }) => cursors.encode(name, { atMillis: at, id: String(id) })
    )
  })

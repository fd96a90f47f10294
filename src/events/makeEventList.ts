/**
 * Reads pages of the event log (docs/platform.md, 5.4). Every filter but the text has an index in the order of the list,
 * so a page reads no more rows than it shows: types and modes are branches of the index, whose newest events are merged.
 * For a text a page looks through a bounded number of events.
 */
import { Clock, Effect, Option } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { KeptTimesShape } from "../common/KeptTimes.ts"
import { countOf, type ListTotal, maximumTotal } from "../http/listTotal.ts"
import { InvalidCursor, type PageCursors, pageOf } from "../http/PageCursors.ts"
import { catalogue } from "./catalogue.ts"
import { type EventPattern, matches } from "./patterns.ts"

/** Place of an event among those of its organization. */
export interface EventPosition {
  readonly createdAt: number
  readonly sequence: number
  readonly index: number
}

/** The reader: a live key sees every event, a test key those that are not live. */
export interface EventReader {
  readonly organizationId: string
  readonly mode: "live" | "test"
}

export interface ListOptions extends EventReader {
  /** The wanted types; all when left out. */
  readonly pattern?: EventPattern | undefined
  /** Inclusive, milliseconds since the Unix epoch. */
  readonly since?: number | undefined
  /** Exclusive, milliseconds since the Unix epoch. */
  readonly until?: number | undefined
  /** Events about this object alone (`objectOf`). */
  readonly object?: string | undefined
  /** Events whose body contains this text alone, whatever the case of its ASCII letters. */
  readonly text?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
  /** Whether to count the events of the whole list. */
  readonly withTotal?: boolean
}

/** A page of the events' texts. */
export interface EventTexts {
  readonly data: ReadonlyArray<string>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string; readonly total?: ListTotal }
}

export type ListEvents = (options: ListOptions) => Effect.Effect<EventTexts, InvalidCursor | SqlError.SqlError>

/** Events that one page of a text looks through. */
export const maximumLookedEvents = 10_000

interface Row extends EventPosition {
  readonly body: string
}

/** The earliest time that is still kept; a day's partition may live a little longer. */
export const keptSince = ({ eventsMillis }: KeptTimesShape) =>
  Effect.map(Clock.currentTimeMillis, (now) => now - eventsMillis)

/** The types that a pattern matches; undefined for all. */
const typesOf = (pattern: EventPattern | undefined): ReadonlyArray<string> | undefined => {
  switch (pattern?._tag) {
    case undefined:
    case "All":
      return undefined
    case "Exact":
      return [pattern.type]
    case "Prefix":
      return Object.entries(catalogue)
        .filter(([type, { service }]) => matches(pattern, { type, service }))
        .map(([type]) => type)
  }
}

const everyType = Object.keys(catalogue)

/** The list's name in its cursors, so that those of another organization, or of another filter, do not fit. */
const nameOf = ({ object, organizationId, pattern, text }: ListOptions): string =>
  [
    `events of ${organizationId}`,
    ...(typesOf(pattern) ?? []),
    ...(object === undefined ? [] : [`about ${object}`]),
    ...(text === undefined ? [] : [`with ${JSON.stringify(text)}`])
  ].join("\n")

const encodePlace = ({ index, sequence }: EventPosition): string => `${sequence}.${index}`

const columnsOf = (sql: SqlClient.SqlClient) => sql.literal(`created_at as "createdAt", sequence, idx as "index", body`)

const newestFirst = (sql: SqlClient.SqlClient) => sql.literal("order by created_at desc, sequence desc, idx desc")

/** The condition that a body has a text; in the body it is written as JSON writes it. */
const hasText = (sql: SqlClient.SqlClient, text: string) =>
  sql`position(lower(${JSON.stringify(text).slice(1, -1)}) in lower(body)) > 0`

/** A row that was found, or none, with the number and the last of those that were looked at. */
interface Looked {
  readonly looked: number
  readonly lastAt: number | null
  readonly lastSequence: number | null
  readonly lastIndex: number | null
  readonly createdAt: number | null
  readonly sequence: number
  readonly index: number
  readonly body: string
}

/**
 * The rows of a list: those of an object by its index, those of types and modes branch by branch. Counted ones need no
 * order among the branches.
 */
const rowsOf = (
  sql: SqlClient.SqlClient,
  options: ListOptions,
  conditions: ReadonlyArray<Statement.Fragment>,
  limit: number,
  isCounted = false
) => {
  const { mode, object, organizationId, pattern } = options
  const types = typesOf(pattern)
  const own = [sql`organization_id = ${organizationId}`, ...conditions]
  const seen = mode === "live" ? [] : [sql`not livemode`]
  if (object !== undefined) {
    const wanted = types === undefined ? [] : [sql`type = any(${[...types]}::text[])`]
    return sql<Row>`
      select ${columnsOf(sql)} from events where ${sql.and([...own, sql`object = ${object}`, ...wanted, ...seen])}
      ${newestFirst(sql)} limit ${limit}`
  }
  if (types === undefined && mode === "live")
    return sql<Row>`select ${columnsOf(sql)} from events where ${sql.and(own)} ${newestFirst(sql)} limit ${limit}`
  const branch = [...own, sql`type = wanted.type`, sql`livemode = seen.livemode`]
  const merged = isCounted ? "" : "order by newest.created_at desc, newest.sequence desc, newest.idx desc"
  const modes = sql.literal(mode === "live" ? "(values (true), (false))" : "(values (false))")
  return sql<Row>`
    select newest.created_at as "createdAt", newest.sequence, newest.idx as "index", newest.body
    from unnest(${[...(types ?? everyType)]}::text[]) wanted(type)
    cross join ${modes} seen(livemode)
    cross join lateral (
      select created_at, sequence, idx, body from events where ${sql.and(branch)} ${newestFirst(sql)} limit ${limit}
    ) newest
    ${sql.literal(merged)} limit ${limit}`
}

/** The rows of a page, with one more if there are further ones; `rest` is where the look for a text was given up. */
const pageRows = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  options: ListOptions,
  conditions: ReadonlyArray<Statement.Fragment>
): Effect.fn.Return<
  { readonly rows: ReadonlyArray<Row>; readonly rest: EventPosition | undefined },
  SqlError.SqlError
> {
  const { limit, text } = options
  if (text === undefined) return { rows: yield* rowsOf(sql, options, conditions, limit + 1), rest: undefined }
  const found = yield* sql<Looked>`
    with looked as materialized (${rowsOf(sql, options, conditions, maximumLookedEvents)})
    select c.looked, l."createdAt" as "lastAt", l.sequence as "lastSequence", l."index" as "lastIndex", f.*
    from (select count(*)::int4 as looked from looked) c
    left join (select * from looked order by "createdAt", sequence, "index" limit 1) l on true
    left join (
      select * from looked where ${hasText(sql, text)}
      order by "createdAt" desc, sequence desc, "index" desc limit ${limit + 1}
    ) f on true
    order by f."createdAt" desc, f.sequence desc, f."index" desc`
  const [first] = found
  const rows = found.flatMap(({ body, createdAt, index, sequence }) =>
    createdAt === null ? [] : [{ createdAt, sequence, index, body }]
  )
  const isCut = rows.length <= limit && first!.looked === maximumLookedEvents
  const rest = { createdAt: first!.lastAt!, sequence: first!.lastSequence!, index: first!.lastIndex! }
  return { rows, rest: isCut ? rest : undefined }
})

/** The number of events of the whole list; of a text, among as many as a page looks through. */
const totalOf = (sql: SqlClient.SqlClient, options: ListOptions, conditions: ReadonlyArray<Statement.Fragment>) => {
  const { text } = options
  if (text === undefined) return countOf(sql, rowsOf(sql, options, conditions, maximumTotal + 1, true))
  return Effect.map(
    sql<{ readonly looked: number; readonly count: number }>`
      select count(*)::int4 as looked, (count(*) filter (where ${hasText(sql, text)}))::int4 as count
      from (${rowsOf(sql, options, conditions, maximumLookedEvents)}) looked`,
    ([row]) => ({ total: { count: row!.count, isExact: row!.looked < maximumLookedEvents } })
  )
}

export const makeEventList = (
  sql: SqlClient.SqlClient,
  cursors: PageCursors["Service"],
  kept: KeptTimesShape
): ListEvents =>
  Effect.fn("EventLog.list")(function* (options) {
    const { cursor, limit, since, until, withTotal = false } = options
    const name = nameOf(options)
    const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const earliest = yield* keptSince(kept)
    if (position !== undefined && position.atMillis < earliest)
      return yield* new InvalidCursor({ cursor: cursor ?? "" })
    const inTime = [
      sql`created_at >= ${Math.max(earliest, since ?? 0)}`,
      ...(until === undefined ? [] : [sql`created_at < ${until}`])
    ]
    const conditions: Array<Statement.Fragment> = [...inTime]
    if (position !== undefined) {
      const [sequence, index] = position.id.split(".").map(Number)
      conditions.push(
        // The first condition alone tells PostgreSQL which days it need not read.
        sql`created_at <= ${position.atMillis}`,
        sql`(created_at, sequence, idx) < (${position.atMillis}, ${sequence}, ${index}::int4)`
      )
    }
    const { rest, rows } = yield* pageRows(sql, options, conditions)
    const cursorAt = (place: EventPosition) =>
      cursors.encode(name, { atMillis: place.createdAt, id: encodePlace(place) })
    const { data, pagination } = pageOf(rows, limit, cursorAt)
    const further = rest === undefined ? pagination : { hasMore: true, nextCursor: cursorAt(rest) }
    const texts = data.map(({ body }) => body)
    if (!withTotal) return { data: texts, pagination: further }
    return { data: texts, pagination: { ...further, ...(yield* totalOf(sql, options, inTime)) } }
  })

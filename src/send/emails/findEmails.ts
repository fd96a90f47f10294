/**
 * Finds an owner's emails by their texts (docs/platform.md, 9.20): by the digests of terms in their rows, then by what
 * their contents say. Needs `SqlClient` and `MessageContents`.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { ListTotal } from "../../http/listTotal.ts"
import { countOf, maximumTotal } from "../../http/listTotal.ts"
import type { Position } from "../../http/PageCursors.ts"
import { type EmailSearch, isDecidedByTerms, matches, termsOfSearch } from "../search/searchTerms.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import type { ContentsUnavailable, MessageContents } from "./contents/MessageContents.ts"
import {
  beyond,
  type EmailFilter,
  type EmailPlace,
  type EmailRow,
  type EmailTimes,
  historyOf,
  isErased,
  listedIn,
  newestFirst,
  ofOwner,
  oldestFirst,
  rowsOf
} from "./emailRows.ts"
import { emailTermsTable } from "./searchTable.ts"
import { emailsTable } from "./table.ts"
import { arrayText } from "./writeTerms.ts"

/**
 * Newest rows that are looked at one by one, before the index of terms is: that would gather every email with a
 * frequent word.
 */
const newestRows = 500

/** Most contents that are read together, and those that one page reads. */
const maximumRead = 200
const maximumLooked = 2_000

export interface FindOptions extends EmailFilter, EmailTimes {
  readonly search: EmailSearch
}

export interface FoundEmails {
  readonly rows: ReadonlyArray<EmailRow>
  /** Where the search was given up, though there may be more. */
  readonly rest: Position | undefined
}

interface Services {
  readonly sql: SqlClient.SqlClient
  readonly contents: Pick<MessageContents["Service"], "digests" | "read">
}

/** The conditions on the digests of a row; undefined where nothing is kept for the organization. */
const termConditions = Effect.fnUntraced(function* (
  { contents, sql }: Services,
  owner: EmailOwner,
  search: EmailSearch
) {
  const groups = yield* Effect.forEach(termsOfSearch(search), (terms) => contents.digests(owner.organizationId, terms))
  if (groups.some(({ length }) => length === 0)) return undefined
  const all = groups.flatMap((group) => (group.length === 1 ? group : []))
  return [
    ...(all.length === 0 ? [] : [sql`terms @> ${arrayText(all)}::int4[]`]),
    ...groups.flatMap((group) => (group.length === 1 ? [] : [sql`terms && ${arrayText(group)}::int4[]`]))
  ]
})

/** The condition that an email of a row of terms `t` passes the other filters. */
const filtered = (sql: SqlClient.SqlClient, { domain, state }: EmailFilter): ReadonlyArray<Statement.Fragment> =>
  isFiltered({ domain, state })
    ? [
        sql`exists (select 1 from ${sql(emailsTable)} e where ${sql.and([
          sql`e.organization_id = t.organization_id`,
          sql`e.id = t.id`,
          ...(domain === undefined ? [] : [sql`e.domain = ${domain}`]),
          ...(state === undefined ? [] : [sql`e.state = ${state}`])
        ])})`
      ]
    : []

const isFiltered = ({ domain, state }: EmailFilter): boolean => domain !== undefined || state !== undefined

/** The first emails of the list without the search, with their terms. */
const listedTerms = (
  { sql }: Services,
  owner: EmailOwner,
  options: FindOptions,
  conditions: ReadonlyArray<Statement.Fragment>,
  isBefore: boolean,
  limit: number
): Statement.Fragment => {
  const order = sql.literal(isBefore ? oldestFirst : newestFirst)
  const terms = sql(emailTermsTable)
  if (!isFiltered(options))
    return sql`select accepted_at, id, terms from ${terms} where ${sql.and(conditions)} ${order} limit ${limit}`
  return sql`
    select accepted_at, id, terms from (${rowsOf(sql, options, conditions, isBefore, limit)}) listed
    join lateral (
      select accepted_at, terms from ${terms} t
      where ${ofOwner(sql, owner)} and accepted_at = listed."acceptedAt" and t.id = listed.id
    ) of_email on true`
}

interface Candidate extends EmailRow {
  /** How many emails of the list were looked at. */
  readonly looked: number
}

/** The rows of emails that have the terms, in the order of the list. */
const candidatesOf = (
  services: Services,
  owner: EmailOwner,
  options: FindOptions,
  terms: ReadonlyArray<Statement.Fragment>,
  place: EmailPlace
) => {
  const { sql } = services
  const { isBefore } = place
  const order = sql.literal(isBefore ? oldestFirst : newestFirst)
  const listed = [...listedIn(sql, owner, options), ...beyond(sql, place)]
  const rows = (looked: Statement.Fragment, found: Statement.Fragment, limit: number) =>
    Effect.map(
      // Planned each time: how many rows have a term is different for each.
      sql<Candidate>`
        with looked as materialized (${looked}), found as materialized (${found})
        select c.looked, e.id, e.state, e.accepted_at as "acceptedAt", e.scheduled_at as "scheduledAt", e.pointer, e.history
        from (select count(*)::int4 as looked from looked) c
        left join (
          select * from (select accepted_at, id from found ${order} limit ${limit}) f
          join ${sql(emailsTable)} using (accepted_at, id)
          where organization_id = ${owner.organizationId}
        ) e on true
        order by ${sql.literal(isBefore ? "e.accepted_at, e.id" : "e.accepted_at desc, e.id desc")}`.unprepared,
      (candidates) => ({
        looked: candidates[0]!.looked,
        // Nothing found is one row without an email.
        rows: candidates.filter(({ id }) => (id as string | null) !== null)
      })
    )
  const newest = listedTerms(services, owner, options, listed, isBefore, newestRows)
  const all = sql`
    select accepted_at, id from ${sql(emailTermsTable)} t
    where ${sql.and([...listed, ...terms, ...filtered(sql, options)])}`
  return Effect.fnUntraced(function* (limit: number) {
    const first = yield* rows(newest, sql`select accepted_at, id from looked where ${sql.and(terms)}`, limit)
    if (first.rows.length === limit || first.looked < newestRows) return first.rows
    return (yield* rows(sql`select 1 where false`, all, limit)).rows
  })
}

/** At most `limit` emails that a search means, in the order of the list. */
export const findEmails = Effect.fnUntraced(function* (
  services: Services,
  owner: EmailOwner,
  options: FindOptions,
  place: EmailPlace,
  limit: number
): Effect.fn.Return<FoundEmails, ContentsUnavailable | SqlError.SqlError> {
  const terms = yield* termConditions(services, owner, options.search)
  if (terms === undefined) return { rows: [], rest: undefined }
  const now = yield* Clock.currentTimeMillis
  const found: Array<EmailRow> = []
  let { position } = place
  let looked = 0
  for (let count = limit; ; count = Math.min(2 * count, maximumRead)) {
    const rows = yield* candidatesOf(services, owner, options, terms, { ...place, position })(count)
    const kept = rows.filter(({ history }) => !isErased(historyOf(history), now))
    const messages = yield* services.contents.read(
      owner.organizationId,
      kept.map(({ pointer }) => pointer)
    )
    for (const [index, row] of kept.entries()) {
      const message = messages[index]
      if (message != null && matches(message, options.search)) found.push(row)
      if (found.length === limit) return { rows: found, rest: undefined }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < count) return { rows: found, rest: undefined }
    position = { atMillis: last.acceptedAt, id: last.id }
    looked += rows.length
    if (looked >= maximumLooked) return { rows: found, rest: position }
  }
})

/** The number of emails that a search means, by their terms. */
export const countFound = Effect.fnUntraced(function* (
  services: Services,
  owner: EmailOwner,
  options: FindOptions
): Effect.fn.Return<{ readonly total: ListTotal }, ContentsUnavailable | SqlError.SqlError> {
  const { sql } = services
  const terms = yield* termConditions(services, owner, options.search)
  if (terms === undefined) return { total: { count: 0, isExact: true } }
  const listed = listedIn(sql, owner, options)
  const isExact = isDecidedByTerms(options.search)
  if (isFiltered(options)) {
    // A short list is counted email by email: the index of terms would gather every email with a frequent word.
    const [counted] = yield* sql<{ readonly looked: number; readonly count: number }>`
      with looked as materialized (${listedTerms(services, owner, options, listed, false, maximumTotal)})
      select count(*)::int4 as looked, (count(*) filter (where ${sql.and(terms)}))::int4 as count from looked`
      .unprepared
    if (counted!.looked < maximumTotal) return { total: { count: counted!.count, isExact } }
  }
  const conditions = sql.and([...listed, ...terms, ...filtered(sql, options)])
  const { total } = yield* countOf(
    sql,
    sql`select 1 from ${sql(emailTermsTable)} t where ${conditions} limit ${maximumTotal + 1}`
  )
  return { total: { count: total.count, isExact: total.isExact && isExact } }
})

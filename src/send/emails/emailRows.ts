/**
 * Reads rows of emails (docs/platform.md, 9.11): pages of an owner's list by state, domain and time, and their number.
 * Needs `SqlClient`.
 */
import type { SqlClient, Statement } from "effect/sql"
import { maximumTotal } from "../../http/listTotal.ts"
import type { Position } from "../../http/PageCursors.ts"
import { lastStates, type ShownState, shownStates } from "../rules/emailStates.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import { keptContentMillis } from "./contents/limits.ts"
import type { HistoryEntry } from "./emailDetails.ts"
import { emailsTable } from "./table.ts"

/** The emails that a list has. */
export interface EmailFilter {
  /** Emails in this state alone. */
  readonly state?: ShownState | undefined
  /** Emails of senders of this domain alone, in lower case. */
  readonly domain?: string | undefined
}

/** The row of an email. */
export interface EmailRow {
  readonly id: string
  readonly state: ShownState
  readonly acceptedAt: number
  readonly scheduledAt: number | null
  readonly pointer: string
  readonly history: string
}

/** The history in a row. */
export const historyOf = (lines: string): ReadonlyArray<HistoryEntry> =>
  lines.split("\n").map((line) => {
    // The projection has written it.
    const [state, at, recipient] = JSON.parse(line) as [ShownState, number, string?]
    return recipient === undefined ? { state, at } : { state, at, recipient }
  })

/** Whether the time of the content is over, though the stream may have it for longer. */
export const isErased = (history: ReadonlyArray<HistoryEntry>, now: number): boolean => {
  const end = history.find(({ state }) => lastStates.has(state))
  return end !== undefined && now >= end.at + keptContentMillis
}

export const columnsOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`id, state, accepted_at as "acceptedAt", scheduled_at as "scheduledAt", pointer, history`)

export const ofOwner = (sql: SqlClient.SqlClient, { mode, organizationId }: EmailOwner) =>
  sql`organization_id = ${organizationId} and mode = ${mode}`

/** The emails of an owner's list, by when they were accepted. */
export interface EmailTimes {
  /** Unix milliseconds: inclusive. */
  readonly since?: number | undefined
  /** The same, exclusive. */
  readonly until?: number | undefined
}

/** The beginning of a page, and whether it goes towards newer emails. */
export interface EmailPlace {
  readonly position: Position | undefined
  readonly isBefore: boolean
}

/** The conditions of an owner's emails in a time, for tables of emails and of their terms. */
export const listedIn = (
  sql: SqlClient.SqlClient,
  owner: EmailOwner,
  { since, until }: EmailTimes
): ReadonlyArray<Statement.Fragment> => [
  ofOwner(sql, owner),
  ...(since === undefined ? [] : [sql`accepted_at >= ${since}`]),
  ...(until === undefined ? [] : [sql`accepted_at < ${until}`])
]

/** The condition of the emails beyond a place, if there is one. */
export const beyond = (
  sql: SqlClient.SqlClient,
  { isBefore, position }: EmailPlace
): ReadonlyArray<Statement.Fragment> => {
  const place = position && sql`(${position.atMillis}::int8, ${position.id}::text)`
  if (place === undefined) return []
  return [isBefore ? sql`(accepted_at, id) > ${place}` : sql`(accepted_at, id) < ${place}`]
}

export const newestFirst = "order by accepted_at desc, id desc"
export const oldestFirst = "order by accepted_at, id"

/**
 * The rows of a list. A filter has an index in the order of the list: for a domain the states are branches of it, whose
 * first emails are merged.
 */
export const rowsOf = (
  sql: SqlClient.SqlClient,
  { domain, state }: EmailFilter,
  conditions: ReadonlyArray<Statement.Fragment>,
  isBefore: boolean,
  limit: number
) => {
  const order = sql.literal(isBefore ? oldestFirst : newestFirst)
  const table = sql(emailsTable)
  if (domain === undefined) {
    const wanted = state === undefined ? [] : [sql`state = ${state}`]
    return sql<EmailRow>`
      select ${columnsOf(sql)} from ${table} where ${sql.and([...conditions, ...wanted])} ${order} limit ${limit}`
  }
  const branch = [...conditions, sql`domain = ${domain}`, sql`state = wanted.named`]
  return sql<EmailRow>`
    select id, state, accepted_at as "acceptedAt", scheduled_at as "scheduledAt", pointer, history
    from unnest(${state === undefined ? [...shownStates] : [state]}::text[]) wanted(named)
    cross join lateral (
      select * from ${table} where ${sql.and(branch)} ${order} limit ${limit}
    ) found
    ${order} limit ${limit}`
}

/** The rows that a total counts, in any order. */
export const countedOf = (
  sql: SqlClient.SqlClient,
  { domain, state }: EmailFilter,
  conditions: ReadonlyArray<Statement.Fragment>
) => {
  const wanted = [
    ...conditions,
    ...(domain === undefined ? [] : [sql`domain = ${domain}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`])
  ]
  return sql`select 1 from ${sql(emailsTable)} where ${sql.and(wanted)} limit ${maximumTotal + 1}`
}

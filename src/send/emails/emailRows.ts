/**
 * Reads rows of emails (docs/platform.md, 9.11): pages of an owner's list by state, domain and time, and their number.
 * Needs `SqlClient`.
 */
import type { SqlClient, Statement } from "effect/sql"
import { maximumTotal } from "../../http/listTotal.ts"
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

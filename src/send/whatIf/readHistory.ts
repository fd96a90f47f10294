/**
 * Reads the history of an account (docs/what-if.md) from the rows of its emails, the facts of the account that are
 * kept, and the refused requests of the request log. Needs `SqlClient`.
 */
import { Data, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { requestsTable } from "../../platform/requests/requestsTable.ts"
import type { Mode } from "../account/actors/index.ts"
import type { ShownFact } from "../account/operator/accountFacts.ts"
import type { EmailOwner } from "../emails/AcceptEmails.ts"
import { historyOf } from "../emails/emailRows.ts"
import type { RefusedSend } from "../emails/refusedSend.ts"
import { emailsTable } from "../emails/table.ts"
import { dayMillis, hourMillis } from "../limits.ts"
import { type AccountFact, type AccountState, evolve } from "../rules/account.ts"
import type { EmailOutcome, PastAct, PastEmail, PastEntry, PastRequest } from "./sendHistory.ts"

/** Most emails of a history that is decided again, for the memory and the time that it takes. */
export const maximumPastEmails = 200_000

const pageSize = 5_000

/** The account has more emails in the time than are decided again. Terminal. See {@link WhatIf}. */
export class HistoryTooLong extends Data.TaggedError("HistoryTooLong")<{ readonly message: string }> {}

/** An account's history, and what is not known of it. */
export interface ReadHistory {
  readonly entries: ReadonlyArray<PastEntry>
  /** From when on it is decided again, Unix milliseconds: before the time that was asked for. */
  readonly from: number
  /** The account as it was then, by its facts; undefined if they do not reach back so far. */
  readonly account: AccountState | undefined
  /** The pauses that there were, from `since` on. */
  readonly pauses: ReadonlyArray<{ readonly at: number; readonly reason: string }>
  /** Refused requests that the request log has counted without keeping each of them. */
  readonly sampled: number
  /** From when on refused requests are known; null if none is. */
  readonly refusedSince: number | null
}

interface EmailRow {
  readonly id: string
  readonly accepted_at: number
  readonly domain: string | null
  readonly scheduled_at: number | null
  readonly history: string
}

const outcomeOf = { sent: "handedOver", bounced: "bounced", complained: "complained" } as const

/** Reports of an email, each kind once, by the time after it was free to go. */
export const outcomesOf = ({
  accepted_at,
  history,
  scheduled_at
}: Pick<EmailRow, "accepted_at" | "history" | "scheduled_at">): ReadonlyArray<EmailOutcome> => {
  const lines = historyOf(history)
  const wasHeld = lines.some(({ state }) => state === "held")
  // The hand-off takes held mail as soon as it is released.
  const taken = lines.find(({ state }) => state === "sending")?.at
  const free = wasHeld ? (taken ?? accepted_at) : Math.max(accepted_at, scheduled_at ?? accepted_at)
  const found = new Map<EmailOutcome["what"], number>()
  for (const { at, state } of lines) {
    const what = outcomeOf[state as keyof typeof outcomeOf]
    if (what === undefined || found.has(what)) continue
    // A report about a recipient counts the email as handed over, if nothing has before.
    if (what !== "handedOver" && !found.has("handedOver")) found.set("handedOver", at)
    found.set(what, at)
  }
  return [...found].map(([what, at]) => ({ what, afterMillis: Math.max(0, at - free) }))
}

/** Whether all recipients were suppressed, so that the email was counted nowhere. */
const isUncounted = (history: string): boolean => historyOf(history)[0]?.state === "suppressed"

const emailOf = (row: EmailRow): PastEmail => ({
  id: row.id,
  sender: row.domain ?? "",
  scheduledAt: row.scheduled_at === null ? null : Number(row.scheduled_at),
  outcomes: outcomesOf({ ...row, accepted_at: Number(row.accepted_at) })
})

/** The accepted requests: emails of one moment were one request. Signals are known by the account's facts. */
export const requestsOf = (
  rows: ReadonlyArray<EmailRow>,
  signals: ReadonlyMap<number, number>
): ReadonlyArray<PastRequest> => {
  const byTime = new Map<number, Array<PastEmail>>()
  for (const row of rows) {
    if (isUncounted(row.history)) continue
    const at = Number(row.accepted_at)
    const emails = byTime.get(at)
    if (emails === undefined) byTime.set(at, [emailOf(row)])
    else emails.push(emailOf(row))
  }
  return [...byTime].map(([at, emails]) => ({
    _tag: "Request",
    at,
    emails,
    signals: signals.get(at) ?? 0,
    answer: "accepted"
  }))
}

interface RefusedRow {
  readonly id: string
  readonly at: number
  readonly count: number
  readonly facts: RefusedSend
}

/**
 * The refused requests. The log names senders by digests, so their emails are taken to be of the sender that sends
 * most: refusals do not depend on it.
 */
export const refusalsOf = (rows: ReadonlyArray<RefusedRow>, sender: string): ReadonlyArray<PastRequest> =>
  rows.map(({ at, facts: { code, recipients }, id }) => ({
    _tag: "Request",
    at: Number(at),
    emails: recipients.map((_, index) => ({
      id: `${id} ${index}`,
      sender,
      scheduledAt: null,
      outcomes: undefined
    })),
    signals: 0,
    answer: code
  }))

const actTags = ["Began", "Lifted", "RiskSet", "PlanSet", "LimitsSet", "Reset"] as const
const isAct = (fact: ShownFact): fact is PastAct["fact"] => (actTags as ReadonlyArray<string>).includes(fact._tag)

/** The account as its facts have made it; undefined if they do not tell how it began. */
const accountBy = (facts: ReadonlyArray<ShownFact>, initial: AccountState): AccountState | undefined => {
  const begun = facts.findLastIndex(({ _tag }) => _tag === "Began")
  if (begun === -1) return undefined
  return facts.slice(begun).reduce<AccountState>(
    (state, fact) =>
      // Counts of emails come from the emails; the facts alone do not have all of them.
      fact._tag === "Accepted" || fact._tag === "Closed" || fact._tag === "Reset"
        ? state
        : evolve(state, fact as AccountFact),
    initial
  )
}

const mostFrequent = (rows: ReadonlyArray<EmailRow>): string => {
  const counts = new Map<string, number>()
  for (const { domain } of rows) if (domain !== null) counts.set(domain, (counts.get(domain) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? ""
}

/** The account and the time that is asked for. `initial` has the plan and limits of an account without facts. */
export interface HistoryAsked {
  readonly owner: EmailOwner & { readonly mode: Mode }
  readonly since: number
  readonly until: number
  readonly initial: AccountState
}

/** The beginning of the month, a day before, or that of the probation: what the first decisions look back at. */
const beginningOf = (
  facts: ReadonlyArray<{ readonly at: number; readonly fact: ShownFact }>,
  since: number
): number => {
  const date = new Date(since)
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  const usual = Math.min(month, since - dayMillis - hourMillis)
  const begun = facts.findLast(({ at, fact }) => at <= usual && (fact._tag === "Began" || fact._tag === "Lifted"))
  const isOver = facts.some(({ at, fact }) => at <= usual && at > (begun?.at ?? 0) && fact._tag === "Established")
  return begun === undefined || isOver ? usual : begun.at
}

const readEmails = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { owner: { mode, organizationId }, until }: HistoryAsked,
  from: number
) {
  const rows: Array<EmailRow> = []
  let after = sql`(${from}::int8, ''::text)`
  while (true) {
    const page: ReadonlyArray<EmailRow> = yield* sql<EmailRow>`
      select id, accepted_at, domain, scheduled_at, history from ${sql(emailsTable)}
      where organization_id = ${organizationId} and mode = ${mode} and accepted_at < ${until}
        and (accepted_at, id) > ${after}
      order by accepted_at, id limit ${pageSize}`
    for (const row of page) rows.push(row)
    if (rows.length > maximumPastEmails)
      return yield* new HistoryTooLong({
        message: `The account has more than ${maximumPastEmails} emails from ${new Date(from).toISOString()} on. Ask for a shorter time`
      })
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return rows
    after = sql`(${last.accepted_at}::int8, ${last.id}::text)`
  }
})

export const readHistory = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  asked: HistoryAsked
): Effect.fn.Return<ReadHistory, SqlError.SqlError | HistoryTooLong> {
  const { initial, owner, since, until } = asked
  const { mode, organizationId } = owner
  const rows = yield* sql<{ readonly decided_at: number; readonly fact: string }>`
    select decided_at, fact from send_account_facts
    where organization_id = ${organizationId} and mode = ${mode} and decided_at < ${until}
    order by decided_at, sequence, idx`
  // The projection has written them.
  const facts = rows.map(({ decided_at, fact }) => ({ at: Number(decided_at), fact: JSON.parse(fact) as ShownFact }))
  const from = beginningOf(facts, since)
  const emails = yield* readEmails(sql, asked, from)
  const refused = yield* sql<RefusedRow>`
    select id, at, count, facts from ${sql(requestsTable)}
    where organization_id = ${organizationId} and at >= ${from} and at < ${until} and status >= 400
      and facts ->> 'kind' = 'send.refused' and facts ->> 'account' = ${mode}
    order by at, id limit ${maximumPastEmails}`
  const signals = new Map<number, number>()
  for (const { at, fact } of facts) if (fact._tag === "Accepted") signals.set(at, (signals.get(at) ?? 0) + fact.signals)
  const acts = facts.flatMap(({ at, fact }): ReadonlyArray<PastAct> => {
    return at >= from && isAct(fact) ? [{ _tag: "Act", at, fact }] : []
  })
  const entries = [...acts, ...requestsOf(emails, signals), ...refusalsOf(refused, mostFrequent(emails))]
  const past = facts.filter(({ at }) => at < from).map(({ fact }) => fact)
  const begins = acts.some(({ fact }) => fact._tag === "Began")
  return {
    // Stable: an act stands before a request of its millisecond, as the beginning does before the first.
    entries: entries.sort((one, other) => one.at - other.at),
    from,
    account: accountBy(past, initial) ?? (begins ? initial : undefined),
    pauses: facts.flatMap(({ at, fact }) =>
      fact._tag === "Paused" && at >= since ? [{ at, reason: fact.reason }] : []
    ),
    sampled: refused.reduce((sum, { count }) => sum + count - 1, 0),
    refusedSince: refused.length === 0 ? null : Number(refused[0]!.at)
  }
})

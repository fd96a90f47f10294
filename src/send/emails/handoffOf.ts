/** What the other side answered about an email (docs/platform.md, 9.11): the events that tell of it, and the hand-off that goes on. Needs `SqlClient`. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { eventsTable } from "../../events/index.ts"
import { emailJobId } from "../handoff/jobs.ts"
import { sendJobsTable } from "../handoff/tables.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import type { HistoryEntry } from "./Emails.ts"

/** What an answer says. */
export interface HandoffAnswerShown {
  /** Status code, such as 5.1.1. */
  readonly code: string | null
  /** Kind of bounce, complaint or failure. */
  readonly kind: string | null
  /** Words of the other side, or what went wrong. */
  readonly reason: string | null
}

/** A hand-off that goes on. */
export interface EmailHandoff {
  readonly attempts: number
  /** Unix milliseconds; null while nobody knows. */
  readonly nextAttemptAt: number | null
  readonly lastAnswer: string | null
}

/** Most moments of a history whose events are looked for. */
const maximumMoments = 100

const told: Readonly<Record<string, string>> = {
  sent: "send.email.sent",
  delivered: "send.email.delivered",
  bounced: "send.email.bounced",
  complained: "send.email.complained",
  failed: "send.email.failed"
}

interface Data extends Partial<HandoffAnswerShown> {
  readonly messageId?: string
  readonly recipient?: string
}

/** The history with what the events of the same decisions say. Events are kept for less time than emails may wait, so some may be without. */
export const withAnswers = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { organizationId }: EmailOwner,
  id: string,
  history: ReadonlyArray<HistoryEntry>
): Effect.fn.Return<ReadonlyArray<HistoryEntry>, SqlError.SqlError> {
  const moments = history.filter(({ state }) => told[state] !== undefined).map(({ at }) => at)
  if (moments.length === 0) return history
  // A fact and its event are of one decision, and so of one moment.
  const rows = yield* sql<{ readonly type: string; readonly at: number; readonly body: string }>`
    select type, created_at as at, body from ${sql(eventsTable)}
    where organization_id = ${organizationId} and created_at = any(${moments.slice(-maximumMoments)}::int8[])
      and type = any(${Object.values(told)}::text[]) and position(${`"messageId":${JSON.stringify(id)}`} in body) > 0`
  // By its text, because PostgreSQL reads no JSON with U+0000 or half a surrogate pair in it. The event log has written it.
  const events = rows
    .map(({ at, body, type }) => ({ at: Number(at), type, data: (JSON.parse(body) as { readonly data: Data }).data }))
    .filter(({ data }) => data.messageId === id)
  return history.map((entry) => {
    const event = events.find(
      ({ at, data, type }) =>
        at === entry.at &&
        type === told[entry.state] &&
        (entry.recipient === undefined || data.recipient === entry.recipient)
    )
    if (event === undefined) return entry
    const { code = null, kind = null, reason = null } = event.data
    return code === null && kind === null && reason === null ? entry : { ...entry, code, kind, reason }
  })
})

/** The job of an email in the queue of the hand-off. */
export const handoffOf = (
  sql: SqlClient.SqlClient,
  { organizationId }: EmailOwner,
  id: string
): Effect.Effect<EmailHandoff | null, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly attempts: number; readonly dueAt: number | null; readonly error: string | null }>`
      select attempts, due_at as "dueAt", error from ${sql(sendJobsTable)} where id = ${emailJobId(organizationId, id)}`,
    ([row]) =>
      row === undefined
        ? null
        : {
            attempts: row.attempts,
            nextAttemptAt: row.dueAt === null ? null : Number(row.dueAt),
            lastAnswer: row.error
          }
  )

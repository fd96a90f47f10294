/**
 * Reads the receiving side's answers about an email (docs/platform.md, 9.11): its events, and the hand-off in progress.
 * Needs `SqlClient`.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Engine } from "../../engine/Engine.ts"
import { eventsTable } from "../../events/index.ts"
import { partsOfSender, senderKey } from "../account/actors/actorKeys.ts"
import { SendEmail, SendSender } from "../account/actors/index.ts"
import { capOf } from "../account/actors/senderRules.ts"
import { emailJobId } from "../handoff/jobs.ts"
import { sendJobsTable } from "../handoff/tables.ts"
import { eventOfState, type ShownState } from "../rules/emailStates.ts"
import { heldUntil } from "../rules/hold.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import type { holdReasons } from "./forms.ts"

/** The content of an answer. */
export interface HandoffAnswerShown {
  /** Status code, such as 5.1.1. */
  readonly code: string | null
  /** Kind of bounce, complaint or failure. */
  readonly kind: string | null
  /** Words of the other side, or what went wrong. */
  readonly reason: string | null
}

/** Something that happened to an email, in Unix milliseconds. */
export interface HistoryEntry extends Partial<HandoffAnswerShown> {
  readonly state: ShownState
  readonly at: number
  readonly recipient?: string
}

/** A hand-off in progress. */
export interface EmailHandoff {
  readonly attempts: number
  /** Unix milliseconds; null while it is unknown. */
  readonly nextAttemptAt: number | null
  readonly lastAnswer: string | null
}

/** Most moments of a history whose events are looked for. */
const maximumMoments = 100

interface Data extends Partial<HandoffAnswerShown> {
  readonly messageId?: string
  readonly recipient?: string
}

/**
 * The history with what the events of the same decisions say. Events are kept for less time than emails may wait, so
 * some may be without.
 */
export const withAnswers = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { organizationId }: EmailOwner,
  id: string,
  history: ReadonlyArray<HistoryEntry>
): Effect.fn.Return<ReadonlyArray<HistoryEntry>, SqlError.SqlError> {
  const moments = history.filter(({ state }) => eventOfState.has(state)).map(({ at }) => at)
  if (moments.length === 0) return history
  // A fact and its event are of one decision, and so of one moment.
  const rows = yield* sql<{ readonly type: string; readonly at: number; readonly body: string }>`
    select type, created_at as at, body from ${sql(eventsTable)}
    where organization_id = ${organizationId} and created_at = any(${moments.slice(-maximumMoments)}::int8[])
      and type = any(${[...eventOfState.values()]}::text[]) and position(${`"messageId":${JSON.stringify(id)}`} in body) > 0`
  // By its text, because PostgreSQL reads no JSON with U+0000 or half a surrogate pair in it. The event log has written
  // it.
  const events = rows
    .map(({ at, body, type }) => ({ at: Number(at), type, data: (JSON.parse(body) as { readonly data: Data }).data }))
    .filter(({ data }) => data.messageId === id)
  return history.map((entry) => {
    const event = events.find(
      ({ at, data, type }) =>
        at === entry.at &&
        type === eventOfState.get(entry.state) &&
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

export interface EmailHold {
  readonly reason: (typeof holdReasons)[number]
  /** The domain or address in whose queue it waits. */
  readonly sender: string
  /** Unix milliseconds, an upper bound; null if it is unknown. */
  readonly until: number | null
}

/** Emails whose actors are asked together. */
const asksAtOnce = 16

interface Means {
  readonly engine: Engine["Service"]
  readonly sql: SqlClient.SqlClient
}

interface Waiting {
  readonly id: string
  /** The key of the sender's actor. */
  readonly sender: string
  readonly place: number
}

/**
 * Finds the places of held emails by their rows, and by their actors if a row is missing still: rows follow a moment
 * later, and a read after one's own write must see the email.
 */
const waitingOf = Effect.fnUntraced(function* (
  { engine, sql }: Means,
  organization: string,
  ids: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<Waiting>, SqlError.SqlError> {
  const rows = yield* sql<Waiting>`
    select email_id as id, sender, place from send_waiting
    where organization_id = ${organization} and email_id = any(${ids}::text[]) and place is not null`
  const found = new Set(rows.map(({ id }) => id))
  const others = yield* Effect.forEach(
    ids.filter((id) => !found.has(id)),
    (id) =>
      Effect.map(Effect.option(engine.state(SendEmail, { organization, key: id })), (email): ReadonlyArray<Waiting> => {
        if (email._tag === "None" || email.value.state !== "held" || email.value.place === null) return []
        const { mode, place, sender } = email.value
        return [{ id, place, sender: senderKey(mode, sender) }]
      }),
    { concurrency: asksAtOnce }
  )
  return [...rows, ...others.flat()]
})

/** The held emails whose sender answers. */
export const holdsOf = Effect.fnUntraced(function* (
  means: Means,
  { organizationId }: EmailOwner,
  emails: ReadonlyArray<{ readonly id: string; readonly state: ShownState }>
): Effect.fn.Return<ReadonlyMap<string, EmailHold>, SqlError.SqlError> {
  const ids = emails.filter(({ state }) => state === "held").map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const rows = yield* waitingOf(means, organizationId, ids)
  const now = yield* Clock.currentTimeMillis
  const holds = new Map<string, EmailHold>()
  for (const key of new Set(rows.map(({ sender }) => sender))) {
    // Another process may have the sender: then the list goes without.
    const state = yield* Effect.option(means.engine.state(SendSender, { organization: organizationId, key }))
    if (state._tag === "None") continue
    const cap = capOf(state.value)
    for (const { id, place, sender } of rows) {
      if (sender !== key) continue
      const until = heldUntil(state.value.holds, Math.max(0, Number(place) - state.value.holds.head), cap, now)
      holds.set(id, {
        reason: state.value.holds.paused ? "sending_paused" : "daily_cap",
        sender: partsOfSender(sender)[1],
        until
      })
    }
  }
  return holds
})

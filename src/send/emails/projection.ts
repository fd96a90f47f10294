/**
 * Keeps the rows of emails, as part of the SQL reactor's batch (docs/platform.md, 9.11), and the figures that count them
 * (9.19) and find them (9.20). All changes of an email in a batch are one row of a statement. The same records give the same rows. Needs
 * `SqlClient`, `DayPartitions` and `AcceptedTerms`.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { keptFiguresMillis } from "../../common/figuresPeriod.ts"
import * as Reactor from "../../engine/Reactor.ts"
import { deferredPlanned } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { type EmailFact, type Mode, SendEmail } from "../account/actors/index.ts"
import { type CountedEmail, countEmails } from "../metrics/countEmails.ts"
import { addEmailHours } from "../metrics/emailHours.ts"
import { domainOf } from "../rules/domainKey.ts"
import { emailsTable } from "./table.ts"
import { writeTerms } from "./writeTerms.ts"

/** A row's history stays below this, however many recipients are reported of. */
const maximumHistoryLength = 32_768

/** The state after a fact, as rows name it. */
const stateOf = (fact: EmailFact): string => {
  switch (fact._tag) {
    case "Accepted":
      return fact.state
    case "Rescheduled":
      return "scheduled"
    case "Dispatched":
      return "sending"
    case "HandedOver":
      return "sent"
    default:
      return fact._tag.toLowerCase()
  }
}

const lineOf = (fact: EmailFact): string =>
  JSON.stringify("recipient" in fact ? [stateOf(fact), fact.at, fact.recipient] : [stateOf(fact), fact.at])

/** A recipient's report outweighs a report on the whole email, and a worse one a better one. */
const weights: Readonly<Record<string, number>> = { sending: 0, sent: 1, delivered: 2, bounced: 3, complained: 3 }

/** The state after a fact, which may come behind one that says more (docs/send.md, 3.2). */
const stateAfter = (before: string, fact: EmailFact): string => {
  const state = stateOf(fact)
  return (weights[before] ?? 0) > (weights[state] ?? Number.POSITIVE_INFINITY) ? before : state
}

/** The changes of one email in a batch. */
interface Change {
  readonly organization_id: string
  readonly id: string
  /** Undefined where it was accepted before. */
  accepted: Extract<EmailFact, { readonly _tag: "Accepted" }> | undefined
  /** The domain of its sender, with its acceptance. */
  domain: string
  state: string
  scheduled_at: number | null
  sequence: number
  lines: Array<string>
  readonly reached: Array<{ readonly state: string; readonly at: number }>
  /** Whether a recipient's report is among them, which may come again for the next recipient. */
  isReported: boolean
  isForgotten: boolean
}

/** A change that has its email's acceptance. */
interface AcceptedChange extends Change {
  readonly accepted: NonNullable<Change["accepted"]>
}

const isAccepted = (change: Change): change is AcceptedChange => change.accepted !== undefined

const nameOf = ({ id, organization_id }: Pick<Change, "id" | "organization_id">): string => `${organization_id}\n${id}`

const changesOf = (records: ReadonlyArray<Reactor.FactOf<EmailFact>>): ReadonlyArray<Change> => {
  const changes = new Map<string, Change>()
  for (const { fact, key: id, organization: organization_id, sequence } of records) {
    // It stays what it is, so there is nothing to show.
    if (fact._tag === "Delayed") continue
    const name = nameOf({ organization_id, id })
    const change: Change = changes.get(name) ?? {
      organization_id,
      id,
      accepted: undefined,
      domain: "",
      state: "",
      scheduled_at: null,
      sequence,
      lines: [],
      reached: [],
      isReported: false,
      isForgotten: false
    }
    changes.set(name, change)
    change.sequence = sequence
    if (fact._tag === "Forgotten") {
      change.isForgotten = true
      continue
    }
    change.state = stateAfter(change.state, fact)
    change.lines.push(lineOf(fact))
    change.reached.push({ state: stateOf(fact), at: fact.at })
    if ("recipient" in fact) change.isReported = true
    if (fact._tag === "Accepted") {
      change.accepted = fact
      change.domain = domainOf(fact.sender)
    }
    if (fact._tag === "Accepted" || fact._tag === "Rescheduled") change.scheduled_at = fact.scheduledAt
  }
  return [...changes.values()]
}

const columns = { organization_id: "text", id: "text", state: "text", scheduled_at: "int8", sequence: "int8" } as const

const insert = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, changes: ReadonlyArray<AcceptedChange>) {
  // A log that was restored from an older copy than this database may bring a fact a second time. So the answer says
  // how many rows are new, and which only where some are not.
  const [written] = yield* sql<{ readonly count: number; readonly ids: ReadonlyArray<string> | null }>`
    with written as (
      insert into ${sql(emailsTable)}
        (organization_id, id, state, scheduled_at, sequence, mode, accepted_at, pointer, domain, history)
      select * from ${unnest(
        changes.map(({ accepted, lines, ...change }) => ({
          ...change,
          mode: accepted.mode,
          accepted_at: accepted.at,
          pointer: accepted.pointer,
          history: lines.join("\n")
        })),
        { ...columns, mode: "text", accepted_at: "int8", pointer: "text", domain: "text", history: "text" }
      )}
      on conflict do nothing
      returning organization_id, id
    )
    select count(*)::int4 as count, case when count(*) < ${changes.length}::int8
      then array_agg(organization_id || E'\n' || id) end as ids
    from written`
  const isNew = new Set(written!.ids)
  const added = written!.count === changes.length ? changes : changes.filter((change) => isNew.has(nameOf(change)))
  return added.map(
    ({ accepted, domain, organization_id, reached, scheduled_at }): CountedEmail => ({
      organization: organization_id,
      mode: accepted.mode,
      domain,
      acceptedAt: accepted.at,
      scheduledAt: scheduled_at,
      isNew: true,
      before: [],
      reached
    })
  )
})

/** The row of an email that has changed. */
interface ChangedRow {
  /** The place of its change in the batch: names of thousands of emails would cost more than the rest of their rows. */
  readonly index: number
  readonly mode: Mode
  readonly domain: string | null
  readonly acceptedAt: number
  readonly scheduledAt: number | null
  /** Null where nothing that happened now can have happened before. */
  readonly history: string | null
}

/** The states of an email before a batch, by its history after it. A history that is full has not grown. */
const statesBefore = (history: string | null, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (history === null) return []
  const grown = `\n${lines.join("\n")}`
  const before = history.endsWith(grown) ? history.slice(0, -grown.length) : history
  // The projection has written the lines, each of which begins with its state.
  return before.split("\n").map((line) => line.slice(2, line.indexOf('"', 2)))
}

const update = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, changes: ReadonlyArray<Change>) {
  const rows = yield* sql<ChangedRow>`
    update ${sql(emailsTable)} e
    set state = case
        when batch.state = 'sent' and e.state in ('delivered', 'bounced', 'complained') then e.state
        when batch.state = 'delivered' and e.state in ('bounced', 'complained') then e.state
        else batch.state end,
      scheduled_at = coalesce(batch.scheduled_at, e.scheduled_at), sequence = batch.sequence,
      history = case when length(e.history) < ${maximumHistoryLength}::int4
        then e.history || E'\n' || batch.history else e.history end
    from ${unnest(
      changes.map(({ isReported, lines, ...change }, index) => ({
        ...change,
        history: lines.join("\n"),
        is_reported: isReported,
        index
      })),
      { ...columns, history: "text", is_reported: "bool", index: "int4" }
    )}
    where e.organization_id = batch.organization_id and e.id = batch.id and e.sequence < batch.sequence
    returning batch.index, e.mode, e.domain, e.accepted_at as "acceptedAt", e.scheduled_at as "scheduledAt",
      case when batch.is_reported or e.state <> batch.state then e.history end as history`.unprepared
  return rows.map(({ acceptedAt, domain, history, index, mode, scheduledAt }): CountedEmail => {
    const { lines, organization_id, reached } = changes[index]!
    return {
      organization: organization_id,
      mode,
      domain: domain ?? "",
      acceptedAt,
      scheduledAt,
      isNew: false,
      before: statesBefore(history, lines),
      reached
    }
  })
})

const remove = (sql: SqlClient.SqlClient, changes: ReadonlyArray<Change>) =>
  deferredPlanned(
    sql,
    sql`
      delete from ${sql(emailsTable)} e using ${unnest(changes, { organization_id: "text", id: "text" })}
      where e.organization_id = batch.organization_id and e.id = batch.id`
  )

/** The part of the SQL reactor that keeps emails' rows. */
export const emailsProjection = Reactor.facts(
  SendEmail,
  Effect.fnUntraced(function* (records) {
    const sql = yield* SqlClient.SqlClient
    const changes = changesOf(records)
    const forgotten = changes.filter(({ isForgotten }) => isForgotten)
    const kept = changes.filter(({ isForgotten }) => !isForgotten)
    const accepted = kept.filter(isAccepted)
    const changed = kept.filter((change) => !isAccepted(change))
    const counted: Array<CountedEmail> = []
    if (accepted.length > 0) {
      counted.push(...(yield* insert(sql, accepted)))
      yield* writeTerms(
        accepted.map(({ accepted: { at, mode }, id, organization_id }) => ({
          organization_id,
          id,
          mode,
          accepted_at: at
        }))
      )
    }
    if (changed.length > 0) counted.push(...(yield* update(sql, changed)))
    if (forgotten.length > 0) yield* remove(sql, forgotten)
    const now = yield* Clock.currentTimeMillis
    yield* addEmailHours(sql, countEmails(counted, now - keptFiguresMillis))
  })
)

/**
 * Keeps the rows of emails, as part of the SQL reactor's batch (docs/platform.md, 9.11). All changes of an email in a
 * batch are one row of a statement. The same records give the same rows. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../../engine/Reactor.ts"
import { deferred, deferredPlanned } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { type EmailFact, SendEmail } from "../account/actors/index.ts"
import { domainOf } from "../rules/domainKey.ts"
import { emailsTable } from "./table.ts"

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
  state: string
  scheduled_at: number | null
  sequence: number
  lines: Array<string>
  isForgotten: boolean
}

const changesOf = (records: ReadonlyArray<Reactor.FactOf<EmailFact>>): ReadonlyArray<Change> => {
  const changes = new Map<string, Change>()
  for (const { fact, key: id, organization: organization_id, sequence } of records) {
    // It stays what it is, so there is nothing to show.
    if (fact._tag === "Delayed") continue
    const name = `${organization_id}\n${id}`
    const change: Change = changes.get(name) ?? {
      organization_id,
      id,
      accepted: undefined,
      state: "",
      scheduled_at: null,
      sequence,
      lines: [],
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
    if (fact._tag === "Accepted") change.accepted = fact
    if (fact._tag === "Accepted" || fact._tag === "Rescheduled") change.scheduled_at = fact.scheduledAt
  }
  return [...changes.values()]
}

const columns = { organization_id: "text", id: "text", state: "text", scheduled_at: "int8", sequence: "int8" } as const

const insert = (sql: SqlClient.SqlClient, changes: ReadonlyArray<Change>) =>
  deferred(
    sql,
    // A log that was restored from an older copy than this database may bring a fact a second time.
    sql`
      insert into ${sql(emailsTable)}
        (organization_id, id, state, scheduled_at, sequence, mode, accepted_at, pointer, domain, history)
      select * from ${unnest(
        changes.map(({ accepted, lines, ...change }) => ({
          ...change,
          mode: accepted?.mode,
          accepted_at: accepted?.at,
          pointer: accepted?.pointer,
          domain: accepted === undefined ? undefined : domainOf(accepted.sender),
          history: lines.join("\n")
        })),
        { ...columns, mode: "text", accepted_at: "int8", pointer: "text", domain: "text", history: "text" }
      )}
      on conflict do nothing`
  )

const update = (sql: SqlClient.SqlClient, changes: ReadonlyArray<Change>) =>
  deferredPlanned(
    sql,
    sql`
      update ${sql(emailsTable)} e
      set state = case
          when batch.state = 'sent' and e.state in ('delivered', 'bounced', 'complained') then e.state
          when batch.state = 'delivered' and e.state in ('bounced', 'complained') then e.state
          else batch.state end,
        scheduled_at = coalesce(batch.scheduled_at, e.scheduled_at), sequence = batch.sequence,
        history = case when length(e.history) < ${maximumHistoryLength}::int4
          then e.history || E'\n' || batch.history else e.history end
      from ${unnest(
        changes.map(({ lines, ...change }) => ({ ...change, history: lines.join("\n") })),
        { ...columns, history: "text" }
      )}
      where e.organization_id = batch.organization_id and e.id = batch.id and e.sequence < batch.sequence`
  )

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
    const accepted = kept.filter((change) => change.accepted !== undefined)
    const changed = kept.filter((change) => change.accepted === undefined)
    if (accepted.length > 0) yield* insert(sql, accepted)
    if (changed.length > 0) yield* update(sql, changed)
    if (forgotten.length > 0) yield* remove(sql, forgotten)
  })
)

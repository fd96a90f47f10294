/**
 * Puts mails into the work queue as soon as they may go, as part of the SQL reactor's batch (docs/handoff.md, 2), but for
 * those that were handed over from memory already. An email that waits for a time or a place has a row until it does;
 * the facts of its sender release held places. Needs `SqlClient` and `HandoffFeed`.
 */
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../../engine/Reactor.ts"
import type { EventRecord, FactRecord, LogRecord } from "../../engine/records.ts"
import { deferred, deferredPlanned } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { make as makeWorkQueue, maximumBatch, type NewJob } from "../../postgres/WorkQueue.ts"
import {
  type EmailFact,
  SendAccount,
  type SendAccountFact,
  SendEmail,
  type SenderFact,
  SendSender,
  senderKey
} from "../account/actors/index.ts"
import { HandoffFeed } from "./HandoffFeed.ts"
import type { HandoffGroup } from "./HandoffWorkers.ts"
import { emailJobId, encodeEmailJob, groupOf, handoffLanes, noticeId } from "./jobs.ts"
import { jobOfAccepted, jobWritten, type MailTasks } from "./MailTasks.ts"
import { noticeJobs } from "./noticeJobs.ts"
import { sendJobsTable } from "./tables.ts"

/** The columns of a waiting email's row that its job needs. */
interface WaitingRow {
  readonly organization: string
  readonly email: string
  readonly mode: "live" | "test"
  readonly pointer: string
  readonly acceptedAt: number
}

/** The changes of one batch of records, in order where order matters. */
class HandoffBatch {
  waiting: Array<WaitingRow & { readonly sender: string; readonly place: number | null }> = []
  readonly ended: Array<{ readonly organization: string; readonly email: string; readonly at: number }> = []
  readonly jobs: Array<NewJob> = []
  readonly notices: Array<{
    readonly record: LogRecord
    readonly organization: string
    readonly notice: Parameters<typeof noticeId>[1]
  }> = []
  readonly lifted: Array<HandoffGroup & { readonly at: number }> = []

  private readonly tasks: MailTasks

  constructor(tasks: MailTasks) {
    this.tasks = tasks
  }

  job({ partition }: LogRecord, { acceptedAt, email, mode, organization, pointer }: WaitingRow, at: number): void {
    this.jobs.push({
      id: emailJobId(organization, email),
      partition,
      group: groupOf(organization, mode),
      lane: handoffLanes.first,
      dueAt: at,
      expiresAt: null,
      payload: encodeEmailJob({ email, pointer, acceptedAt })
    })
  }

  accepted(record: FactRecord, fact: Extract<EmailFact, { readonly _tag: "Accepted" }>): void {
    const { at, mode, place, pointer, sender, state } = fact
    const { key: email, organization } = record
    const accepted = jobOfAccepted(record)
    const job = accepted && jobWritten(accepted, this.tasks.written(record))
    if (job !== undefined) this.jobs.push(job)
    if (state === "queued" || state === "suppressed") return
    const row = { organization, email, mode, pointer, acceptedAt: at }
    this.waiting.push({ ...row, sender: senderKey(mode, sender), place })
  }
}

const returned = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `returning organization_id as organization, email_id as email, mode, pointer, accepted_at as "acceptedAt"`
  )

/** Writes the rows of the emails that wait, so that what follows finds them. */
const writeWaiting = Effect.fnUntraced(function* (batch: HandoffBatch) {
  const rows = batch.waiting
  if (rows.length === 0) return
  batch.waiting = []
  const sql = yield* SqlClient.SqlClient
  yield* deferred(
    sql,
    sql`
      insert into send_waiting (organization_id, email_id, mode, sender, place, pointer, accepted_at)
      select * from ${unnest(
        rows.map((row) => ({
          ...row,
          organization_id: row.organization,
          email_id: row.email,
          accepted_at: row.acceptedAt
        })),
        {
          organization_id: "text",
          email_id: "text",
          mode: "text",
          sender: "text",
          place: "int8",
          pointer: "text",
          accepted_at: "int8"
        }
      )}
      on conflict do nothing`
  )
})

const onEmail = Effect.fnUntraced(function* (batch: HandoffBatch, record: FactRecord, fact: EmailFact) {
  const { key: email, organization } = record
  switch (fact._tag) {
    case "Accepted":
      return batch.accepted(record, fact)
    case "Held":
    case "Queued": {
      yield* writeWaiting(batch)
      const sql = yield* SqlClient.SqlClient
      const place = fact._tag === "Held" ? fact.place : null
      const rows = yield* sql<WaitingRow>`
        update send_waiting set place = ${place}
        where organization_id = ${organization} and email_id = ${email} ${returned(sql)}`
      if (fact._tag === "Queued") for (const row of rows) batch.job(record, row, fact.at)
      return
    }
    case "Canceled":
    case "Suppressed":
    case "HandedOver":
    case "Failed":
    case "Bounced":
      batch.ended.push({ organization, email, at: fact.at })
  }
})

/** Held places that were let go; those that were cancelled among them are found by the account when it is asked. */
const onSender = Effect.fnUntraced(function* (batch: HandoffBatch, record: FactRecord, fact: SenderFact) {
  if (fact._tag !== "Released") return
  yield* writeWaiting(batch)
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<WaitingRow>`
    update send_waiting set place = null
    where organization_id = ${record.organization} and sender = ${record.key}
      and place >= ${fact.from} and place <= ${fact.through} and ended_at is null ${returned(sql)}`
  for (const row of rows) batch.job(record, row, fact.at)
})

const onAccount = (batch: HandoffBatch, record: FactRecord, fact: SendAccountFact): void => {
  const { key, organization, partition } = record
  // An account's key is its mode.
  const mode = key === "test" ? "test" : "live"
  if (fact._tag === "Lifted") batch.lifted.push({ partition, group: groupOf(organization, mode), at: fact.at })
  else if (fact._tag === "Paused")
    batch.notices.push({
      record,
      organization,
      notice: { _tag: "AccountPaused", mode, at: fact.at, reason: fact.reason }
    })
}

const pausedType = "platform.webhook.paused"

/** The contents of a paused endpoint's event; an event that an operator triggers as a test is of another actor. */
const onWebhookPaused = (batch: HandoffBatch, record: EventRecord): void => {
  const { endpoint_id: endpoint, reason, url } = record.event.data as Readonly<Record<string, unknown>>
  if (typeof endpoint !== "string" || endpoint !== record.key) return
  batch.notices.push({
    record,
    organization: record.organization,
    notice: {
      _tag: "WebhookPaused",
      at: record.now,
      endpoint,
      url: String(url),
      reason: String(reason),
      livemode: record.event.livemode
    }
  })
}

/** Orders notices, each once. */
const orderNotices = Effect.fnUntraced(function* (batch: HandoffBatch) {
  for (const { notice, organization, record } of batch.notices)
    batch.jobs.push(...(yield* noticeJobs(noticeId(organization, notice), organization, record.partition, notice)))
})

/** Lets the mails go that found their account paused. */
export const goOn = (lifted: ReadonlyArray<HandoffGroup & { readonly at: number }>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(
      lifted,
      ({ at, group, partition }) => sql`
        update send_jobs set due_at = least(due_at, ${at}), lane = ${handoffLanes.first}
        where partition = ${partition} and group_key = ${group} and lane = ${handoffLanes.paused}
          and due_at is not null`,
      { discard: true }
    )
  )

const endWaiting = Effect.fnUntraced(function* ({ ended }: HandoffBatch) {
  if (ended.length === 0) return
  const sql = yield* SqlClient.SqlClient
  yield* deferredPlanned(
    sql,
    sql`
      update send_waiting w set ended_at = batch.at, place = null
      from ${unnest(
        ended.map(({ at, email, organization }) => ({ organization_id: organization, email_id: email, at })),
        { organization_id: "text", email_id: "text", at: "int8" }
      )}
      where w.organization_id = batch.organization_id and w.email_id = batch.email_id and w.ended_at is null`
  )
})

const isOurs = (record: LogRecord): boolean =>
  record._tag === "Fact"
    ? record.kind === SendEmail.kind || record.kind === SendSender.kind || record.kind === SendAccount.kind
    : record.event.type === pausedType

const project = Effect.fnUntraced(function* (records: ReadonlyArray<LogRecord>) {
  const feed = yield* HandoffFeed
  const batch = new HandoffBatch(feed.tasks)
  for (const record of records) {
    if (record._tag === "Event") onWebhookPaused(batch, record)
    // A record of an actor's kind holds what the actor's own schema has decoded.
    else if (record.kind === SendEmail.kind) yield* onEmail(batch, record, record.fact as EmailFact)
    else if (record.kind === SendSender.kind) yield* onSender(batch, record, record.fact as SenderFact)
    else onAccount(batch, record, record.fact as SendAccountFact)
  }
  yield* writeWaiting(batch)
  if (batch.notices.length > 0) yield* orderNotices(batch)
  const queue = yield* makeWorkQueue(sendJobsTable)
  for (let at = 0; at < batch.jobs.length; at += maximumBatch) yield* queue.put(batch.jobs.slice(at, at + maximumBatch))
  if (batch.lifted.length > 0) yield* goOn(batch.lifted)
  yield* endWaiting(batch)
  const waiting = batch.jobs.filter(({ leasedUntil }) => leasedUntil === undefined)
  const groups = [...new Map([...waiting, ...batch.lifted].map((one) => [one.group, one])).values()]
  if (groups.length === 0) return
  const span = yield* Effect.option(Effect.currentSpan)
  const due = groups.map(({ group, partition }): HandoffGroup => ({ group, partition }))
  const caused = Option.isNone(span) ? due : due.map((one) => ({ ...one, cause: span.value }))
  yield* Reactor.onCommit(() => feed.committed(caused))
})

/** The part of the SQL reactor that fills the work queue of the hand-off. */
export const handoffProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => project(records.filter(isOurs)),
  tasks: Effect.map(HandoffFeed, ({ tasks }) => [tasks])
}

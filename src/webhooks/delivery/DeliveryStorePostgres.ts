/**
 * The dispatcher's store: jobs in the work queue, deliveries and endpoints in their tables, bodies from the event log.
 * Every operation takes a few statements for many deliveries; changes that belong together are one statement or one
 * transaction. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { isStoreFailure, transaction } from "../../postgres/transactions.ts"
import { unnest } from "../../postgres/unnest.ts"
import {
  make as makeWorkQueue,
  type Outcome,
  type TakenJob,
  type WorkQueueUnavailable
} from "../../postgres/WorkQueue.ts"
import { endpointsTable } from "../endpoint/model.ts"
import { changedEndpoints } from "../endpoint/rows.ts"
import {
  type DeliveryStatus,
  decodePayload,
  deliveriesTable,
  jobLanes,
  jobsTable,
  maximumShownAttempts
} from "./model.ts"
import { DeliveriesUnavailable, type DeliveryOutcome, type DeliveryStore, type TakenDelivery } from "./ports.ts"

const unavailable = (cause: SqlError.SqlError | WorkQueueUnavailable): DeliveriesUnavailable =>
  new DeliveriesUnavailable({
    message: `deliveries are not available: ${cause.message}`,
    isTransient: isStoreFailure(cause._tag === "WorkQueueUnavailable" ? cause.cause : cause),
    cause
  })

interface EventText {
  readonly eventId: string
  /** Null when it no longer fitted. */
  readonly body: string | null
}

interface DeliveryKey {
  readonly id: string
  readonly eventCreatedAt: number
}

const jobOutcome = ({ delivery: { attempt, id }, result }: DeliveryOutcome): Outcome => {
  switch (result._tag) {
    case "Settled":
      return { _tag: "Done", id, attempt }
    case "Again":
      return { _tag: "Again", id, attempt, dueAt: result.dueAt, lane: jobLanes.retry }
    case "Returned":
      return { _tag: "Returned", id, attempt, dueAt: result.dueAt }
  }
}

/** The new values of a delivery's row; without a status when the status stays. */
const writtenRow = ({ delivery, made, result }: DeliveryOutcome, place: number, now: number) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_created_at: delivery.eventCreatedAt,
  status: result._tag === "Settled" ? result.status : result._tag === "Again" ? "pending" : null,
  next_attempt_at: result._tag === "Settled" ? null : result.dueAt,
  settled_at: result._tag === "Settled" ? now : null,
  made: made === null ? 0 : 1,
  entry: made === null ? "" : JSON.stringify([made]),
  place,
  ended_at: made === null ? null : made.at + made.duration,
  answered: made === null ? null : made.status
})

export const make: Effect.Effect<DeliveryStore, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* makeWorkQueue(jobsTable)
  const deliveries = sql(deliveriesTable)
  const endpoints = sql(endpointsTable)

  const stored = <A>(effect: Effect.Effect<A, SqlError.SqlError | WorkQueueUnavailable, SqlClient.SqlClient>) =>
    Effect.mapError(Effect.provideService(effect, SqlClient.SqlClient, sql), unavailable)

  const atomically = <A>(effect: Effect.Effect<A, SqlError.SqlError | WorkQueueUnavailable>) =>
    Effect.mapError(transaction(sql, effect, unavailable), (error) =>
      error instanceof DeliveriesUnavailable ? error : unavailable(error)
    )

  /** Restricts a column to the days from the first to the last time, so that only their tables are read. */
  const between = (column: string, times: ReadonlyArray<number>) => {
    let first = Number.MAX_SAFE_INTEGER
    let last = 0
    for (const time of times) {
      if (time < first) first = time
      if (time > last) last = time
    }
    return sql`${sql(column)} between ${first} and ${last}`
  }

  /** The bodies of events, in order, as far as they fit; the first one always does. */
  const bodiesOf = (jobs: ReadonlyArray<TakenJob>, maximumBytes: number) => {
    const events = new Map<string, { organization_id: string; event_id: string; created_at: number; place: number }>()
    for (const { payload } of jobs) {
      const { eventCreatedAt, eventId, organizationId } = decodePayload(payload)
      if (!events.has(eventId))
        events.set(eventId, {
          organization_id: organizationId,
          event_id: eventId,
          created_at: eventCreatedAt,
          place: events.size
        })
    }
    const wanted = [...events.values()]
    return Effect.map(
      sql<EventText>`
        select event_id as "eventId", case when place = 0 or total <= ${maximumBytes} then body end as body
        from (
          select e.event_id, e.body, batch.place,
            sum(octet_length(e.body)) over (order by batch.place rows unbounded preceding) as total
          from ${unnest(wanted, { organization_id: "text", event_id: "text", created_at: "int8", place: "int4" })}
          join ${sql("events")} e on e.organization_id = batch.organization_id and e.created_at = batch.created_at
            and e.event_id = batch.event_id
          where ${between(
            "e.created_at",
            wanted.map((event) => event.created_at)
          )}
        ) found`,
      (rows) => new Map(rows.map(({ body, eventId }) => [eventId, body]))
    )
  }

  /** Ends deliveries without an attempt. */
  const end = (keys: ReadonlyArray<DeliveryKey>, status: DeliveryStatus, now: number) =>
    keys.length === 0
      ? Effect.void
      : Effect.asVoid(sql`
          update ${deliveries} d set status = ${status}, next_attempt_at = null, settled_at = ${now}
          from ${unnest(
            keys.map(({ eventCreatedAt, id }) => ({ id, event_created_at: eventCreatedAt })),
            { id: "text", event_created_at: "int8" }
          )}
          where d.id = batch.id and d.event_created_at = batch.event_created_at
            and ${between(
              "d.event_created_at",
              keys.map((key) => key.eventCreatedAt)
            )} and d.status = 'pending'`)

  const keyOf = ({ id, payload }: { readonly id: string; readonly payload: string }): DeliveryKey => ({
    id,
    eventCreatedAt: decodePayload(payload).eventCreatedAt
  })

  // when the answer to a commit was lost, the outcome comes again, and the same attempt must not show twice
  const isNew = sql`(w.made = 1 and right(d.attempt_log, length(w.entry) - 1) <> substr(w.entry, 2))`

  /**
   * Records the jobs, the rows of the outcomes that count, and the last attempt of each endpoint in one statement,
   * where a transaction would take five round trips per batch. Answers the ids of the outcomes that counted.
   */
  const recordAll = (outcomes: ReadonlyArray<DeliveryOutcome>, now: number) =>
    sql<{ readonly id: string }>`
      with ${queue.settling(outcomes.map(jobOutcome))}, written as materialized (
        select batch.* from ${unnest(
          outcomes.map((outcome, place) => writtenRow(outcome, place, now)),
          {
            id: "text",
            endpoint_id: "text",
            event_created_at: "int8",
            status: "text",
            next_attempt_at: "int8",
            settled_at: "int8",
            made: "int4",
            entry: "text",
            place: "int4",
            ended_at: "int8",
            answered: "int4"
          }
        )}
        join counted on counted.id = batch.id
        where batch.status is not null
      ), recorded as (
        update ${deliveries} d
        set status = w.status, next_attempt_at = w.next_attempt_at, settled_at = w.settled_at,
          attempts = d.attempts + case when ${isNew} then 1 else 0 end,
          attempt_log = case
            when not ${isNew} then d.attempt_log
            when d.attempt_log = '[]' then w.entry
            when d.attempts < ${maximumShownAttempts} then left(d.attempt_log, -1) || ',' || substr(w.entry, 2)
            else (
              select '[' || string_agg(value::text, ',' order by place) || ']'
              from json_array_elements((left(d.attempt_log, -1) || ',' || substr(w.entry, 2))::json)
                with ordinality as entries (value, place)
              where place > 1
            )
          end
        from written w
        where d.id = w.id and d.event_created_at = w.event_created_at
          and ${between(
            "d.event_created_at",
            outcomes.map(({ delivery }) => delivery.eventCreatedAt)
          )}
      ), answered as (
        update ${endpoints} e set last_delivery_at = last.ended_at, last_delivery_status = last.answered
        from (
          -- in one order everywhere, so that two who write do not wait for each other
          select distinct on (endpoint_id collate "C") endpoint_id, ended_at, answered from written where made = 1
          order by endpoint_id collate "C", ended_at desc, place desc
        ) last
        where e.id = last.endpoint_id and (e.last_delivery_at is null or e.last_delivery_at <= last.ended_at)
      )
      select id from counted`

  return {
    due: (partition, { after, limit }) =>
      stored(
        Effect.map(
          queue.due(partition, {
            after: after === undefined ? undefined : { group: after.endpointId, lane: after.lane },
            limit
          }),
          (found) => found.map(({ dueAt, group, lane }) => ({ endpointId: group, lane, dueAt }))
        )
      ),

    take: (partition, claims, { maximumBytes, now, leasedUntil }) =>
      stored(
        Effect.gen(function* () {
          const jobs = yield* queue.take(
            partition,
            claims.map(({ endpointId, lane, limit }) => ({ group: endpointId, lane, limit })),
            { now, leasedUntil }
          )
          if (jobs.length === 0) return []
          const bodies = yield* bodiesOf(jobs, maximumBytes)
          const taken: Array<TakenDelivery> = []
          const refused: Array<Outcome> = []
          const gone: Array<DeliveryKey> = []
          for (const job of jobs) {
            const { attempt, group, id, lane, payload } = job
            const { eventCreatedAt, eventId, organizationId, origin } = decodePayload(payload)
            const body = bodies.get(eventId)
            if (body === undefined) {
              refused.push({ _tag: "Done", id, attempt })
              gone.push({ id, eventCreatedAt })
            } else if (body === null) refused.push({ _tag: "Returned", id, attempt, dueAt: now })
            else
              taken.push({
                id,
                partition,
                organizationId,
                endpointId: group,
                lane,
                attempt,
                leasedUntil: job.leasedUntil,
                origin,
                eventId,
                eventCreatedAt,
                body
              })
          }
          if (refused.length > 0)
            yield* atomically(Effect.andThen(queue.settle(refused), end(gone, "expired", now))).pipe(
              // they are taken again when their lease is over
              Effect.catch((error) => Effect.logWarning("deliveries could not be given back", error))
            )
          return taken
        })
      ),

    keep: (taken, leasedUntil) => stored(queue.keep(taken, leasedUntil)),

    record: (outcomes, now) =>
      outcomes.length === 0
        ? Effect.succeed(new Set())
        : stored(
            outcomes.every(({ result }) => result._tag === "Returned")
              ? queue.settle(outcomes.map(jobOutcome))
              : Effect.map(recordAll(outcomes, now), (rows) => new Set(rows.map(({ id }) => id)))
          ),

    expire: (partition, { limit, now }) =>
      atomically(
        Effect.gen(function* () {
          const jobs = yield* queue.expire(partition, { now, limit })
          yield* end(jobs.map(keyOf), "expired", now)
          return jobs.length
        })
      ),

    endpoints: (known) => (known.length === 0 ? Effect.succeed([]) : stored(changedEndpoints(known))),

    deleted: (partition, limit) =>
      stored(
        Effect.map(
          sql<{ readonly id: string }>`
            select id from ${endpoints} where partition = ${partition} and state is null order by id limit ${limit}`,
          (rows) => rows.map(({ id }) => id)
        )
      ),

    cancel: (partition, endpointId, { limit, now }) =>
      atomically(
        Effect.gen(function* () {
          // take them whenever they are due and whoever works on them; later outcomes then do not count
          const jobs = yield* queue.take(
            partition,
            Object.values(jobLanes).map((lane) => ({ group: endpointId, lane, limit })),
            { now: Number.MAX_SAFE_INTEGER, leasedUntil: Number.MAX_SAFE_INTEGER }
          )
          yield* queue.settle(jobs.map(({ attempt, id }) => ({ _tag: "Done", id, attempt })))
          yield* end(jobs.map(keyOf), "cancelled", now)
          yield* sql`
            delete from ${endpoints} e where e.id = ${endpointId} and e.state is null and not exists (
              select 1 from ${sql(jobsTable)} j where j.partition = ${partition} and j.group_key = ${endpointId}
            )`
          return jobs.length
        })
      ),

    backlog: (partition) =>
      stored(Effect.map(queue.backlog(partition), ({ oldestDueAt, pending }) => ({ pending, oldestDueAt }))),

    pausedEndpoints: (partition) =>
      stored(
        Effect.map(
          sql<{ readonly count: number }>`
            select count(*) as count from ${endpoints}
            where partition = ${partition} and state is not null and state::json -> 'paused' ->> 'at' is not null`,
          ([row]) => row!.count
        )
      )
  }
})

/**
 * Stores the dispatcher's data in PostgreSQL: jobs in the work queue, deliveries and endpoints in their tables, bodies
 * from the event log. Every operation takes a few statements for many deliveries; changes that belong together are one
 * statement or one transaction. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { isStoreFailure, transaction } from "../../postgres/transactions.ts"
import { unnest } from "../../postgres/unnest.ts"
import {
  type JobOutcome,
  make as makeWorkQueue,
  type TakenJob,
  type WorkQueue,
  type WorkQueueUnavailable
} from "../../postgres/WorkQueue.ts"
import { endpointsTable } from "../endpoint/model.ts"
import { changedEndpoints } from "../endpoint/rows.ts"
import { attemptHoursTable } from "../metrics/attemptHours.ts"
import { findLines, isReplaying, type TakenLineJob, takeLines } from "./linesPostgres.ts"
import { decodePayload, jobLanes, jobsTable } from "./model.ts"
import { between, type DeliveryKey, endAll, jobOutcome, recordAll } from "./outcomesPostgres.ts"
import { DeliveriesUnavailable, type DeliveryStore, type TakenDelivery } from "./ports.ts"

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

/** The services of the operations. */
interface Parts {
  readonly sql: SqlClient.SqlClient
  readonly queue: WorkQueue
  /** Runs statements and maps their failures to the port's errors. */
  readonly stored: <A>(
    effect: Effect.Effect<A, SqlError.SqlError | WorkQueueUnavailable, SqlClient.SqlClient>
  ) => Effect.Effect<A, DeliveriesUnavailable>
  /** Runs statements in one transaction. */
  readonly atomically: <A>(
    effect: Effect.Effect<A, SqlError.SqlError | WorkQueueUnavailable>
  ) => Effect.Effect<A, DeliveriesUnavailable>
}

const makeParts = (sql: SqlClient.SqlClient, queue: WorkQueue): Parts => ({
  sql,
  queue,
  stored: (effect) => Effect.mapError(Effect.provideService(effect, SqlClient.SqlClient, sql), unavailable),
  atomically: (effect) =>
    Effect.mapError(transaction(sql, effect, unavailable), (error) =>
      error instanceof DeliveriesUnavailable ? error : unavailable(error)
    )
})

/** The bodies of events, in order, as far as they fit; the first one always does. */
const bodiesOf = (sql: SqlClient.SqlClient, jobs: ReadonlyArray<TakenJob>, maximumBytes: number) => {
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
          sql,
          "e.created_at",
          wanted.map((event) => event.created_at)
        )}
      ) found`,
    (rows) => new Map(rows.map(({ body, eventId }) => [eventId, body]))
  )
}

/** Sorts taken jobs: those with their bodies, and the results of the others. */
const sorted = (
  partition: number,
  jobs: ReadonlyArray<TakenJob & { readonly line?: string | undefined }>,
  bodies: ReadonlyMap<string, string | null>,
  now: number
) => {
  const taken: Array<TakenDelivery> = []
  const refused: Array<JobOutcome> = []
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
        body,
        line: job.line
      })
  }
  return { taken, refused, gone }
}

/**
 * Keeps of each line what is in order from its first job on. The others go back: somebody else has an earlier one, or
 * its event did not fit.
 */
const inOrder = (jobs: ReadonlyArray<TakenLineJob>, bodies: ReadonlyMap<string, string | null>) => {
  const kept: Array<TakenLineJob> = []
  const returned: Array<TakenLineJob> = []
  let before: TakenLineJob | undefined
  for (const job of jobs) {
    const isNext =
      before !== undefined && before.group === job.group && before.line === job.line
        ? job.nth === before.nth + 1
        : job.nth === 1
    if (isNext && bodies.get(decodePayload(job.payload).eventId) !== null) {
      kept.push(job)
      before = job
    } else returned.push(job)
  }
  return { kept, returned }
}

const findLinesWith =
  ({ sql, stored }: Parts): DeliveryStore["lines"] =>
  (partition, endpointId, page) =>
    stored(
      Effect.gen(function* () {
        // Asked before the lines: what a replay has queued by then is among them.
        const isReplayed = yield* isReplaying(sql, endpointId)
        return { found: yield* findLines(sql, partition, endpointId, page), isReplaying: isReplayed }
      })
    )

const keyOf = ({ id, payload }: { readonly id: string; readonly payload: string }): DeliveryKey => ({
  id,
  eventCreatedAt: decodePayload(payload).eventCreatedAt
})

/**
 * Leases jobs and returns their deliveries; those whose event is gone end, and those that do not fit are returned to
 * the queue.
 */
const makeTake =
  (parts: Parts): DeliveryStore["take"] =>
  (partition, claims, { maximumBytes, now, leasedUntil }) => {
    const { queue, sql, stored } = parts
    return stored(
      Effect.gen(function* () {
        const jobs = yield* queue.take(
          partition,
          claims.map(({ endpointId, lane, limit }) => ({ group: endpointId, lane, limit })),
          { now, leasedUntil }
        )
        if (jobs.length === 0) return []
        return yield* handedOut(parts, sorted(partition, jobs, yield* bodiesOf(sql, jobs, maximumBytes), now), now)
      })
    )
  }

/** Ends or gives back the jobs that are not handed out, and answers the others. */
const handedOut = (
  { atomically, queue, sql }: Parts,
  { gone, refused, taken }: ReturnType<typeof sorted>,
  now: number
) =>
  refused.length === 0
    ? Effect.succeed(taken)
    : atomically(Effect.andThen(queue.settle(refused), endAll(sql, gone, "expired", now))).pipe(
        // They are taken again when their lease is over.
        Effect.catch((error) => Effect.logWarning("deliveries could not be given back", error)),
        Effect.as(taken)
      )

/** The same for the first jobs of lines. */
const makeTakeLines =
  (parts: Parts): DeliveryStore["takeLines"] =>
  (partition, claims, { leasedUntil, maximumBytes, now }) => {
    const { sql, stored } = parts
    return stored(
      Effect.gen(function* () {
        if (claims.length === 0) return []
        const jobs = yield* takeLines(sql, partition, claims, { now, leasedUntil })
        if (jobs.length === 0) return []
        const bodies = yield* bodiesOf(sql, jobs, maximumBytes)
        const { kept, returned } = inOrder(jobs, bodies)
        const found = sorted(partition, kept, bodies, now)
        const back = returned.map(({ attempt, id }) => ({ _tag: "Returned" as const, id, attempt, dueAt: now }))
        return yield* handedOut(parts, { ...found, refused: [...found.refused, ...back] }, now)
      })
    )
  }

/** Ends jobs of a deleted endpoint, and removes its row and its figures with the last of them. */
const makeCancel =
  ({ atomically, queue, sql }: Parts): DeliveryStore["cancel"] =>
  (partition, endpointId, { limit, now }) =>
    atomically(
      Effect.gen(function* () {
        // Take them whether due or not, and whoever holds them; later outcomes then do not count.
        const jobs = yield* queue.take(
          partition,
          Object.values(jobLanes).map((lane) => ({ group: endpointId, lane, limit })),
          { now: Number.MAX_SAFE_INTEGER, leasedUntil: Number.MAX_SAFE_INTEGER }
        )
        yield* queue.settle(jobs.map(({ attempt, id }) => ({ _tag: "Done", id, attempt })))
        yield* endAll(sql, jobs.map(keyOf), "cancelled", now)
        yield* sql`
          with gone as (
            delete from ${sql(endpointsTable)} e where e.id = ${endpointId} and e.state is null and not exists (
              select 1 from ${sql(jobsTable)} j where j.partition = ${partition} and j.group_key = ${endpointId}
            )
            returning e.id
          )
          delete from ${sql(attemptHoursTable)} h using gone where h.endpoint_id = gone.id`
        return jobs.length
      })
    )

export const make: Effect.Effect<DeliveryStore, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* makeWorkQueue(jobsTable)
  const parts = makeParts(sql, queue)
  const { atomically, stored } = parts
  const endpoints = sql(endpointsTable)

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

    take: makeTake(parts),

    takeLines: makeTakeLines(parts),

    lines: findLinesWith(parts),

    keep: (taken, leasedUntil) => stored(queue.keep(taken, leasedUntil)),

    record: (outcomes, now) =>
      outcomes.length === 0
        ? Effect.succeed(new Set())
        : stored(
            outcomes.every(({ result }) => result._tag === "Returned")
              ? queue.settle(outcomes.map(jobOutcome))
              : Effect.map(recordAll(parts, outcomes, now), (rows) => new Set(rows.map(({ id }) => id)))
          ),

    expire: (partition, { limit, now }) =>
      atomically(
        Effect.gen(function* () {
          const jobs = yield* queue.expire(partition, { now, limit })
          yield* endAll(sql, jobs.map(keyOf), "expired", now)
          return jobs.length
        })
      ),

    endpoints: (known) => (known.length === 0 ? Effect.succeed([]) : stored(changedEndpoints(known, "left out"))),

    deleted: (partitions, limit) =>
      stored(sql<{ readonly partition: number; readonly endpointId: string }>`
        select partition, id as "endpointId" from ${endpoints}
        where ${sql.in("partition", partitions)} and state is null order by id limit ${limit}`),

    cancel: makeCancel(parts),

    holding: (partitions) => stored(queue.holding(partitions)),

    backlog: (partition) =>
      stored(Effect.map(queue.backlog(partition), ({ oldestDueAt, pending }) => ({ pending, oldestDueAt }))),

    // By its text: PostgreSQL cannot read JSON with U+0000 or half a surrogate pair in a text of the owner's, and one
    // such row would keep all others from being counted. Inside a text the quotes are escaped, so only the field itself
    // looks like this.
    pausedEndpoints: (partition) =>
      stored(
        Effect.map(
          sql<{ readonly count: number }>`
            select count(*) as count from ${endpoints}
            where partition = ${partition} and state like '%"paused":{%'`,
          ([row]) => row!.count
        )
      )
  }
})

/**
 * Stores the dispatcher's data in memory, for embedding the dispatcher alone and for simulations. It does on maps what
 * `DeliveryStorePostgres.ts` does in SQL. The data is a separate object, so that a simulated process can die and leave
 * it. Bounded: callers ask `hasRoom` before they add, and only the newest finished deliveries are kept. Needs no
 * service.
 */
import { Effect, Schema } from "effect"
import type { Delivery } from "../delivery/Deliveries.ts"
import type { DeliveryRow, MatchedBatch } from "../delivery/matchEvents.ts"
import {
  DeliveryAttempt,
  type DeliveryStatus,
  decodePayload,
  jobLanes,
  maximumShownAttempts,
  retryLaneOf
} from "../delivery/model.ts"
import type { DeliveryOutcome, DeliveryStore, TakenDelivery } from "../delivery/ports.ts"
import type { FoldedEndpoint } from "../endpoint/model.ts"
import { byText, type Job, JobsMemory } from "./JobsMemory.ts"

/** Most pending deliveries, by default. See {@link DeliveryStoreMemory.DeliveriesMemory}. */
export const defaultMaximumPending = 100_000
/** Finished deliveries that are kept, by default. See {@link DeliveryStoreMemory.DeliveriesMemory}. */
export const defaultMaximumSettled = 10_000

/** Bounds of a store in memory. See {@link DeliveryStoreMemory.DeliveriesMemory}. */
export interface DeliveriesMemoryOptions {
  readonly maximumPending?: number | undefined
  readonly maximumSettled?: number | undefined
}

/** A delivery's row. */
type Row = { -readonly [Key in keyof Delivery]: Delivery[Key] } & {
  readonly organizationId: string
}

/** An endpoint's row. See {@link DeliveryStoreMemory.DeliveriesMemory}. */
export interface EndpointRow extends FoldedEndpoint {
  /** When and how the last attempt ended; null before the first. */
  readonly lastDeliveryAt: number | null
  readonly lastDeliveryStatus: number | null
}

/**
 * The content of a store in memory.
 *
 * @example
 * ```ts
 * import { DeliveryStoreMemory } from "sluice/webhook/dispatcher"
 *
 * const data = new DeliveryStoreMemory.DeliveriesMemory({ maximumPending: 1_000 })
 * console.log(data.hasRoom(1_000), data.hasRoom(1_001)) // true false
 * ```
 */
export class DeliveriesMemory {
  readonly maximumPending: number
  readonly maximumSettled: number
  /** @internal */
  readonly jobs = new JobsMemory()
  readonly endpoints = new Map<string, EndpointRow>()
  /** Bodies by the id of their event, while a delivery names it. */
  private readonly events = new Map<string, { readonly body: string; deliveries: number }>()
  private readonly rows = new Map<string, Row>()
  /** The ids of finished deliveries, oldest first. */
  private readonly settled = new Set<string>()

  constructor(options: DeliveriesMemoryOptions = {}) {
    this.maximumPending = options.maximumPending ?? defaultMaximumPending
    this.maximumSettled = options.maximumSettled ?? defaultMaximumSettled
  }

  /** Whether this many more deliveries may wait. */
  hasRoom(deliveries: number): boolean {
    return this.jobs.size + deliveries <= this.maximumPending
  }

  /**
   * Writes the result of a batch of the log. A delivery or a job that exists already stays as it is.
   *
   * @internal
   */
  put(batch: Pick<MatchedBatch, "deliveries" | "jobs" | "changed">, bodies: ReadonlyMap<string, string>): void {
    for (const folded of batch.changed.values()) this.saveEndpoint(folded)
    for (const row of batch.deliveries) this.insert(row, bodies.get(row.event_id)!)
    for (const { group, id, payload, leasedUntil, ...job } of batch.jobs)
      this.jobs.put({
        ...decodePayload(payload),
        id,
        partition: job.partition,
        endpointId: group,
        lane: job.lane,
        dueAt: leasedUntil ?? job.dueAt,
        attempts: leasedUntil === undefined ? 0 : 1,
        expiresAt: job.expiresAt ?? Number.MAX_SAFE_INTEGER,
        line: job.line
      })
  }

  saveEndpoint(folded: FoldedEndpoint): void {
    const { lastDeliveryAt = null, lastDeliveryStatus = null } = this.endpoints.get(folded.endpointId) ?? {}
    this.endpoints.set(folded.endpointId, { ...folded, lastDeliveryAt, lastDeliveryStatus })
  }

  /**
   * Queues one more attempt of a finished delivery. Answers its endpoint; undefined when there is no such delivery or
   * its event is too old.
   */
  retry(id: string, partition: number, now: number, retentionMillis: number): string | undefined {
    const row = this.rows.get(id)
    if (row === undefined || row.status === "pending" || row.eventCreatedAt <= now - retentionMillis) return undefined
    if (this.endpoints.get(row.endpointId)?.endpoint === null || this.bodyOf(row.eventId) === undefined)
      return undefined
    this.settled.delete(id)
    Object.assign(row, { origin: "retry", status: "pending", nextAttemptAt: now, settledAt: null })
    const { endpointId, eventCreatedAt, eventId, organizationId } = row
    this.jobs.put({
      id,
      partition,
      endpointId,
      lane: jobLanes.asked,
      dueAt: now,
      attempts: 0,
      expiresAt: eventCreatedAt + retentionMillis,
      origin: "retry",
      eventId,
      eventCreatedAt,
      organizationId
    })
    return endpointId
  }

  /** A delivery with its attempts, if it is pending or among the newest finished ones. */
  delivery(id: string): Delivery | undefined {
    return this.rows.get(id)
  }

  /** The deliveries of an endpoint, newest first. */
  deliveries(endpointId: string): ReadonlyArray<Delivery> {
    return [...this.rows.values()]
      .filter((row) => row.endpointId === endpointId)
      .toSorted((left, right) => right.createdAt - left.createdAt || byText(right.id, left.id))
  }

  bodyOf(eventId: string): string | undefined {
    return this.events.get(eventId)?.body
  }

  /** Drops an event, as the event log drops old ones. */
  forgetEvent(eventId: string): void {
    this.events.delete(eventId)
  }

  /** Records an attempt, or the outcome of a delivery without one. */
  record({ delivery, made, result }: DeliveryOutcome, now: number): void {
    const row = this.rows.get(delivery.id)
    if (row === undefined) return
    // The answer may have been lost, so the same outcome may come again.
    if (made !== null && !isSame(row.attempts.at(-1), made)) {
      row.attemptCount++
      row.attempts = [...row.attempts, made].slice(-maximumShownAttempts)
      this.lastDelivery(delivery.endpointId, made)
    }
    if (result._tag === "Settled") this.end(row.id, result.status, now)
    else row.nextAttemptAt = result.dueAt
  }

  /** Ends a delivery. */
  end(id: string, status: DeliveryStatus, now: number): void {
    const row = this.rows.get(id)
    if (row === undefined || row.status !== "pending") return
    Object.assign(row, { status, nextAttemptAt: null, settledAt: now })
    this.settled.add(id)
    for (const oldest of this.settled) {
      if (this.settled.size <= this.maximumSettled) return
      this.settled.delete(oldest)
      this.forget(this.rows.get(oldest)!)
    }
  }

  private lastDelivery(endpointId: string, { at, duration, status }: DeliveryAttempt): void {
    const endpoint = this.endpoints.get(endpointId)
    if (endpoint === undefined || (endpoint.lastDeliveryAt ?? 0) > at + duration) return
    this.endpoints.set(endpointId, { ...endpoint, lastDeliveryAt: at + duration, lastDeliveryStatus: status })
  }

  private insert(row: DeliveryRow, body: string): void {
    if (this.rows.has(row.id)) return
    const event = this.events.get(row.event_id) ?? { body, deliveries: 0 }
    event.deliveries++
    this.events.set(row.event_id, event)
    this.rows.set(row.id, {
      id: row.id,
      organizationId: row.organization_id,
      endpointId: row.endpoint_id,
      eventId: row.event_id,
      eventType: row.event_type,
      eventCreatedAt: row.event_created_at,
      origin: row.origin,
      replayId: null,
      status: "pending",
      attemptCount: row.attempts,
      attempts: decodeAttempts(row.attempt_log),
      createdAt: row.event_created_at,
      nextAttemptAt: row.next_attempt_at,
      settledAt: null
    })
    for (const made of this.rows.get(row.id)!.attempts) this.lastDelivery(row.endpoint_id, made)
    if (row.status !== "pending") this.end(row.id, row.status, row.settled_at ?? row.event_created_at)
  }

  private forget(row: Row): void {
    this.rows.delete(row.id)
    const event = this.events.get(row.eventId)
    if (event !== undefined && --event.deliveries === 0) this.events.delete(row.eventId)
  }
}

const decodeAttempts = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(DeliveryAttempt)))

const isSame = (left: DeliveryAttempt | undefined, right: DeliveryAttempt): boolean =>
  left !== undefined && JSON.stringify(left) === JSON.stringify(right)

/** The first jobs of a lane that are due. */
const dueJobs = (data: DeliveriesMemory, endpointId: string, lane: number, now: number, limit: number) => {
  const found: Array<Job> = []
  for (const { dueAt, job } of data.jobs.lane(endpointId, lane)?.waiting ?? []) {
    if (dueAt > now || found.length >= limit) break
    found.push(job)
  }
  return found
}

const utf8 = new TextEncoder()

/** Adds the bodies of taken jobs, as far as they fit. A delivery whose event is gone ends. */
const withBodies = (data: DeliveriesMemory, jobs: ReadonlyArray<Job>, now: number, maximumBytes: number) => {
  const taken: Array<TakenDelivery> = []
  const fits = new Map<string, boolean>()
  let total = 0
  for (const job of jobs) {
    const { attempts: attempt, dueAt: leasedUntil, expiresAt: _, line, ...delivery } = job
    const body = data.bodyOf(job.eventId)
    if (body === undefined) {
      data.jobs.remove(job)
      data.end(job.id, "expired", now)
      continue
    }
    if (!fits.has(job.eventId)) {
      total += utf8.encode(body).length
      fits.set(job.eventId, fits.size === 0 || total <= maximumBytes)
    }
    if (fits.get(job.eventId)) taken.push({ ...delivery, attempt, leasedUntil, body, line: line?.name })
    else {
      job.attempts--
      data.jobs.move(job, now)
    }
  }
  return taken
}

const settle = (data: DeliveriesMemory, { delivery, result }: DeliveryOutcome): boolean => {
  const job = data.jobs.at(delivery.id, delivery.attempt)
  if (job === undefined) return false
  if (result._tag === "Settled") data.jobs.remove(job)
  else if (result._tag === "Again") data.jobs.move(job, result.dueAt, retryLaneOf(job.line?.name))
  else {
    job.attempts--
    data.jobs.move(job, result.dueAt)
  }
  return true
}

/** The first jobs of a line that are due, without one before them that is not. */
const dueOfLine = (data: DeliveriesMemory, endpointId: string, name: string, now: number, limit: number) => {
  const [, jobs] = data.jobs.lines(endpointId).find(([line]) => line === name) ?? ["", []]
  const end = jobs.findIndex(({ dueAt }) => dueAt > now)
  return jobs.slice(0, Math.min(limit, end < 0 ? limit : end))
}

/** The lanes that have jobs, in the order of their endpoints, behind a place. */
const dueLanes = (data: DeliveriesMemory, partition: number, { after, limit }: Parameters<DeliveryStore["due"]>[1]) =>
  [...data.jobs.groups.values()]
    .flatMap((group) => [...group.values()])
    .filter((lane) => lane.partition === partition)
    .toSorted((left, right) => byText(left.endpointId, right.endpointId) || left.lane - right.lane)
    .filter(({ endpointId, lane }) => {
      if (after === undefined) return true
      return endpointId > after.endpointId || (endpointId === after.endpointId && lane > after.lane)
    })
    .slice(0, limit)
    .map(({ endpointId, lane, waiting }) => ({ endpointId, lane, dueAt: waiting[0]!.dueAt }))

/** Ends deliveries without an attempt. */
const endAll = (data: DeliveriesMemory, jobs: ReadonlyArray<Job>, status: DeliveryStatus, now: number): number => {
  for (const job of jobs) {
    data.jobs.remove(job)
    data.end(job.id, status, now)
  }
  return jobs.length
}

/** The first expired jobs without a lease. */
const expiredJobs = (data: DeliveriesMemory, partition: number, now: number, limit: number) => {
  const found: Array<Job> = []
  for (const job of data.jobs.jobs.values()) {
    if (found.length >= limit) break
    if (job.partition === partition && job.expiresAt <= now && job.dueAt <= now) found.push(job)
  }
  return found
}

/** The endpoints whose state differs from the caller's. */
const changedEndpoints = (data: DeliveriesMemory, known: Parameters<DeliveryStore["endpoints"]>[0]) =>
  known.flatMap(({ endpointId, sequence }): ReadonlyArray<FoldedEndpoint> => {
    const row = data.endpoints.get(endpointId)
    if (row === undefined) return [{ endpointId, organizationId: "", partition: 0, sequence: 0, endpoint: null }]
    const { lastDeliveryAt: _at, lastDeliveryStatus: _status, ...folded } = row
    return row.sequence === sequence ? [] : [folded]
  })

/** The part of the port that hands out lines. */
const linesOf = (data: DeliveriesMemory): Pick<DeliveryStore, "lines" | "takeLines"> => ({
  lines: (_partition, endpointId, { after, limit }) =>
    Effect.sync(() => ({
      isReplaying: false,
      found: data.jobs
        .lines(endpointId)
        .filter(([line]) => line > after)
        .slice(0, limit)
        .map(([line, jobs]) => ({ line, headId: jobs[0]!.id, dueAt: jobs[0]!.dueAt, isAlone: jobs.length === 1 }))
    })),

  takeLines: (_partition, claims, { maximumBytes, now, leasedUntil }) =>
    Effect.sync(() => {
      const jobs = claims.flatMap(({ endpointId, limit, line }) => dueOfLine(data, endpointId, line, now, limit))
      for (const job of jobs) {
        job.attempts++
        data.jobs.move(job, leasedUntil)
      }
      return withBodies(data, jobs, now, maximumBytes)
    })
})

/**
 * The port over the data. It never fails or waits.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { DeliveryStoreMemory } from "sluice/webhook/dispatcher"
 *
 * const store = DeliveryStoreMemory.make(new DeliveryStoreMemory.DeliveriesMemory())
 * console.log((await Effect.runPromise(store.backlog(0))).pending) // 0
 * ```
 */
export const make = (data: DeliveriesMemory): DeliveryStore => ({
  ...linesOf(data),

  due: (partition, page) => Effect.sync(() => dueLanes(data, partition, page)),

  take: (_partition, claims, { maximumBytes, now, leasedUntil }) =>
    Effect.sync(() => {
      const jobs = claims.flatMap(({ endpointId, lane, limit }) => dueJobs(data, endpointId, lane, now, limit))
      for (const job of jobs) {
        job.attempts++
        data.jobs.move(job, leasedUntil)
      }
      return withBodies(data, jobs, now, maximumBytes)
    }),

  keep: (deliveries, leasedUntil) =>
    Effect.sync(() => {
      const kept = new Set<string>()
      for (const { attempt, id } of deliveries) {
        const job = data.jobs.at(id, attempt)
        if (job === undefined) continue
        data.jobs.move(job, leasedUntil)
        kept.add(id)
      }
      return kept
    }),

  record: (outcomes, now) =>
    Effect.sync(() => {
      const counted = outcomes.filter((outcome) => settle(data, outcome))
      for (const outcome of counted) if (outcome.result._tag !== "Returned") data.record(outcome, now)
      return new Set(counted.map(({ delivery }) => delivery.id))
    }),

  expire: (partition, { limit, now }) =>
    Effect.sync(() => endAll(data, expiredJobs(data, partition, now, limit), "expired", now)),

  endpoints: (known) => Effect.sync(() => changedEndpoints(data, known)),

  deleted: (partitions, limit) =>
    Effect.sync(() =>
      [...data.endpoints.values()]
        .filter((row) => partitions.includes(row.partition) && row.endpoint === null)
        .map(({ endpointId, partition }) => ({ partition, endpointId }))
        .toSorted((one, other) => byText(one.endpointId, other.endpointId))
        .slice(0, limit)
    ),

  cancel: (_partition, endpointId, { limit, now }) =>
    Effect.sync(() => {
      const jobs = Object.values(jobLanes).flatMap((lane) =>
        dueJobs(data, endpointId, lane, Number.MAX_SAFE_INTEGER, limit)
      )
      const cancelled = endAll(data, jobs, "cancelled", now)
      if (data.endpoints.get(endpointId)?.endpoint === null && !data.jobs.groups.has(endpointId))
        data.endpoints.delete(endpointId)
      return cancelled
    }),

  holding: (partitions) =>
    Effect.sync(() => {
      const asked = new Set(partitions)
      return new Set([...data.jobs.jobs.values()].map(({ partition }) => partition).filter((one) => asked.has(one)))
    }),

  backlog: (partition) =>
    Effect.sync(() => {
      const jobs = [...data.jobs.jobs.values()].filter((job) => job.partition === partition)
      const oldestDueAt = jobs.reduce<number | null>((least, { dueAt }) => Math.min(least ?? dueAt, dueAt), null)
      return { pending: jobs.length, oldestDueAt }
    }),

  pausedEndpoints: (partition) =>
    Effect.sync(
      () =>
        [...data.endpoints.values()].filter(
          (row) => row.partition === partition && row.endpoint !== null && row.endpoint.paused !== null
        ).length
    )
})

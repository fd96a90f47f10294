/**
 * Keeps the dispatcher's memory and the store in step. Its fibers take due deliveries while there is room, prolong the
 * leases of held ones, return those that are not to be attempted, and end expired and cancelled ones.
 */

import { Clock, Duration, Effect } from "effect"
import { superviseLoop } from "../../common/superviseLoop.ts"
import {
  type DeliveriesUnavailable,
  type DeliveryClaim,
  type DeliveryStore,
  type DueDeliveries,
  type EndpointActors,
  maximumKept,
  type TakenDelivery
} from "../delivery/ports.ts"
import type { DispatcherState } from "./DispatcherState.ts"
import type { DispatchMetrics } from "./DispatchMetrics.ts"
import { allLanes } from "./DispatchQueue.ts"
import type { Worker } from "./Worker.ts"

/** Lanes in one page of a scan, endpoints read at a time. */
const pageSize = 1_000

/**
 * How many lanes of a page get a look for their next delivery when nothing more of them is due. A scan finds those of
 * the others.
 */
const looksAhead = 100

/** The shortest time until such a lane is checked again. */
const lookAgainMillis = 50

/** Deliveries that are ended at a time. */
const endedAtOnce = 1_000

/** Scans take at most one part in this many of the time. */
const scanShare = 20
const lastScanPauseMillis = 30_000

/** How often expired deliveries and those of deleted endpoints are searched, milliseconds. */
const endingMillis = 10_000

/** How often the backlog is counted, milliseconds; sooner while this process has no count yet. */
const countingMillis = 30_000
const firstCountMillis = 250

const failurePauseMillis = 500

/** How soon attempts are looked at again, milliseconds: a clock that stands still must not keep the process busy. */
const shortestWatchMillis = 10

export interface StoreSyncContext {
  readonly dispatching: DispatcherState
  readonly store: DeliveryStore
  readonly actors: EndpointActors
  readonly metrics: DispatchMetrics
  /** Deliveries of this process that are not recorded yet. */
  readonly unrecorded: () => number
}

/** Repeats an effect for ever, whatever fails. */
const persisting = (what: string, work: Effect.Effect<unknown, unknown>): Effect.Effect<never> =>
  superviseLoop(work, {
    failed: `webhook deliveries: ${what} failed and is tried again`,
    retryMillis: failurePauseMillis
  })

/** Gives deliveries back in batches, as not attempted. */
export const giveBack = (
  { dispatching, metrics, store }: Pick<StoreSyncContext, "dispatching" | "metrics" | "store">,
  all: ReadonlyArray<TakenDelivery>
) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const deliveries = all.filter((delivery) => !dispatching.giveBackUnrecorded(delivery))
    for (let at = 0; at < deliveries.length; at += endedAtOnce) {
      const some = deliveries.slice(at, at + endedAtOnce)
      const counted = yield* store.record(
        some.map((delivery) => ({ delivery, made: null, result: { _tag: "Returned", dueAt: now } })),
        now
      )
      metrics.outcome("returned", counted.size)
      for (const delivery of some) dispatching.release(delivery)
    }
  })

const returning = Effect.fnUntraced(function* (parts: StoreSyncContext) {
  const { dispatching } = parts
  const deliveries = dispatching.returned
  if (deliveries.length === 0) return
  dispatching.returned = []
  yield* Effect.onError(giveBack(parts, deliveries), () =>
    Effect.sync(() => {
      dispatching.returned.push(...deliveries)
    })
  )
})

const cancelling = Effect.fnUntraced(function* ({ dispatching, store }: StoreSyncContext) {
  for (const worker of [...dispatching.deleted.values()]) {
    const { endpointId, partition } = worker
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const cancelled = yield* store.cancel(partition, endpointId, { now, limit: endedAtOnce })
      if (cancelled === 0) break
    }
    dispatching.deleted.delete(endpointId)
    if (worker.held === 0) dispatching.drop(worker)
  }
})

/** Reads the state of endpoints whose known state is outdated. */
const readEndpoints = Effect.fnUntraced(function* (
  { dispatching, store }: StoreSyncContext,
  workers: ReadonlyArray<Worker>
) {
  for (let at = 0; at < workers.length; at += pageSize) {
    const page = workers.slice(at, at + pageSize)
    const read = yield* store.endpoints(
      page.map(({ endpointId, folded }) => ({ endpointId, sequence: folded?.sequence ?? 0 }))
    )
    for (const folded of read) dispatching.apply(folded)
  }
})

interface Wanted extends DeliveryClaim {
  readonly worker: Worker
}

/** Claims for the workers that want more, as far as there is room. Each time others come first. */
const claimsOf = (dispatching: DispatcherState): ReadonlyMap<number, ReadonlyArray<Wanted>> => {
  const claims = new Map<number, Array<Wanted>>()
  /** The room that is left for each organization; 0 while it holds enough. */
  const rooms = new Map<string, number>()
  let room = dispatching.room().deliveries
  for (const worker of [...dispatching.wanting]) {
    if (room <= 0) break
    const organizationId = worker.folded?.organizationId ?? ""
    let own = rooms.get(organizationId)
    own ??= dispatching.hasRoomFor(organizationId) ? dispatching.roomFor(organizationId).deliveries : 0
    rooms.set(organizationId, own)
    // Workers without room stay wanting and are served when there is room.
    if (own <= 0) continue
    dispatching.wanting.delete(worker)
    for (const lane of allLanes) {
      const limit = Math.min(worker.wantedIn(lane), own, room)
      if (limit <= 0) continue
      own -= limit
      rooms.set(organizationId, own)
      room -= limit
      // Deliveries that come while the store is asked set it again.
      worker.more[lane] = false
      const ofPartition = claims.get(worker.partition) ?? []
      claims.set(worker.partition, ofPartition)
      ofPartition.push({ endpointId: worker.endpointId, lane, limit, worker })
    }
  }
  return claims
}

const takeIn = Effect.fnUntraced(function* (
  { dispatching, store }: StoreSyncContext,
  partition: number,
  claims: ReadonlyArray<Wanted>
) {
  const now = yield* Clock.currentTimeMillis
  const taken = yield* Effect.onError(
    store.take(partition, claims, {
      now,
      leasedUntil: now + dispatching.settings.leaseMillis,
      // However large they are, something is left for others.
      maximumBytes: Math.ceil(dispatching.room().characters / 2)
    }),
    () =>
      Effect.sync(() => {
        for (const { lane, worker } of claims) dispatching.wake(worker.partition, worker.endpointId, [lane])
      })
  )
  const counts = new Map<string, number>()
  for (const delivery of taken) {
    const key = `${delivery.lane} ${delivery.endpointId}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    dispatching.hold(delivery)
  }
  const exhausted: Array<Wanted> = []
  for (const claim of claims) {
    const { endpointId, lane, limit, worker } = claim
    if (counts.get(`${lane} ${endpointId}`) === limit) worker.more[lane] = true
    else if (worker.armedFor[lane] === Number.POSITIVE_INFINITY) exhausted.push(claim)
  }
  // Otherwise deliveries that are due a little later (retries, leftovers of a crash) would wait for a scan, which a
  // busy machine delays.
  yield* Effect.forEach(
    exhausted.slice(0, looksAhead),
    ({ endpointId, lane, worker }) =>
      Effect.map(store.due(partition, { after: { endpointId, lane: lane - 1 }, limit: 1 }), ([next]) => {
        if (next?.endpointId !== endpointId || next.lane !== lane) return
        // A due delivery that was not taken is with somebody else, or did not fit.
        dispatching.arm(worker, lane, Math.max(next.dueAt, dispatching.now + lookAgainMillis))
      }),
    { concurrency: 4, discard: true }
  )
})

/** Takes wanted deliveries from the store whenever there are any, gives back and cancels. */
const refilling = (parts: StoreSyncContext) => {
  const { dispatching } = parts
  return persisting(
    "taking",
    Effect.gen(function* () {
      const untilTimer = dispatching.untilTimer()
      yield* untilTimer === Number.POSITIVE_INFINITY
        ? dispatching.wakeup.wait
        : Effect.raceFirst(dispatching.wakeup.wait, Effect.sleep(Duration.millis(untilTimer)))
      dispatching.fireTimers()
      yield* returning(parts)
      if (dispatching.deleted.size > 0) yield* cancelling(parts)
      const { outdated } = dispatching
      dispatching.outdated = new Set()
      const unknown = [...dispatching.wanting].filter(({ folded }) => folded === undefined)
      yield* Effect.onError(readEndpoints(parts, [...new Set([...unknown, ...outdated])]), () =>
        Effect.sync(() => {
          for (const worker of outdated) dispatching.outdated.add(worker)
        })
      )
      yield* Effect.forEach(
        claimsOf(dispatching),
        ([partition, claims]) =>
          Effect.forEach(pagesOf(claims), (page) => takeIn(parts, partition, page), { discard: true }),
        { concurrency: 4, discard: true }
      )
      dispatching.pump()
    })
  )
}

const pagesOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / pageSize) }, (_, at) => items.slice(at * pageSize, (at + 1) * pageSize))

/** Scans the lanes of a partition that hold deliveries. */
const scan = Effect.fnUntraced(function* (parts: StoreSyncContext, partition: number) {
  const { dispatching, store } = parts
  let after: DueDeliveries | undefined
  while (true) {
    const page: ReadonlyArray<DueDeliveries> = yield* store.due(partition, { after, limit: pageSize })
    const workers = new Set<Worker>()
    for (const { dueAt, endpointId, lane } of page) {
      if (dueAt > dispatching.now) {
        dispatching.arm(dispatching.worker(partition, endpointId), lane, dueAt)
        continue
      }
      workers.add(dispatching.worker(partition, endpointId))
    }
    // Read known ones too, because their partition may have been served elsewhere in between.
    yield* readEndpoints(parts, [...workers])
    for (const { dueAt, endpointId, lane } of page) {
      if (dueAt > dispatching.now) continue
      const worker = dispatching.worker(partition, endpointId)
      if (worker.folded?.endpoint === null) dispatching.cancel(worker)
      else if (worker.permits(lane)) dispatching.wake(partition, endpointId, [lane])
    }
    dispatching.forgetIdle()
    after = page.at(-1)
    if (page.length < pageSize) return
  }
})

/** Ends deliveries that are too old or belong to deleted endpoints; answers whether there may be more. */
const ending = Effect.fnUntraced(function* ({ dispatching, metrics, store }: StoreSyncContext, partition: number) {
  for (const endpointId of yield* store.deleted(partition, pageSize))
    dispatching.cancel(dispatching.worker(partition, endpointId))
  const now = yield* Clock.currentTimeMillis
  const expired = yield* store.expire(partition, { now, limit: endedAtOnce })
  metrics.outcome("expired", expired)
  return expired === endedAtOnce
})

const scanning = (parts: StoreSyncContext) => {
  const { actors, dispatching } = parts
  /**
   * When each partition is next searched for deliveries to end. A partition that was just taken over is searched at
   * once.
   */
  let endingAt: ReadonlyMap<number, number> = new Map()
  return persisting(
    "looking for due ones",
    Effect.gen(function* () {
      const begunAt = yield* Clock.currentTimeMillis
      const partitions = yield* actors.partitions
      dispatching.dropOthers(new Set(partitions))
      const next = new Map<number, number>()
      for (const partition of partitions) {
        yield* scan(parts, partition)
        const due = endingAt.get(partition) ?? begunAt
        if (begunAt < due) next.set(partition, due)
        else if (!(yield* ending(parts, partition))) next.set(partition, begunAt + endingMillis)
      }
      endingAt = next
      const took = (yield* Clock.currentTimeMillis) - begunAt
      const pauseMillis = Math.max(dispatching.settings.scanMillis, Math.min(took * scanShare, lastScanPauseMillis))
      yield* Effect.sleep(Duration.millis(pauseMillis))
    })
  )
}

/** Prolongs the leases of held deliveries, and releases those that somebody else has taken. */
const keeping = ({ dispatching, store }: StoreSyncContext) => {
  const { leaseMillis } = dispatching.settings
  return persisting(
    "keeping",
    Effect.gen(function* () {
      yield* Effect.sleep(Duration.millis(leaseMillis / 4))
      const now = yield* Clock.currentTimeMillis
      const ending = [...dispatching.held.values()]
        .map(({ delivery }) => delivery)
        .filter(({ leasedUntil, task }) => leasedUntil < now + leaseMillis / 2 && task?.isQueued !== false)
      for (let at = 0; at < ending.length; at += maximumKept) {
        const some = ending.slice(at, at + maximumKept)
        const kept = yield* store.keep(some, now + leaseMillis)
        for (const delivery of some) {
          if (kept.has(delivery.id)) delivery.leasedUntil = now + leaseMillis
          else dispatching.release(delivery)
        }
      }
    })
  )
}

const marking = ({ dispatching, metrics, unrecorded }: StoreSyncContext) =>
  persisting(
    "watching attempts",
    Effect.gen(function* () {
      yield* Effect.sleep(Duration.millis(Math.max(shortestWatchMillis, dispatching.untilOverdue())))
      dispatching.markOverdue()
      metrics.load(dispatching.queue.used, dispatching.held.size, unrecorded())
    })
  )

const counting = ({ actors, metrics, store }: StoreSyncContext) => {
  let counted: ReadonlySet<number> = new Set()
  return persisting(
    "counting",
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const partitions = new Set(yield* actors.partitions)
      for (const partition of partitions) {
        const { oldestDueAt, pending } = yield* store.backlog(partition)
        const paused = yield* store.pausedEndpoints(partition)
        const oldestSeconds = oldestDueAt === null ? 0 : Math.max(0, (now - oldestDueAt) / 1000)
        metrics.backlog(partition, { pending, oldestSeconds, paused })
      }
      // Partitions that are served elsewhere now are reported there.
      for (const partition of counted)
        if (!partitions.has(partition)) metrics.backlog(partition, { pending: 0, oldestSeconds: 0, paused: 0 })
      counted = partitions
      yield* Effect.sleep(Duration.millis(partitions.size === 0 ? firstCountMillis : countingMillis))
    })
  )
}

/** All fibers that run beside the attempts. */
export const fibers = (parts: StoreSyncContext): ReadonlyArray<Effect.Effect<never, DeliveriesUnavailable>> => [
  refilling(parts),
  scanning(parts),
  keeping(parts),
  marking(parts),
  persisting("beginning offered ones", parts.dispatching.beginOffered),
  persisting("keeping rates", parts.dispatching.resuming),
  counting(parts)
]

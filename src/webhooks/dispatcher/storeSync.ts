/**
 * Keeps the dispatcher's memory and the store in step. Its fibers take due deliveries while there is room, prolong the
 * leases of held ones, return those that are not to be attempted, and end expired and cancelled ones.
 */

import { Clock, Duration, Effect } from "effect"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { jobLanes } from "../delivery/model.ts"
import {
  type DeliveriesUnavailable,
  type DeliveryClaim,
  type DeliveryLine,
  type DeliveryStore,
  type DueDeliveries,
  type EndpointActors,
  type LineClaim,
  maximumKept,
  type TakenDelivery
} from "../delivery/ports.ts"
import type { DispatcherState } from "./DispatcherState.ts"
import type { DispatchMetrics } from "./DispatchMetrics.ts"
import { allLanes } from "./DispatchQueue.ts"
import type { Worker } from "./EndpointWorker.ts"

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

interface WantedLine extends LineClaim {
  readonly worker: Worker
}

/** The claims of a worker's lines that may have something; answers how many deliveries they may bring. */
const claimLines = (dispatching: DispatcherState, worker: Worker, room: number, claims: Array<WantedLine>): number => {
  const lines = dispatching.lines.known(worker.endpointId)
  if (lines === undefined || !worker.permits(jobLanes.line)) return 0
  let left = room
  let count = worker.roomIn(jobLanes.line)
  for (const line of lines.ready) {
    if (left <= 0 || count-- <= 0) {
      // Its other lines have their turn as soon as some of these are over.
      dispatching.wanting.add(worker)
      break
    }
    const limit = Math.min(left, lines.claim(line))
    left -= limit
    claims.push({ endpointId: worker.endpointId, line, limit, worker })
  }
  return room - left
}

/** The claims of a partition. */
interface PartitionClaims {
  readonly lanes: Array<Wanted>
  readonly lines: Array<WantedLine>
}

/** Claims for the workers that want more, as far as there is room. Each time others come first. */
const claimsOf = (dispatching: DispatcherState): ReadonlyMap<number, PartitionClaims> => {
  const claims = new Map<number, PartitionClaims>()
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
    const ofPartition = claims.get(worker.partition) ?? { lanes: [], lines: [] }
    claims.set(worker.partition, ofPartition)
    const claimed = claimLines(dispatching, worker, Math.min(own, room), ofPartition.lines)
    own -= claimed
    room -= claimed
    rooms.set(organizationId, own)
    for (const lane of allLanes) {
      const limit = Math.min(worker.wantedIn(lane), own, room)
      if (limit <= 0) continue
      own -= limit
      rooms.set(organizationId, own)
      room -= limit
      // Deliveries that come while the store is asked set it again.
      worker.more[lane] = false
      ofPartition.lanes.push({ endpointId: worker.endpointId, lane, limit, worker })
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

/** Takes the first deliveries of lines. */
const takeInLines = Effect.fnUntraced(function* (
  { dispatching, store }: StoreSyncContext,
  partition: number,
  claims: ReadonlyArray<WantedLine>
) {
  const now = yield* Clock.currentTimeMillis
  const taken = yield* Effect.onError(
    store.takeLines(partition, claims, {
      now,
      leasedUntil: now + dispatching.settings.leaseMillis,
      maximumBytes: Math.ceil(dispatching.room().characters / 2)
    }),
    () =>
      Effect.sync(() => {
        for (const { line, worker } of claims) {
          dispatching.lines.known(worker.endpointId)?.ready.add(line)
          dispatching.wanting.add(worker)
        }
        dispatching.wakeup.notify()
      })
  )
  const byLine = new Map<string, Array<TakenDelivery>>()
  const keyOf = ({ endpointId, line }: Pick<TakenDelivery, "endpointId" | "line">) => `${endpointId} ${line}`
  for (const delivery of taken) {
    const ofLine = byLine.get(keyOf(delivery)) ?? []
    byLine.set(keyOf(delivery), ofLine)
    ofLine.push(delivery)
  }
  for (const claim of claims) {
    const { endpointId, limit, line } = claim
    const ofLine = byLine.get(keyOf(claim)) ?? []
    for (const [index, delivery] of ofLine.entries()) {
      // Those behind the first one would not wait for it where its line is not kept.
      if (index > 0 && dispatching.lines.known(endpointId)?.has(line) !== true) {
        if (!dispatching.held.has(delivery.id)) dispatching.returned.push(delivery)
      } else dispatching.hold(delivery)
    }
    dispatching.lines.known(endpointId)?.taken(line, ofLine.length, limit)
  }
})

/** Lines in one walk of an endpoint. */
const walkedLines = 10_000

/** Looks through the lines of an endpoint in the store. */
const walk = Effect.fnUntraced(function* ({ dispatching, store }: StoreSyncContext, worker: Worker) {
  const { endpointId, partition } = worker
  const lines = dispatching.lines.of(endpointId)
  worker.isWalkWanted = false
  const begun = lines.beginWalk(dispatching.lines.recordedOf(partition))
  const found: Array<DeliveryLine> = []
  let isWhole = false
  let isReplaying = false
  while (!isWhole && found.length < walkedLines) {
    const page = yield* store.lines(partition, endpointId, { after: found.at(-1)?.line ?? "", limit: pageSize })
    found.push(...page.found)
    isReplaying ||= page.isReplaying
    isWhole = page.found.length < pageSize
  }
  const isHeld = (id: string) => dispatching.held.has(id)
  lines.walked(begun, found, { isHeld, isWhole: isWhole && !isReplaying, now: dispatching.now })
  dispatching.lines.walked(worker)
})

/** Walks for the workers that want one. */
const walking = (parts: StoreSyncContext) =>
  Effect.suspend(() => {
    const { dispatching } = parts
    const wanted = [...dispatching.wanting].filter((worker) => {
      const isOrdered =
        dispatching.lines.known(worker.endpointId) !== undefined || worker.folded?.endpoint?.ordering !== undefined
      if (!isOrdered) worker.isWalkWanted = false
      return worker.isWalkWanted
    })
    return Effect.forEach(
      wanted,
      (worker) =>
        Effect.onError(walk(parts, worker), () =>
          Effect.sync(() => {
            worker.isWalkWanted = true
          })
        ),
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
      yield* walking(parts)
      yield* Effect.forEach(
        claimsOf(dispatching),
        ([partition, { lanes, lines }]) =>
          Effect.andThen(
            Effect.forEach(pagesOf(lanes), (page) => takeIn(parts, partition, page), { discard: true }),
            Effect.forEach(pagesOf(lines), (page) => takeInLines(parts, partition, page), { discard: true })
          ),
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
      else if (worker.permits(lane)) {
        if (lane === jobLanes.line) dispatching.lines.of(endpointId)
        dispatching.wake(partition, endpointId, [lane])
      }
    }
    dispatching.lines.wantWalks(partition)
    dispatching.forgetIdle()
    after = page.at(-1)
    if (page.length < pageSize) return
  }
})

/** Ends the deliveries of deleted endpoints. */
const endDeleted = Effect.fnUntraced(function* (
  { dispatching, store }: StoreSyncContext,
  partitions: ReadonlyArray<number>
) {
  if (partitions.length === 0) return
  for (const { endpointId, partition } of yield* store.deleted(partitions, pageSize))
    dispatching.cancel(dispatching.worker(partition, endpointId))
})

/** Ends deliveries that are too old; answers whether there may be more. */
const endExpired = Effect.fnUntraced(function* ({ metrics, store }: StoreSyncContext, partition: number) {
  const now = yield* Clock.currentTimeMillis
  const expired = yield* store.expire(partition, { now, limit: endedAtOnce })
  metrics.outcome("expired", expired)
  return expired === endedAtOnce
})

const noPartitions: ReadonlySet<number> = new Set()

/** The partitions that hold deliveries. Without a partition there is nothing to ask. */
const holdingAmong = ({ store }: StoreSyncContext, partitions: ReadonlyArray<number>) =>
  partitions.length === 0 ? Effect.succeed(noPartitions) : store.holding(partitions)

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
      const holding = yield* holdingAmong(parts, partitions)
      const next = new Map<number, number>()
      const dueOf = (partition: number) => endingAt.get(partition) ?? begunAt
      yield* endDeleted(
        parts,
        partitions.filter((partition) => begunAt >= dueOf(partition))
      )
      for (const partition of partitions) {
        const due = dueOf(partition)
        if (begunAt < due) next.set(partition, due)
        if (!holding.has(partition)) {
          // Its lines in memory may still be wrong.
          dispatching.lines.wantWalks(partition)
          if (begunAt >= due) next.set(partition, begunAt + endingMillis)
          continue
        }
        yield* scan(parts, partition)
        if (begunAt >= due && !(yield* endExpired(parts, partition))) next.set(partition, begunAt + endingMillis)
      }
      dispatching.forgetIdle()
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

const counting = (parts: StoreSyncContext) => {
  const { actors, metrics, store } = parts
  let counted: ReadonlySet<number> = new Set()
  return persisting(
    "counting",
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const partitions = new Set(yield* actors.partitions)
      const holding = yield* holdingAmong(parts, [...partitions])
      for (const partition of partitions) {
        const { oldestDueAt, pending } = holding.has(partition)
          ? yield* store.backlog(partition)
          : { oldestDueAt: null, pending: 0 }
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

/**
 * The dispatcher's memory: workers of endpoints, the deliveries that are held, and who wants more of them. What is done in one turn, without
 * waiting; the fibers around it are in `attempting.ts`, `refilling.ts` and `WebhookDispatcher.ts`.
 */
import type { Clock } from "effect"
import { Wakeup } from "../../engine/Wakeup.ts"
import type { CommittedDeliveries } from "../delivery/DispatchFeed.ts"
import { lanes } from "../delivery/model.ts"
import type { TakenDelivery } from "../delivery/ports.ts"
import type { RetrySchedule } from "../delivery/schedule.ts"
import type { Endpoint, FoldedEndpoint } from "../endpoint/model.ts"
import { allLanes, type Capacity, DispatchQueue, type Slot } from "./DispatchQueue.ts"
import { firstPace, maximumLimit, slowAfterMillis, windowOf } from "./pace.ts"
import { Worker } from "./Worker.ts"

export type DeliverySlot = Slot<TakenDelivery, Worker>

export interface DispatcherSettings {
  /** When deliveries of events are retried. */
  readonly schedule: RetrySchedule
  /** How long an endpoint has for its answer. */
  readonly timeoutMillis: number
  /** Attempts at the same time, over all endpoints. */
  readonly capacity: Capacity
  /** How long deliveries are taken for; after a crash they are attempted again when that is over. */
  readonly leaseMillis: number
  /** The shortest time between two looks through what is in the store. */
  readonly scanMillis: number
  /** How long a shutdown waits for attempts in flight. */
  readonly drainMillis: number
  /** How long an outcome waits for others to be recorded with: nobody waits for it, and a statement costs as much as many outcomes. */
  readonly lingerMillis: number
}

/** Deliveries that are held in memory at most, and the length of their bodies in characters. */
export const maximumHeld = 16_384
export const maximumHeldCharacters = 32 * 1024 * 1024

/** While no more than this is held, an endpoint at full pace may hold all of it: a burst then does not go through the store. */
const freelyHeld = maximumHeld / 4
const freelyHeldCharacters = maximumHeldCharacters / 4

/** Endpoints whose workers are kept although they have nothing to do. */
const maximumIdleWorkers = 5_000

/** Looks at the store that are set for a later time at most; what is beyond is found by the next scan. */
const maximumTimers = 10_000

interface Timer {
  readonly at: number
  readonly worker: Worker
  readonly lane: number
}

/** An attempt in flight. */
export interface Flight {
  readonly slot: DeliverySlot
  readonly begunAt: number
}

/** A question to an endpoint's actor: its number in their order, and the frame of the state that was known then. */
export interface Asked {
  readonly number: number
  readonly sequence: number | undefined
}

export class Dispatching {
  readonly settings: DispatcherSettings
  readonly clock: Clock.Clock
  readonly queue: DispatchQueue<TakenDelivery, Worker>
  readonly workers = new Map<string, Worker>()
  readonly held = new Map<string, { readonly delivery: TakenDelivery; readonly worker: Worker }>()
  /** Those that may have something to take from the store, or whose endpoint is not known yet. */
  readonly wanting = new Set<Worker>()
  /** Endpoints without a state, whose deliveries are to be cancelled. */
  readonly deleted = new Map<string, Worker>()
  /** Taken, but not to be attempted now: to be given back. */
  returned: Array<TakenDelivery> = []
  /** Ids of those whose outcome is being recorded: it may count already, so they are not given back any more. */
  readonly recording = new Set<string>()
  /** For the fiber that takes from the store and gives back. */
  readonly wakeup = new Wakeup()
  /** Begins an attempt; set by who runs them. */
  begin: (slot: DeliverySlot) => void = () => undefined
  isDraining = false
  /** Attempts without an answer that are not overdue yet, oldest first. */
  private readonly flights = new Set<Flight>()
  /** Latest first. */
  private readonly timers: Array<Timer> = []
  private heldCharacters = 0
  private isPumping = false
  private asks = 0

  constructor(settings: DispatcherSettings, clock: Clock.Clock) {
    this.settings = settings
    this.clock = clock
    this.queue = new DispatchQueue(settings.capacity)
  }

  get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  /** How much more may be held. */
  room(): { readonly deliveries: number; readonly characters: number } {
    if (this.isDraining) return { deliveries: 0, characters: 0 }
    return {
      deliveries: Math.max(0, maximumHeld - this.held.size),
      characters: Math.max(0, maximumHeldCharacters - this.heldCharacters)
    }
  }

  /** Whether it is worth looking at the store. */
  get hasRoom(): boolean {
    return this.held.size <= maximumHeld / 2 && this.heldCharacters <= maximumHeldCharacters / 2
  }

  /** How many more first attempts of an endpoint may be held; none while older ones wait in the store. */
  roomOf(endpointId: string): number {
    const worker = this.workers.get(endpointId)
    if (worker === undefined) return windowOf(firstPace)
    if (worker.more[lanes.first]) return 0
    const { limit, track } = worker.pace
    const isAtFullPace = track === "main" && limit === maximumLimit
    const free = isAtFullPace && this.heldCharacters <= freelyHeldCharacters ? freelyHeld - this.held.size : 0
    return Math.max(free, worker.roomIn(lanes.first))
  }

  /** What the reactor has committed. */
  committed({ endpoints, queued, taken }: CommittedDeliveries): void {
    for (const folded of endpoints) {
      this.worker(folded.partition, folded.endpointId)
      this.apply(folded)
    }
    for (const delivery of taken) this.hold(delivery)
    for (const [endpointId, { partition }] of queued) this.wake(partition, endpointId, [lanes.first, lanes.asked])
    this.pump()
  }

  /** The worker of an endpoint, made where it is missing. */
  worker(partition: number, endpointId: string): Worker {
    let worker = this.workers.get(endpointId)
    if (worker === undefined) {
      worker = new Worker(partition, endpointId)
      this.workers.set(endpointId, worker)
    }
    return worker
  }

  /** Takes in the state of an endpoint as the log has made it, where it has a worker and the state is a newer one. */
  apply(folded: FoldedEndpoint): void {
    const worker = this.workers.get(folded.endpointId)
    if (worker === undefined) return
    const known = worker.folded?.sequence ?? -1
    if (known > folded.sequence || (known === folded.sequence && worker.isAhead)) return
    worker.isAhead = false
    this.adopt(worker, folded)
  }

  /** To be called before an endpoint's actor is asked: what its answer is measured by. */
  asking(worker: Worker): Asked {
    return { number: ++this.asks, sequence: worker.folded?.sequence }
  }

  /**
   * Takes in what the endpoint's actor has answered, before the log's own state comes, with a later frame. Not an answer that comes late: where
   * the log or a later answer has come in between, it may tell of a state that is over.
   */
  foresee(worker: Worker, endpoint: Endpoint | null, { number, sequence }: Asked): void {
    if (worker.folded === undefined || worker.folded.sequence !== sequence || number < worker.answered) return
    worker.answered = number
    worker.isAhead = true
    this.adopt(worker, { ...worker.folded, endpoint })
  }

  private adopt(worker: Worker, folded: FoldedEndpoint): void {
    const before = worker.folded
    worker.folded = folded
    if (before !== undefined && before.endpoint === folded.endpoint) return
    worker.isSuccessTold = false
    const allowedBefore = worker.permission
    this.queue.permit(worker, worker.allowed)
    for (const delivery of this.queue.withdraw(worker)) {
      if (folded.endpoint === null) this.release(delivery)
      else this.giveBack(delivery)
    }
    if (folded.endpoint === null) this.cancel(worker)
    else if (before !== undefined && allowedBefore !== worker.permission) this.wake(worker.partition, worker.endpointId)
  }

  /** Leaves a delivery to the store, as if it had not been taken. */
  giveBack(delivery: TakenDelivery): void {
    this.returned.push(delivery)
    this.wakeup.notify()
  }

  /** Has the deliveries of an endpoint that is no more cancelled. */
  cancel(worker: Worker): void {
    this.wanting.delete(worker)
    this.deleted.set(worker.endpointId, worker)
    this.wakeup.notify()
  }

  /** Takes a delivery in. */
  hold(delivery: TakenDelivery): void {
    const known = this.held.get(delivery.id)?.delivery
    if (known !== undefined) {
      // its time had ended and it was taken again here: the attempt at work is that one now
      known.attempt = delivery.attempt
      known.takenUntil = delivery.takenUntil
      return
    }
    const worker = this.worker(delivery.partition, delivery.endpointId)
    this.held.set(delivery.id, { delivery, worker })
    this.heldCharacters += delivery.body.length
    worker.held++
    if (worker.folded === undefined) {
      this.want(worker)
      this.queue.add(worker, delivery.lane, delivery)
    } else if (worker.permits(delivery.lane)) this.queue.add(worker, delivery.lane, delivery)
    else this.giveBack(delivery)
  }

  /** Lets go of a delivery, whatever became of it. */
  release(delivery: TakenDelivery): void {
    const held = this.held.get(delivery.id)
    if (held?.delivery !== delivery) return
    this.held.delete(delivery.id)
    this.recording.delete(delivery.id)
    this.heldCharacters -= delivery.body.length
    held.worker.held--
    if (this.wanting.size > 0 && this.hasRoom) this.wakeup.notify()
  }

  /** Begins every attempt that may begin now. */
  pump(): void {
    // an attempt may end while it begins
    if (this.isPumping || this.isDraining) return
    this.isPumping = true
    try {
      for (let slot = this.queue.next(); slot !== undefined; slot = this.queue.next()) {
        this.begin(slot)
        this.refillOf(slot)
      }
    } finally {
      this.isPumping = false
    }
  }

  /** An attempt was sent. */
  flying(slot: DeliverySlot): Flight {
    const flight = { slot, begunAt: this.now }
    this.flights.add(flight)
    return flight
  }

  /** An attempt has its answer or was given up. */
  landed(flight: Flight): void {
    this.flights.delete(flight)
  }

  /** Attempts that have had no answer for long make their endpoint a slow one. */
  markOverdue(): void {
    const before = this.now - slowAfterMillis
    for (const flight of this.flights) {
      if (flight.begunAt > before) break
      this.flights.delete(flight)
      this.queue.overdue(flight.slot)
    }
    this.pump()
  }

  /** Looks at the store again at that time. */
  arm(worker: Worker, lane: number, at: number): void {
    if (at >= worker.armedFor[lane]! || this.timers.length >= maximumTimers) return
    worker.armedFor[lane] = at
    let low = 0
    let high = this.timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.timers[middle]!.at > at) low = middle + 1
      else high = middle
    }
    this.timers.splice(low, 0, { at, worker, lane })
    if (low === this.timers.length - 1) this.wakeup.notify()
  }

  /** Milliseconds until the next look; infinite without one. */
  untilTimer(): number {
    const next = this.timers.at(-1)
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.at - this.now)
  }

  /** Those whose time has come want to look at the store. */
  fireTimers(): void {
    const { now } = this
    for (let timer = this.timers.at(-1); timer !== undefined && timer.at <= now; timer = this.timers.at(-1)) {
      this.timers.pop()
      const { at, lane, worker } = timer
      if (worker.armedFor[lane] === at) worker.armedFor[lane] = Number.POSITIVE_INFINITY
      worker.more[lane] = true
      this.want(worker)
    }
  }

  /** There may be something in the store for these lanes of an endpoint. */
  wake(partition: number, endpointId: string, of: ReadonlyArray<number> = allLanes): Worker {
    const worker = this.worker(partition, endpointId)
    for (const lane of of) worker.more[lane] = true
    this.want(worker)
    return worker
  }

  /** Forgets what belongs to partitions that are served elsewhere. */
  dropOthers(partitions: ReadonlySet<number>): void {
    for (const worker of this.workers.values()) if (!partitions.has(worker.partition)) this.drop(worker)
  }

  /** Forgets workers without anything to do when there are many. */
  forgetIdle(): void {
    if (this.workers.size <= maximumIdleWorkers) return
    for (const worker of this.workers.values()) {
      if (this.workers.size <= maximumIdleWorkers) return
      if (worker.isForgettable && !this.deleted.has(worker.endpointId)) this.drop(worker)
    }
  }

  /** Forgets an endpoint; what is held of it and not in flight goes back. */
  drop(worker: Worker): void {
    worker.isDropped = true
    this.workers.delete(worker.endpointId)
    this.wanting.delete(worker)
    this.deleted.delete(worker.endpointId)
    this.queue.permit(worker, "none")
    for (const delivery of this.queue.withdraw(worker)) this.giveBack(delivery)
    for (let index = this.timers.length - 1; index >= 0; index--)
      if (this.timers[index]!.worker === worker) this.timers.splice(index, 1)
  }

  private want(worker: Worker): void {
    if (worker.isDropped || this.isDraining) return
    this.wanting.add(worker)
    this.wakeup.notify()
  }

  private refillOf({ lane, queue }: DeliverySlot): void {
    if (queue.wantedIn(lane) > 0) this.want(queue)
  }
}

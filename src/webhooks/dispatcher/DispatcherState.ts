/**
 * Holds the dispatcher's memory: workers of endpoints, their deliveries, and the workers that want more. Everything
 * here is synchronous; the fibers around it are in `attemptDelivery.ts`, `storeSync.ts` and `WebhookDispatcher.ts`.
 */
import { type Clock, Effect, MutableList } from "effect"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { Shares } from "../../common/Shares.ts"
import { Wakeup } from "../../engine/Wakeup.ts"
import type { CommittedDeliveries } from "../delivery/DispatchListener.ts"
import { jobLanes } from "../delivery/model.ts"
import type { DeliveryOutcome, TakenDelivery } from "../delivery/ports.ts"
import type { RetrySchedule } from "../delivery/schedule.ts"
import type { Endpoint, FoldedEndpoint } from "../endpoint/model.ts"
import { firstPace, maximumLimit, slowAfterMillis, windowOf } from "./ConcurrencyLimit.ts"
import { type Departure, DispatchLines, departed, departureOf, type LinesHost } from "./DispatchLines.ts"
import { allLanes, type Capacity, DispatchQueue, type Slot } from "./DispatchQueue.ts"
import { EndpointRates } from "./EndpointRates.ts"
import { type StateQuestion, Worker } from "./EndpointWorker.ts"
import { StoreTimers } from "./StoreTimers.ts"

export type DeliverySlot = Slot<TakenDelivery, Worker>

/** When deliveries are retried, how long they may take, and how many run concurrently. See {@link defaultSettings}. */
export interface DispatcherSettings {
  /** When deliveries of events are retried. */
  readonly schedule: RetrySchedule
  /** How long an endpoint has for its answer. */
  readonly timeoutMillis: number
  /** Attempts at the same time, over all endpoints; organizations share them (`Shares.ts`). */
  readonly capacity: Capacity
  /** The lease of taken deliveries. After a crash they are attempted again when it is over. */
  readonly leaseMillis: number
  /** The shortest time between two scans of the store. */
  readonly scanMillis: number
  /** How long a shutdown waits for attempts in flight. */
  readonly drainMillis: number
  /**
   * How long an outcome waits to be recorded together with others. Nobody waits for it, and one statement costs as much
   * for one outcome as for many.
   */
  readonly lingerMillis: number
}

/** Most deliveries held in memory, and most characters of their bodies; organizations share both (`Shares.ts`). */
export const maximumHeld = 16_384
export const maximumHeldCharacters = 32 * 1024 * 1024

/** Up to this much, an endpoint at full pace may hold everything, so that a burst does not go through the store. */
const freelyHeld = maximumHeld / 2
const freelyHeldCharacters = maximumHeldCharacters / 4

/** Most idle workers that are kept. */
const maximumIdleWorkers = 5_000

/** Most deliveries that are remembered because their attempt outlived a life of their partition. */
const maximumOutlived = 10_000

/** Deliveries, and characters of their bodies. */
export interface Room {
  readonly deliveries: number
  readonly characters: number
}

/** An attempt in flight. */
export interface Flight {
  readonly slot: DeliverySlot
  readonly begunAt: number
}

export class DispatcherState {
  readonly settings: DispatcherSettings
  readonly clock: Clock.Clock
  readonly queue: DispatchQueue<TakenDelivery, Worker>
  readonly workers = new Map<string, Worker>()
  readonly held = new Map<string, { readonly delivery: TakenDelivery; readonly worker: Worker }>()
  /** Workers that may have deliveries to take from the store, or whose endpoint is not known yet. */
  readonly wanting = new Set<Worker>()
  /** Workers whose endpoint may have changed in the store without a word. */
  outdated = new Set<Worker>()
  /** Deleted endpoints whose deliveries must be cancelled. */
  readonly deleted = new Map<string, Worker>()
  /** Taken deliveries that are not to be attempted now and must be given back. */
  returned: Array<TakenDelivery> = []
  /**
   * Ids of deliveries whose outcome is being recorded. The outcome may count already, so they must not be given back.
   */
  readonly recording = new Set<string>()
  /**
   * Ids of deliveries whose attempt outlived a life of their partition, and whose outcome the store has. The next life
   * may write their job before, and hand them over after.
   */
  readonly outlived = new BoundedMap<string, true>(maximumOutlived)
  /** Wakes the fiber that takes from the store and gives back. */
  readonly wakeup = new Wakeup()
  /** Workers with offered deliveries that wait for room. */
  private readonly offering = new Set<Worker>()
  /** Wakes the fiber that begins what was offered, outside the turn of the partition. */
  readonly offerWakeup = new Wakeup()
  /** Begins an attempt; set by the dispatcher. */
  begin: (slot: DeliverySlot) => void = () => undefined
  isDraining = false
  /** Attempts that wait for an answer and are not overdue yet, oldest first. */
  private readonly flights = new Set<Flight>()
  private readonly timers = new StoreTimers()
  private readonly heldDeliveries = new Shares(maximumHeld)
  private readonly heldCharacters = new Shares(maximumHeldCharacters)
  private readonly rates: EndpointRates
  readonly lines: DispatchLines
  private isPumping = false
  private asks = 0

  private readonly newest: (read: FoldedEndpoint) => FoldedEndpoint

  /** `newest` answers an endpoint as acknowledged frames show it, where they do; the store follows them. */
  constructor(
    settings: DispatcherSettings,
    clock: Clock.Clock,
    newest: (read: FoldedEndpoint) => FoldedEndpoint = (read) => read
  ) {
    this.newest = newest
    this.settings = settings
    this.clock = clock
    this.rates = new EndpointRates(clock)
    this.queue = new DispatchQueue(settings.capacity, this.rates.steadyMillis)
    this.lines = new DispatchLines(this.linesHost())
  }

  private linesHost(): LinesHost {
    const state = this
    return {
      get now() {
        return state.now
      },
      get isDraining() {
        return state.isDraining
      },
      workerOf: (endpointId) => this.workers.get(endpointId),
      isHeld: (id) => this.held.has(id),
      enqueue: (worker, delivery) => {
        this.queue.add(worker, delivery.lane, delivery)
        this.pump()
      },
      offer: (worker, delivery) => {
        MutableList.append(worker.offered, delivery)
        this.offering.add(worker)
        this.offerWakeup.notify()
      },
      giveBack: (delivery) => this.giveBack(delivery),
      withdraw: (worker, delivery) => this.queue.remove(worker, delivery.lane, delivery),
      want: (worker) => this.want(worker),
      arm: (worker, lane, at) => this.arm(worker, lane, at)
    }
  }

  get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  /** How much more may be held. */
  room(): Room {
    if (this.isDraining) return { deliveries: 0, characters: 0 }
    const { heldCharacters, heldDeliveries } = this
    return {
      deliveries: Math.max(0, heldDeliveries.capacity - heldDeliveries.used),
      characters: Math.max(0, heldCharacters.capacity - heldCharacters.used)
    }
  }

  /** How much more of an organization may be held. */
  roomFor(organizationId: string): Room {
    if (this.isDraining) return { deliveries: 0, characters: 0 }
    return {
      deliveries: this.heldDeliveries.roomOf(organizationId),
      characters: this.heldCharacters.roomOf(organizationId)
    }
  }

  /** Whether there is enough room for an organization to make a look at the store worthwhile: as much again as is held. */
  hasRoomFor(organizationId: string): boolean {
    return [this.heldDeliveries, this.heldCharacters].every((held) => {
      const room = held.roomOf(organizationId)
      return room > 0 && room >= held.of(organizationId)
    })
  }

  /** How many more first attempts of an endpoint may be held; none while older ones wait in the store. */
  roomOf(endpointId: string): number {
    const worker = this.workers.get(endpointId)
    if (worker === undefined) return windowOf(firstPace)
    if (worker.more[jobLanes.first]) return 0
    const { limit, track } = worker.pace
    const isAtFullPace = track === "main" && limit === maximumLimit
    const isFree = isAtFullPace && worker.rateLimit === null && this.heldCharacters.used <= freelyHeldCharacters
    return Math.max(isFree ? freelyHeld - this.heldDeliveries.used : 0, worker.roomIn(jobLanes.first))
  }

  /** Has the states of a partition's endpoints read again. */
  outdate(partition: number): void {
    for (const worker of this.workers.values()) {
      if (worker.partition !== partition) continue
      this.outdated.add(worker)
      this.lines.doubt(worker)
    }
    if (this.outdated.size > 0) this.wakeup.notify()
  }

  /** Takes in the state of endpoints from an acknowledged frame. */
  followed(endpoints: ReadonlyArray<FoldedEndpoint>): void {
    for (const folded of endpoints) {
      this.worker(folded.partition, folded.endpointId)
      this.apply(folded)
    }
  }

  /** Takes deliveries of an acknowledged frame. Each runs, waits for room, or is left to the queue. */
  offer(deliveries: ReadonlyArray<TakenDelivery>): void {
    for (const delivery of deliveries) {
      const worker = this.worker(delivery.partition, delivery.endpointId)
      worker.organizationId = delivery.organizationId
      if (worker.folded === undefined) this.learn(worker)
      // An attempt of an earlier life may still run. Older deliveries in the store go first.
      const canGo = !this.isDraining && !this.held.has(delivery.id) && worker.permits(delivery.lane)
      if (delivery.line !== undefined) this.lines.offer(worker, delivery, canGo)
      else if (!canGo || worker.more[delivery.lane]) delivery.task?.leave()
      else {
        MutableList.append(worker.offered, delivery)
        this.offering.add(worker)
      }
    }
    this.offerWakeup.notify()
  }

  /** Notes a delivery of an acknowledged frame that only the reactor has: later ones of its line must follow it. */
  missed({ endpointId, frame, id, line, partition }: TakenDelivery): void {
    if (line === undefined) return
    this.lines.of(endpointId).storeId(line, id, frame)
    this.lines.askForWalk(this.worker(partition, endpointId))
  }

  /** Takes in what acknowledged frames have shown of an endpoint that has no state here, such as after a time of rest. */
  private learn({ endpointId, organizationId, partition }: Worker): void {
    const folded = this.newest({ endpointId, organizationId, partition, sequence: 0, endpoint: null })
    if (folded.endpoint !== null) this.apply(folded)
  }

  /** Begins what was offered, as far as there is room. */
  readonly beginOffered: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(this.offerWakeup.wait, () => {
      for (const worker of [...this.offering]) {
        this.takeOffered(worker)
        if (worker.offered.length === 0) continue
        // Others come first the next time.
        this.offering.delete(worker)
        this.offering.add(worker)
      }
      this.pump()
    })
  )

  /** Takes in the offered deliveries of an endpoint for which there is room. */
  private takeOffered(worker: Worker): void {
    while (worker.offered.length > 0) {
      const { organizationId } = worker
      const own = this.roomFor(organizationId)
      if (this.roomOf(worker.endpointId) <= 0 || own.deliveries <= 0 || own.characters <= 0) return
      const [delivery] = MutableList.takeN(worker.offered, 1) as [TakenDelivery]
      // It was left to the queue while it waited, where it was written before its turn.
      if (delivery.task?.run() === true) this.hold(delivery)
      else this.lines.left(worker, delivery)
    }
    this.offering.delete(worker)
  }

  /** Leaves what an endpoint was offered to the queue. */
  private leaveOffered(worker: Worker): void {
    for (const delivery of MutableList.takeAll(worker.offered)) {
      delivery.task?.leave()
      this.lines.left(worker, delivery)
    }
    this.offering.delete(worker)
  }

  /** Accepts nothing more; what waits is left to the queue. */
  beginDrain(): void {
    this.isDraining = true
    for (const worker of this.offering) this.leaveOffered(worker)
  }

  /**
   * Ends a delivery whose frame is not recorded yet: what it came to is written with its row. False where the store
   * must record it.
   */
  ended(delivery: TakenDelivery, outcome: DeliveryOutcome): boolean {
    if (delivery.task?.end(outcome) !== true) return false
    this.release(delivery, departureOf(outcome))
    return true
  }

  /**
   * Takes in what the reactor has committed. Attempts begin after the turn of the partition: frames behind the commit may
   * silence an endpoint, and a new life of the partition shows them later in the turn.
   */
  committed(committed: CommittedDeliveries): void {
    this.isPumping = true
    try {
      this.takeIn(committed)
    } finally {
      this.isPumping = false
    }
    this.offerWakeup.notify()
  }

  private takeIn({ endpoints, queued, retries = [], taken }: CommittedDeliveries): void {
    this.followed(endpoints)
    for (const { endpoint, endpointId } of endpoints) {
      // Deliveries of a deleted endpoint may be in the store since its worker learned that from the frame.
      const worker = this.workers.get(endpointId)
      if (endpoint === null && worker !== undefined) this.cancel(worker)
    }
    for (const delivery of taken) if (!this.outlived.delete(delivery.id)) this.hold(delivery)
    for (const { dueAt, endpointId, line, partition } of retries) {
      const worker = this.worker(partition, endpointId)
      if (line === undefined) this.arm(worker, jobLanes.retry, dueAt)
      else this.lines.retry(worker, line, dueAt)
    }
    for (const [endpointId, { lines = [], partition }] of queued)
      this.lines.queued(this.wake(partition, endpointId, [jobLanes.first, jobLanes.asked]), lines)
  }

  /** The worker of an endpoint, made if it is missing. */
  worker(partition: number, endpointId: string): Worker {
    let worker = this.workers.get(endpointId)
    if (worker === undefined) {
      worker = new Worker(partition, endpointId)
      this.rates.adopt(worker)
      this.workers.set(endpointId, worker)
    }
    return worker
  }

  /** Takes in the state that the log has given an endpoint, if the endpoint has a worker and the state is newer. */
  apply(read: FoldedEndpoint): void {
    const folded = this.newest(read)
    const worker = this.workers.get(folded.endpointId)
    if (worker === undefined) return
    const known = worker.folded?.sequence ?? -1
    if (known > folded.sequence || (known === folded.sequence && worker.isAhead)) return
    // A deletion that a frame has shown is final. The row may be of a moment before it.
    if (known > 0 && worker.folded?.endpoint === null && folded.endpoint !== null) return
    worker.isAhead = false
    this.noteReplay(worker, folded)
    this.adopt(worker, folded)
  }

  /** This process may not know the deliveries that a replay puts into the store. */
  private noteReplay(worker: Worker, { endpoint, sequence }: FoldedEndpoint): void {
    const replay = endpoint?.recentRequests?.findLast((request) => "since" in request)
    if (replay === undefined || replay.id === worker.lastReplayId) return
    worker.lastReplayId = replay.id
    if (endpoint?.ordering) this.lines.of(worker.endpointId)
    this.lines.doubt(worker, sequence)
  }

  /** Notes a question to an endpoint's actor. Call it before asking; `foresee` needs the result. */
  asking(worker: Worker): StateQuestion {
    return { number: ++this.asks, sequence: worker.folded?.sequence }
  }

  /**
   * Takes in the state that the endpoint's actor has answered, before the log brings it with a later frame. Ignores a
   * late answer: if the log or a later answer has come in between, it may show an outdated state.
   */
  foresee(worker: Worker, endpoint: Endpoint | null, { number, sequence }: StateQuestion): void {
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
    for (const delivery of this.queue.limit(worker, folded.endpoint?.rateLimit ?? null)) this.giveBack(delivery)
    const allowedBefore = worker.permission
    this.queue.permit(worker, worker.allowed)
    if (worker.permission !== "all") this.leaveOffered(worker)
    for (const delivery of this.queue.withdraw(worker)) {
      if (folded.endpoint === null) this.cancelHeld(delivery)
      else this.giveBack(delivery)
    }
    if (folded.endpoint === null) {
      for (const delivery of this.lines.forget(worker.endpointId)) this.cancelHeld(delivery)
      this.cancel(worker)
    } else if (before !== undefined && allowedBefore !== worker.permission)
      this.wake(worker.partition, worker.endpointId)
  }

  /** Ends a delivery of a deleted endpoint. Where the store has a job of it, that is cancelled with the others. */
  cancelHeld(delivery: TakenDelivery): void {
    if (!this.ended(delivery, { delivery, made: null, result: { _tag: "Settled", status: "cancelled" } }))
      this.release(delivery)
  }

  /** Gives a delivery back to the store, as if it had not been taken. */
  giveBack(delivery: TakenDelivery): void {
    if (this.giveBackUnrecorded(delivery)) return
    this.lines.giveBack(delivery)
    this.returned.push(delivery)
    this.wakeup.notify()
  }

  /** Gives a delivery back whose frame is not recorded yet: its job is written as not attempted. */
  giveBackUnrecorded(delivery: TakenDelivery, dueAt = this.now): boolean {
    return this.ended(delivery, { delivery, made: null, result: { _tag: "Returned", dueAt } })
  }

  /** Asks for the deliveries of a deleted endpoint to be cancelled. */
  cancel(worker: Worker): void {
    this.wanting.delete(worker)
    this.deleted.set(worker.endpointId, worker)
    this.wakeup.notify()
  }

  /** Takes a delivery in. */
  hold(delivery: TakenDelivery): void {
    const known = this.held.get(delivery.id)?.delivery
    if (known !== undefined) {
      // Its lease had ended and this process took it again: the running attempt has that number now.
      known.attempt = delivery.attempt
      known.leasedUntil = delivery.leasedUntil
      // It comes from the store now, whatever life of the partition has offered it.
      if (known.task?.isAbandoned === true) delete known.task
      // Those behind it must wait for its attempt.
      if (known.line !== undefined) this.lines.of(known.endpointId).take(known)
      return
    }
    const worker = this.worker(delivery.partition, delivery.endpointId)
    worker.organizationId = delivery.organizationId
    this.held.set(delivery.id, { delivery, worker })
    this.heldDeliveries.take(delivery.organizationId)
    this.heldCharacters.take(delivery.organizationId, delivery.body.length)
    worker.held++
    if (worker.folded === undefined) this.want(worker)
    else if (!worker.permits(delivery.lane)) {
      this.giveBack(delivery)
      return
    }
    // One of a frame has its place in its line already.
    if (delivery.line !== undefined && delivery.frame === undefined) this.lines.take(worker, delivery)
    else this.queue.add(worker, delivery.lane, delivery)
  }

  /** Releases a delivery. Its line goes on where it is over. */
  release(delivery: TakenDelivery, departure: Departure = departed): void {
    this.lines.release(delivery, departure)
    const held = this.held.get(delivery.id)
    if (held?.delivery !== delivery) return
    this.held.delete(delivery.id)
    this.recording.delete(delivery.id)
    this.heldDeliveries.give(delivery.organizationId)
    this.heldCharacters.give(delivery.organizationId, delivery.body.length)
    held.worker.held--
    if (this.offering.size > 0) this.offerWakeup.notify()
    if (this.wanting.size > 0 && this.hasRoomFor(delivery.organizationId)) this.wakeup.notify()
  }

  /** Begins every attempt that may begin now. */
  pump(): void {
    // An attempt may end while it begins, or while a commit is taken in.
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
    this.rates.resumesAt(this.queue.resumesAt)
  }

  /** Waits until an endpoint that waits for its rate may have waited long enough, then begins what may begin. */
  readonly resuming: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(this.rates.wait(this.queue.resumesAt), () => {
      this.queue.resume()
      this.pump()
    })
  )

  /** Notes that an attempt is sent. */
  flying(slot: DeliverySlot): Flight {
    this.queue.begin(slot)
    const flight = { slot, begunAt: this.now }
    // Those of the slow track are expected to take long.
    if (slot.place === "main") this.flights.add(flight)
    return flight
  }

  /** Notes that an attempt has its answer or was given up. */
  landed(flight: Flight): void {
    this.flights.delete(flight)
  }

  /** Milliseconds until an attempt is overdue; at most `slowAfterMillis`, in which no later one can be. */
  untilOverdue(): number {
    for (const { begunAt } of this.flights) return Math.min(slowAfterMillis, begunAt + slowAfterMillis - this.now)
    return slowAfterMillis
  }

  /** Takes the places from attempts that have waited long for an answer, and marks their endpoints as slow. */
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
    if (this.timers.arm(worker, lane, at)) this.wakeup.notify()
  }

  /** Milliseconds until the next look; infinite without one. */
  untilTimer(): number {
    return this.timers.untilNext(this.now)
  }

  /** Makes the workers whose timers are due look at the store. */
  fireTimers(): void {
    const { now } = this
    for (let timer = this.timers.takeDue(now); timer !== undefined; timer = this.timers.takeDue(now)) {
      const { lane, worker } = timer
      if (lane === jobLanes.line) {
        this.lines.fire(worker)
        continue
      }
      worker.more[lane] = true
      this.want(worker)
    }
  }

  /** Notes that the store may have deliveries for these lanes of an endpoint. */
  wake(partition: number, endpointId: string, of: ReadonlyArray<number> = allLanes): Worker {
    const worker = this.worker(partition, endpointId)
    for (const lane of of) {
      if (lane === jobLanes.line) worker.isWalkWanted = true
      else worker.more[lane] = true
    }
    this.want(worker)
    return worker
  }

  /** Forgets the workers of partitions that are served elsewhere. */
  dropOthers(partitions: ReadonlySet<number>): void {
    for (const worker of this.workers.values()) if (!partitions.has(worker.partition)) this.drop(worker)
  }

  /** Forgets workers without anything to do when there are many, and rates that no longer count. */
  forgetIdle(): void {
    this.rates.forgetOver()
    if (this.workers.size <= maximumIdleWorkers) return
    for (const worker of this.workers.values()) {
      if (this.workers.size <= maximumIdleWorkers) return
      if (worker.isForgettable && !this.deleted.has(worker.endpointId)) this.drop(worker)
    }
  }

  /** Forgets an endpoint. Its deliveries that are not in flight are given back. */
  drop(worker: Worker): void {
    worker.isDropped = true
    this.rates.keep(worker)
    this.workers.delete(worker.endpointId)
    this.wanting.delete(worker)
    this.deleted.delete(worker.endpointId)
    this.leaveOffered(worker)
    this.queue.permit(worker, "none")
    for (const delivery of this.queue.withdraw(worker)) this.giveBack(delivery)
    for (const delivery of this.lines.forget(worker.endpointId)) this.giveBack(delivery)
    this.timers.forget(worker)
  }

  private want(worker: Worker): void {
    if (worker.isDropped || this.isDraining) return
    this.wanting.add(worker)
    this.wakeup.notify()
  }

  private refillOf({ lane, queue }: DeliverySlot): void {
    if (queue.offered.length > 0) this.takeOffered(queue)
    const { ready } = this.lines.known(queue.endpointId) ?? {}
    if (queue.wantedIn(lane) > 0 || (ready !== undefined && ready.size > 0)) this.want(queue)
  }
}

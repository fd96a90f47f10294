/**
 * Queues the deliveries in memory and picks the next one. Organizations share the slots for attempts, and their
 * endpoints take turns, however much each has waiting. Each endpoint gets as many concurrent attempts as its pace
 * allows, first attempts beside retries. Endpoints that answer and slow endpoints have separate slots, and a hanging
 * attempt continues without one, so that no organization waits for the endpoints of others. An endpoint whose rate
 * allows no attempt now waits outside, without a turn (`AttemptRate.ts`). No I/O: the dispatcher reports events to the
 * queue, and gives it the clock of the rates.
 */
import { MutableList } from "effect"
import { roomOf, Shares } from "../../common/Shares.ts"
import { jobLanes } from "../delivery/model.ts"
import { AttemptRate, windowOfRate } from "./AttemptRate.ts"
import {
  type AttemptEnd,
  firstPace,
  overduePace,
  type Pace,
  paceAfter,
  type Track,
  windowOf
} from "./ConcurrencyLimit.ts"
import { Turns } from "./Turns.ts"

/** Lanes by their number. */
export const allLanes: ReadonlyArray<number> = Object.values(jobLanes)

/** The deliveries that an endpoint allows: all, only asked ones (Paused), or none (Disabled, deleted, not known yet). */
export type Permission = "all" | "asked" | "none"

/** The places for concurrent attempts, by track. See {@link Webhooks}. */
export interface Capacity {
  readonly main: number
  readonly slow: number
}

/** Where an attempt is counted: at the track whose place it has, or at those that are overdue and have none. See {@link Webhooks}. */
export type AttemptPlace = Track | "overdue"

/**
 * All overdue attempts may be this many times the places of the main track. Beyond that, organizations go on of which
 * fewer than this part of those places are overdue.
 */
const overdueFactor = 4
const overduePart = 16

/**
 * How many attempts of an organization may be overdue before it begins no other ones in the main track. As one that
 * hangs keeps its place for `slowAfterMillis` and then goes on until its timeout, this bounds what hangs in all.
 */
export const maximumOverdue = (mainPlaces: number, overdue: number): number =>
  overdue < overdueFactor * mainPlaces ? mainPlaces : Math.max(1, Math.floor(mainPlaces / overduePart))

/** An endpoint's part of the queue. Changed by `DispatchQueue` only. */
export class EndpointQueue<Item> {
  readonly endpointId: string
  /** Whose it is; known before anything waits here. */
  organizationId = ""
  pace: Pace = firstPace
  permission: Permission = "none"
  /** Attempts per second at most; null without a limit. */
  rateLimit: number | null = null
  rate = new AttemptRate()
  /** Until when its rate allows no attempt; undefined while it may get a turn. */
  heldUntil: number | undefined
  readonly waiting: ReadonlyArray<MutableList.MutableList<Item>> = allLanes.map(() => MutableList.make<Item>())
  readonly inFlight: Array<number> = allLanes.map(() => 0)
  /** When each lane was served last, as a growing number. */
  readonly servedAt: Array<number> = allLanes.map(() => 0)
  total = 0
  /** Whether it waits for its turn, by track; after a change of its pace perhaps in both. */
  readonly isQueued: Record<Track, boolean> = { main: false, slow: false }

  constructor(endpointId: string) {
    this.endpointId = endpointId
  }

  get isIdle(): boolean {
    return this.total === 0 && this.waiting.every((lane) => lane.length === 0)
  }

  /** Deliveries of a lane that wait here. */
  waitingIn(lane: number): number {
    return this.waiting[lane]!.length
  }

  /** How many deliveries of a lane are worth holding. */
  get window(): number {
    const window = windowOf(this.pace)
    return this.rateLimit === null ? window : Math.min(window, windowOfRate(this.rateLimit))
  }

  /** How many more of a lane are worth holding. */
  roomIn(lane: number): number {
    return Math.max(0, this.window - this.waitingIn(lane))
  }
}

/** An attempt that is being made. */
export interface Slot<Item, Queue extends EndpointQueue<Item> = EndpointQueue<Item>> {
  readonly queue: Queue
  readonly item: Item
  readonly lane: number
  place: AttemptPlace
  /** How many its endpoint had when it began, this one included. */
  readonly inFlight: number
  /** Whether its endpoint had one attempt at a time then. */
  readonly isAlone: boolean
  /** Whether it has taken a part of its endpoint's rate and has not begun yet. */
  isStarting: boolean
  isOver: boolean
}

/**
 * The lane that is next at an endpoint: the one with the fewest attempts in flight, and of equals the one that was served longest ago.
 * Retries have half of what the pace allows at most, so that a first attempt never waits for them alone.
 */
export const nextLane = (state: {
  readonly limit: number
  readonly permission: Permission
  readonly waiting: ReadonlyArray<number>
  readonly inFlight: ReadonlyArray<number>
  readonly servedAt: ReadonlyArray<number>
}): number | undefined => {
  const { inFlight, limit, permission, servedAt, waiting } = state
  if (permission === "none" || inFlight.reduce((sum, count) => sum + count, 0) >= limit) return undefined
  let best: number | undefined
  for (const lane of allLanes) {
    if (waiting[lane] === 0 || (permission === "asked" && lane !== jobLanes.asked)) continue
    if (lane === jobLanes.retry && inFlight[lane]! >= Math.max(1, Math.floor(limit / 2))) continue
    const isBetter =
      best === undefined ||
      inFlight[lane]! < inFlight[best]! ||
      (inFlight[lane] === inFlight[best] && servedAt[lane]! < servedAt[best]!)
    if (isBetter) best = lane
  }
  return best
}

export class DispatchQueue<Item, Queue extends EndpointQueue<Item> = EndpointQueue<Item>> {
  readonly capacity: Capacity
  private readonly shares: Readonly<Record<AttemptPlace, Shares>>
  /** Organizations that wait, and of each the endpoints that wait. */
  private readonly turns: Readonly<Record<Track, Turns<string>>> = { main: new Turns(), slow: new Turns() }
  private readonly endpoints: Readonly<Record<Track, Map<string, Turns<Queue>>>> = { main: new Map(), slow: new Map() }
  private readonly steadyMillis: () => number
  /** Endpoints that wait for their rate, and a time before which none of them has waited long enough. */
  private readonly heldBack = new Set<Queue>()
  private earliest = Number.POSITIVE_INFINITY
  private served = 0

  /** `steadyMillis` is a clock that is never set back, in whole milliseconds. */
  constructor(capacity: Capacity, steadyMillis: () => number) {
    this.capacity = capacity
    this.steadyMillis = steadyMillis
    this.shares = {
      main: new Shares(capacity.main),
      slow: new Shares(capacity.slow),
      overdue: new Shares(Number.POSITIVE_INFINITY)
    }
  }

  /** Attempts in flight. */
  get used(): Readonly<Record<AttemptPlace, number>> {
    const { main, overdue, slow } = this.shares
    return { main: main.used, slow: slow.used, overdue: overdue.used }
  }

  /** Attempts of an organization in flight. */
  usedBy(organizationId: string): Readonly<Record<AttemptPlace, number>> {
    const { main, overdue, slow } = this.shares
    return { main: main.of(organizationId), slow: slow.of(organizationId), overdue: overdue.of(organizationId) }
  }

  /** Puts a delivery at the end of its lane. */
  add(queue: Queue, lane: number, item: Item): void {
    MutableList.append(queue.waiting[lane]!, item)
    this.enqueue(queue)
  }

  /** Sets what an endpoint permits. Call it when the endpoint's state becomes known or changes. */
  permit(queue: Queue, permission: Permission): void {
    queue.permission = permission
    this.enqueue(queue)
  }

  /** Takes out the waiting deliveries of lanes that are not permitted, so that they can be given back. */
  withdraw(queue: Queue): ReadonlyArray<Item> {
    if (queue.permission === "all") return []
    return queue.waiting.flatMap((waiting, lane) =>
      queue.permission === "asked" && lane === jobLanes.asked ? [] : MutableList.takeAll(waiting)
    )
  }

  /** Takes out one waiting delivery of a lane; false where it does not wait. */
  remove(queue: Queue, lane: number, item: Item): boolean {
    const waiting = queue.waiting[lane]!
    const all = MutableList.takeAll(waiting)
    for (const one of all) if (one !== item) MutableList.append(waiting, one)
    return all.includes(item)
  }

  /** Sets the rate of an endpoint. Takes out the waiting deliveries that are not worth holding with it, to be given back. */
  limit(queue: Queue, rateLimit: number | null): ReadonlyArray<Item> {
    if (queue.rateLimit === rateLimit) return []
    queue.rateLimit = rateLimit
    this.letGo(queue)
    if (rateLimit === null) return []
    return queue.waiting.flatMap((waiting) => {
      const kept = MutableList.takeN(waiting, queue.window)
      const others = MutableList.takeAll(waiting)
      for (const item of kept) MutableList.append(waiting, item)
      return others
    })
  }

  /** When `resume` is worth calling, by the queue's clock; infinite while no endpoint waits for its rate. */
  get resumesAt(): number {
    return this.earliest
  }

  /** Gives endpoints turns again that have waited long enough for their rate. */
  resume(): void {
    const now = this.steadyMillis()
    this.earliest = Number.POSITIVE_INFINITY
    for (const queue of this.heldBack) {
      if (queue.heldUntil! <= now) this.letGo(queue)
      else this.earliest = Math.min(this.earliest, queue.heldUntil!)
    }
  }

  /** Notes that an attempt begins, which counts for its endpoint's rate from now on. */
  begin(slot: Slot<Item, Queue>): void {
    if (!slot.isStarting) return
    slot.isStarting = false
    slot.queue.rate.began(this.steadyMillis())
    if (!this.holdBack(slot.queue)) this.letGo(slot.queue)
  }

  /** The next attempt to make; undefined when none may begin now. */
  next(): Slot<Item, Queue> | undefined {
    return this.nextOf("main") ?? this.nextOf("slow")
  }

  /**
   * Notes an attempt of the main track that has waited long for its answer: the endpoint is slow now, and the attempt
   * goes on without a place.
   */
  overdue(slot: Slot<Item, Queue>): void {
    if (slot.isOver || slot.place !== "main") return
    slot.queue.pace = overduePace(slot.queue.pace, slot.queue.total)
    this.leave(slot)
    slot.place = "overdue"
    this.shares.overdue.take(slot.queue.organizationId)
    this.enqueue(slot.queue)
  }

  /**
   * Ends an attempt; only the first call counts. `ended` is undefined when the attempt was given up before it was made.
   */
  end(slot: Slot<Item, Queue>, ended: { readonly end: AttemptEnd; readonly durationMillis: number } | undefined): void {
    const { inFlight, isAlone, lane, queue } = slot
    if (slot.isOver) return
    slot.isOver = true
    this.leave(slot)
    if (slot.isStarting) {
      queue.rate.gaveUp()
      this.letGo(queue)
    }
    queue.inFlight[lane]!--
    this.count(queue, -1)
    if (ended !== undefined) queue.pace = paceAfter(queue.pace, { ...ended, inFlight, isAlone })
    this.enqueue(queue)
  }

  private laneOf(queue: Queue): number | undefined {
    const { inFlight, pace, permission, servedAt, waiting } = queue
    if (permission === "none" || queue.total >= pace.limit) return undefined
    return nextLane({ limit: pace.limit, permission, waiting: waiting.map((lane) => lane.length), inFlight, servedAt })
  }

  private enqueue(queue: Queue): void {
    const { organizationId, pace, total } = queue
    const { track } = pace
    if (queue.isQueued[track] || queue.heldUntil !== undefined || this.laneOf(queue) === undefined) return
    queue.isQueued[track] = true
    const known = this.endpoints[track].get(organizationId)
    const waiting = known ?? new Turns<Queue>()
    waiting.add(queue, total)
    if (known !== undefined) return
    this.endpoints[track].set(organizationId, waiting)
    this.turns[track].add(organizationId, this.shares[track].of(organizationId))
  }

  /** Takes turns from an endpoint until its rate allows another attempt; answers false where it does now. */
  private holdBack(queue: Queue): boolean {
    if (queue.rateLimit === null) return false
    const now = this.steadyMillis()
    const until = queue.rate.nextAt(queue.rateLimit, now)
    if (until <= now) return false
    queue.heldUntil = until
    this.heldBack.add(queue)
    this.earliest = Math.min(this.earliest, until)
    return true
  }

  /** Gives an endpoint turns again, or its first ones. */
  private letGo(queue: Queue): void {
    queue.heldUntil = undefined
    this.heldBack.delete(queue)
    this.enqueue(queue)
  }

  /** Takes out the endpoint whose turn it is. */
  private dequeue(track: Track): Queue | undefined {
    const shares = this.shares[track]
    const { overdue } = this.shares
    const mayHang = track === "main" ? maximumOverdue(this.capacity.main, overdue.used) : Number.POSITIVE_INFINITY
    const found = this.turns[track].first(
      (own) => roomOf(own, shares) > 0,
      (organizationId) => {
        if (overdue.of(organizationId) >= mayHang) return undefined
        // As organizations leave something to each other, so do endpoints of one.
        const room = shares.roomOf(organizationId)
        return this.endpoints[track].get(organizationId)!.first(
          (total) => total < room,
          (queue) => queue
        )
      }
    )
    if (found === undefined) return undefined
    const { organizationId } = found
    const waiting = this.endpoints[track].get(organizationId)!
    const own = shares.of(organizationId)
    waiting.remove(found, found.total)
    this.turns[track].remove(organizationId, own)
    if (waiting.isEmpty) this.endpoints[track].delete(organizationId)
    else this.turns[track].add(organizationId, own)
    found.isQueued[track] = false
    return found
  }

  /** Gives the place of an attempt back. */
  private leave({ place, queue: { organizationId } }: Slot<Item, Queue>): void {
    const after = this.shares[place].give(organizationId)
    if (place !== "overdue") this.turns[place].moved(organizationId, after + 1, after)
  }

  /** Counts an attempt of an endpoint that begins or ends. */
  private count(queue: Queue, change: 1 | -1): void {
    const before = queue.total
    queue.total += change
    for (const track of ["main", "slow"] as const)
      if (queue.isQueued[track]) this.endpoints[track].get(queue.organizationId)!.moved(queue, before, queue.total)
  }

  private nextOf(track: Track): Slot<Item, Queue> | undefined {
    while (true) {
      const queue = this.dequeue(track)
      if (queue === undefined) return undefined
      const lane = this.laneOf(queue)
      if (lane === undefined) continue
      if (queue.pace.track !== track) {
        // The endpoint's pace has changed while it waited for its turn.
        this.enqueue(queue)
        continue
      }
      // It may have got a rate, or less of it, while it waited for its turn.
      if (this.holdBack(queue)) continue
      // Its lane has something waiting.
      const [item] = MutableList.takeN(queue.waiting[lane]!, 1) as [Item]
      queue.inFlight[lane]!++
      this.count(queue, 1)
      queue.servedAt[lane] = ++this.served
      const own = this.shares[track].take(queue.organizationId)
      this.turns[track].moved(queue.organizationId, own - 1, own)
      const isStarting = queue.rateLimit !== null
      if (isStarting) queue.rate.start()
      if (!this.holdBack(queue)) this.enqueue(queue)
      const { total: inFlight } = queue
      const isAlone = inFlight === 1 && queue.pace.limit === 1
      return { queue, item, lane, place: track, inFlight, isAlone, isStarting, isOver: false }
    }
  }
}

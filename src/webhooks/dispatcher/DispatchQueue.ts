/**
 * The deliveries in memory, and which one is next. Endpoints take turns, however much each has waiting. Each endpoint
 * gets as many concurrent attempts as its pace allows, first attempts beside retries. Endpoints that answer and slow
 * endpoints have separate numbers of connections, so that slow ones wait for each other only. No I/O and no clock: the
 * dispatcher tells the queue what happens.
 */
import { MutableList } from "effect"
import { jobLanes } from "../delivery/model.ts"
import { type AttemptEnd, firstPace, type Pace, paceAfter, slowPace, type Track, windowOf } from "./pace.ts"

/** Lanes by their number. */
export const allLanes: ReadonlyArray<number> = Object.values(jobLanes)

/** What an endpoint allows: everything, only what was asked for (Paused), or nothing (Disabled, deleted, not known yet). */
export type Permission = "all" | "asked" | "none"

/** The most concurrent attempts, by track. */
export interface Capacity {
  readonly main: number
  readonly slow: number
}

/** An endpoint's part of the queue. Changed by `DispatchQueue` only. */
export class EndpointQueue<Item> {
  readonly endpointId: string
  pace: Pace = firstPace
  permission: Permission = "none"
  readonly waiting: ReadonlyArray<MutableList.MutableList<Item>> = allLanes.map(() => MutableList.make<Item>())
  readonly inFlight: Array<number> = allLanes.map(() => 0)
  /** When each lane was served last, as a growing number. */
  readonly servedAt: Array<number> = allLanes.map(() => 0)
  total = 0
  /** Whether it is in a ring. */
  isQueued = false

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

  /** How many more of a lane are worth holding. */
  roomIn(lane: number): number {
    return Math.max(0, windowOf(this.pace) - this.waitingIn(lane))
  }
}

/** An attempt that is being made. */
export interface Slot<Item, Queue extends EndpointQueue<Item> = EndpointQueue<Item>> {
  readonly queue: Queue
  readonly item: Item
  readonly lane: number
  /** The track whose capacity it uses. */
  track: Track
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
  readonly used: Record<Track, number> = { main: 0, slow: 0 }
  private readonly rings: Readonly<Record<Track, MutableList.MutableList<Queue>>> = {
    main: MutableList.make(),
    slow: MutableList.make()
  }
  private served = 0

  constructor(capacity: Capacity) {
    this.capacity = capacity
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

  /** The next attempt to make; undefined when none may begin now. */
  next(): Slot<Item, Queue> | undefined {
    return this.nextOf("main") ?? this.nextOf("slow")
  }

  /**
   * Notes an attempt that has waited long for its answer: the endpoint is slow now, and the attempt moves to the slow
   * track if that has room.
   */
  overdue(slot: Slot<Item, Queue>): void {
    slot.queue.pace = slowPace
    if (slot.isOver || slot.track === "slow" || this.used.slow >= this.capacity.slow) return
    this.used.main--
    this.used.slow++
    slot.track = "slow"
  }

  /**
   * Ends an attempt; only the first call counts. `ended` is undefined when the attempt was given up before it was made.
   */
  end(slot: Slot<Item, Queue>, ended: { readonly end: AttemptEnd; readonly durationMillis: number } | undefined): void {
    const { lane, queue, track } = slot
    if (slot.isOver) return
    slot.isOver = true
    this.used[track]--
    queue.inFlight[lane]!--
    queue.total--
    if (ended !== undefined) queue.pace = paceAfter(queue.pace, ended.end, ended.durationMillis)
    this.enqueue(queue)
  }

  private laneOf(queue: Queue): number | undefined {
    const { inFlight, pace, permission, servedAt, waiting } = queue
    if (permission === "none" || queue.total >= pace.limit) return undefined
    return nextLane({ limit: pace.limit, permission, waiting: waiting.map((lane) => lane.length), inFlight, servedAt })
  }

  private enqueue(queue: Queue): void {
    if (queue.isQueued || this.laneOf(queue) === undefined) return
    queue.isQueued = true
    MutableList.append(this.rings[queue.pace.track], queue)
  }

  private nextOf(track: Track): Slot<Item, Queue> | undefined {
    while (this.used[track] < this.capacity[track]) {
      const queue = MutableList.take(this.rings[track])
      if (queue === MutableList.Empty) return undefined
      queue.isQueued = false
      const lane = this.laneOf(queue)
      if (lane === undefined) continue
      if (queue.pace.track !== track) {
        // the endpoint's pace has changed while it waited in this ring
        this.enqueue(queue)
        continue
      }
      // its lane has something waiting
      const [item] = MutableList.takeN(queue.waiting[lane]!, 1) as [Item]
      queue.inFlight[lane]!++
      queue.total++
      queue.servedAt[lane] = ++this.served
      this.used[track]++
      this.enqueue(queue)
      return { queue, item, lane, track, isOver: false }
    }
    return undefined
  }
}

/**
 * The dispatcher's view of one endpoint: its part of the queue, its state from the log, and what is known of its
 * deliveries in the store. Only the dispatcher changes it. Needs no service.
 */

import { MutableList } from "effect"
import { jobLanes } from "../delivery/model.ts"
import type { TakenDelivery } from "../delivery/ports.ts"
import type { CustomHeaders } from "../endpoint/headers.ts"
import { type FoldedEndpoint, statusOf } from "../endpoint/model.ts"
import { allLanes, EndpointQueue, type Permission } from "./DispatchQueue.ts"

/**
 * A question to an endpoint's actor: its number among all questions, and the frame of the state that was known at that
 * time.
 */
export interface StateQuestion {
  readonly number: number
  readonly sequence: number | undefined
}

/** The part of an endpoint's secrets that an attempt needs. */
export interface OpenSecrets {
  /** Secrets that sign, the new one first. */
  readonly texts: ReadonlyArray<string>
  /** Headers that the endpoint has besides those of every delivery. */
  readonly headers: CustomHeaders
}

export class Worker extends EndpointQueue<TakenDelivery> {
  readonly partition: number
  /** The endpoint's state; undefined until it is read. */
  folded: FoldedEndpoint | undefined
  /** Whether `folded` holds a state from the actor's answer, which the log brings with a later frame. */
  isAhead = false
  /** The number of the last question to its actor whose answer was taken in. */
  answered = 0
  /** Deliveries that are held: waiting, in flight, or with an outcome that is being recorded. */
  held = 0
  /** Deliveries of acknowledged frames that wait for room, in the order of the log. */
  readonly offered = MutableList.make<TakenDelivery>()
  /** By lane: whether the store may hold deliveries that are due. */
  readonly more: Array<boolean> = allLanes.map(() => false)
  /** By lane: until when the next look at the store is set. */
  readonly armedFor: Array<number> = allLanes.map(() => Number.POSITIVE_INFINITY)
  /** The contents of these secrets, once they are read. */
  secrets: ({ readonly ids: ReadonlyArray<string> } & OpenSecrets) | undefined
  /** Whether the lines of the endpoint are to be looked through in the store. */
  isWalkWanted = false
  /** The last replay that the log has shown of the endpoint. */
  lastReplayId: string | undefined
  /** Whether its actor was told of a success since it last counted failures. */
  isSuccessTold = false
  /** Whether the worker was dropped, because its partition is served elsewhere or it was idle. */
  isDropped = false

  constructor(partition: number, endpointId: string) {
    super(endpointId)
    this.partition = partition
  }

  /** The deliveries that the endpoint's state permits. */
  get allowed(): Permission {
    const endpoint = this.folded?.endpoint
    if (endpoint === undefined || endpoint === null) return "none"
    const status = statusOf(endpoint)
    return status === "active" ? "all" : status === "paused" ? "asked" : "none"
  }

  /** Whether deliveries of the lane may be attempted now. */
  permits(lane: number): boolean {
    return this.permission === "all" || (this.permission === "asked" && lane === jobLanes.asked)
  }

  /** How many deliveries of a lane to take from the store now; 0 while enough are held. */
  wantedIn(lane: number): number {
    if (!this.more[lane] || !this.permits(lane)) return 0
    const room = this.roomIn(lane)
    return room >= this.waitingIn(lane) ? room : 0
  }

  /** Whether the worker can be forgotten without losing anything. */
  get isForgettable(): boolean {
    return this.held === 0 && this.offered.length === 0 && !this.isWalkWanted && this.more.every((more) => !more)
  }
}

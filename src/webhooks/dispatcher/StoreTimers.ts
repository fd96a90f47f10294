/**
 * Holds the times at which the dispatcher looks at the store again, for lanes of endpoints. A lane has one time in
 * force, its earliest (`Worker.armedFor`). Synchronous; needs no service.
 */
import type { Worker } from "./EndpointWorker.ts"

/** Most timers for later looks at the store. The next scan finds what they do not cover. */
export const maximumTimers = 10_000

/** A later look at a lane of an endpoint. */
export interface StoreTimer {
  readonly at: number
  readonly worker: Worker
  readonly lane: number
}

export class StoreTimers {
  /** Latest first. */
  private readonly timers: Array<StoreTimer> = []

  /** Sets a time, unless the lane has an earlier one or there is no room. Answers whether it is the next of all. */
  arm(worker: Worker, lane: number, at: number): boolean {
    if (at >= worker.armedFor[lane]! || this.timers.length >= maximumTimers) return false
    worker.armedFor[lane] = at
    let low = 0
    let high = this.timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.timers[middle]!.at > at) low = middle + 1
      else high = middle
    }
    this.timers.splice(low, 0, { at, worker, lane })
    return low === this.timers.length - 1
  }

  /** Milliseconds until the next time; infinite without one. */
  untilNext(now: number): number {
    const next = this.timers.at(-1)
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.at - now)
  }

  /** Takes the next timer that is due by `now`; undefined without one. Its lane has no time in force then. */
  takeDue(now: number): StoreTimer | undefined {
    const next = this.timers.at(-1)
    if (next === undefined || next.at > now) return undefined
    this.timers.pop()
    const { at, lane, worker } = next
    if (worker.armedFor[lane] === at) worker.armedFor[lane] = Number.POSITIVE_INFINITY
    return next
  }

  /** Removes the timers of an endpoint. */
  forget(worker: Worker): void {
    for (let index = this.timers.length - 1; index >= 0; index--)
      if (this.timers[index]!.worker === worker) this.timers.splice(index, 1)
  }
}

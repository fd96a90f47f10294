/**
 * Schedules the pages of timers that are read from the checkpoints beside the loop (docs/architecture.md, rules 10 and
 * 16). One is read at a time, and it holds back the timers in memory for a bounded time only.
 */

import { maximumTimerPage, pageHoldMillis } from "../../limits.ts"
import type { TimerRow } from "../../ports/Checkpoints.ts"
import type { Timer } from "../actors/Organization.ts"
import type { Timers } from "./Timers.ts"

/** A page of timers to be read. */
export interface PageRequest {
  /** The requester: the page is void in a later life. */
  readonly of: TimerPages
  /** Only rows up to this frame count. */
  readonly through: number
  readonly after: TimerRow | undefined
  readonly limit: number
}

export class TimerPages {
  /** When the page was asked for, monotonic milliseconds; undefined while none is under way. */
  private askedAt: number | undefined = undefined
  private notBefore = 0

  get isUnderWay(): boolean {
    return this.askedAt !== undefined
  }

  /** Whether a page should be asked for now. */
  isWanted(timers: Timers, now: number, monotonic: number): boolean {
    return this.askedAt === undefined && monotonic >= this.notBefore && timers.needsPage(now)
  }

  ask(timers: Timers, through: number, monotonic: number): PageRequest {
    this.askedAt = monotonic
    return { of: this, through, after: timers.pageAfter, limit: maximumTimerPage }
  }

  /** Notes that a page has come or could not be read. False for a page of an earlier life. */
  ended(request: PageRequest, isRead: boolean, monotonic: number): boolean {
    if (request.of !== this) return false
    this.askedAt = undefined
    if (!isRead) this.notBefore = monotonic + pageHoldMillis
    return true
  }

  /** Whether a due timer waits for a page that may hold earlier ones. It waits for a second at most. */
  holds(timer: Timer, timers: Timers, monotonic: number): boolean {
    return this.askedAt !== undefined && timers.isBeyondHorizon(timer) && monotonic < this.askedAt + pageHoldMillis
  }

  /** Milliseconds until the timers should be checked again although nothing happens; 0 for immediately. */
  waitMillis(timers: Timers, now: number, monotonic: number): number {
    const first = timers.first
    const untilFirst = first === undefined ? Number.POSITIVE_INFINITY : first.wakeAt - now
    if (this.askedAt !== undefined) {
      const untilHold = this.askedAt + pageHoldMillis - monotonic
      return first !== undefined && timers.isBeyondHorizon(first) ? Math.max(untilFirst, untilHold) : untilFirst
    }
    return Math.min(untilFirst, Math.max(timers.nextAt() - now, this.notBefore - monotonic))
  }
}

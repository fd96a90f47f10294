/**
 * Refuses requests when more come than the process can handle (docs/platform.md, 8.5). All requests that a turn of the
 * event loop finds have waited since the previous turn, and those behind have waited for those before them: a request
 * that has waited longer than its class allows is refused immediately, which costs a tenth of an answer. Needs no
 * service.
 */
import { Context } from "effect"

/** The class of a request: clients repeat one that reads more readily than one that changes something. */
export type RequestClass = "read" | "write"

/**
 * Milliseconds that a request may have waited: beyond the first figure the organizations with the largest shares are
 * refused, beyond the second all.
 */
export const patienceMillis: Readonly<Record<RequestClass, readonly [shares: number, all: number]>> = {
  read: [300, 600],
  write: [600, 1_200]
}

/** Requests that every turn admits. A machine that was frozen for a second is not overloaded. */
export const turnFloor = 100

/** The requests that one turn of the event loop has found. */
export class Turn {
  private readonly since: number
  private readonly admitted = new Map<string, number>()
  private total = 0

  constructor(since: number) {
    this.since = since
  }

  /** Whether a request is admitted at `now`, on the clock of `since`. */
  admits(organization: string, of: RequestClass, now: number): boolean {
    const share = this.admitted.get(organization) ?? 0
    if (this.total >= turnFloor && this.isRefused(share, patienceMillis[of], now - this.since)) return false
    this.admitted.set(organization, share + 1)
    this.total++
    return true
  }

  private isRefused(share: number, [shares, all]: readonly [number, number], waited: number): boolean {
    if (waited <= shares) return false
    return waited > all || share > this.total / this.admitted.size
  }
}

/** The turns of this process's event loop. */
export class LoadShedder {
  private turn: Turn | undefined = undefined

  /** Whether a request is admitted at `now`, in milliseconds of a monotonic clock. */
  admits(organization: string, of: RequestClass, now: number): boolean {
    if (this.turn === undefined) {
      this.turn = new Turn(now)
      // Runs when all waiting requests of this turn were read.
      setImmediate(() => {
        this.turn = undefined
      })
    }
    return this.turn.admits(organization, of, now)
  }
}

/** The load shedder of this process. */
export const CurrentLoadShedder = Context.Reference<LoadShedder>("sluice/http/LoadShedder", {
  defaultValue: () => new LoadShedder()
})

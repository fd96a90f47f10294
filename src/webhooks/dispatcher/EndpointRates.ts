/**
 * Keeps the dispatcher's data for the rates of endpoints (`AttemptRate.ts`): their clock, the counts of endpoints that
 * were forgotten or whose partition has left and may come back, and the wait until one may continue. Needs the Clock.
 */
import { type Clock, Duration, Effect } from "effect"
import { Wakeup } from "../../engine/Wakeup.ts"
import type { AttemptRate } from "./AttemptRate.ts"

const nanosOfMilli = 1_000_000n

/** An endpoint with its rate. */
interface Rated {
  readonly endpointId: string
  rate: AttemptRate
}

export class EndpointRates {
  /** Whole milliseconds of the clock that is never set back. */
  readonly steadyMillis: () => number
  private readonly kept = new Map<string, AttemptRate>()
  private readonly wakeup = new Wakeup()
  /** When the wait ends by itself. */
  private waitsUntil = Number.POSITIVE_INFINITY

  constructor(clock: Clock.Clock) {
    this.steadyMillis = () => Number(clock.monotonicTimeNanosUnsafe() / nanosOfMilli)
  }

  /**
   * Keeps what counts for an endpoint that is dropped. It may have been deleted, and still be known again: by what the log
   * says of the time before.
   */
  keep({ endpointId, rate }: Rated): void {
    if (rate.isUsed && !rate.isOver(this.steadyMillis())) this.kept.set(endpointId, rate)
  }

  /** Gives an endpoint that is known again what still counts for it. */
  adopt(endpoint: Rated): void {
    endpoint.rate = this.kept.get(endpoint.endpointId) ?? endpoint.rate
  }

  /** Forgets what no longer counts. */
  forgetOver(): void {
    if (this.kept.size === 0) return
    const now = this.steadyMillis()
    for (const [endpointId, rate] of this.kept) if (rate.isOver(now)) this.kept.delete(endpointId)
  }

  /** Tells when the next endpoint may go on, so that a longer wait ends. */
  resumesAt(at: number): void {
    if (at < this.waitsUntil) this.wakeup.notify()
  }

  /** Waits until then, or until an earlier time is announced. One fiber at a time. */
  wait(until: number): Effect.Effect<void> {
    this.waitsUntil = until
    if (until === Number.POSITIVE_INFINITY) return this.wakeup.wait
    const millis = Math.max(0, until - this.steadyMillis())
    return Effect.raceFirst(this.wakeup.wait, Effect.sleep(Duration.millis(millis)))
  }
}

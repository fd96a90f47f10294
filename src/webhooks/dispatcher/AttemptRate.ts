/**
 * Limits the attempts of an endpoint that begin in a second (docs/platform.md, 7.4): in no second more than its rate,
 * whatever their kind. An attempt first takes a part of the rate, then it begins, perhaps after its secrets were read;
 * a begun attempt counts for a second. Times are whole milliseconds of a clock that is never set back. Pure.
 */
import { RollingWindowRule } from "../../limits/index.ts"

/**
 * How long an attempt counts: a second, and one millisecond more because the times of both attempts are rounded down,
 * so that less than a second may lie between two times that are a thousand apart.
 */
export const rateWindowMillis = 1_001

/** Deliveries of an endpoint are held in memory for so much of its time at most, so that others have the memory. */
const heldSeconds = 2

/** How many deliveries of each lane of an endpoint with this rate are worth holding. */
export const windowOfRate = (rate: number): number => heldSeconds * rate

/** The attempts of one endpoint that count. */
export class AttemptRate {
  private begun = RollingWindowRule.initial
  private starting = 0

  /**
   * When another attempt may be started: at `now` or before, if it may now. While those that are starting take all that
   * is left, the answer is a window later, and it is better to ask again when one of them has begun.
   */
  nextAt(rate: number, now: number): number {
    const limit = rate - this.starting
    return limit < 1
      ? now + rateWindowMillis
      : RollingWindowRule.passesAt(this.begun, { limit, windowMillis: rateWindowMillis }, 1, now)
  }

  /** Takes a part of the rate for an attempt that will begin. */
  start(): void {
    this.starting++
  }

  /** Notes that a started attempt has begun. */
  began(now: number): void {
    this.starting--
    this.begun = RollingWindowRule.record(this.begun, rateWindowMillis, 1, now)
  }

  /** Notes that a started attempt was given up before it began. */
  gaveUp(): void {
    this.starting--
  }

  /** Whether it was ever needed. */
  get isUsed(): boolean {
    return this.starting > 0 || this.begun !== RollingWindowRule.initial
  }

  /** Whether it says no more than a new one. */
  isOver(now: number): boolean {
    const latest = RollingWindowRule.latest(this.begun)
    return this.starting === 0 && (latest === undefined || latest + rateWindowMillis <= now)
  }
}

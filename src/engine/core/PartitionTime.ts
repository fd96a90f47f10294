/**
 * Keeps a partition's time and its knowledge of being the owner. Time (docs/architecture.md, rule 7) follows the clock,
 * but is never earlier than the last frame or than a time already used in this life. A clock that was set back by more
 * than a minute ends the life, because a used time (a lane's windows depend on it) must not come again within it.
 * Ownership (docs/architecture.md, rule 6) counts by both clocks: the monotonic one stops while a machine is suspended,
 * and the wall clock may be set back.
 */
import { clockBehindMillis, freshnessMillis, idleConfirmMillis } from "../limits.ts"

/**
 * Both clocks in milliseconds. The wall clock counts from the Unix epoch; the monotonic clock, which has fractions,
 * from an arbitrary moment.
 */
export interface Instant {
  readonly wall: number
  readonly monotonic: number
}

/** The latest instant given by the shell. */
export class Moment implements Instant {
  wall = 0
  monotonic = 0

  set({ monotonic, wall }: Instant): void {
    this.wall = wall
    this.monotonic = monotonic
  }
}

/** The time, or why it cannot be given. */
export type TimeReading = number | "behind the log" | "set back"

/** The age from which a proof is renewed before it is needed: half of what is allowed. */
const renewMillis = freshnessMillis / 2

/** The pause after a failed exchange before the next one, milliseconds. */
const retryMillis = 500

const between = (from: Instant | undefined, now: Instant): number =>
  from === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(now.monotonic - from.monotonic, Math.abs(now.wall - from.wall))

export class PartitionTime {
  /** The latest time that was used in this life. */
  private latest = 0
  /**
   * When the last exchange began that proved the log to be ours, and the last one that only showed our head at its end.
   */
  private provenAt: Instant | undefined = undefined
  private seenAt: Instant | undefined = undefined
  private notBefore = 0
  private isRenewalWanted = false

  /** The time after a frame of `headNow`, milliseconds since the Unix epoch. */
  tell(headNow: number, wall: number): TimeReading {
    if (headNow - wall > clockBehindMillis) return "behind the log"
    if (this.latest - wall > clockBehindMillis) return "set back"
    this.latest = Math.max(wall, headNow, this.latest)
    return this.latest
  }

  /** Notes that an exchange, begun at that instant, has proved that the log ends with our head and is ours. */
  proven(begunAt: Instant): void {
    this.provenAt = begunAt
    this.seenAt = begunAt
  }

  /** Notes that a leader, perhaps a deposed one, showed our head at the log's end. */
  seen(begunAt: Instant): void {
    this.seenAt = begunAt
  }

  wasSeenSince(then: Instant): boolean {
    return this.seenAt !== undefined && this.seenAt.monotonic >= then.monotonic
  }

  /** Notes that the leader did not answer. */
  failed(now: Instant): void {
    this.notBefore = now.monotonic + retryMillis
  }

  /** Whether answers may be given that rest on no new frame. */
  isFresh(now: Instant): boolean {
    return between(this.provenAt, now) < freshnessMillis
  }

  /** Whether a proof should be renewed before it is needed. */
  isRenewalDue(now: Instant): boolean {
    return between(this.provenAt, now) > renewMillis && now.monotonic >= this.notBefore
  }

  /** Notes that callers keep asking for answers that need a proof. */
  wantRenewal(): void {
    this.isRenewalWanted = true
  }

  takeRenewal(now: Instant): boolean {
    const isWanted = this.isRenewalWanted && this.isRenewalDue(now)
    this.isRenewalWanted = false
    return isWanted
  }

  /** Whether an exchange may be tried. */
  mayAsk(now: Instant): boolean {
    return now.monotonic >= this.notBefore
  }

  untilAsk(now: Instant): number {
    return this.notBefore - now.monotonic
  }

  /** Whether the log was not looked at for so long that another owner may have come unnoticed. */
  isLookDue(now: Instant): boolean {
    return between(this.seenAt, now) >= idleConfirmMillis && this.mayAsk(now)
  }

  untilLook(now: Instant): number {
    return Math.max(idleConfirmMillis - between(this.seenAt, now), this.untilAsk(now))
  }
}

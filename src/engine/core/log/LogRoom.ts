/**
 * Estimates how much a partition's log still takes (docs/architecture.md, rule 14). A small part is reserved for claims
 * and marks: facts that would touch it are refused without being sent. So a partition whose log is full can still claim
 * it, and can write the one frame behind which its checkpoints free the rest. Between two reports of the log itself
 * this is an estimate.
 */
import {
  fullHoldMillis,
  logReservePart,
  maximumLogReserveBytes,
  minimumLogReserveBytes,
  storedOverheadBytes
} from "../../limits.ts"

/** The fill of the log, as its leader reports it. */
export interface LogFill {
  readonly bytes: number
  readonly maximumBytes: number
}

export class LogRoom {
  private bytes = 0
  private maximumBytes = Number.POSITIVE_INFINITY
  /** Whether facts were refused since the log was last checked. */
  private isDoubtful = false
  /** The log itself refused a frame, so no facts are sent before this monotonic time. */
  private refusedUntil = 0
  /** Timers and signals wait for room until this monotonic time. */
  private heldUntil = 0
  private lookAgainAt = 0
  /** Whether a mark was written since there was last room. */
  private isMarked = false

  /** Records the fill that the log reports. */
  note({ bytes, maximumBytes }: LogFill): void {
    this.bytes = bytes
    this.maximumBytes = maximumBytes
    this.isDoubtful = false
    if (this.isFull) return
    this.isMarked = false
    this.heldUntil = this.refusedUntil
  }

  /** Notes a stored frame. */
  stored(bytes: number): void {
    this.bytes += bytes + storedOverheadBytes
  }

  /** Notes that the log itself refused a frame. No frame with facts is sent for a while. */
  refused(monotonic: number): void {
    this.refusedUntil = monotonic + fullHoldMillis
    this.heldUntil = this.refusedUntil
    this.isDoubtful = true
  }

  /** Notes that a decision found no room. The log is asked again, since others may have made room. */
  missed(monotonic: number): void {
    this.heldUntil = monotonic + fullHoldMillis
    if (monotonic < this.lookAgainAt) return
    this.isDoubtful = true
    this.lookAgainAt = monotonic + fullHoldMillis
  }

  /** Whether the log should be asked how full it is. */
  get wantsLook(): boolean {
    return this.isDoubtful
  }

  /** Notes that the log could not be asked. The next refusal asks again. */
  lookFailed(): void {
    this.isDoubtful = false
  }

  /** Whether timers and signals have to wait for room. */
  isHeld(monotonic: number): boolean {
    return monotonic < this.heldUntil
  }

  get heldTo(): number {
    return this.heldUntil
  }

  /** Bytes of facts that a frame may hold now. */
  forFacts(monotonic: number): number {
    if (monotonic < this.refusedUntil) return 0
    return Math.max(0, this.maximumBytes - this.reserve - this.bytes - storedOverheadBytes)
  }

  /** Whether only the reserve is left. */
  get isFull(): boolean {
    return this.bytes > this.maximumBytes - this.reserve - minimumLogReserveBytes
  }

  /** Whether a mark would allow a checkpoint to free the log. True once each time the log has filled up. */
  get wantsMark(): boolean {
    return this.isFull && !this.isMarked
  }

  marked(): void {
    this.isMarked = true
  }

  private get reserve(): number {
    const part = Math.floor(this.maximumBytes / logReservePart)
    return Math.min(maximumLogReserveBytes, Math.max(minimumLogReserveBytes, part))
  }
}

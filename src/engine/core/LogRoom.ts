/**
 * How much a partition's log still takes (docs/architecture.md, rule 14). A small part of it is kept for claims and
 * marks: facts are refused unsent before that part is touched, so that a partition whose log has filled up can still
 * claim it, and can write the one frame behind which its checkpoints let the rest go. Estimated between two looks at
 * the log itself.
 */
import {
  fullHoldMillis,
  logReservePart,
  maximumLogReserveBytes,
  minimumLogReserveBytes,
  storedOverheadBytes
} from "../limits.ts"

/** What the log's leader said of it. */
export interface LogFill {
  readonly bytes: number
  readonly maximumBytes: number
}

export class LogRoom {
  private bytes = 0
  private maximumBytes = Number.POSITIVE_INFINITY
  /** Facts were refused since the log was looked at last. */
  private isDoubtful = false
  /** The log itself has refused a frame: no facts are sent before this monotonic time. */
  private refusedUntil = 0
  /** Timers and signals find no room before this monotonic time. */
  private heldUntil = 0
  private lookAgainAt = 0
  /** A mark was written since there was room last. */
  private isMarked = false

  begin(fill: LogFill): void {
    this.refusedUntil = 0
    this.heldUntil = 0
    this.lookAgainAt = 0
    this.isMarked = false
    this.note(fill)
  }

  /** The log itself has told. */
  note({ bytes, maximumBytes }: LogFill): void {
    this.bytes = bytes
    this.maximumBytes = maximumBytes
    this.isDoubtful = false
    if (this.isFull) return
    this.isMarked = false
    this.heldUntil = this.refusedUntil
  }

  /** A frame was stored. */
  stored(bytes: number): void {
    this.bytes += bytes + storedOverheadBytes
  }

  /** A frame was refused by the log itself: none with facts is sent for a while. */
  refused(monotonic: number): void {
    this.refusedUntil = monotonic + fullHoldMillis
    this.heldUntil = this.refusedUntil
    this.isDoubtful = true
  }

  /** A decision found no room: the log is to be asked, in case others have made some. */
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

  /** It could not be asked; it is asked again with the next refusal. */
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

  /** Whether a mark would let a checkpoint free the log: once each time that it has filled up. */
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

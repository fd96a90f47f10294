/**
 * The last committed frames of a partition in memory, from which its reactors are fed (architecture, rule 11). Bounded in frames and
 * bytes; who lags behind it reads the log.
 */
import type { CommittedFrame } from "./records.ts"

export class Feed {
  private readonly maximumFrames: number
  private readonly maximumBytes: number
  private frames: Array<CommittedFrame> = []
  /** Index of the oldest frame still counted; the array is cut now and then. */
  private start = 0
  private bytes = 0
  private readonly listeners = new Set<() => void>()

  constructor(maximumFrames: number, maximumBytes: number) {
    this.maximumFrames = maximumFrames
    this.maximumBytes = maximumBytes
  }

  push(frame: CommittedFrame): void {
    this.frames.push(frame)
    this.bytes += frame.bytes
    while (
      this.frames.length - this.start > 1 &&
      (this.frames.length - this.start > this.maximumFrames || this.bytes > this.maximumBytes)
    ) {
      this.bytes -= this.frames[this.start]!.bytes
      this.start++
    }
    if (this.start > this.maximumFrames) {
      this.frames = this.frames.slice(this.start)
      this.start = 0
    }
    for (const listener of this.listeners) listener()
  }

  /** The frames after `sequence`, at most `limit`; undefined when some of them are no longer (or not yet) here. */
  after(sequence: number, limit: number): ReadonlyArray<CommittedFrame> | undefined {
    const oldest = this.frames[this.start]
    if (oldest === undefined || sequence + 1 < oldest.sequence) return undefined
    const from = this.start + (sequence + 1 - oldest.sequence)
    return this.frames.slice(from, from + limit)
  }

  /** Calls `listener` at each frame until the returned function is called. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
}

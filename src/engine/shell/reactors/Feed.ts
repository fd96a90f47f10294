/**
 * Keeps the committed frames of a partition that its reactors have not read, in memory (docs/architecture.md, rule 11).
 * Bounded in frames and bytes; a reader that lags behind reads the log. A frame that all have read is dropped
 * immediately, before the garbage collector would count it as old.
 */
import type { CommittedFrame } from "../../records.ts"

export class Feed {
  private readonly maximumFrames: number
  private readonly maximumBytes: number
  private frames: Array<CommittedFrame> = []
  /** Index of the oldest frame still counted; the array is cut now and then. */
  private start = 0
  private bytes = 0
  private readonly listeners = new Set<(frame?: CommittedFrame) => void>()
  /** The sequence up to which each reader has read. */
  private readonly read = new Map<string, number>()

  /** `readers` are the names of all readers. */
  constructor(maximumFrames: number, maximumBytes: number, readers: ReadonlyArray<string>) {
    this.maximumFrames = maximumFrames
    this.maximumBytes = maximumBytes
    for (const reader of readers) this.read.set(reader, 0)
  }

  push(frame: CommittedFrame): void {
    this.frames.push(frame)
    this.bytes += frame.bytes
    while (
      this.frames.length - this.start > 1 &&
      (this.frames.length - this.start > this.maximumFrames || this.bytes > this.maximumBytes)
    )
      this.drop()
    this.cut()
    for (const listener of [...this.listeners]) listener(frame)
  }

  /** Wakes the reader that waits for the next frame, because it has other work. */
  wake(): void {
    for (const listener of [...this.listeners]) listener()
  }

  /** Notes that a reader has finished all frames up to this one, unless its work fails. */
  done(reader: string, sequence: number): void {
    this.read.set(reader, sequence)
    let all = sequence
    for (const one of this.read.values()) all = Math.min(all, one)
    while (this.start < this.frames.length && this.frames[this.start]!.sequence <= all) this.drop()
    this.cut()
  }

  /** The frame up to which a reader is done. */
  readBy(reader: string): number {
    return this.read.get(reader) ?? 0
  }

  private drop(): void {
    this.bytes -= this.frames[this.start]!.bytes
    this.start++
  }

  private cut(): void {
    if (this.start <= this.frames.length / 2) return
    this.frames = this.frames.slice(this.start)
    this.start = 0
  }

  /** The frames after `sequence`, at most `limit`; undefined when some of them are no longer (or not yet) here. */
  after(sequence: number, limit: number): ReadonlyArray<CommittedFrame> | undefined {
    const oldest = this.frames[this.start]
    if (oldest === undefined || sequence + 1 < oldest.sequence) return undefined
    const from = this.start + (sequence + 1 - oldest.sequence)
    return this.frames.slice(from, from + limit)
  }

  /** Calls `listener` at each frame, and without one at each `wake`, until the returned function is called. */
  listen(listener: (frame?: CommittedFrame) => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
}

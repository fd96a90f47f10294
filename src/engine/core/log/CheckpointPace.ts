/**
 * Decides when a checkpoint is due: after a number of frames, bytes or changed actors, so that the log can be purged
 * before it is full (docs/architecture.md, rule 9).
 */

/**
 * How many checkpoints fit into a full log. There must be several, because the log is purged up to the second-newest.
 */
const checkpointsPerLog = 8

export interface PaceOptions {
  readonly checkpointFrames: number
  readonly checkpointBytes: number
  readonly checkpointActors: number
}

export class CheckpointPace {
  private readonly options: PaceOptions
  private afterBytes: number
  private frames = 0
  private bytes = 0

  constructor(options: PaceOptions) {
    this.options = options
    this.afterBytes = options.checkpointBytes
  }

  /** Counts the replayed tail: its frames, the bytes since the checkpoint, and the most bytes of the log. */
  replayed(frames: number, bytes: number, logBytes: number): void {
    this.frames = frames
    this.bytes = bytes
    this.afterBytes = Math.min(this.options.checkpointBytes, Math.floor(logBytes / checkpointsPerLog))
  }

  /** Counts a stored frame; returns whether a checkpoint is due. */
  stored(bytes: number, changedActors: number): boolean {
    this.frames++
    this.bytes += bytes
    return (
      this.frames >= this.options.checkpointFrames ||
      this.bytes >= this.afterBytes ||
      changedActors >= this.options.checkpointActors
    )
  }

  /** Bytes of frames since the newest checkpoint. */
  get bytesSince(): number {
    return this.bytes
  }

  saved(framesSince: number, coveredBytes: number): void {
    this.frames = framesSince
    this.bytes = Math.max(0, this.bytes - coveredBytes)
  }
}

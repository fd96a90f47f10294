/**
 * When a checkpoint is due: after so many frames, bytes or changed actors, so that a log can be purged before it is
 * full (docs/architecture.md, rule 9).
 */

/** Checkpoints are at most this part of a full log apart, because it is purged up to the second-newest. */
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

  begin(frames: number, bytes: number, logBytes: number): void {
    this.frames = frames
    this.bytes = bytes
    this.afterBytes = Math.min(this.options.checkpointBytes, Math.floor(logBytes / checkpointsPerLog))
  }

  /** A frame is stored; answers whether a checkpoint is due. */
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

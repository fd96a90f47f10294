/** Defines the settings that an embedder may change, with their defaults. All other bounds are in `limits.ts`. */
import { mailboxCapacity } from "./limits.ts"

/** Bounds and times of an engine. Each has a default (`defaultConfig`). See {@link defaultConfig}. */
export interface EngineConfig {
  /** Number of partitions, 1 to 4,096; fixed at a deployment's first start. */
  readonly partitions: number
  /** Commands that a partition's mailbox holds. Half as many again may wait for an actor to be loaded. */
  readonly mailboxCapacity: number
  /** Estimated bytes of waiting commands in the process; one organization may hold a quarter of them. */
  readonly mailboxBytes: number
  /**
   * Actors the process keeps in memory, over all partitions. Idle actors leave when others need their place. While all
   * of them have changed since their last checkpoint, commands for new actors fail with `Overloaded`.
   */
  readonly maximumActors: number
  /** Lane actors the process keeps in memory, over all partitions. */
  readonly maximumLaneActors: number
  /** Checkpoints that the process writes concurrently. */
  readonly concurrentCheckpoints: number
  /**
   * Transactions of reactors that the process runs concurrently, over all partitions. One that takes longer than 50 ms
   * counts no more.
   */
  readonly concurrentTransactions: number
  /** A checkpoint is taken after this many frames… */
  readonly checkpointFrames: number
  /**
   * …or this many bytes of frames, at most an eighth of the log's bound, so that it can be purged before it is full…
   */
  readonly checkpointBytes: number
  /** …or this many changed actors… */
  readonly checkpointActors: number
  /** …or this much time with anything to write, milliseconds. */
  readonly checkpointMillis: number
  /**
   * How long frames that no start needs stay in the log, milliseconds: a database that was restored from a backup of
   * that age catches up with the log by itself. They fill at most half of the log's bound; 0, the default, keeps none.
   */
  readonly logKeepMillis: number
  /** Actors not used for about this long leave memory, milliseconds. */
  readonly idleMillis: number
  /** Committed frames kept in memory for reactors: number and bytes. */
  readonly feedFrames: number
  readonly feedBytes: number
  /** How long a shutdown waits for accepted commands, milliseconds. */
  readonly shutdownMillis: number
}

/**
 * The default settings of an engine, for omitted options.
 *
 * @example
 * ```ts
 * import { defaultConfig } from "sluice"
 *
 * console.log(defaultConfig.partitions, defaultConfig.idleMillis) // 8 300000
 * ```
 */
export const defaultConfig: EngineConfig = {
  partitions: 8,
  mailboxCapacity,
  mailboxBytes: 256 * 1024 * 1024,
  maximumActors: 800_000,
  maximumLaneActors: 1_600_000,
  concurrentCheckpoints: 2,
  concurrentTransactions: 2,
  checkpointFrames: 20_000,
  checkpointBytes: 64 * 1024 * 1024,
  checkpointActors: 20_000,
  checkpointMillis: 60_000,
  logKeepMillis: 0,
  idleMillis: 300_000,
  feedFrames: 2_048,
  feedBytes: 16 * 1024 * 1024,
  shutdownMillis: 10_000
}

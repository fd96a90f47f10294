/**
 * Defines the port of checkpoints: actors' states at frame boundaries, so that a start replays only the log's tail and
 * idle actors can leave memory (docs/architecture.md, rules 9 and 10). A checkpoint holds only decisions of the log up
 * to it. Implementations: `CheckpointsMemory.ts` here, PostgreSQL under `src/postgres`.
 */
import { Context, Data, type Effect } from "effect"
import type { ActorAddress } from "../address.ts"
import type { Sequence } from "./Journal.ts"

/** A place in a partition's log, with the hash of its frame as proof. See {@link Checkpoints}. */
export interface LogPosition {
  readonly sequence: Sequence
  /** sha256 of the stored bytes of the frame at `sequence`, 64 hexadecimal digits; `emptyLogHash` at sequence 0. */
  readonly hash: string
}

/** The hash before the first frame of a log. */
export const emptyLogHash = "0".repeat(64)

/** A completed checkpoint: all actor rows up to `sequence` are there. See {@link Checkpoints}. */
export interface CheckpointRecord extends LogPosition {
  readonly partition: number
  /** Epoch, number and `now` of the frame at `sequence`. */
  readonly epoch: number
  readonly number: number
  /** Milliseconds since the Unix epoch. */
  readonly now: number
  /** Highest signal sequence processed up to `sequence`; 0 for none. */
  readonly signalSequence: number
  /** Highest processed sequence of each ingest up to `sequence`, by its name; left out where none has a place. */
  readonly ingests?: Readonly<Record<string, number>> | undefined
}

/** An actor's state after the frame at `sequence`. See {@link Checkpoints}. */
export interface ActorRow extends ActorAddress {
  readonly sequence: Sequence
  /** The version of the actor's definition that encoded `state`. */
  readonly version: number
  /**
   * JSON, at most `maximumStateBytes` and `stateSlackBytes` as UTF-8; null when the actor is again as if it had never
   * been used.
   */
  readonly state: string | null
  /** When the actor wants to be woken, milliseconds since the Unix epoch, or null. An indexed column. */
  readonly wakeAt: number | null
  /**
   * When the row stops counting and may be removed, milliseconds since the Unix epoch, or null. An indexed column. The
   * rows of one actor all have such a time, or none has.
   */
  readonly expiresAt: number | null
}

/** A timer of an actor, as `Checkpoints.timers` lists them. See {@link Checkpoints}. */
export interface TimerRow extends ActorAddress {
  readonly wakeAt: number
}

/** A row that counts until a time, as `Checkpoints.expiring` lists them. See {@link Checkpoints}. */
export interface ExpiryRow extends ActorAddress {
  readonly expiresAt: number
}

/** The keys that `Checkpoints.keys` lists. See {@link Checkpoints}. */
export interface KeysRequest extends Omit<ActorAddress, "key"> {
  readonly through: Sequence
  readonly after: string | undefined
  readonly limit: number
}

/** The organizations that `Checkpoints.organizations` lists. See {@link Checkpoints}. */
export type OrganizationsRequest = Omit<KeysRequest, "organization">

/** The rows that `Checkpoints.states` lists. See {@link Checkpoints}. */
export interface StatesRequest {
  readonly kinds: ReadonlyArray<string>
  readonly through: Sequence
  readonly after: ActorAddress | undefined
  readonly limit: number
}

/**
 * The store cannot be reached, or gave up on a conflict of its own. Either nothing was done, or doing it again is
 * safe. See {@link Checkpoints}.
 */
export class CheckpointsUnavailable extends Data.TaggedError("CheckpointsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The newest checkpoint is not the expected one: a replaced owner wrote one, or an operator has run a recovery.
 * Nothing was written. See {@link Checkpoints}.
 */
export class CheckpointConflict extends Data.TaggedError("CheckpointConflict")<{
  readonly partition: number
  readonly expected: Sequence
  /** The sequence of the newest checkpoint, 0 for none. */
  readonly found: Sequence
}> {}

/** The input of `save`. See {@link Checkpoints}. */
export interface CheckpointWrite {
  readonly record: CheckpointRecord
  /** The sequence of the newest checkpoint so far, 0 for none: a compare-and-set. */
  readonly previous: Sequence
  /**
   * The actors that changed since `previous`, all with `record.sequence`. Read once, in bounded pieces; encoding
   * happens while reading.
   */
  readonly rows: Iterable<ActorRow>
}

/**
 * A deployment: one database and the logs that belong to it (docs/architecture.md, rule 18). See {@link Checkpoints}.
 */
export interface Deployment {
  /** Made once, together with the database, and written into every log of the deployment. */
  readonly id: string
  /** The place of this store, for people: `the database sluice at 10.0.0.5:5432`. */
  readonly home: string
}

/** The rows that `prune` and `discardAbove` removed. See {@link Checkpoints}. */
export interface RemovedRows {
  readonly rows: number
  readonly checkpoints: number
}

/**
 * The port that keeps snapshots of actors, from which a start continues. Implemented in memory and on PostgreSQL.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Checkpoints } from "sluice"
 *
 * // a port: `Engine.layer` takes any implementation, and programs seldom call one
 * export const partitions = Effect.flatMap(Checkpoints, ({ fixPartitions }) => fixPartitions(8))
 * ```
 */
export class Checkpoints extends Context.Service<
  Checkpoints,
  {
    /**
     * Fixes the deployment's number of partitions at the first call; later calls change nothing. Returns the number in
     * force.
     */
    readonly fixPartitions: (count: number) => Effect.Effect<number, CheckpointsUnavailable>

    /**
     * The deployment whose checkpoints these are; undefined until its number of partitions is fixed. It never changes
     * afterwards.
     */
    readonly deployment: Effect.Effect<Deployment | undefined, CheckpointsUnavailable>

    /** The partition's completed checkpoints, newest first. At most three (two kept, one being superseded). */
    readonly list: (partition: number) => Effect.Effect<ReadonlyArray<CheckpointRecord>, CheckpointsUnavailable>

    /**
     * Writes actor rows and the checkpoint's record in one transaction, insert-only: rows that are there are never
     * updated. Fails with `CheckpointConflict`, and writes nothing, unless `previous` is the newest checkpoint's
     * sequence. `record.sequence` must be above `previous`. Readers never see a half-written checkpoint, whatever dies
     * meanwhile.
     */
    readonly save: (write: CheckpointWrite) => Effect.Effect<void, CheckpointsUnavailable | CheckpointConflict>

    /**
     * For each address its newest row with a sequence of at most `through`; addresses without one, or whose newest row
     * has a null state, are left out. In any order. At most `maximumLoadBatch` addresses a call.
     */
    readonly load: (
      partition: number,
      addresses: ReadonlyArray<ActorAddress>,
      through: Sequence
    ) => Effect.Effect<ReadonlyArray<ActorRow>, CheckpointsUnavailable>

    /**
     * The keys of a kind in an organization, those behind `after`, in the order of their UTF-8 bytes; at most `limit`,
     * which is at most `maximumKeysPage`. An actor counts by its newest row with a sequence of at most `through`, and
     * not at all when that has a null state.
     */
    readonly keys: (
      partition: number,
      page: KeysRequest
    ) => Effect.Effect<ReadonlyArray<string>, CheckpointsUnavailable>

    /**
     * The organizations with at least one such key of a kind, those behind `after`, in the order of their bytes; at
     * most `limit`, which is at most `maximumKeysPage`.
     */
    readonly organizations: (
      partition: number,
      page: OrganizationsRequest
    ) => Effect.Effect<ReadonlyArray<string>, CheckpointsUnavailable>

    /**
     * The newest rows with a sequence of at most `through` of all actors of some kinds, in the order of organization,
     * kind and key by their UTF-8 bytes, those behind `after`; at most `limit`, which is at most `maximumLoadBatch`.
     * Rows with a null state are among them, so that the last row says where the next page begins.
     */
    readonly states: (
      partition: number,
      page: StatesRequest
    ) => Effect.Effect<ReadonlyArray<ActorRow>, CheckpointsUnavailable>

    /**
     * The earliest timers in the order (wakeAt, address), counting for each actor only its newest row with a sequence
     * of at most `through`. `after` leaves out that timer and all before it in the order. `limit` is at most
     * `maximumTimerPage`. The engine sorts a page again by `compareAddresses`, so a store may order names by bytes.
     */
    readonly timers: (
      partition: number,
      options: { readonly through: Sequence; readonly after: TimerRow | undefined; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<TimerRow>, CheckpointsUnavailable>

    /**
     * The rows with an `expiresAt` in the order (expiresAt, address), those behind `after`; at most `limit`. Superseded
     * rows may be among them, and a store may order names by bytes.
     */
    readonly expiring: (
      partition: number,
      options: { readonly after: ExpiryRow; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<ExpiryRow>, CheckpointsUnavailable>

    /**
     * Drops what the second-newest checkpoint covers: checkpoint records older than it, and every actor row that has a
     * newer row of the same actor with a sequence at or below the second-newest's; of rows with a null state also the
     * newest itself, if it is at or below it. All rows at or below it of the kinds in `stateless`, which keep no rows,
     * are dropped too. Does nothing while there are fewer than two checkpoints. Rows that expire stay until then.
     */
    readonly prune: (
      partition: number,
      stateless?: ReadonlyArray<string>
    ) => Effect.Effect<RemovedRows, CheckpointsUnavailable>

    /**
     * Removes rows whose `expiresAt` is at or before `now`, the earliest first and at most `limit`; returns how many.
     * No reader misses them: a reader at `now` or later ignores such rows.
     */
    readonly expire: (partition: number, now: number, limit: number) => Effect.Effect<number, CheckpointsUnavailable>

    /**
     * Removes checkpoints and rows above `sequence`, in one transaction. Only for an operator's `recover
     * --accept-loss`.
     */
    readonly discardAbove: (partition: number, sequence: Sequence) => Effect.Effect<RemovedRows, CheckpointsUnavailable>
  }
>()("sluice/engine/Checkpoints") {}

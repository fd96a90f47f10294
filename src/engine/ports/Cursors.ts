/**
 * Defines the port of reactors: durable cursors, the transaction that holds the SQL effects of a batch together with
 * the move of its cursor, and parked records (docs/architecture.md, rule 11). Implementations: `CursorsMemory.ts` here,
 * PostgreSQL (over `SqlClient` of `effect/sql`) under `src/postgres`.
 */
import { Context, Data, type Effect } from "effect"
import type { ActorAddress } from "../address.ts"
import type { LogPosition } from "./Checkpoints.ts"
import type { Sequence } from "./Journal.ts"

/** The progress of a reactor: it has processed every frame up to `sequence`. See {@link Cursors}. */
export interface Cursor extends LogPosition {
  readonly partition: number
  readonly reactor: string
  /** Undefined while the reactor is not rebuilt from states. */
  readonly rebuild?: RebuildProgress | undefined
}

/**
 * A rebuild of a reactor from the states of actors that is under way in a partition (docs/reactors.md, "From the
 * states"). The reactor has got the states of all actors up to `place`, in the order of their bytes; those up to
 * `cuts[0].through` as they were after the frame `cuts[0].sequence`, those behind as `cuts[1]` says, and so on; the cut without `through` is
 * for all that are left. See {@link Cursors}.
 */
export interface RebuildProgress {
  /** Counts the moves of this progress, so that only one of two owners makes each. */
  readonly step: number
  /** States that the reactor has got. */
  readonly states: number
  /** The last actor; undefined before the first. */
  readonly place: ActorAddress | undefined
  /** Whether all actors were walked through, so that the facts behind the states follow. */
  readonly isWalked: boolean
  readonly cuts: ReadonlyArray<{ readonly through: ActorAddress | undefined; readonly sequence: Sequence }>
}

/** A compare-and-set of a cursor. See {@link Cursors}. */
export interface CursorMove {
  readonly partition: number
  readonly reactor: string
  /** The place where the cursor must be now. A cursor that was never moved is at sequence 0 with `emptyLogHash`. */
  readonly from: LogPosition
  readonly to: LogPosition
  /**
   * Moves the progress of a rebuild too: from the one with this step (undefined for none, "any" for whatever is there)
   * to another one, or to none. A move that leaves this out leaves the progress as it is.
   */
  readonly rebuild?: {
    readonly from: number | "any" | undefined
    readonly to: RebuildProgress | undefined
  }
}

/**
 * The store cannot be reached, or rolled the transaction back (connection, deadlock, serialization). Nothing was
 * done; try again. See {@link Cursors}.
 */
export class CursorsUnavailable extends Data.TaggedError("CursorsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The cursor is not at the expected place: another process moved it. The whole transaction was rolled back. See
 * {@link Cursors}.
 */
export class CursorMoved extends Data.TaggedError("CursorMoved")<{
  readonly partition: number
  readonly reactor: string
  readonly expected: LogPosition
  readonly found: LogPosition
}> {}

/**
 * A record that a reactor could not process, or a later record of the same organization, which waits behind it. See
 * {@link Parked.show}.
 */
export interface ParkedRecord {
  readonly partition: number
  readonly reactor: string
  readonly organization: string
  /** Place of the record: the frame's sequence and the record's index in the frame. */
  readonly sequence: number
  readonly index: number
  /** The record as JSON, so that it can be worked on after the log was purged. */
  readonly record: string
  /** The error's text, without secrets; for a record that only waits behind another, `behind <sequence>/<index>`. */
  readonly error: string
}

/** The number of an organization's parked records at a reactor. See {@link Cursors}. */
export interface ParkedOrganization {
  readonly organization: string
  readonly count: number
}

/**
 * The service inside a transaction. It registers actions in memory for after the commit (wake a dispatcher, count).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { ReactorTransaction } from "sluice"
 *
 * // inside a handler; `Reactor.onCommit` is the same in one call
 * export const woken = (wake: () => void) => Effect.map(ReactorTransaction, ({ onCommit }) => onCommit(wake))
 * ```
 */
export class ReactorTransaction extends Context.Service<
  ReactorTransaction,
  {
    /**
     * Registers an action. Actions run in order after the commit, and not at all after a roll-back. They must not
     * throw.
     */
    readonly onCommit: (action: () => void) => void
    /**
     * The cursor move that this transaction makes. When it begins where the last one ended, no other transaction can
     * have committed in between, so earlier knowledge still holds. Undefined inside an `attempt` and while parked
     * records are retried: those move no cursor.
     */
    readonly move?: CursorMove | undefined
  }
>()("sluice/engine/ReactorTransaction") {}

/**
 * The port that keeps the progress of each reactor, and runs its transactions. Implemented in memory and on PostgreSQL.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Cursors } from "sluice"
 *
 * // a port: how far the reactors of the first partition are
 * export const places = Effect.flatMap(Cursors, ({ list }) => list(0))
 * ```
 */
export class Cursors extends Context.Service<
  Cursors,
  {
    /** All cursors of a partition. */
    readonly list: (partition: number) => Effect.Effect<ReadonlyArray<Cursor>, CursorsUnavailable>

    /** Reads one cursor; it is at sequence 0 with `emptyLogHash` when it was never moved. */
    readonly read: (partition: number, reactor: string) => Effect.Effect<Cursor, CursorsUnavailable>

    /**
     * Runs `effects` and the move in one transaction: both happen or neither. On PostgreSQL `effects` use `SqlClient`,
     * whose statements join the transaction.
     *
     * - The cursor is not at `move.from` (looked at in the transaction, as a compare-and-set of sequence and hash):
     *   `CursorMoved`. The implementation may look first and again at the end; what counts is that a commit implies the
     *   compare-and-set succeeded.
     * - The progress of a rebuild is not at `move.rebuild.from`: `CursorMoved` too.
     * - `effects` fail with their own error: rolled back, that error.
     * - The store itself failed, also when `effects` saw it as an `SqlError` of the connection, a deadlock or a
     *   serialization failure: rolled back, `CursorsUnavailable`.
     * - `to` may be the place that the cursor is at: only the effects happen then, if it is still there.
     * - Interrupted before the commit: rolled back.
     * - The commit's own answer was lost: `CursorsUnavailable`; the caller reads the cursor again before it goes on.
     */
    readonly transact: <A, E, R>(
      move: CursorMove,
      effects: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | CursorsUnavailable | CursorMoved, Exclude<R, ReactorTransaction>>

    /**
     * Inside `effects` of `transact` only (a savepoint): when `effects` fail, they are undone and the transaction can
     * continue.
     */
    readonly attempt: <A, E, R>(
      effects: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | CursorsUnavailable, R | ReactorTransaction>

    /**
     * Inside `effects` of `transact` or `unpark` only: parks records. Parking the same record twice keeps one; a record
     * that `unpark` removes may be parked again with another error.
     */
    readonly park: (records: ReadonlyArray<ParkedRecord>) => Effect.Effect<void, CursorsUnavailable, ReactorTransaction>

    /**
     * Lists the organizations with parked records at a reactor of a partition, in a fixed order: all of them, or
     * `limit` of them behind `after`. It does not read the records, so its cost does not depend on their number.
     */
    readonly parkedOrganizations: (
      partition: number,
      reactor: string,
      page?: { readonly after?: string | undefined; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<ParkedOrganization>, CursorsUnavailable>

    /**
     * The number of parked records at a reactor of a partition, or of one organization there. The count is kept as
     * records are parked, not computed on request.
     */
    readonly parkedCount: (
      partition: number,
      reactor: string,
      organization?: string
    ) => Effect.Effect<number, CursorsUnavailable>

    /** Parked records of one organization in log order, at most `limit`. */
    readonly parked: (
      partition: number,
      reactor: string,
      organization: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ParkedRecord>, CursorsUnavailable>

    /**
     * Runs `effects` and removes the parked records in one transaction (an operator's retry or dismissal). Fails with
     * nothing done when one of them is not parked any more, so that only one of two concurrent retries of a record
     * succeeds.
     */
    readonly unpark: <A, E, R>(
      records: ReadonlyArray<ParkedRecord>,
      effects: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | CursorsUnavailable, Exclude<R, ReactorTransaction>>

    /**
     * Inside `effects` of `transact` only: the given organizations that have parked records at the reactor, as the
     * transaction sees them after it has locked the cursor. `unpark` waits for the same lock, so that no record is
     * parked behind one that is being removed.
     */
    readonly parkedAmong: (
      partition: number,
      reactor: string,
      organizations: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlySet<string>, CursorsUnavailable, ReactorTransaction>

    /** Forgets the cursor of a reactor that is no longer configured. */
    readonly forget: (partition: number, reactor: string) => Effect.Effect<void, CursorsUnavailable>

    /** Sets a cursor without a comparison, and ends a rebuild of the reactor. Only for an operator's `recover --accept-loss`. */
    readonly reset: (cursor: Cursor) => Effect.Effect<void, CursorsUnavailable>
  }
>()("sluice/engine/Cursors") {}

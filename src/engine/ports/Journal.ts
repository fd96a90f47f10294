/**
 * Defines the port of the log: one append-only, fenced, fsynced log per partition, the only truth
 * (docs/architecture.md, rules 1, 2, 9, 14). The port is low-level: it makes one publish attempt and reports the
 * server's answer, reads from the leader, and reports the log's ends. The engine (`append.ts`) interprets an answer
 * (committed, fenced, send again), so that a simulated log can give every answer to the real rule. Implementations:
 * `JournalMemory.ts` here, JetStream under `src/nats`.
 */
import { Context, Data, type Effect, type Scope, type Stream } from "effect"

/**
 * Position of a frame in its log. The first frame of a new log is 1; 0 means "before the first frame". See
 * {@link Journal}.
 */
export type Sequence = number

/** The sequence before the first frame of a log. */
export const noSequence: Sequence = 0

/** A frame as it is stored. See {@link Journal}. */
export interface StoredFrame {
  readonly sequence: Sequence
  /** The `Sluice-Frame` header: `<partition>/<epoch>/<number>`; empty where a foreign message carries none. */
  readonly identity: string
  /**
   * Exactly the bytes that were published. The receiver must not change them, and the implementation must not reuse
   * their buffer.
   */
  readonly bytes: Uint8Array
}

/**
 * One attempt to append.
 *
 * JetStream: a publish with the header `Nats-Expected-Last-Sequence: expectedLast` and `Sluice-Frame: identity`,
 * without a `Nats-Msg-Id`, with the client's own re-sending off (`retries: 1`). See {@link Journal}.
 */
export interface PublishRequest {
  readonly bytes: Uint8Array
  readonly identity: string
  /** The log's last sequence must equal this, or nothing is stored. */
  readonly expectedLast: Sequence
  /** Milliseconds without a reply after which the implementation answers `NoAnswer`. */
  readonly timeoutMillis: number
}

/**
 * The answer to one publish attempt. `NoAnswer`, `WrongSequence` and `NoLeader` do not say whether the frame is stored:
 * an earlier copy of it may have been, or a copy under way may still be.
 *
 * - `Acked`: the server says it is stored (and fsynced) at `sequence`. `duplicate` is the server's flag; a duplicate is
 *   never believed without a look at the sequence and the bytes.
 * - `NoAnswer`: no reply within the timeout, or the connection went away while waiting (report that immediately, not at
 *   the timeout).
 * - `NotSent`: there was no connection to send it on: no byte of this attempt has left the process. Never a guess; an
 *   implementation that is not sure answers `NoAnswer`.
 * - `WrongSequence`: error 10071 with the log's real last sequence, or 10164, which is the same without it (`last`
 *   undefined).
 * - `NoLeader`: no responders, or the stream has no leader now (503, 10008).
 * - `Full`: `max_bytes` or the account's storage is used up (10077, 10047, 10023): nothing of this attempt is stored.
 * - `TooLarge`: over the server's `max_payload` or the stream's `max_msg_size` (10054): nothing is stored.
 * - `Refused`: any other error the server gave, with its text: nothing of this attempt is stored. Retried like
 *   `NoLeader`.
 *
 * See {@link Journal}.
 */
export type PublishAnswer =
  | { readonly _tag: "Acked"; readonly sequence: Sequence; readonly duplicate: boolean }
  | { readonly _tag: "NoAnswer"; readonly reason: "timeout" | "disconnected" }
  | { readonly _tag: "NotSent" }
  | { readonly _tag: "WrongSequence"; readonly last: Sequence | undefined }
  | { readonly _tag: "NoLeader" }
  | { readonly _tag: "Full" }
  | { readonly _tag: "TooLarge"; readonly maximumBytes: number | undefined }
  | { readonly _tag: "Refused"; readonly message: string }

/** The beginning, end and fill of a log, as its leader reports them. See {@link Journal}. */
export interface LogState {
  /**
   * Sequence of the oldest frame that is still there; `lastSequence + 1` when the log holds none (so 1 for a new one).
   */
  readonly firstSequence: Sequence
  /** Sequence of the newest frame ever appended, purged or not; 0 for a new log. */
  readonly lastSequence: Sequence
  /** Bytes in use. */
  readonly bytes: number
  /** The log's bound, after which publishes answer `Full`. */
  readonly maximumBytes: number
}

/** The log cannot be reached or did not answer in time. Always worth trying again. See {@link Journal}. */
export class JournalUnavailable extends Data.TaggedError("JournalUnavailable")<{
  readonly partition: number
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * A read met a missing frame in the requested range: it was purged, deleted, or the log is damaged. See
 * {@link Journal}.
 */
export class JournalGap extends Data.TaggedError("JournalGap")<{
  readonly partition: number
  /** The first missing sequence. */
  readonly sequence: Sequence
  readonly message: string
}> {}

/**
 * The log lacks a property that the engine's promises need (docs/architecture.md, rule 14: the server's version,
 * `sync_interval: always`, the stream's settings, the number of partitions). Terminal: an operator has to act; the
 * message says how. See {@link Journal}.
 */
export class JournalRefused extends Data.TaggedError("JournalRefused")<{ readonly message: string }> {}

/**
 * One partition's log.
 *
 * Every read comes from the leader (the JetStream API `STREAM.MSG.GET` and `STREAM.INFO`, never Direct Get), so that
 * acknowledged frames are seen. Every operation ends within a bounded time (about a second for `publish`, `frameAt`
 * and `state`). Operations may be interrupted at any moment. See {@link Journal}.
 */
export interface Log {
  readonly partition: number

  /**
   * Whether a deposed leader may still answer reads. True with several replicas. Such a leader never acknowledges an
   * append.
   */
  readonly leaderMayBeDeposed: boolean

  /** The place of the log, for people: `the stream log-0`. */
  readonly home: string

  /**
   * The id of the deployment that the log belonged to when it was opened; undefined for a log from before there were
   * ids.
   */
  readonly deployment: string | undefined

  /**
   * Gives a log without an id to this deployment, for good. Call it only after `ownLogs.ts` has allowed it. Fails
   * with `JournalRefused` when the log has got another id meanwhile.
   */
  readonly adopt: (deployment: string) => Effect.Effect<void, JournalUnavailable | JournalRefused>

  /**
   * One attempt to append (see `PublishRequest`, `PublishAnswer`). Never fails, never tries a second time by itself.
   */
  readonly publish: (request: PublishRequest) => Effect.Effect<PublishAnswer>

  /** The frame at `sequence`, read from the leader; `undefined` when the leader has none there. */
  readonly frameAt: (sequence: Sequence) => Effect.Effect<StoredFrame | undefined, JournalUnavailable>

  /**
   * The frames from `from` to `through`, both included, in order and without a gap, in batches of any size that is
   * bounded (up to about 1,000 frames or 8 MiB). Ends after `through`; empty when `from > through`. `through` must not
   * be above the last sequence.
   *
   * Fails with `JournalGap` when one of them is not there; one that has just been purged may still be given. A reader
   * that lags behind the leader waits for the frame; when nothing has come for 5 s it fails with `JournalUnavailable`.
   */
  readonly read: (
    from: Sequence,
    through: Sequence
  ) => Stream.Stream<ReadonlyArray<StoredFrame>, JournalUnavailable | JournalGap>

  /** The ends of the log as the leader knows them now. */
  readonly state: Effect.Effect<LogState, JournalUnavailable>

  /**
   * Removes all frames below `sequence`; that frame and the later ones stay. Only called by the engine's wrapper
   * (`purge.ts`), which has checked that `2 <= sequence <= lastSequence`. An implementation refuses anything else with
   * a defect (the server would empty the stream for a `seq` of 0 or 1, and let it end later for one behind its end).
   */
  readonly purgeBelow: (sequence: Sequence) => Effect.Effect<void, JournalUnavailable>

  /**
   * Empties the log and lets it continue after `sequence`, which must be at or above the last sequence (on JetStream: a
   * purge with `seq: sequence + 1`). Only for an operator's `recover --accept-loss`, when no checkpoint fits what is
   * left of the log.
   */
  readonly restartAfter: (sequence: Sequence) => Effect.Effect<void, JournalUnavailable>
}

/** The information about a log before it is opened. See {@link Journal}. */
export interface LogFound {
  readonly partition: number
  readonly home: string
  readonly deployment: string | undefined
  readonly lastSequence: Sequence
}

/**
 * Opens the logs.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Journal } from "sluice"
 *
 * // a port, which the engine opens a log of for each partition: where the first one is, for people
 * export const home = Effect.scoped(
 *   Effect.flatMap(Journal, ({ open }) => Effect.map(open(0), (log) => log.home))
 * )
 * ```
 */
export class Journal extends Context.Service<
  Journal,
  {
    /**
     * The largest frame that the log takes, in bytes. At least the engine's `maximumFrameBytes`, or opening is
     * refused.
     */
    readonly maximumMessageBytes: number

    /**
     * Surveys a deployment's logs before any of them is opened, and returns the existing ones. Creates and changes
     * nothing. Fails with `JournalRefused` when the missing ones cannot be created.
     */
    readonly survey: (partitions: number) => Effect.Effect<ReadonlyArray<LogFound>, JournalUnavailable | JournalRefused>

    /**
     * Opens a partition's log; creates it, as one of `deployment`, when it does not exist. Leaves a log unchanged that
     * belongs to another deployment or to none: the caller checks `Log.deployment` before it writes anything. A log of
     * `deployment` is open once a leader accepts its frames; if none does within a bounded time, this fails with
     * `JournalUnavailable`. The log is closed with the scope; the other processes that have it open are not disturbed.
     * Opening fences no other process: the claim frame does that. With `mustExist`, a missing log is not created:
     * frames of it were seen.
     */
    readonly open: (
      partition: number,
      deployment?: string,
      mustExist?: boolean
    ) => Effect.Effect<Log, JournalUnavailable | JournalRefused, Scope.Scope>
  }
>()("sluice/engine/Journal") {}

/** The engine's bounds, each a named constant (architecture, rules 2, 3, 6 to 10 and 13). Those that an embedder may change are in `EngineConfig`. */

/** Commands a partition's mailbox holds. */
export const mailboxCapacity = 8192

/** The part of the mailbox one organization may fill: one over this (a quarter). */
export const organizationShare = 4

/** Commands one drain takes. */
export const maximumDrainCommands = 512

/** Bytes of facts and events after which a drain is closed. */
export const maximumDrainBytes = 256 * 1024

/** Time after which a drain is closed. */
export const maximumDrainMillis = 5

/** The largest frame, and so the bound of one command's facts and events, in bytes. */
export const maximumFrameBytes = 512 * 1024

/** Room in a frame for what is not facts or events: header fields, the table of actors of one command. */
export const frameOverheadBytes = 16 * 1024

/** The largest encoded state of an actor, in bytes of UTF-8. */
export const maximumStateBytes = 64 * 1024

/** The most actors one command may name. */
export const maximumTouchedActors = 64

/** External signals decided in one drain, so that they leave room for commands. */
export const maximumSignalsPerDrain = 128

/** Timers fired in one drain. */
export const maximumTimersPerDrain = 256

/** Timers read from the checkpoints at once. */
export const maximumTimerPage = 256

/** Actors loaded from the checkpoints in one call. */
export const maximumLoadBatch = 512

/** After so long without knowing whether a frame is stored, callers get `OutcomeUnknown` and the partition restarts. */
export const outcomeDeadlineMillis = 10_000

/**
 * After so long without a connection to send it on a frame is given up: nothing of it is stored, callers get `Unavailable`, and the partition serves
 * again when its log answers. Longer than a reconnection takes.
 */
export const awayDeadlineMillis = 1_500

/** How long one publish attempt waits for its answer. */
export const publishTimeoutMillis = 1_000

/** Fact-free replies rest on a confirmation of ownership that is younger than this, in monotonic time. */
export const freshnessMillis = 5_000

/** How far the clock may be behind the last frame before the partition stops serving. */
export const clockBehindMillis = 60_000

/** So many fences within `fenceWindowMillis` stop the partition for good. */
export const maximumFences = 3
export const fenceWindowMillis = 60_000

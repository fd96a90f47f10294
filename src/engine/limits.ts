/**
 * Defines the engine's bounds, each a named constant (docs/architecture.md, rules 2, 3, 6 to 10 and 13). Bounds that an
 * embedder may change are in `EngineConfig`.
 */

/** Commands a partition's mailbox holds. */
export const mailboxCapacity = 8192

/** One organization may fill one part in four of the mailbox. */
export const organizationShare = 4

/** Commands one drain takes. */
export const maximumDrainCommands = 512

/** Bytes of facts and events after which a drain is closed. */
export const maximumDrainBytes = 256 * 1024

/** Time after which a drain is closed. */
export const maximumDrainMillis = 5

/**
 * The parts of a drain (of its bytes and of its time) that timers may fill, and signals after them, while others wait.
 */
export const timersShare = 0.25
export const signalsShare = 0.5

/** The largest frame, and so the bound of one command's facts and events, in bytes. */
export const maximumFrameBytes = 512 * 1024

/** Room in a frame besides facts and events: header fields, the table of actors of one command. */
export const frameOverheadBytes = 16 * 1024

/** The most bytes that a log takes for a stored frame besides the frame's own: subject, header, its record. */
export const storedOverheadBytes = 160

/** One part in 16 of a log is reserved for claims and marks; below are its most and least bytes. */
export const logReservePart = 16
export const maximumLogReserveBytes = 64 * 1024
export const minimumLogReserveBytes = 1_024

/** The largest encoded state of an actor, in bytes of UTF-8. */
export const maximumStateBytes = 64 * 1024

/**
 * Bytes of facts that a state near its bound takes before it is measured again. Measuring costs as much as encoding, so
 * a state may pass the bound by this much before a fact is refused.
 */
export const stateSlackBytes = 8 * 1024

/** The most actors one command may name. They are loaded in one batch. */
export const maximumTouchedActors = 1_024

/** Messages to other organizations in one decision, and the bytes of one of them as JSON (docs/outbox.md). */
export const maximumMessages = 1_024
export const maximumMessageBytes = 64 * 1024

/**
 * Messages of a partition that are in memory until they are done, and their bytes. Later ones are read from the log
 * when there is room.
 */
export const maximumOutboxMessages = 8_192
export const maximumOutboxBytes = 16 * 1024 * 1024

/** Messages in one delivery to a receiver, and their bytes; concurrent receivers. */
export const maximumSentMessages = 64
export const maximumSentBytes = 256 * 1024
export const maximumSentReceivers = 64

/**
 * Parked signals of an organization, and of a partition: publishers may send any number. Further ones are counted and
 * dropped.
 */
export const maximumParkedSignals = 1_000
export const maximumParkedSignalsOfPartition = 10_000

/** Messages that one transaction parks. */
export const maximumParkedMessages = 256

/**
 * How long the outbox waits before its cursor moves over messages that are done, so that one transaction covers many.
 */
export const outboxCursorMillis = 1_000

/** The pause before a message is tried again, doubled from the first to the last. */
export const firstMessageRetryMillis = 50
export const lastMessageRetryMillis = 5_000

/**
 * How long a receiver that cannot accept messages holds the outbox's cursor. Then they are parked, and still tried,
 * with this pause.
 */
export const messageHoldMillis = 60_000
export const parkedMessageRetryMillis = 10_000

/** How long an answer is remembered under its idempotency key, milliseconds. */
export const defaultOnceWindowMillis = 24 * 3_600_000
export const minimumOnceWindowMillis = 1_000
export const maximumOnceWindowMillis = 30 * 24 * 3_600_000

/** The longest idempotency key and digest, in UTF-16 units; the largest remembered reply, in bytes of its JSON. */
export const maximumOnceKeyLength = 256
export const maximumDigestLength = 256
export const maximumReplyBytes = 16 * 1024

/** Idempotency keys that a partition knows to be stored: keys per generation, and generations; 1 MiB each. */
export const keysPerGeneration = 512 * 1024
export const maximumGenerations = 8

/** Stored keys that are read together when a partition starts. */
export const maximumKeyPage = 4_096

/** Expired rows that one statement removes, and statements behind one checkpoint. */
export const maximumExpiredRows = 10_000
export const maximumExpiryRuns = 10

/** External signals read ahead, and decided in one drain. */
export const maximumQueuedSignals = 256
export const maximumSignalsPerDrain = 128

/** Ingests of a program, and places of ingests that frames carry: those of two programs while one replaces the other. */
export const maximumIngests = 16
export const maximumIngestPlaces = 2 * maximumIngests

/**
 * Signals and messages that a rule has failed on and that are not parked yet. Ingests pause at the first bound, so that
 * what all of them have read ahead still fits the second.
 */
export const failedSignalsPause = 256
export const maximumFailedSignals = failedSignalsPause + (maximumIngests + 1) * maximumQueuedSignals

/** Estimated bytes of an ingest's commands that were read ahead. */
export const maximumQueuedIngestBytes = 4 * 1024 * 1024

/** How often a partition stores the place of an ingest that has moved over messages without a decision. */
export const ingestPlaceMillis = 5_000

/** Timers fired in one drain. */
export const maximumTimersPerDrain = 256

/** Timers read together from the checkpoints. */
export const maximumTimerPage = 256

/** Timers set by `wakeAgain` that a partition keeps for actors that left memory. With more, such actors stay. */
export const maximumAgainTimers = 65_536

/** The wakes of one actor within a window, and its pause when it wants more. */
export const maximumWakes = 100
export const wakesWindowMillis = 1_000
export const brakeHoldMillis = 1_000

/** How often a partition warns of paused actors of one kind. */
export const brakeWarningMillis = 60_000

/** Actors loaded from the checkpoints in one call, and concurrent calls. */
export const maximumLoadBatch = maximumTouchedActors
export const maximumConcurrentLoads = 4

/** Actors of one organization that are loaded ahead of its commands concurrently. */
export const maximumPrefetchedActors = 256

/** Lane asks of a partition that wait for an actor or for a confirmation. */
export const maximumWaitingLaneAsks = 8_192

/** How long the storage of a frame may stay unknown. Then callers get `OutcomeUnknown` and the partition restarts. */
export const outcomeDeadlineMillis = 10_000

/**
 * How long a frame waits for a connection on which it can be sent. Then it is given up: none of it is stored, callers
 * get `PartitionUnavailable`, and the partition serves again when its log answers. Longer than a reconnection takes.
 */
export const awayDeadlineMillis = 1_500

/** How long one publish attempt waits for its answer. */
export const publishTimeoutMillis = 1_000

/** How old a confirmation of ownership may be, by both clocks, for a reply without facts to rest on it. */
export const freshnessMillis = 5_000

/** How often an owner without requests checks its log, so that a replaced owner finds out. */
export const idleConfirmMillis = 10_000

/** How far the clock may be behind the last frame before the partition stops serving. */
export const clockBehindMillis = 60_000

/**
 * The number of fences within `fenceWindowMillis` that stops the partition for good, or where several processes share
 * the partitions for `fencedRestMillis`.
 */
export const maximumFences = 3
export const fenceWindowMillis = 60_000
export const fencedRestMillis = 15_000

/**
 * Deadlines of calls to the database (docs/architecture.md, rule 16): small reads, a batch of rows, a whole checkpoint,
 * a reactor's transaction.
 */
export const lookupDeadlineMillis = 5_000
export const loadDeadlineMillis = 5_000
export const saveDeadlineMillis = 60_000
export const transactionDeadlineMillis = 30_000

/** Deadline of a count of a worker's jobs for the metrics, which reads every row. */
export const countDeadlineMillis = 30_000

/** The transaction that clears a reactor's tables and moves its cursors back: meanwhile no checkpoint is written. */
export const rebuildDeadlineMillis = 120_000

/** How long a shutdown waits for reactors to do the work that their pace has held back. */
export const reactorsCloseMillis = 1_000

/**
 * How long a partition that moves to another process may take for accepted commands, its reactors and its checkpoint.
 */
export const handoverMillis = 1_500

/** How long a page of timers under way holds back the timers in memory. */
export const pageHoldMillis = 1_000

/**
 * Organizations with parked records that a reactor remembers by name. With more, it asks about every organization of a
 * batch.
 */
export const maximumParkedNames = 10_000

/** How long timers and signals wait after a failed load before they ask for actors again. */
export const loadHoldMillis = 1_000

/** How long facts are refused without being sent after the log refused a frame. */
export const fullHoldMillis = 1_000

/** How soon to ask again a partition that is overloaded, briefly away, or whose log is full. */
export const retryAfterMillis = 1_000

/**
 * Open streams of facts and states in a process, and the stored frames that wait for one of them; beyond that it reads
 * the log.
 */
export const maximumSubscriptions = 4_096
export const maximumFollowedRecords = 1_024
export const maximumFollowedBytes = 4 * 1024 * 1024

/** How often a follower checks the log of a partition that another process runs. */
export const followPollMillis = 250

/**
 * How long a follower keeps trying to read a log that does not answer, and waits for a partition that does not serve.
 */
export const followPatienceMillis = 30_000

/** Most keys of a kind in one page, and the default. */
export const maximumKeysPage = 1_000
export const defaultKeysPage = 100

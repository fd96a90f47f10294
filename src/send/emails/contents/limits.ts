/** Lists the bounds of kept contents (docs/handoff.md, 1). */

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

/** Contents that the layer in memory keeps; it drops none, and refuses more. */
export const maximumMemoryContents = 100_000

/** Bound of a new stream of contents, and the least that is tried where the server has no room for so much. */
export const contentStreamBytes = 4 * 1024 * 1024 * 1024
export const leastContentStreamBytes = 64 * 1024 * 1024

/**
 * The time for which a content is kept after its email has ended (docs/handoff.md, 1). Showing it, erasing it and
 * counting its room depend on it. See {@link Admission}.
 */
export const keptContentMillis = 7 * dayMillis

/** Contents of emails that still wait are copied after this time: what ends before is in the stream for long enough. */
export const copiedAfterMillis = 4 * dayMillis

/** The age at which the stream drops contents: a day more than any of them is needed, or was not copied. */
export const contentStreamMillis = copiedAfterMillis + keptContentMillis + dayMillis

/** The pause between two rounds of copying and erasing. */
export const contentSweepMillis = hourMillis

/** Contents that one statement copies or erases. */
export const contentSweepBatch = 100

/**
 * The time that each store of contents has for an answer; then the request fails. Both together have less than a
 * request has (docs/platform.md, 8.4).
 */
export const contentPublishMillis = 4_000
export const contentTimeoutMillis = 4_500

/** Requests whose contents go together, and requests that wait for the message under way. */
export const contentsAtOnce = 256
export const maximumWaitingContents = 1_024

/** Bytes of contents that wait. Beyond that requests are refused. */
export const maximumWaitingContentBytes = 64 * 1024 * 1024

/** Shared messages that are read at the same time for one request. */
export const readsAtOnce = 8

/** Bytes of shared messages that stay in memory, because mail is mostly handed over soon. */
export const recentContentBytes = 16 * 1024 * 1024

/**
 * Data keys in memory, and how long one is used without a look at the database: for so long another process may write
 * under a key that was erased.
 */
export const maximumContentKeys = 10_000
export const contentKeyMillis = 300_000

/** Bytes of a message that keeps a content beside others: more of them make another message. */
export const maximumSharedBytes = 768 * 1024

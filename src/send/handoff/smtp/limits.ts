/** Figures of the mailer (docs/handoff.md, 2.1 to 2.4). */

/** Concurrent connections to the relay, unless a setting says otherwise. */
export const defaultConnections = 10

/** Mails that one connection takes before another replaces it. */
export const mailsPerConnection = 100

/** How long a connection may stay idle: less than relays usually allow. */
export const idleMillis = 20_000

/** How long the relay has for a connection, for its greeting, and for each of its answers. */
export const connectMillis = 5_000
export const greetingMillis = 5_000
export const answerMillis = 15_000

/** How long one hand-over to the relay may take in all, however steadily the relay answers. */
export const transactionMillis = 18_000

/** How long a mail waits for a connection. Without one it goes back to the queue, and no attempt is counted. */
export const placeMillis = 8_000

/** Recipients of one email that are handed over at the same time, each with a return path of its own. */
export const recipientsAtOnce = 4

/**
 * How long after its begin an attempt at an email still begins a transaction. With the wait for the pace and the transaction itself it ends before the hand-off's deadline,
 * after which nobody could say who has the mail.
 */
export const lastBeginMillis = 20_000

/** How often a relay that cannot be reached is tried: at first, and at most. */
export const firstProbeMillis = 500
export const longestProbeMillis = 15_000

/** A relay that nobody has used for so long is tried, so that its health is known. */
export const quietMillis = 60_000

/** How long one try may take. */
export const probeMillis = 10_000

/** All attachments of an email that are fetched, together (docs/platform.md, 9.10). */
export const maximumFetchedBytes = 25 * 1024 * 1024

/** How long the servers of an email's attachments have, for all of them: less than `lastBeginMillis`, with the wait for a place. */
export const fetchMillis = 15_000

/** Redirections of an attachment that are followed, each to an address that is checked like the first. */
export const maximumRedirects = 3

/** Emails with fetched attachments under way concurrently, over all accounts and of each: the attachments are in memory meanwhile. */
export const fetchingEmails = 10
export const fetchingEmailsOfOrganization = 2

/** How long an email waits for one of these places. Without one it goes back to the queue, and no attempt is counted. */
export const fetchPlaceMillis = 4_000

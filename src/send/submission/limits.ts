/** Lists the figures of submission by SMTP (docs/handoff.md, 7). */

/** Most concurrent connections: in all, and from one network or of one organization. */
export const maximumConnections = 400
export const maximumConnectionsOfCaller = 100

/** Most failed logins from one network in a minute, and on one connection. */
export const maximumFailedLogins = 60
export const maximumFailedLoginsOfConnection = 3

/** The time for which a connection may be silent, from its begin to its login, and for one mail until it is complete. */
export const idleMillis = 60_000
export const loginMillis = 30_000
export const mailMillis = 120_000

/** The age from which a connection takes no further mail. */
export const connectionMillis = 60 * 60_000

/** The pause between two looks at the times of connections. */
export const watchMillis = 1_000

/** How long a key may be looked up, and how long a mail may be decided, including its wait for a place. */
export const loginLookupMillis = 5_000
export const decisionMillis = 20_000

/** Most mails that are read and decided concurrently, and those of one organization. */
export const decisionsAtOnce = 64
export const decisionsOfOrganization = 32

/** How long an end waits for mails that are complete. */
export const drainMillis = 5_000

/** Lines of a mail: a reader of MIME takes some microseconds for each. */
export const maximumLines = 10_000

/** Bytes of all headers of a mail, and the depth of its parts. */
export const maximumHeaderBytes = 65_536
export const maximumNesting = 16

/** Bytes of a line of the dialogue. */
export const maximumCommandBytes = 2_048

/** Characters of the text of an answer: a line has at most 512 octets. */
export const maximumReplyLength = 480

/** Lists the figures of other mail systems' reports (docs/handoff.md, 6). */

/**
 * Bytes of a mail that the listener takes: bounces may bring the whole mail back. What is read of it is bounded by the
 * parser.
 */
export const maximumInboundBytes = 50 * 1024 * 1024

/** Most concurrent connections to the listener, in all and from one address. */
export const maximumInboundConnections = 100
export const maximumConnectionsOfAddress = 10

/** Most mails from one address in a minute; later ones get a temporary error. */
export const maximumMailsOfAddress = 300

/** Recipients of one mail to the listener. A report goes to one return path. */
export const maximumReturnPaths = 10

/** The time for which a connection may be silent, and that a mail may take to be processed. */
export const inboundIdleMillis = 60_000
export const intakeMillis = 20_000

/** Most mails that are parsed and counted concurrently. */
export const intakesAtOnce = 8

/** Bytes of a mail that are imported: the report stands at its beginning, and a request must hold them. */
export const importedBytes = 150_000

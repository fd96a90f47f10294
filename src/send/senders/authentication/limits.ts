/** Lists the figures of SPF and DMARC checks (docs/platform.md, 9.13). */

/** Most look-ups that an SPF record may cause, and most of them without an answer (RFC 7208, 4.6.4). */
export const spfLookups = 10
export const spfVoidLookups = 2

/** Most mail hosts of one `mx` (RFC 7208, 4.6.4). */
export const spfMailHosts = 10

/** Longest text of a record that is read. */
export const recordCharacters = 10_000

/** Characters of a record's part that a sentence quotes. */
export const quotedCharacters = 60

/** The time that name servers have for all answers to one check. */
export const authenticationMillis = 5_000

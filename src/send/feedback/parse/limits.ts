/**
 * Bounds the parts of a mail that the parser of feedback reads, because anybody may have written the mail. Parts beyond
 * a bound are not read.
 */

/** Bytes of a mail that are read. The report stands before the returned mail, so the start of a long one is enough. */
export const maximumMailBytes = 262_144

/** Lines of a mail that are read: the parser of MIME spends more on a line than on its bytes, some 20 microseconds. */
export const maximumMailLines = 10_000

/** Bytes of the headers of all parts together; a mail with more is no report. */
export const maximumHeaderBytes = 65_536

/** Levels of parts within parts; a mail with more is no report. Returned mails are not descended into. */
export const maximumNesting = 8

/** Parts among which the report and the returned mail are looked for. */
export const maximumParts = 32

/** Bytes of a report, and of the headers of a returned mail. */
export const maximumPartBytes = 131_072

/** Recipients of one report. */
export const maximumRecipients = 100

/** Addresses that a report was sent to. */
export const maximumAddressees = 16

/** Characters of a field that are looked at. */
export const maximumFieldLength = 4_096

/** Characters of a reason. */
export const maximumReasonLength = 500

/** Characters of an address: 64 of the local part, the `@`, 255 of the domain (RFC 5321, 4.5.3.1). */
export const maximumAddressLength = 320

/** Characters of an identifier: a line of a mail has no more (RFC 5322, 2.1.1). */
export const maximumIdentifierLength = 998

/** Characters of a date. */
export const maximumDateLength = 100

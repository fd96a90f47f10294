/**
 * Bounds reports about domains (docs/handoff.md, 6.4), because anybody may send one. A report beyond a bound is not
 * read, or comes again later.
 */
import { dayMillis } from "../../limits.ts"

/** Bytes and lines of a mail with a report: lines of base64 have 76 characters, and the parser of MIME works by line. */
export const maximumReportMailBytes = 1_560_000
export const maximumReportMailLines = 20_000

/** Bytes of the headers of all parts together, levels of parts within parts, and parts that are looked at. */
export const maximumReportHeaderBytes = 65_536
export const maximumReportNesting = 4
export const maximumReportParts = 8

/** Bytes of a report once it is unpacked. */
export const maximumReportBytes = 4 * 1024 * 1024

/** Elements, levels of elements within elements, and characters of a name and of a text, of the XML of a report. */
export const maximumXmlElements = 200_000
export const maximumXmlDepth = 16
export const maximumXmlName = 128
export const maximumXmlText = 4_096

/** Pieces of XML that are read before other work gets its turn. */
export const xmlTokensAtOnce = 2_000

/** Records of a DMARC report: each names a source. */
export const maximumRecords = 10_000

/** Messages of one record, and sessions of one figure of a TLS report. */
export const maximumCount = 100_000_000

/** Policies of a TLS report, and failures of each. */
export const maximumTlsPolicies = 100
export const maximumTlsFailures = 1_000

/** Characters of the reporter's name and of the report's id. */
export const maximumReportName = 200

/** The longest time that a report is about, and how far ahead its end may be: clocks differ. */
export const maximumPeriodMillis = 31 * dayMillis
export const maximumAheadMillis = dayMillis

/** How long ago a request for figures may begin. */
export const shownReportsMillis = 90 * dayMillis

/**
 * For how long figures are kept, so that a request for 90 days that begins within a day is served whole; reports about
 * an earlier day are too late.
 */
export const keptReportsMillis = shownReportsMillis + dayMillis

/** Sources of a domain that are kept apart on each day; the others are added up under no name. */
export const maximumSources = 200

/** The most that one row counts, so that sums of rows stay exact. */
export const maximumRowCount = 100_000_000_000

/** Organizations that have verified the same domain, and get its report. */
export const maximumOwners = 20

/** New reports of a domain on one UTC day, in all and from the mail systems of one network. */
export const maximumReportsOfDomain = 1_000
export const maximumReportsOfNetwork = 200

/** Mails with reports from one network in a minute, mails that are in memory, and reports that are read concurrently. */
export const maximumReportMailsOfNetwork = 30
export const maximumReportsInMemory = 16
export const reportsAtOnce = 2

/** Reporters that a list names. */
export const shownReporters = 10

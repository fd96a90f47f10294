/**
 * Defines the bounds of reading files of the number directory: the size of a source, packed and unpacked, the length of
 * a line, the number of listed malformed lines. They are in one place, so that an operator can see what is refused and
 * why. The bounds of a source are a reference, which a caller may replace.
 */
import { Context } from "effect"

/** Bytes of one line without its line end; the longest published line has 442. A longer one is malformed. */
export const lineLimitBytes = 8_192

/** Malformed lines that a summary lists with number and reason; all are counted. See {@link readFile}. */
export const listedMalformedLimit = 100

/** Share of malformed lines above which a file is refused (docs/directory.md, 6.3). See {@link readFile}. */
export const malformedShareLimit = 0.01

/** How many malformed lines have their record remembered: a few times what a whole published file may have. */
export const unreadKeysLimit = 8_192

/** Records of one batch. */
export const batchRecords = 4_096

/** Bytes read, unpacked and parsed in one step: a few hundred lines, a millisecond or two of parsing. */
export const chunkBytes = 65_536

/** Bytes at the beginning of a file within which its header must be complete. */
export const recognitionLimitBytes = 65_536

/** Files in a zip archive that are looked at. */
export const archiveEntryLimit = 256

/** Different company and place names kept once in memory while one file is read. */
export const internedNamesLimit = 65_536

/** The bounds of a source. See {@link SourceLimits}. */
export interface Limits {
  /** Bytes as they lie on disk or come over the network. */
  readonly packedBytes: number
  /** Bytes after unpacking, over all files of an archive together; the bound against zip bombs. */
  readonly unpackedBytes: number
  /** Redirects that a download follows. */
  readonly redirects: number
  /** How long until the headers of an answer must have come. */
  readonly responseTimeoutMillis: number
  /** How long between two pieces of a body. */
  readonly idleTimeoutMillis: number
  /** How long a download may take as a whole. */
  readonly downloadTimeoutMillis: number
}

/**
 * The limits of {@link Limits} in force: 256 MiB packed, 512 MiB unpacked, 5 redirects, 30 s, 30 s, 15 min.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { openSource, SourceLimits } from "sluice/directory"
 *
 * // A source with less patience for its server.
 * export const opened = (address: string) =>
 *   Effect.flatMap(SourceLimits, (limits) =>
 *     Effect.provideService(openSource(address), SourceLimits, { ...limits, responseTimeoutMillis: 5_000 })
 *   )
 * ```
 */
export const SourceLimits = Context.Reference<Limits>("sluice/directory/files/SourceLimits", {
  defaultValue: () => ({
    packedBytes: 256 * 1_024 * 1_024,
    unpackedBytes: 512 * 1_024 * 1_024,
    redirects: 5,
    responseTimeoutMillis: 30_000,
    idleTimeoutMillis: 30_000,
    downloadTimeoutMillis: 15 * 60_000
  })
})

/**
 * Unpacks a report: a zip archive of one file, gzip, or the text itself. Never more than the bound is unpacked, so an
 * archive that would grow without end costs no more than the longest report. Any content ends in a text or a reason.
 */
import { crc32, gunzip } from "node:zlib"
import { Data, Effect } from "effect"
import * as yauzl from "yauzl"
import { maximumReportBytes } from "./limits.ts"

/** A mail is no report, or one beyond a bound. */
export class ReportUnreadable extends Data.TaggedError("ReportUnreadable")<{ readonly reason: string }> {}

const because = (reason: string) => new ReportUnreadable({ reason })

const tooLarge = `it unpacks to more than ${maximumReportBytes} bytes`
const damaged = "the archive is damaged, or packed in a way that is not read"

const unreadable = (cause: unknown): ReportUnreadable => (cause instanceof ReportUnreadable ? cause : because(damaged))

const gunzipped = (bytes: Uint8Array): Effect.Effect<Buffer, ReportUnreadable> =>
  Effect.callback((resume) => {
    gunzip(bytes, { maxOutputLength: maximumReportBytes }, (error, unpacked) =>
      resume(
        error === null
          ? Effect.succeed(unpacked)
          : Effect.fail(because("code" in error && error.code === "ERR_BUFFER_TOO_LARGE" ? tooLarge : damaged))
      )
    )
  })

/** The one file of an archive. The size that the archive claims is not believed. */
const unzip = async (bytes: Buffer): Promise<Buffer> => {
  const archive = await yauzl.fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true })
  if (archive.entryCount !== 1) throw because("the archive does not have exactly one file")
  for await (const entry of archive.eachEntry()) {
    if (entry.uncompressedSize > maximumReportBytes) throw because(tooLarge)
    if (!entry.canDecodeFileData()) throw because(damaged)
    const stream = await archive.openReadStreamPromise(entry)
    const chunks: Array<Buffer> = []
    let length = 0
    // Leaving the loop ends the stream, and with it the unpacking.
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maximumReportBytes) throw because(tooLarge)
      chunks.push(chunk)
    }
    const unpacked = Buffer.concat(chunks)
    if (crc32(unpacked) !== entry.crc32) throw because(damaged)
    return unpacked
  }
  throw because(damaged)
}

const startsWith = (bytes: Uint8Array, ...beginning: ReadonlyArray<number>): boolean =>
  beginning.every((byte, at) => bytes[at] === byte)

/** Whether an attachment is an archive, by its first bytes: the types of attachments are often wrong. */
export const isArchive = (bytes: Uint8Array): boolean =>
  startsWith(bytes, 0x1f, 0x8b) || startsWith(bytes, 0x50, 0x4b, 0x03, 0x04)

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Reporters that do not write UTF-8 have names in Latin letters. */
const textOf = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    return Buffer.from(bytes).toString("latin1")
  }
}

/** The text of an attachment. */
export const unpackReport = Effect.fn("unpackReport")(function* (
  bytes: Uint8Array
): Effect.fn.Return<string, ReportUnreadable> {
  if (startsWith(bytes, 0x1f, 0x8b)) return textOf(yield* gunzipped(bytes))
  if (startsWith(bytes, 0x50, 0x4b, 0x03, 0x04))
    return textOf(yield* Effect.tryPromise({ try: () => unzip(Buffer.from(bytes)), catch: unreadable }))
  if (bytes.byteLength > maximumReportBytes) return yield* because(tooLarge)
  return textOf(bytes)
})

/**
 * Opens a local file as the files it contains: itself, the content of a gzip, or the entries of a zip archive,
 * recognized by their first bytes. Everything is a stream with a bound on its unpacked size; checksums of both formats
 * are verified.
 */
import { createReadStream } from "node:fs"
import { open } from "node:fs/promises"
import { pipeline, type Readable, Transform } from "node:stream"
import { crc32, createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, type Scope, Stream } from "effect"
import * as yauzl from "yauzl"
import type { LocalFile } from "./download.ts"
import { type SourceFault, SourceUnreadable } from "./errors.ts"
import { archiveEntryLimit, chunkBytes, SourceLimits } from "./limits.ts"

/** How far the reading of a file is, in bytes of the packed or the unpacked file. See {@link openSource}. */
export interface Progress {
  readonly readBytes: number
  readonly totalBytes: number
}

/** The bytes of one file, unpacked. See {@link openSource}. */
export interface PackedFile {
  /** The source, for an entry of an archive followed by the entry's name. */
  readonly name: string
  /** Starts from the beginning each time it is run. */
  readonly bytes: Stream.Stream<Uint8Array, SourceUnreadable>
  /** The progress of the current reading. */
  readonly progress: () => Progress
}

/** An entry of an archive that cannot be opened. See {@link openSource}. */
export interface SkippedEntry {
  readonly name: string
  readonly reason: string
}

export interface Unpacked {
  /** True when the files are entries of an archive. */
  readonly archive: boolean
  readonly files: ReadonlyArray<PackedFile>
  readonly skipped: ReadonlyArray<SkippedEntry>
}

const fault = (name: string, reason: SourceFault, sentence: string): SourceUnreadable =>
  new SourceUnreadable({ source: name, reason, message: `${name}: ${sentence}` })

/** Translates a failed read or decompression. The failures' own texts may hold paths and are not shown. */
const readFault =
  (name: string) =>
  (error: unknown): SourceUnreadable => {
    if (error instanceof SourceUnreadable) return error
    const code = error instanceof Error && "code" in error ? String(error.code) : ""
    if (code === "Z_BUF_ERROR") return fault(name, "Truncated", "the compressed data ends too early")
    if (code.startsWith("Z_")) return fault(name, "Corrupt", `the compressed data is damaged (${code})`)
    if (code === "ENOENT") return fault(name, "NotFound", "there is no such file")
    return fault(name, "NotReadable", `it cannot be read (${code === "" ? "unknown error" : code})`)
  }

/** Joins streams so that an error of any of them ends the last one, and closing the last one closes all. */
const joined = (first: Readable, second: Transform): Readable => {
  // The error reaches the reader through the last stream; this callback only keeps it from being thrown.
  pipeline(first, second, () => {})
  return second
}

const bytesOf = (
  name: string,
  evaluate: () => Readable,
  onError: (error: unknown) => SourceUnreadable
): Stream.Stream<Uint8Array, SourceUnreadable> =>
  Stream.unwrap(
    Effect.map(SourceLimits, ({ unpackedBytes }) => {
      let total = 0
      return NodeStream.fromReadable<Uint8Array, SourceUnreadable>({ evaluate, onError }).pipe(
        Stream.mapEffect((chunk) => {
          total += chunk.byteLength
          return total > unpackedBytes
            ? Effect.fail(fault(name, "TooLarge", `it unpacks to more than ${unpackedBytes} bytes`))
            : Effect.succeed(chunk)
        })
      )
    })
  )

const plainOrGzip = (file: LocalFile, gzip: boolean): PackedFile => {
  let source: { readonly bytesRead: number } = { bytesRead: 0 }
  const evaluate = (): Readable => {
    const stream = createReadStream(file.path, { highWaterMark: chunkBytes })
    source = stream
    return gzip ? joined(stream, createGunzip({ chunkSize: chunkBytes })) : stream
  }
  return {
    name: file.source,
    bytes: bytesOf(file.source, evaluate, readFault(file.source)),
    progress: () => ({ readBytes: source.bytesRead, totalBytes: file.size })
  }
}

const zipFault =
  (name: string) =>
  (error: unknown): SourceUnreadable => {
    if (error instanceof SourceUnreadable) return error
    if (error instanceof Error && "code" in error) return readFault(name)(error)
    const text = error instanceof Error ? error.message : "unknown error"
    return fault(name, "Corrupt", `the zip archive is damaged or cut (${text})`)
  }

/** Passes bytes on, and fails at the end unless their checksum is the archive's. yauzl does not compare it. */
const checked = (name: string, expected: number, onBytes: (count: number) => void): Transform => {
  let actual = 0
  return new Transform({
    readableHighWaterMark: chunkBytes,
    transform: (chunk: Buffer, _encoding, done) => {
      actual = crc32(chunk, actual)
      onBytes(chunk.length)
      done(null, chunk)
    },
    flush: (done) =>
      done(actual === expected ? null : fault(name, "Corrupt", "the content does not match the archive's checksum"))
  })
}

const zipEntry = (archive: yauzl.ZipFile, entry: yauzl.Entry, name: string): PackedFile => {
  let readBytes = 0
  return {
    name,
    bytes: Stream.unwrap(
      Effect.map(
        Effect.tryPromise({ try: () => archive.openReadStreamPromise(entry), catch: zipFault(name) }),
        (stream) => {
          readBytes = 0
          const count = (bytes: number) => {
            readBytes += bytes
          }
          return bytesOf(name, () => joined(stream, checked(name, entry.crc32, count)), zipFault(name))
        }
      )
    ),
    progress: () => ({ readBytes, totalBytes: entry.uncompressedSize })
  }
}

const zipEntries = Effect.fnUntraced(function* (
  file: LocalFile
): Effect.fn.Return<Unpacked, SourceUnreadable, Scope.Scope> {
  const { unpackedBytes } = yield* SourceLimits
  const archive = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => yauzl.openPromise(file.path, { autoClose: false, lazyEntries: true }),
      catch: zipFault(file.source)
    }),
    (opened) => Effect.sync(() => opened.close())
  )
  if (archive.entryCount > archiveEntryLimit) {
    return yield* fault(file.source, "TooLarge", `the archive has more than ${archiveEntryLimit} files`)
  }
  const entries = yield* Effect.tryPromise({
    try: async () => {
      const all: Array<yauzl.Entry> = []
      for await (const entry of archive.eachEntry()) {
        all.push(entry)
        if (all.length > archiveEntryLimit) break
      }
      return all
    },
    catch: zipFault(file.source)
  })
  const files: Array<PackedFile> = []
  const skipped: Array<SkippedEntry> = []
  let total = 0
  for (const entry of entries) {
    const name = `${file.source}: ${entry.fileName}`
    if (entry.fileName.endsWith("/") || entry.fileName.startsWith("__MACOSX/")) continue
    if (!entry.canDecodeFileData()) {
      skipped.push({ name, reason: entry.isEncrypted() ? "is encrypted" : "is packed in a way that is not read" })
      continue
    }
    total += entry.uncompressedSize
    files.push(zipEntry(archive, entry, name))
  }
  if (total > unpackedBytes) {
    return yield* fault(file.source, "TooLarge", `the archive unpacks to more than ${unpackedBytes} bytes`)
  }
  return { archive: true, files, skipped }
})

const firstBytes = (file: LocalFile): Effect.Effect<Buffer, SourceUnreadable> =>
  Effect.tryPromise({
    try: async () => {
      const handle = await open(file.path)
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
        return buffer.subarray(0, bytesRead)
      } finally {
        await handle.close()
      }
    },
    catch: readFault(file.source)
  })

/** Opens the files that a local file holds. Fails with `SourceUnreadable` when an archive is damaged or too large. */
export const unpack = Effect.fnUntraced(function* (
  file: LocalFile
): Effect.fn.Return<Unpacked, SourceUnreadable, Scope.Scope> {
  const magic = (yield* firstBytes(file)).toString("latin1")
  if (magic.startsWith("PK\u0003\u0004") || magic.startsWith("PK\u0005\u0006")) return yield* zipEntries(file)
  return { archive: false, files: [plainOrGzip(file, magic.startsWith("\u001f\u008b"))], skipped: [] }
})

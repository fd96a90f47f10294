/**
 * Reads files of the number directory from a path or an http(s) address, packed or not: `openSource` fetches the source
 * and lists its files, `readFile` reads one of its files and hands over the records in batches. Parsing is synchronous
 * within a chunk of 64 KiB; memory does not grow with the file. Needs `FileSystem` and `HttpClient`, which `layer`
 * provides on Node.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, type FileSystem, Layer, type Scope, Stream } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import type { DatasetKind } from "../model.ts"
import type { Records } from "./DatasetReader.ts"
import { localCopy, sourceName } from "./download.ts"
import { NotRecognized, Refused, type SourceUnreadable } from "./errors.ts"
import { batchRecords, recognitionLimitBytes } from "./limits.ts"
import { type FileParser, makeFileParser, type Result, type Unrecognized } from "./parser.ts"
import { type PackedFile, type Progress, type SkippedEntry, unpack } from "./unpack.ts"

/** A recognised file of an open source. See {@link openSource}. */
export interface DirectoryFile extends PackedFile {
  readonly kind: DatasetKind
  /** `YYYY-MM-DD`, null where the layout has none. */
  readonly publicationDate: string | null
  readonly columns: number
}

/** A source and the files in it. See {@link openSource}. */
export interface OpenedSource {
  /** The source's name, without credentials and query. */
  readonly source: string
  /** At least one. */
  readonly files: ReadonlyArray<DirectoryFile>
  /** Other entries of an archive, and why they are not read. */
  readonly skipped: ReadonlyArray<SkippedEntry>
}

/** Up to 4,096 records of one file, in its order, with the progress of the reading. See {@link readFile}. */
export interface Batch {
  readonly data: Records
  /** Data lines read so far, malformed ones included. */
  readonly lines: number
  readonly progress: Progress
}

/** A file that was read as a whole and may replace what is stored. See {@link readFile}. */
export interface FileSummary extends Result {
  readonly source: string
}

const noSuchFile =
  "is no file of the number directory (NANPA code or block assignments, CNAC status, carrier types, NPA report)"

const notRecognized = (name: string, { looksLike, seen }: Unrecognized): NotRecognized => {
  const begins = seen === "" ? "" : `; it begins with "${seen}"`
  return new NotRecognized({ source: name, seen, message: `${name} ${noSuchFile}, but ${looksLike}${begins}` })
}

/** Reads the beginning of a file, as much as recognising it takes. */
const recognition = Effect.fnUntraced(function* (
  file: PackedFile
): Effect.fn.Return<DirectoryFile | NotRecognized, SourceUnreadable> {
  const parser = makeFileParser()
  let bytes = 0
  yield* Stream.runForEachWhile(file.bytes, (chunk) =>
    Effect.sync(() => {
      // A chunk may be a whole file, and the header is all that is wanted.
      const wanted = chunk.subarray(0, recognitionLimitBytes + 1 - bytes)
      bytes += wanted.byteLength
      parser.push(wanted)
      return parser.recognition() === null
    })
  )
  // A short file may be known only by its end.
  if (parser.recognition() === null) parser.end()
  const known = parser.recognition()
  if (known === null) return yield* Effect.die(new Error("A file that has ended is either recognised or not"))
  if (known._tag === "NotRecognized") return notRecognized(file.name, known)
  return { ...file, kind: known.kind, publicationDate: known.publicationDate, columns: known.columns }
})

/**
 * Opens a path or an http(s) address and recognises what is in it by content. A zip archive gives every file in
 * it that is recognised and names the others. Temporary files and handles go when the scope closes.
 *
 * Fails with `SourceUnreadable`, or with `NotRecognized` when nothing in the source is a file of a known kind
 * (docs/directory.md, 6.1).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { bundledSources, layerReaders, openSource } from "sluice/directory"
 *
 * const opened = Effect.map(openSource(bundledSources[2]!.path), ({ files }) => files.map(({ kind }) => kind))
 * console.log(await Effect.runPromise(opened.pipe(Effect.scoped, Effect.provide(layerReaders)))) // [ 'CARRIER_TYPES' ]
 * ```
 */
export const openSource = Effect.fn("directory.openSource")(function* (
  source: string
): Effect.fn.Return<
  OpenedSource,
  SourceUnreadable | NotRecognized,
  FileSystem.FileSystem | HttpClient.HttpClient | Scope.Scope
> {
  const local = yield* localCopy(source)
  const unpacked = yield* unpack(local)
  const files: Array<DirectoryFile> = []
  const skipped: Array<SkippedEntry> = [...unpacked.skipped]
  let refusal: NotRecognized | null = null
  for (const file of unpacked.files) {
    const recognized = yield* recognition(file)
    if (!(recognized instanceof NotRecognized)) {
      files.push(recognized)
      continue
    }
    refusal ??= recognized
    skipped.push({ name: file.name, reason: noSuchFile })
  }
  if (files.length > 0) return { source: local.source, files, skipped }
  if (refusal !== null) return yield* refusal
  const why = skipped[0] === undefined ? "the archive has no files" : `${skipped[0].name} ${skipped[0].reason}`
  return yield* new NotRecognized({ source: local.source, seen: "", message: `${local.source}: ${why}` })
})

/**
 * Reads one file of an open source and hands its records over in batches of at most 4,096, one after the other. The
 * verdict comes at the end. With `Refused` the caller must drop the batches it got before, so collect them where they
 * can be rolled back.
 *
 * Fails with `Refused` (over 1 % malformed, truncated, no records), `SourceUnreadable` (corrupt, cut, too large),
 * or what `onBatch` fails with.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { bundledSources, layerReaders, openSource, readFile } from "sluice/directory"
 *
 * const read = Effect.flatMap(openSource(bundledSources[3]!.path), ({ files }) => readFile(files[0]!, () => Effect.void))
 * const { kind } = await Effect.runPromise(read.pipe(Effect.scoped, Effect.provide(layerReaders)))
 * console.log(kind) // NPA_REPORT
 * ```
 */
export const readFile = <E, R>(
  file: DirectoryFile,
  onBatch: (batch: Batch) => Effect.Effect<void, E, R>
): Effect.Effect<FileSummary, E | Refused | NotRecognized | SourceUnreadable, R> =>
  Effect.suspend(() => {
    const parser = makeFileParser()
    return Stream.runForEach(file.bytes, (chunk) => {
      parser.push(chunk)
      return parser.waiting() >= batchRecords ? handOver(parser, file, batchRecords, onBatch) : Effect.void
    }).pipe(Effect.andThen(finish(parser, file, onBatch)))
  })

/** Hands over full batches, or all that is waiting. */
const handOver = <E, R>(
  parser: FileParser,
  file: DirectoryFile,
  atLeast: number,
  onBatch: (batch: Batch) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> =>
  Effect.whileLoop({
    while: () => parser.waiting() >= atLeast,
    body: () => {
      const data = parser.take(batchRecords)
      return data === null ? Effect.void : onBatch({ data, lines: parser.lines(), progress: file.progress() })
    },
    step: () => {}
  })

const finish = <E, R>(
  parser: FileParser,
  file: DirectoryFile,
  onBatch: (batch: Batch) => Effect.Effect<void, E, R>
): Effect.Effect<FileSummary, E | Refused | NotRecognized, R> =>
  Effect.suspend((): Effect.Effect<FileSummary, E | Refused | NotRecognized, R> => {
    const verdict = parser.end()
    if (verdict._tag === "NotRecognized") return Effect.fail(notRecognized(file.name, verdict))
    if (verdict._tag === "Refused") {
      const { kind, lines, malformed, reason, why } = verdict
      const first = malformed.listed[0]
      const example = first === undefined || reason === "NoRecords" ? "" : `; line ${first.line} ${first.reason}`
      return Effect.fail(
        new Refused({
          source: file.name,
          kind,
          reason,
          lines,
          malformed,
          message: `${file.name} is refused: ${why}${example}`
        })
      )
    }
    const { result } = verdict
    if (result.kind !== file.kind) {
      const message = `${file.name} is refused: it was replaced while it was read`
      const { kind, lines, malformed } = result
      return Effect.fail(new Refused({ source: file.name, kind, reason: "Changed", lines, malformed, message }))
    }
    return Effect.as(handOver(parser, file, 1, onBatch), { ...result, source: file.name })
  })

/**
 * `FileSystem` and `HttpClient` on Node.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { layerReaders, openSource } from "sluice/directory"
 *
 * // The kinds of the files in an archive.
 * export const kindsIn = (path: string) =>
 *   Effect.map(openSource(path), ({ files }) => files.map(({ kind }) => kind)).pipe(Effect.scoped, Effect.provide(layerReaders))
 * ```
 */
export const layer: Layer.Layer<FileSystem.FileSystem | HttpClient.HttpClient> = Layer.merge(
  NodeFileSystem.layer,
  FetchHttpClient.layer
)

export { sourceName }

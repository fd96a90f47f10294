/**
 * Reads one file from its bytes, synchronously and a chunk at a time: recognises it, hands its lines to the reader of
 * its kind, counts malformed lines, and gives the verdict at the end. It does no input or output, so it runs wherever
 * bytes arrive.
 */
import { createHash } from "node:crypto"
import type { DatasetKind } from "../model.ts"
import { blocksHeader, makeBlocksReader } from "./blocks.ts"
import { carrierTypesHeader, makeCarrierTypesReader } from "./carrierTypes.ts"
import { cnacDate, cnacHeader, makeCnacReader } from "./cnac.ts"
import type { Coverage, DatasetReader, Records, Unread } from "./DatasetReader.ts"
import type { MalformedLines, Refusal } from "./errors.ts"
import { listedMalformedLimit, malformedShareLimit, recognitionLimitBytes, unreadKeysLimit } from "./limits.ts"
import { makeLineSplitter } from "./lines.ts"
import { makeNanpaReader, nanpaHeader } from "./nanpa.ts"
import { makeNpaReportReader, npaReportDate, npaReportHeader } from "./npaReport.ts"
import { printableBytes } from "./printable.ts"

// Recognizes a file by its first lines, never by its name: servers answer a wrong address with an HTML page and the
// status 200, and people rename files.

/** Lines at the beginning of a file that take part in recognising it. */
export const headerLines = 2

export type Recognition =
  /** A kind whose second line must be seen too. */
  | { readonly _tag: "NeedsMore" }
  /** `dataFrom` is the index of the first given line that is data. */
  | { readonly _tag: "Recognized"; readonly reader: DatasetReader; readonly dataFrom: number }
  /** `why` says what kind the file nearly is, or null. */
  | { readonly _tag: "Unknown"; readonly why: string | null }

const recognized = (reader: DatasetReader, dataFrom: number): Recognition => ({
  _tag: "Recognized",
  reader,
  dataFrom
})
const unknown = (why: string | null): Recognition => ({ _tag: "Unknown", why })

/** Recognises a file by its first line, and its second one where there is one. */
export const recognize = (first: string, second: string | undefined, ended: boolean): Recognition => {
  const nanpa = nanpaHeader(first)
  if (typeof nanpa === "string") return unknown(nanpa)
  if (nanpa !== null) return recognized(makeNanpaReader(nanpa), 1)

  const reportDate = npaReportDate(first)
  if (reportDate !== undefined) {
    if (second === undefined)
      return ended ? unknown("an NPA report that ends after its first line") : { _tag: "NeedsMore" }
    const columns = npaReportHeader(second)
    return typeof columns === "string" ? unknown(columns) : recognized(makeNpaReportReader(columns, reportDate), 2)
  }

  const cnac = cnacHeader(first)
  if (typeof cnac === "string") return unknown(cnac)
  if (cnac !== null) {
    if (second === undefined && !ended) return { _tag: "NeedsMore" }
    const date = second === undefined ? null : cnacDate(second)
    return recognized(makeCnacReader(cnac, date), date === null ? 1 : 2)
  }

  const blocks = blocksHeader(first)
  if (typeof blocks === "string") return unknown(blocks)
  if (blocks !== null) return recognized(makeBlocksReader(blocks), 1)

  const types = carrierTypesHeader(first)
  if (typeof types === "string") return unknown(types)
  return types === null ? unknown(null) : recognized(makeCarrierTypesReader(types), 1)
}

/** The data of a file's header. See {@link readFile}. */
export interface Header {
  readonly kind: DatasetKind
  /** `YYYY-MM-DD`, null where the layout has none. */
  readonly publicationDate: string | null
  readonly columns: number
}

/** The result of reading a whole file. See {@link readFile}. */
export interface Result extends Header {
  /** Data lines: without header, date row and blank lines. */
  readonly lines: number
  readonly records: number
  readonly malformed: MalformedLines
  readonly coverage: Coverage
  readonly unread: Unread
  /** SHA-256 of the unpacked content, hexadecimal: the same however the file was packed. */
  readonly sha256: string
  readonly unpackedBytes: number
}

export type Verdict =
  | { readonly _tag: "Complete"; readonly result: Result }
  | {
      readonly _tag: "Refused"
      readonly kind: DatasetKind
      readonly reason: Refusal
      readonly lines: number
      readonly malformed: MalformedLines
      /** A clause about the file: "it ends …". */
      readonly why: string
    }
  | Unrecognized

/** Not a file of a known kind. */
export interface Unrecognized {
  readonly _tag: "NotRecognized"
  readonly seen: string
  /** Its real kind: "an HTML page", "empty". */
  readonly looksLike: string
}

export interface FileParser {
  /** Reads a chunk, which may be reused afterwards. */
  readonly push: (chunk: Uint8Array) => void
  /** The header once it is known, `NotRecognized` once that is known, null before. */
  readonly recognition: () => (Header & { readonly _tag: "Header" }) | Unrecognized | null
  /** Records read and not yet taken. */
  readonly waiting: () => number
  /** Takes the first waiting records; null when there are none. */
  readonly take: (atMost: number) => Records | null
  /** Data lines read. */
  readonly lines: () => number
  /** Ends the file. Afterwards the last records may be taken. */
  readonly end: () => Verdict
}

const looksLike = (head: Uint8Array, why: string | null): string => {
  if (head.length === 0) return "empty"
  if (why !== null) return why
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1")
  if (/^\s*(?:\u00ef\u00bb\u00bf)?\s*<(?:!doctype|html|head|body|\?xml|!--)/i.test(text)) return "an HTML or XML page"
  if (/^(?:\u00ff\u00fe|\u00fe\u00ff)/.test(text)) return "UTF-16 text"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u0008\u000e-\u001f]/.test(text)) return "binary data"
  return "a text without the header of any of them"
}

const headBytes = 256

/** A share above the limit, with enough digits to show that it is above. */
const over = (share: number): string => {
  const digits = [1, 2, 3, 4, 5].find((count) => Number((share * 100).toFixed(count)) > malformedShareLimit * 100) ?? 6
  return `${(share * 100).toFixed(digits)} %`
}

/** The result of a file's data lines. */
interface Tally {
  /** Data lines read. */
  lines: number
  malformed: number
  isLastMalformed: boolean
  readonly listed: Array<{ readonly line: number; readonly reason: string }>
  readonly unreadKeys: Array<string>
}

const countMalformed = (tally: Tally, reason: string, line: number): void => {
  tally.malformed++
  tally.isLastMalformed = true
  if (tally.listed.length < listedMalformedLimit) tally.listed.push({ line, reason })
}

const readData = (tally: Tally, reader: DatasetReader, text: string, number: number): void => {
  tally.lines++
  const reason = reader.readLine(text)
  if (reason === null) tally.isLastMalformed = false
  else {
    countMalformed(tally, reason, number)
    const key = tally.unreadKeys.length < unreadKeysLimit ? reader.keyOf(text) : null
    if (key !== null) tally.unreadKeys.push(key)
  }
}

/** Judges a recognized file at its end. `sha256` is asked for only of a complete one. */
const verdictOf = (
  { columns, coverage, kind, publicationDate, shortfall }: DatasetReader,
  { isLastMalformed, lines, listed, malformed, unreadKeys }: Tally,
  terminated: boolean,
  content: { readonly sha256: () => string; readonly unpackedBytes: number }
): Verdict => {
  const malformedLines: MalformedLines = { total: malformed, listed }
  const refuse = (reason: Refusal, why: string): Verdict => ({
    _tag: "Refused",
    kind,
    reason,
    lines,
    malformed: malformedLines,
    why
  })
  if (lines === 0) return refuse("NoRecords", "it has a header and no data lines")
  if (!terminated && isLastMalformed) return refuse("Truncated", "its last line is cut")
  const missing = shortfall({ terminated, malformed })
  if (missing !== null) return refuse("Truncated", missing)
  if (malformed > lines * malformedShareLimit) {
    return refuse("TooManyMalformed", `${malformed} of its ${lines} lines (${over(malformed / lines)}) are malformed`)
  }
  return {
    _tag: "Complete",
    result: {
      kind,
      publicationDate,
      columns,
      lines,
      records: lines - malformed,
      malformed: malformedLines,
      coverage: coverage(),
      unread: { keys: unreadKeys, unknown: malformed - unreadKeys.length },
      sha256: content.sha256(),
      unpackedBytes: content.unpackedBytes
    }
  }
}

/** Makes a parser for one file. */
export const makeFileParser = (): FileParser => {
  const hash = createHash("sha256")
  const tally: Tally = { lines: 0, malformed: 0, isLastMalformed: false, listed: [], unreadKeys: [] }
  const header: Array<{ readonly text: string; readonly number: number }> = []
  let head: Buffer = Buffer.alloc(0)
  let bytes = 0
  let reader: DatasetReader | null = null
  let unrecognized: Unrecognized | null = null

  const reject = (why: string | null): void => {
    unrecognized = { _tag: "NotRecognized", seen: printableBytes(head), looksLike: looksLike(head, why) }
  }

  const tryHeader = (ended: boolean): void => {
    const first = header[0]
    if (first === undefined) return
    const recognition = recognize(first.text, header[1]?.text, ended)
    if (recognition._tag === "Unknown") reject(recognition.why)
    if (recognition._tag !== "Recognized") return
    reader = recognition.reader
    for (const line of header.slice(recognition.dataFrom)) readData(tally, reader, line.text, line.number)
  }

  const splitter = makeLineSplitter({
    line: (text, number) => {
      if (unrecognized !== null || text.trim() === "") return
      if (reader !== null) {
        readData(tally, reader, text, number)
        return
      }
      header.push({ text, number })
      tryHeader(header.length >= headerLines)
    },
    malformed: (reason, number) => {
      if (unrecognized !== null) return
      // The first of two header lines may already say what the file is.
      if (reader === null) tryHeader(true)
      if (reader === null) {
        if (unrecognized === null) reject(null)
        return
      }
      tally.lines++
      countMalformed(tally, reason, number)
    }
  })

  return {
    push: (chunk) => {
      if (unrecognized !== null) return
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes - head.length)])
      bytes += chunk.byteLength
      hash.update(chunk)
      splitter.push(chunk)
      if (reader === null && unrecognized === null && bytes > recognitionLimitBytes) reject(null)
    },
    recognition: () =>
      unrecognized ??
      (reader === null
        ? null
        : { _tag: "Header", kind: reader.kind, publicationDate: reader.publicationDate, columns: reader.columns }),
    waiting: () => reader?.waiting() ?? 0,
    take: (atMost) => (reader === null || reader.waiting() === 0 ? null : reader.take(atMost)),
    lines: () => tally.lines,
    end: () => {
      const { terminated } = splitter.end()
      if (unrecognized === null && reader === null) {
        tryHeader(true)
        if (reader === null && unrecognized === null) reject(null)
      }
      if (unrecognized !== null || reader === null) return unrecognized!
      return verdictOf(reader, tally, terminated, { sha256: () => hash.digest("hex"), unpackedBytes: bytes })
    }
  }
}

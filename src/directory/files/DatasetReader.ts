/**
 * Defines the common interface of the readers of the kinds of file. A line goes in and becomes a record, or the
 * reader says why not; records come out in batches; at the end the reader reports the file's coverage and whether it is
 * complete. Readers are synchronous and know neither bytes nor Effect.
 */
import type { AreaCodeRecord, BlockRecord, CarrierTypeRecord, CodeRecord, DatasetKind } from "../model.ts"
import { internedNamesLimit } from "./limits.ts"
import { quoted } from "./printable.ts"

/** Records of one kind, in the order of the file. See {@link readFile}. */
export type Records =
  | { readonly kind: "NANPA" | "CNAC"; readonly records: ReadonlyArray<CodeRecord> }
  | { readonly kind: "CARRIER_TYPES"; readonly records: ReadonlyArray<CarrierTypeRecord> }
  | { readonly kind: "NPA_REPORT"; readonly records: ReadonlyArray<AreaCodeRecord> }
  | { readonly kind: "NANPA_BLOCKS"; readonly records: ReadonlyArray<BlockRecord> }

/**
 * The scope of a file. A whole file replaces all records of its kind. One that is not whole (a Canadian file of one
 * area code, a regional US file) replaces the records of its `areaCodes` and no others. See {@link readFile}.
 */
export interface Coverage {
  readonly whole: boolean
  /** Area codes of a code file, ascending; empty for the other kinds. */
  readonly areaCodes: ReadonlyArray<string>
}

/** Records that malformed lines of a file may be about. The file does not remove them. See {@link readFile}. */
export interface Unread {
  /** Keys of the dataset, their columns joined: `212200`, or an OCN. */
  readonly keys: ReadonlyArray<string>
  /** Malformed lines that may be about any record. */
  readonly unknown: number
}

/** The facts about a file when its last line has been read. */
export interface FileEnd {
  /** False when the last line has no line end. */
  readonly terminated: boolean
  /** Malformed lines in all. */
  readonly malformed: number
}

/** Reads the data lines of one file. */
export interface DatasetReader {
  readonly kind: DatasetKind
  /** Date in the file's header, `YYYY-MM-DD`, null where the layout has none. */
  readonly publicationDate: string | null
  /** Columns of the header. */
  readonly columns: number
  /** Takes one data line. Null when it became a record, otherwise the reason why not. */
  readonly readLine: (line: string) => string | null
  /** The key of the record that a malformed line is about, with its columns joined; null when that is not certain. */
  readonly keyOf: (line: string) => string | null
  /** Records waiting to be taken. */
  readonly waiting: () => number
  /** Removes and answers the first waiting records. */
  readonly take: (atMost: number) => Records
  /** Why the file is incomplete, or null. */
  readonly shortfall: (end: FileEnd) => string | null
  readonly coverage: () => Coverage
}

/** The positions of a header's columns, by trimmed name without case. */
export interface Columns {
  readonly count: number
  /** -1 when there is no such column. */
  readonly at: (name: string) => number
  readonly missing: (names: ReadonlyArray<string>) => ReadonlyArray<string>
  /** A name that occurs twice, or null. */
  readonly repeated: string | null
}

const columnName = (cell: string): string => cell.trim().replace(/\s+/g, " ").toLowerCase()

export const makeColumns = (cells: ReadonlyArray<string>): Columns => {
  const names = cells.map(columnName)
  const at = (name: string) => names.indexOf(columnName(name))
  return {
    count: names.length,
    at,
    missing: (wanted) => wanted.filter((name) => at(name) < 0),
    repeated: names.find((name, index) => name !== "" && names.indexOf(name) !== index) ?? null
  }
}

/** The position of each of these columns, in the order of the names. */
export const placesOf = <const Names extends ReadonlyArray<string>>(columns: Columns, names: Names) =>
  // `map` answers as many places as there are names, but its type does not say so.
  names.map(columns.at) as { readonly [Name in keyof Names]: number }

/**
 * The meaning of a cell in a file's optional column of pooled codes; null for a cell that says neither, and for none. Such a
 * cell makes no line malformed, since earlier versions did not look at it.
 */
export const pooledOfCell = (cell: string | undefined): boolean | null => {
  const text = cell?.trim().toUpperCase()
  return text === "Y" ? true : text === "N" ? false : null
}

/** The publication date in the header line of NANPA's text files. */
export const updatedPattern = /\s*File Updated:?\s*(\d{1,2}\/\d{1,2}\/\d{4})\s*/i

/** The text of a cell without padding and quotes, or null when its quotes do not match. */
export const unquoted = (cell: string): string | null => {
  const text = cell.trim()
  if (text.charCodeAt(0) !== 34) return text.includes('"') ? null : text
  if (text.length < 2 || !text.endsWith('"')) return null
  const inner = text.slice(1, -1).trim()
  if (!inner.includes('"')) return inner
  const single = inner.replaceAll('""', '"')
  return single.split('"').length * 2 - 1 === inner.split('"').length ? single : null
}

/** Hands out the first `atMost` of `list` and keeps the rest. */
export const takeFirst = <A>(list: Array<A>, atMost: number): ReadonlyArray<A> => list.splice(0, atMost)

const copyOf = (text: string): string => Buffer.from(text, "utf8").toString("utf8")

/**
 * Answers one string for equal strings. It is a copy: a slice would keep the whole chunk in memory, and records outlive
 * the chunk they were read from.
 */
export const makeInterner = (): ((text: string) => string) => {
  const known = new Map<string, string>()
  return (text) => {
    const seen = known.get(text)
    if (seen !== undefined) return seen
    const copy = copyOf(text)
    if (known.size < internedNamesLimit) known.set(copy, copy)
    return copy
  }
}

/** The 3-digit numbers as text, so that no record has its own copy. */
const threeDigits: ReadonlyArray<string> = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, "0"))

/** The text of a code from {@link codeAt}. */
export const codeText = (code: number): string => threeDigits[code]!

/** The area or exchange code (200 to 999) at a place in a text, or -1. */
export const codeAt = (text: string, at: number): number => {
  const hundreds = text.charCodeAt(at) - 48
  const tens = text.charCodeAt(at + 1) - 48
  const units = text.charCodeAt(at + 2) - 48
  // A place beyond the text gives NaN, which fails every comparison.
  return hundreds >= 2 && hundreds <= 9 && tens >= 0 && tens <= 9 && units >= 0 && units <= 9
    ? hundreds * 100 + tens * 10 + units
    : -1
}

/** The area codes whose counter is not zero, ascending. */
export const areaCodesOf = (recordsByAreaCode: Uint16Array): ReadonlyArray<string> => {
  const codes: Array<string> = []
  for (let npa = 0; npa < recordsByAreaCode.length; npa++) if (recordsByAreaCode[npa]! > 0) codes.push(codeText(npa))
  return codes
}

const ocnShape = /^[0-9A-Z]{4}$/

/** Tells whether a text is an Operating Company Number: 4 alphanumeric characters, capital letters. */
export const isOcn = (text: string): boolean => ocnShape.test(text)

export const wrongFields = (found: number, columns: number): string => `has ${found} fields, not ${columns}`
export const badOcn = (cell: string): string => `has the OCN ${quoted(cell)}, not 4 characters 0-9 and A-Z`

/**
 * Recognizes a sorted file that was cut between two lines: it has the first known members and lacks all later ones.
 * Answers the last member it has, or null when the file was not cut. A single member counts as a file about that
 * member.
 */
export const cutAfter = (has: (member: string) => boolean, members: ReadonlyArray<string>): string | null => {
  const first = members.findIndex((member) => !has(member))
  if (first < 2) return null
  return members.slice(first).some(has) ? null : members[first - 1]!
}

const datePattern = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/
const isoDatePattern = /^(\d{4})-(\d{2})-(\d{2})$/

const dateOf = (year: string, month: string, day: string): string | null => {
  const text = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`
  const time = Date.parse(`${text}T00:00:00Z`)
  // Date would read the 31st of a month of 30 days as the 1st of the next month.
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? null : text
}

const namedMonthPattern = /^(\d{1,2})-([A-Z]{3})-(\d{4}|\d{2})$/
const months = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ")

/** The year in which the numbering plan began: two digits mean a year from then on. */
const firstYear = 1947

/** `YYYY-MM-DD` of `01-Jan-1947`, or of `01-JAN-47` as reports before 2020 write it; or null. */
export const dateOfNamedMonth = (cell: string): string | null => {
  const [, day, month, year] = namedMonthPattern.exec(cell.toUpperCase()) ?? []
  const number = months.indexOf(month ?? "") + 1
  if (day === undefined || year === undefined || number === 0) return null
  const century = Number(year) >= firstYear % 100 ? "19" : "20"
  return dateOf(year.length === 4 ? year : century + year, String(number), day)
}

/** `YYYY-MM-DD` of a date cell (`MM/DD/YYYY` or `YYYY-MM-DD`), or null. */
export const dateOfCell = (cell: string): string | null => {
  const american = datePattern.exec(cell)
  if (american !== null) return dateOf(american[3]!, american[1]!, american[2]!)
  const iso = isoDatePattern.exec(cell)
  return iso === null ? null : dateOf(iso[1]!, iso[2]!, iso[3]!)
}

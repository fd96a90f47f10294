import { Data } from "effect"
import {
  type BlockColumns,
  blocksOfCode,
  type CodeColumns,
  type DirectoryIndex,
  pooledValues
} from "./DirectoryIndex.ts"
import { deriveAreaCodes, deriveCarriers, deriveCounts, type ListedCarrier } from "./derivation.ts"
import {
  type AreaCodeRecord,
  type BlockRecord,
  type CarrierTypeRecord,
  type CodeRecord,
  type Country,
  carrierTypes,
  countries,
  type ExchangeStatus,
  exchangeStatuses
} from "./model.ts"

/**
 * Builds a `DirectoryIndex` from records that pass by once, in any order, record by record or column by column. It
 * keeps only numbers and interned strings of them, so a quarter of a million records cost a few megabytes. The work is
 * synchronous, in steps of a few milliseconds, so that the caller can give way between them. Needs no service.
 */
export interface IndexBuilder {
  /**
   * Adds a code; one with the same NPA-NXX as an earlier one replaces it.
   * @throws InvalidRecord when NPA or NXX is not 3 digits
   */
  readonly addCode: (record: CodeRecord) => void
  /**
   * Adds codes of one country and status, pooled or not, without anything else.
   * @param codes NPA-NXX after NPA-NXX, 6 digits each, without separators
   * @throws InvalidRecord when `codes` is anything else
   */
  readonly addCodes: (country: Country, status: ExchangeStatus, pooled: boolean | null, codes: string) => void
  /**
   * Sets a value in one column for codes that were added.
   * @throws InvalidRecord when `codes` is not as above, or names a code that was not added
   */
  readonly assign: (column: ValueColumn, value: string, codes: string) => void
  /** Adds a line of the carrier type list; one with the same OCN as an earlier one replaces it. */
  readonly addCarrierType: (record: CarrierTypeRecord) => void
  /** Adds an area code of the NPA report. Its location counts as a state only when no record names one. */
  readonly addAreaCode: (record: AreaCodeRecord) => void
  /** Adds a block of a code, which need not have been added; one with the same number replaces it. */
  readonly addBlock: (record: BlockRecord) => void
  /**
   * Adds blocks of one status and holder.
   * @param blocks NPA-NXX-X after NPA-NXX-X, 7 digits each, without separators
   * @throws InvalidRecord when `blocks` is anything else
   */
  readonly addBlocks: (status: ExchangeStatus, ocn: string | null, company: string | null, blocks: string) => void
  /** The index of all that was added, built in steps of some milliseconds. The builder is used up. */
  readonly steps: () => Generator<void, DirectoryIndex>
  /** The index of everything added, in one step. The builder is used up. */
  readonly build: () => DirectoryIndex
}

/** Columns that `assign` fills. */
export type ValueColumn = "state" | "ocn" | "company" | "rateCenter"

/**
 * A record that neither a file nor the database can hold: its NPA-NXX is not digits, or was not added before. See
 * {@link Directory}.
 */
export class InvalidRecord extends Data.TaggedError("InvalidRecord")<{ readonly message: string }> {}

/** Keys are NPA * 1000 + NXX, so a table of all of them finds and sorts the codes. */
const keyCount = 1_000_000
const keyLength = 6

/** Keys of the table that are sorted in one step. */
const keysPerStep = 250_000

const digits = /^[0-9]{3}$/

const codeNumber = (text: string, field: string): number => {
  if (!digits.test(text)) throw new InvalidRecord({ message: `${field} must be 3 digits, not ${JSON.stringify(text)}` })
  return Number(text)
}

const keyAt = (codes: string, at: number): number => {
  let key = 0
  for (let place = at; place < at + keyLength; place++) {
    const digit = codes.charCodeAt(place) - 48
    // Beyond the end of the text this is NaN, which fails the comparison too.
    if (!(digit >= 0 && digit <= 9)) {
      throw new InvalidRecord({
        message: `Codes must be 6 digits each, not ${JSON.stringify(codes.slice(at, at + 6))}`
      })
    }
    key = key * 10 + digit
  }
  return key
}

const makeColumns = (length: number) => ({
  nxx: new Uint16Array(length),
  status: new Uint8Array(length),
  country: new Uint8Array(length),
  state: new Uint32Array(length),
  ocn: new Uint32Array(length),
  company: new Uint32Array(length),
  rateCenter: new Uint32Array(length),
  /** Position in `pooledValues`, here with a byte a code. */
  pooled: new Uint8Array(length)
})

/** Rows for which room is made at first. */
const initialRows = 1024

/** Texts as numbers, each text once; 0 is none. */
class Strings {
  readonly texts: Array<string> = [""]
  private readonly numbers = new Map<string, number>()

  intern = (text: string | null): number => {
    if (text === null) return 0
    const known = this.numbers.get(text)
    if (known !== undefined) return known
    // Copy, because a slice would keep the larger string (a line, a file, a database answer) alive.
    const copy = JSON.parse(JSON.stringify(text)) as string
    this.texts.push(copy)
    this.numbers.set(copy, this.texts.length - 1)
    return this.texts.length - 1
  }

  /** The number of a text, 0 when it has none. */
  numberOf = (text: string): number => this.numbers.get(text) ?? 0
}

/** The codes in the order in which they were added, one row for each key. */
class CodeRows {
  columns = makeColumns(initialRows)
  private count = 0
  /** Row of each key plus 1, 0 where no code was added. */
  private readonly rowOfKey = new Uint32Array(keyCount)

  /** The row of a code; -1 when it was not added. */
  rowOf(key: number): number {
    return this.rowOfKey[key]! - 1
  }

  /** The row of a code, which is added where it is missing. */
  rowFor(key: number): number {
    const known = this.rowOf(key)
    if (known >= 0) return known
    if (this.count === this.columns.nxx.length) {
      const larger = makeColumns(this.count * 2)
      for (const name of Object.keys(this.columns) as Array<keyof typeof larger>) larger[name].set(this.columns[name])
      this.columns = larger
    }
    this.rowOfKey[key] = this.count + 1
    this.columns.nxx[this.count] = key % 1000
    return this.count++
  }

  /** The rows by key, in steps of some milliseconds. */
  *sorted(): Generator<void, { readonly codes: CodeColumns; readonly npas: Uint16Array }> {
    const { columns, count, rowOfKey } = this
    const codes = { ...makeColumns(count), pooled: new Uint8Array((count + 3) >>> 2) }
    const npas = new Uint16Array(count)
    let to = 0
    for (let start = 0; start < keyCount; start += keysPerStep) {
      for (let key = start; key < start + keysPerStep; key++) {
        if (rowOfKey[key] === 0) continue
        const from = rowOfKey[key]! - 1
        npas[to] = Math.floor(key / 1000)
        codes.nxx[to] = columns.nxx[from]!
        codes.status[to] = columns.status[from]!
        codes.country[to] = columns.country[from]!
        codes.state[to] = columns.state[from]!
        codes.ocn[to] = columns.ocn[from]!
        codes.company[to] = columns.company[from]!
        codes.rateCenter[to] = columns.rateCenter[from]!
        codes.pooled[to >>> 2]! |= columns.pooled[from]! << ((to & 3) << 1)
        to++
      }
      yield
    }
    return { codes, npas }
  }
}

const makeBlockColumns = (codes: number) => ({
  code: new Uint32Array(codes),
  status: new Uint8Array(codes * blocksOfCode),
  ocn: new Uint32Array(codes * blocksOfCode),
  company: new Uint32Array(codes * blocksOfCode)
})

/** The blocks by code, in the order in which the codes were added. */
class BlockRows {
  private columns = makeBlockColumns(initialRows)
  private count = 0
  /** Row of each code plus 1; made with the first block, since most directories have none. */
  private rowOfKey: Uint32Array | undefined

  private readonly intern: Strings["intern"]

  constructor(intern: Strings["intern"]) {
    this.intern = intern
  }

  readonly add: IndexBuilder["addBlocks"] = (status, ocn, company, blocks) => {
    const [statusNumber, ocnNumber] = [exchangeStatuses.indexOf(status) + 1, this.intern(ocn)]
    const companyNumber = this.intern(company)
    for (let at = 0; at < blocks.length; at += keyLength + 1) {
      const block = blocks.charCodeAt(at + keyLength) - 48
      if (!(block >= 0 && block < blocksOfCode)) {
        const found = JSON.stringify(blocks.slice(at, at + keyLength + 1))
        throw new InvalidRecord({ message: `Blocks must be 7 digits each, not ${found}` })
      }
      const to = this.rowFor(keyAt(blocks, at)) * blocksOfCode + block
      this.columns.status[to] = statusNumber
      this.columns.ocn[to] = ocnNumber
      this.columns.company[to] = companyNumber
    }
  }

  readonly addOne: IndexBuilder["addBlock"] = ({ block, company, npa, nxx, ocn, status }) =>
    this.add(status, ocn, company, npa + nxx + block)

  /** The row of a code, which is added where it is missing. */
  private rowFor(key: number): number {
    this.rowOfKey ??= new Uint32Array(keyCount)
    const known = this.rowOfKey[key]! - 1
    if (known >= 0) return known
    if (this.count === this.columns.code.length) {
      const larger = makeBlockColumns(this.count * 2)
      for (const name of Object.keys(larger) as Array<keyof typeof larger>) larger[name].set(this.columns[name])
      this.columns = larger
    }
    this.columns.code[this.count] = key
    this.rowOfKey[key] = this.count + 1
    return this.count++
  }

  /** The rows by code, in steps of some milliseconds. */
  *sorted(): Generator<void, BlockColumns> {
    const { columns, count, rowOfKey } = this
    const blocks = makeBlockColumns(count)
    if (rowOfKey === undefined) return blocks
    let to = 0
    for (let start = 0; start < keyCount; start += keysPerStep) {
      for (let key = start; key < start + keysPerStep; key++) {
        if (rowOfKey[key] === 0) continue
        const from = (rowOfKey[key]! - 1) * blocksOfCode
        blocks.code[to] = key
        for (const name of ["status", "ocn", "company"] as const) {
          for (let block = 0; block < blocksOfCode; block++) {
            blocks[name][to * blocksOfCode + block] = columns[name][from + block]!
          }
        }
        to++
      }
      yield
    }
    return blocks
  }
}

/** The result of steps, all of them together. */
const finish = (steps: Generator<void, DirectoryIndex>): DirectoryIndex => {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

export const make = (): IndexBuilder => {
  const strings = new Strings()
  const blockRows = new BlockRows(strings.intern)
  const rows = new CodeRows()
  const listed = new Map<number, ListedCarrier>()
  const locations = new Map<number, number>()
  const reports = new Map<number, AreaCodeRecord>()

  const addCode = (record: CodeRecord) => {
    const row = rows.rowFor(codeNumber(record.npa, "npa") * 1000 + codeNumber(record.nxx, "nxx"))
    const { columns } = rows
    columns.status[row] = exchangeStatuses.indexOf(record.status)
    columns.country[row] = countries.indexOf(record.country)
    columns.state[row] = strings.intern(record.state)
    columns.ocn[row] = strings.intern(record.ocn)
    columns.company[row] = strings.intern(record.company)
    columns.rateCenter[row] = strings.intern(record.rateCenter)
    columns.pooled[row] = pooledValues.indexOf(record.pooled ?? null)
  }

  const addCodes = (country: Country, status: ExchangeStatus, pooled: boolean | null, codes: string) => {
    const countryNumber = countries.indexOf(country)
    const statusNumber = exchangeStatuses.indexOf(status)
    const pooledNumber = pooledValues.indexOf(pooled)
    for (let at = 0; at < codes.length; at += keyLength) {
      const row = rows.rowFor(keyAt(codes, at))
      rows.columns.status[row] = statusNumber
      rows.columns.country[row] = countryNumber
      rows.columns.pooled[row] = pooledNumber
    }
  }

  const assign = (column: ValueColumn, value: string, codes: string) => {
    const number = strings.intern(value)
    for (let at = 0; at < codes.length; at += keyLength) {
      const row = rows.rowOf(keyAt(codes, at))
      if (row < 0) throw new InvalidRecord({ message: `Code ${codes.slice(at, at + keyLength)} was not added` })
      rows.columns[column][row] = number
    }
  }

  const addCarrierType = (record: CarrierTypeRecord) => {
    listed.set(strings.intern(record.ocn), {
      company: strings.intern(record.companyName),
      commonName: strings.intern(record.commonName),
      type: record.type === null ? 0 : carrierTypes.indexOf(record.type) + 1
    })
  }

  const addAreaCode = (record: AreaCodeRecord) => {
    const location = record.locations[0]
    const npa = codeNumber(record.npa, "npa")
    if (location !== undefined) locations.set(npa, strings.intern(location))
    if (record.details !== null && record.details !== undefined) reports.set(npa, record)
  }

  function* steps(): Generator<void, DirectoryIndex> {
    const { codes, npas } = yield* rows.sorted()
    const { intern, numberOf, texts } = strings
    const given = { strings: texts, codes, npas, listed, locations, reports, numberOf, intern }
    const areaCodes = deriveAreaCodes(given)
    yield
    const carriers = yield* deriveCarriers(given)
    const blocks = yield* blockRows.sorted()
    return { strings: texts, codes, areaCodes, carriers, blocks, counts: deriveCounts(given, areaCodes) }
  }

  return {
    addCode,
    addCodes,
    assign,
    addCarrierType,
    addAreaCode,
    addBlock: blockRows.addOne,
    addBlocks: blockRows.add,
    steps,
    build: () => finish(steps())
  }
}

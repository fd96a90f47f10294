import { Data } from "effect"
import type { CodeColumns, DirectoryIndex } from "./DirectoryIndex.ts"
import { deriveAreaCodes, deriveCarriers, deriveCounts, type ListedCarrier } from "./derivation.ts"
import {
  type AreaCodeRecord,
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
   * Adds codes of one country and status, without anything else.
   * @param codes NPA-NXX after NPA-NXX, 6 digits each, without separators
   * @throws InvalidRecord when `codes` is anything else
   */
  readonly addCodes: (country: Country, status: ExchangeStatus, codes: string) => void
  /**
   * Sets a value in one column for codes that were added.
   * @throws InvalidRecord when `codes` is not as above, or names a code that was not added
   */
  readonly assign: (column: ValueColumn, value: string, codes: string) => void
  /** Adds a line of the carrier type list; one with the same OCN as an earlier one replaces it. */
  readonly addCarrierType: (record: CarrierTypeRecord) => void
  /** Adds an area code of the NPA report. Its location counts only when no record names a state. */
  readonly addAreaCode: (record: AreaCodeRecord) => void
  /** The index of all that was added, built in steps of some milliseconds. The builder is used up. */
  readonly steps: () => Generator<void, DirectoryIndex>
  /** The index of all that was added, at once. The builder is used up. */
  readonly build: () => DirectoryIndex
}

/** Columns that `assign` fills. */
export type ValueColumn = "state" | "ocn" | "company" | "rateCenter"

/** A record that neither a file nor the database can hold: its NPA-NXX is not digits, or was not added before. */
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
  rateCenter: new Uint32Array(length)
})

/** Rows for which room is made at first. */
const initialRows = 1024

export const make = (): IndexBuilder => {
  const strings: Array<string> = [""]
  const numbers = new Map<string, number>()

  const intern = (text: string | null): number => {
    if (text === null) return 0
    const known = numbers.get(text)
    if (known !== undefined) return known
    // Copy, because a slice would keep the larger string (a line, a file, a database answer) alive.
    const copy = JSON.parse(JSON.stringify(text)) as string
    strings.push(copy)
    numbers.set(copy, strings.length - 1)
    return strings.length - 1
  }

  let count = 0
  let added = makeColumns(initialRows)
  /** Row of each key plus 1, 0 where no code was added. */
  const rowOfKey = new Uint32Array(keyCount)
  const listed = new Map<number, ListedCarrier>()
  const locations = new Map<number, number>()

  const rowFor = (key: number): number => {
    const known = rowOfKey[key]!
    if (known !== 0) return known - 1
    if (count === added.nxx.length) {
      const larger = makeColumns(count * 2)
      for (const name of Object.keys(added) as Array<keyof typeof added>) larger[name].set(added[name])
      added = larger
    }
    rowOfKey[key] = count + 1
    added.nxx[count] = key % 1000
    return count++
  }

  const addCode = (record: CodeRecord) => {
    const row = rowFor(codeNumber(record.npa, "npa") * 1000 + codeNumber(record.nxx, "nxx"))
    added.status[row] = exchangeStatuses.indexOf(record.status)
    added.country[row] = countries.indexOf(record.country)
    added.state[row] = intern(record.state)
    added.ocn[row] = intern(record.ocn)
    added.company[row] = intern(record.company)
    added.rateCenter[row] = intern(record.rateCenter)
  }

  const addCodes = (country: Country, status: ExchangeStatus, codes: string) => {
    const countryNumber = countries.indexOf(country)
    const statusNumber = exchangeStatuses.indexOf(status)
    for (let at = 0; at < codes.length; at += keyLength) {
      const row = rowFor(keyAt(codes, at))
      added.status[row] = statusNumber
      added.country[row] = countryNumber
    }
  }

  const assign = (column: ValueColumn, value: string, codes: string) => {
    const number = intern(value)
    for (let at = 0; at < codes.length; at += keyLength) {
      const row = rowOfKey[keyAt(codes, at)]!
      if (row === 0) throw new InvalidRecord({ message: `Code ${codes.slice(at, at + keyLength)} was not added` })
      added[column][row - 1] = number
    }
  }

  const addCarrierType = (record: CarrierTypeRecord) => {
    listed.set(intern(record.ocn), {
      company: intern(record.companyName),
      commonName: intern(record.commonName),
      type: record.type === null ? 0 : carrierTypes.indexOf(record.type) + 1
    })
  }

  const addAreaCode = (record: AreaCodeRecord) => {
    const location = record.locations[0]
    if (location !== undefined) locations.set(codeNumber(record.npa, "npa"), intern(location))
  }

  function* sorted(): Generator<void, { readonly codes: CodeColumns; readonly npas: Uint16Array }> {
    const codes = makeColumns(count)
    const npas = new Uint16Array(count)
    let to = 0
    for (let start = 0; start < keyCount; start += keysPerStep) {
      for (let key = start; key < start + keysPerStep; key++) {
        if (rowOfKey[key] === 0) continue
        const from = rowOfKey[key]! - 1
        npas[to] = Math.floor(key / 1000)
        codes.nxx[to] = added.nxx[from]!
        codes.status[to] = added.status[from]!
        codes.country[to] = added.country[from]!
        codes.state[to] = added.state[from]!
        codes.ocn[to] = added.ocn[from]!
        codes.company[to] = added.company[from]!
        codes.rateCenter[to] = added.rateCenter[from]!
        to++
      }
      yield
    }
    return { codes, npas }
  }

  function* steps(): Generator<void, DirectoryIndex> {
    const { codes, npas } = yield* sorted()
    const given = { strings, codes, npas, listed, locations, numberOf: (text: string) => numbers.get(text) ?? 0 }
    const areaCodes = deriveAreaCodes(given)
    yield
    const carriers = yield* deriveCarriers(given)
    return { strings, codes, areaCodes, carriers, counts: deriveCounts(given, areaCodes) }
  }

  const build = (): DirectoryIndex => {
    const running = steps()
    let step = running.next()
    while (step.done !== true) step = running.next()
    return step.value
  }

  return { addCode, addCodes, assign, addCarrierType, addAreaCode, steps, build }
}

/**
 * Queries the directory by NPA-NXX code, for products that know numbers rather than carriers: one code with its
 * carrier, and the codes that pass some filters. Pure functions of an index, like `rules.ts`. Needs no service.
 */
import { blocksOfCode, carrierTypeAt, type DirectoryIndex, pooledAt, searchColumn, stringAt } from "./DirectoryIndex.ts"
import { type CarrierType, type Country, countries, type ExchangeStatus, exchangeStatuses } from "./model.ts"
import { findCarrier } from "./rules.ts"

/** The carrier that a code is assigned to. See {@link findCode}. */
export interface CodeCarrier {
  readonly ocn: string
  readonly companyName: string | null
  readonly commonName: string | null
  readonly carrierType: CarrierType | null
}

/**
 * The origin of a carrier: the `code` that holds the number, or the `block` of a thousand numbers in it. See
 * {@link findCode}.
 */
export const carrierBases = ["code", "block"] as const
/** The origins of a carrier. See {@link findCode}. */
export type CarrierBasis = (typeof carrierBases)[number]

/** One code. Values that the files do not give are null. See {@link findCode}. */
export interface NumberingCode {
  readonly npa: string
  readonly nxx: string
  readonly country: Country
  readonly state: string | null
  readonly rateCenter: string | null
  readonly status: ExchangeStatus
  /** Null without an OCN, and for a code that several carriers share. */
  readonly carrier: CodeCarrier | null
  /** Whether the code's numbers are handed out in blocks, to carriers of their own; null where the file does not say. */
  readonly pooled: boolean | null
  readonly carrierBasis: CarrierBasis
}

/**
 * Filters on codes. They combine, and ignore case; a value that occurs nowhere matches nothing. See
 * {@link searchCodes}.
 */
export interface CodeFilters {
  readonly state?: string | undefined
  readonly npa?: string | undefined
  readonly rateCenter?: string | undefined
  readonly ocn?: string | undefined
}

const digits = /^[0-9]{3}$/

const pad = (code: number): string => String(code).padStart(3, "0")

/** The area code that a row of `codes` belongs to. */
const areaOf = (index: DirectoryIndex, code: number): number => {
  const { firstCode, npa } = index.areaCodes
  let low = 0
  let high = npa.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (firstCode[middle]! <= code) low = middle
    else high = middle - 1
  }
  return low
}

const codeAt = (index: DirectoryIndex, code: number): NumberingCode => {
  const { codes } = index
  const ocn = stringAt(index, codes.ocn[code]!)
  // `MULT` is in no carrier's row.
  const carrier = ocn === null ? -1 : findCarrier(index, ocn)
  return {
    npa: pad(index.areaCodes.npa[areaOf(index, code)]!),
    nxx: pad(codes.nxx[code]!),
    country: countries[codes.country[code]!]!,
    state: stringAt(index, codes.state[code]!),
    rateCenter: stringAt(index, codes.rateCenter[code]!),
    status: exchangeStatuses[codes.status[code]!]!,
    carrier:
      ocn === null || carrier === -1
        ? null
        : {
            ocn,
            companyName: stringAt(index, index.carriers.company[carrier]!),
            commonName: stringAt(index, index.carriers.commonName[carrier]!),
            carrierType: carrierTypeAt(index, carrier)
          },
    pooled: pooledAt(index, code),
    carrierBasis: "code"
  }
}

/**
 * The record of a code; undefined where there is none.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Directory, findCode } from "sluice/directory"
 *
 * export const rateCenter = Effect.map(
 *   Effect.flatMap(Directory, ({ snapshot }) => snapshot),
 *   ({ index }) => findCode(index, "212", "226")?.rateCenter
 * ).pipe(Effect.provide(Directory.layerFiles()))
 * ```
 */
export const findCode = (index: DirectoryIndex, npa: string, nxx: string): NumberingCode | undefined => {
  if (!digits.test(npa) || !digits.test(nxx)) return undefined
  const area = searchColumn(index.areaCodes.npa, Number(npa))
  if (area === -1) return undefined
  const { firstCode } = index.areaCodes
  const code = searchColumn(index.codes.nxx, Number(nxx), firstCode[area]!, firstCode[area + 1]!)
  return code === -1 ? undefined : codeAt(index, code)
}

const tenDigits = /^[0-9]{10}$/

const assigned = exchangeStatuses.indexOf("ASSIGNED") + 1

/** The holder of the block that a number is in; undefined where the directory knows of none. */
const blockHolder = (index: DirectoryIndex, tn: string): CodeCarrier | undefined => {
  const { blocks, carriers } = index
  const row = searchColumn(blocks.code, Number(tn.slice(0, 6)))
  if (row === -1) return undefined
  const at = row * blocksOfCode + Number(tn[6])
  const ocn = stringAt(index, blocks.ocn[at]!)
  if (blocks.status[at] !== assigned || ocn === null) return undefined
  const carrier = findCarrier(index, ocn)
  const company = carrier === -1 ? 0 : carriers.company[carrier]!
  return {
    ocn,
    companyName: stringAt(index, company || blocks.company[at]!),
    commonName: carrier === -1 ? null : stringAt(index, carriers.commonName[carrier]!),
    carrierType: carrier === -1 ? null : carrierTypeAt(index, carrier)
  }
}

/**
 * The record of the code of a number, 10 digits, with the carrier of its block of a thousand numbers where the report
 * on blocks was read and names one (docs/directory.md, 2.4); undefined where there is no record of the code.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Directory, findNumber } from "sluice/directory"
 *
 * export const carrier = Effect.map(
 *   Effect.flatMap(Directory, ({ snapshot }) => snapshot),
 *   ({ index }) => findNumber(index, "2125560123")?.carrier
 * ).pipe(Effect.provide(Directory.layerFiles()))
 * ```
 */
export const findNumber = (index: DirectoryIndex, tn: string): NumberingCode | undefined => {
  if (!tenDigits.test(tn)) return undefined
  const code = findCode(index, tn.slice(0, 3), tn.slice(3, 6))
  const holder = code && blockHolder(index, tn)
  return code && holder ? { ...code, carrier: holder, carrierBasis: "block" } : code
}

/**
 * The strings that are not in capitals, by their form in capitals. Most strings are in capitals and need no such entry.
 */
const otherCases = new WeakMap<DirectoryIndex, ReadonlyMap<string, ReadonlyArray<number>>>()

const otherCasesOf = (index: DirectoryIndex): ReadonlyMap<string, ReadonlyArray<number>> => {
  const known = otherCases.get(index)
  if (known !== undefined) return known
  const found = new Map<string, Array<number>>()
  for (const [number, text] of index.strings.entries()) {
    const capitals = text.toUpperCase()
    if (capitals !== text) found.set(capitals, [...(found.get(capitals) ?? []), number])
  }
  otherCases.set(index, found)
  return found
}

/** The numbers of the strings that equal this one, case aside. */
const numbersOf = (index: DirectoryIndex, text: string): ReadonlySet<number> => {
  const capitals = text.toUpperCase()
  const exact = index.strings.indexOf(capitals, 1)
  return new Set([...(exact === -1 ? [] : [exact]), ...(otherCasesOf(index).get(capitals) ?? [])])
}

/** The rows of `codes` that an area code has; all of them without one. */
const rangeOf = (index: DirectoryIndex, npa: string | undefined): readonly [first: number, end: number] => {
  const { firstCode, npa: column } = index.areaCodes
  if (npa === undefined) return [0, index.codes.nxx.length]
  const area = digits.test(npa) ? searchColumn(column, Number(npa)) : -1
  return area === -1 ? [0, 0] : [firstCode[area]!, firstCode[area + 1]!]
}

/**
 * The rows of `codes` that pass the filters, ascending. Scans one column per filter, the first one as a whole. That
 * takes a millisecond for the whole directory, in which nothing else runs.
 */
const rowsMatching = (index: DirectoryIndex, filters: CodeFilters): Uint32Array => {
  const [first, end] = rangeOf(index, filters.npa)
  let rows: Uint32Array | undefined
  for (const name of ["ocn", "rateCenter", "state"] as const) {
    const wanted = filters[name]
    if (wanted === undefined) continue
    const column = index.codes[name]
    const numbers = numbersOf(index, wanted)
    // Nearly always there is one spelling.
    const one = numbers.size === 1 ? [...numbers][0] : undefined
    const length = rows?.length ?? end - first
    const kept: Uint32Array = new Uint32Array(length)
    let count = 0
    for (let at = 0; at < length && numbers.size > 0; at++) {
      const row = rows === undefined ? first + at : rows[at]!
      const value = column[row]!
      if (value === one || (one === undefined && numbers.has(value))) kept[count++] = row
    }
    rows = kept.subarray(0, count)
  }
  if (rows !== undefined) return rows
  const all = new Uint32Array(end - first)
  for (let at = 0; at < all.length; at++) all[at] = first + at
  return all
}

/**
 * A page of the codes that pass the filters, by NPA, then NXX, and how many there are.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Directory, searchCodes } from "sluice/directory"
 *
 * export const page = Effect.map(
 *   Effect.flatMap(Directory, ({ snapshot }) => snapshot),
 *   ({ index }) => searchCodes(index, { state: "NY" }, { limit: 50, offset: 0 })
 * )
 * ```
 */
export const searchCodes = (
  index: DirectoryIndex,
  filters: CodeFilters,
  { limit, offset }: { readonly limit: number; readonly offset: number }
): { readonly data: ReadonlyArray<NumberingCode>; readonly total: number } => {
  const rows = rowsMatching(index, filters)
  return {
    data: Array.from(rows.subarray(offset, offset + limit), (row) => codeAt(index, row)),
    total: rows.length
  }
}

/**
 * The codes that pass the filters, six digits each, ascending.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { codesMatching, Directory } from "sluice/directory"
 *
 * const code = { country: "US", npa: "212", state: "NY", ocn: null, company: null, rateCenter: null, status: "ASSIGNED" } as const
 * const layer = Directory.layerMemory({ codes: [{ ...code, nxx: "226" }, { ...code, nxx: "227" }] })
 * const found = Effect.flatMap(Directory, ({ snapshot }) => Effect.map(snapshot, ({ index }) => codesMatching(index, { npa: "212" })))
 * console.log(await Effect.runPromise(Effect.provide(found, layer))) // [ '212226', '212227' ]
 * ```
 */
export const codesMatching = (index: DirectoryIndex, filters: CodeFilters): ReadonlyArray<string> => {
  const { areaCodes, codes } = index
  let area = 0
  return Array.from(rowsMatching(index, filters), (row) => {
    while (areaCodes.firstCode[area + 1]! <= row) area++
    return pad(areaCodes.npa[area]!) + pad(codes.nxx[row]!)
  })
}

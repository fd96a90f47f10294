/**
 * The directory by single NPA-NXX codes, for products that know numbers rather than carriers: one code with its carrier, and the codes that
 * pass some filters. Pure functions of an index, like `rules.ts`. Needs no service.
 */
import { carrierTypeAt, type DirectoryIndex, searchColumn, stringAt } from "./DirectoryIndex.ts"
import { type CarrierType, type Country, countries, type ExchangeStatus, exchangeStatuses } from "./model.ts"
import { findCarrier } from "./rules.ts"

/** The carrier that a code is assigned to. */
export interface CodeCarrier {
  readonly ocn: string
  readonly companyName: string | null
  readonly commonName: string | null
  readonly carrierType: CarrierType | null
}

/** One code. Null is what the files do not say. */
export interface NumberingCode {
  readonly npa: string
  readonly nxx: string
  readonly country: Country
  readonly state: string | null
  readonly rateCenter: string | null
  readonly status: ExchangeStatus
  /** Null without an OCN, and for a code that several carriers share. */
  readonly carrier: CodeCarrier | null
}

/** Filters on codes. They combine, and ignore case; a value that occurs nowhere matches nothing. */
export interface CodeFilters {
  readonly state?: string | undefined
  readonly npa?: string | undefined
  readonly rateCenter?: string | undefined
  readonly ocn?: string | undefined
}

const digits = /^[0-9]{3}$/

const pad = (code: number): string => String(code).padStart(3, "0")

const codeAt = (index: DirectoryIndex, area: number, code: number): NumberingCode => {
  const { codes } = index
  const ocn = stringAt(index, codes.ocn[code]!)
  // `MULT` is in no carrier's row.
  const carrier = ocn === null ? -1 : findCarrier(index, ocn)
  return {
    npa: pad(index.areaCodes.npa[area]!),
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
          }
  }
}

/** The record of a code; undefined where there is none. */
export const findCode = (index: DirectoryIndex, npa: string, nxx: string): NumberingCode | undefined => {
  if (!digits.test(npa) || !digits.test(nxx)) return undefined
  const area = searchColumn(index.areaCodes.npa, Number(npa))
  if (area === -1) return undefined
  const { firstCode } = index.areaCodes
  const code = searchColumn(index.codes.nxx, Number(nxx), firstCode[area]!, firstCode[area + 1]!)
  return code === -1 ? undefined : codeAt(index, area, code)
}

/** Strings that are not in capitals, by themselves in capitals; most are, and are found as they are. */
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

/** Calls back with every code that passes the filters, by NPA, then NXX. */
const forEachMatch = (
  index: DirectoryIndex,
  filters: CodeFilters,
  visit: (area: number, code: number) => void
): void => {
  const { areaCodes, codes } = index
  const columns = (["state", "rateCenter", "ocn"] as const).flatMap((name) => {
    const wanted = filters[name]
    return wanted === undefined ? [] : [{ column: codes[name], numbers: numbersOf(index, wanted) }]
  })
  let first = 0
  let end = areaCodes.npa.length
  if (filters.npa !== undefined) {
    first = digits.test(filters.npa) ? searchColumn(areaCodes.npa, Number(filters.npa)) : -1
    if (first === -1) return
    end = first + 1
  }
  for (let area = first; area < end; area++) {
    for (let code = areaCodes.firstCode[area]!; code < areaCodes.firstCode[area + 1]!; code++) {
      if (columns.every(({ column, numbers }) => numbers.has(column[code]!))) visit(area, code)
    }
  }
}

/** A page of the codes that pass the filters, by NPA, then NXX, and how many there are. */
export const searchCodes = (
  index: DirectoryIndex,
  filters: CodeFilters,
  { limit, offset }: { readonly limit: number; readonly offset: number }
): { readonly data: ReadonlyArray<NumberingCode>; readonly total: number } => {
  const found: Array<NumberingCode> = []
  let total = 0
  forEachMatch(index, filters, (area, code) => {
    if (total >= offset && total < offset + limit) found.push(codeAt(index, area, code))
    total++
  })
  return { data: found, total }
}

/** The codes that pass the filters, six digits each, ascending. */
export const codesMatching = (index: DirectoryIndex, filters: CodeFilters): ReadonlyArray<string> => {
  const found: Array<string> = []
  forEachMatch(index, filters, (area, code) =>
    found.push(pad(index.areaCodes.npa[area]!) + pad(index.codes.nxx[code]!))
  )
  return found
}

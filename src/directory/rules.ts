import { Data, Result } from "effect"
import { blocksOfCode, carrierTypeAt, type DirectoryIndex, searchColumn, stringAt } from "./DirectoryIndex.ts"
import { countries, exchangeStatuses } from "./model.ts"
import {
  type AreaCode,
  type AreaCodeDetails,
  type Block,
  type Carrier,
  type CarrierDetail,
  type CarrierPage,
  type Exchange,
  pageLimitDefault,
  pageLimitMaximum,
  type Statistics
} from "./schema.ts"

/**
 * The directory's answers as pure functions of an index (docs/directory.md, 3). They expect validated arguments: an
 * impossible page is a defect of the caller, an unknown carrier or code is a `EntryNotFound`. Needs no service.
 */

/** Which part of a list is wanted. See {@link Directory}. */
export interface PageQuery {
  /** 1 to 100, default 50. */
  readonly limit?: number | undefined
  /** At least 0, default 0. */
  readonly offset?: number | undefined
}

/**
 * Filters of the carrier list. They combine, and ignore case; a value that occurs nowhere gives an empty list. See
 * {@link Directory}.
 */
export interface CarrierQuery extends PageQuery {
  readonly country?: string | undefined
  readonly state?: string | undefined
  readonly type?: string | undefined
}

/** Which exchanges of an area code are wanted. See {@link Directory}. */
export interface AreaCodeQuery extends PageQuery {
  /** Exchange code, 3 digits; restricts the exchanges to that one. */
  readonly nxx?: string | undefined
  /** Adds `details`. */
  readonly include?: "details" | undefined
  /** Adds the `blocks` of each exchange. */
  readonly blocks?: boolean | undefined
}

/** Times of the last successful ingestions, ISO 8601 in UTC, null before the first. */
export interface IngestionTimes {
  readonly NANPA: string | null
  readonly CNAC: string | null
}

/**
 * The directory has no such carrier, area code or exchange. Its message names what was asked for. See
 * {@link Directory}.
 */
export class EntryNotFound extends Data.TaggedError("EntryNotFound")<{
  readonly resource: "carrier" | "areaCode" | "exchange"
  readonly message: string
}> {}

const checkedPage = (query: PageQuery): { readonly limit: number; readonly offset: number } => {
  const { limit = pageLimitDefault, offset = 0 } = query
  if (!Number.isInteger(limit) || limit < 1 || limit > pageLimitMaximum) {
    throw new RangeError(`limit must be an integer from 1 to ${pageLimitMaximum}, not ${limit}`)
  }
  if (!Number.isInteger(offset) || offset < 0) throw new RangeError(`offset must be an integer from 0, not ${offset}`)
  return { limit, offset }
}

const carrierAt = (index: DirectoryIndex, carrier: number): Carrier => {
  const { carriers } = index
  return {
    ocn: index.strings[carriers.ocn[carrier]!]!,
    company_name: stringAt(index, carriers.company[carrier]!),
    common_name: stringAt(index, carriers.commonName[carrier]!),
    carrier_type: carrierTypeAt(index, carrier),
    state: stringAt(index, carriers.state[carrier]!),
    country: countries[carriers.country[carrier]!]!
  }
}

/** `GET /v1/carriers`: carriers that pass every filter, by OCN (docs/directory.md, 3.2). */
export const listCarriers = (index: DirectoryIndex, query: CarrierQuery = {}): CarrierPage => {
  const { limit, offset } = checkedPage(query)
  const country = query.country?.toUpperCase()
  const state = query.state?.toUpperCase()
  const type = query.type?.toUpperCase()
  const carriers: Array<Carrier> = []
  let total = 0
  for (let carrier = 0; carrier < index.carriers.ocn.length; carrier++) {
    if (country !== undefined && countries[index.carriers.country[carrier]!] !== country) continue
    if (state !== undefined && stringAt(index, index.carriers.state[carrier]!) !== state) continue
    if (type !== undefined && carrierTypeAt(index, carrier) !== type) continue
    if (total >= offset && total < offset + limit) carriers.push(carrierAt(index, carrier))
    total++
  }
  return { carriers, pagination: { limit, offset, total } }
}

/** Row of a carrier by its OCN in capitals, or -1. */
export const findCarrier = (index: DirectoryIndex, ocn: string): number => {
  let low = 0
  let high = index.carriers.ocn.length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = index.strings[index.carriers.ocn[middle]!]!
    if (found === ocn) return middle
    if (found < ocn) low = middle + 1
    else high = middle - 1
  }
  return -1
}

/** `GET /v1/carrier/:ocn`, ignoring the OCN's case (docs/directory.md, 3.3). */
export const carrierByOcn = (index: DirectoryIndex, ocn: string): Result.Result<CarrierDetail, EntryNotFound> => {
  const carrier = findCarrier(index, ocn.toUpperCase())
  if (carrier === -1) {
    return Result.fail(new EntryNotFound({ resource: "carrier", message: `No carrier found with OCN '${ocn}'` }))
  }
  const { assigned, firstState, stateCounts, stateNames } = index.carriers
  const byState: Record<string, number> = {}
  for (let entry = firstState[carrier]!; entry < firstState[carrier + 1]!; entry++) {
    byState[index.strings[stateNames[entry]!]!] = stateCounts[entry]!
  }
  return Result.succeed({
    ...carrierAt(index, carrier),
    exchanges: { total: assigned[carrier]!, by_state: byState }
  })
}

const exchangeAt = (index: DirectoryIndex, code: number): Exchange => ({
  nxx: String(index.codes.nxx[code]!).padStart(3, "0"),
  ocn: stringAt(index, index.codes.ocn[code]!),
  company_name: stringAt(index, index.codes.company[code]!),
  rate_center: stringAt(index, index.codes.rateCenter[code]!),
  status: exchangeStatuses[index.codes.status[code]!]!
})

/** The blocks of a code that the report names, by their digit. */
const blocksAt = (index: DirectoryIndex, npa: string, nxx: string): ReadonlyArray<Block> => {
  const { code, company, ocn, status } = index.blocks
  const row = searchColumn(code, Number(npa + nxx))
  if (row === -1) return []
  const blocks: Array<Block> = []
  for (let block = 0; block < blocksOfCode; block++) {
    const at = row * blocksOfCode + block
    if (status[at] === 0) continue
    blocks.push({
      block: String(block),
      ocn: stringAt(index, ocn[at]!),
      company_name: stringAt(index, company[at]!),
      status: exchangeStatuses[status[at]! - 1]!
    })
  }
  return blocks
}

/** The IANA names of the time zones of a row of `areaCodes`. */
const timeZonesAt = (index: DirectoryIndex, area: number): ReadonlyArray<string> =>
  stringAt(index, index.areaCodes.timeZones[area]!)?.split(" ") ?? []

const detailsAt = (index: DirectoryIndex, area: number): AreaCodeDetails | null => {
  const { dialingPlan, inServiceDate, overlayComplexes, parent, relief } = index.areaCodes
  if (relief[area] === 0) return null
  // These texts were made by `derivation.ts` from the same types.
  return {
    time_zones: timeZonesAt(index, area),
    overlay_complexes: JSON.parse(stringAt(index, overlayComplexes[area]!) ?? "[]"),
    parent: parent[area] === 0 ? null : String(parent[area]),
    in_service_date: stringAt(index, inServiceDate[area]!),
    dialing_plan: JSON.parse(index.strings[dialingPlan[area]!]!),
    relief: JSON.parse(index.strings[relief[area]!]!)
  }
}

const digits = /^[0-9]{3}$/

/**
 * The IANA names of the time zones that an area code spans (docs/directory.md, 3.4); empty where the report names none.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Directory, timeZonesOf } from "sluice/directory"
 *
 * export const zones = Effect.map(
 *   Effect.flatMap(Directory, ({ snapshot }) => snapshot),
 *   ({ index }) => timeZonesOf(index, "850") // [ "America/New_York", "America/Chicago" ]
 * ).pipe(Effect.provide(Directory.layerFiles()))
 * ```
 */
export const timeZonesOf = (index: DirectoryIndex, npa: string): ReadonlyArray<string> => {
  const area = digits.test(npa) ? searchColumn(index.areaCodes.npa, Number(npa)) : -1
  return area === -1 ? [] : timeZonesAt(index, area)
}

/**
 * `GET /v1/npa/:npa` and `/v1/npa/:npa/nxx/:nxx`: the area code and a page of its exchanges, or the one exchange asked
 * for (docs/directory.md, 3.4).
 */
export const areaCodeByNpa = (
  index: DirectoryIndex,
  npa: string,
  query: AreaCodeQuery = {}
): Result.Result<AreaCode, EntryNotFound> => {
  const { limit, offset } = checkedPage(query)
  const area = digits.test(npa) ? searchColumn(index.areaCodes.npa, Number(npa)) : -1
  if (area === -1) {
    return Result.fail(new EntryNotFound({ resource: "areaCode", message: `No area code found with NPA '${npa}'` }))
  }
  const firstOfArea = index.areaCodes.firstCode[area]!
  const endOfArea = index.areaCodes.firstCode[area + 1]!
  let first = firstOfArea
  let end = endOfArea
  if (query.nxx !== undefined) {
    first = digits.test(query.nxx) ? searchColumn(index.codes.nxx, Number(query.nxx), firstOfArea, endOfArea) : -1
    if (first === -1) {
      const message = `No exchange found with NXX '${query.nxx}' in area code '${npa}'`
      return Result.fail(new EntryNotFound({ resource: "exchange", message }))
    }
    end = first + 1
  }
  const exchanges: Array<Exchange> = []
  const endOfPage = Math.min(end, first + offset + limit)
  for (let code = first + offset; code < endOfPage; code++) {
    const exchange = exchangeAt(index, code)
    exchanges.push(query.blocks === true ? { ...exchange, blocks: blocksAt(index, npa, exchange.nxx) } : exchange)
  }
  return Result.succeed({
    npa,
    state: stringAt(index, index.areaCodes.state[area]!),
    country: countries[index.areaCodes.country[area]!]!,
    total_exchanges: endOfArea - firstOfArea,
    exchanges,
    pagination: { limit, offset, total: end - first },
    ...(query.include === undefined ? {} : { details: detailsAt(index, area) })
  })
}

const position = <A>(values: ReadonlyArray<A>, counts: ReadonlyArray<number>, value: A): number =>
  counts[values.indexOf(value)] ?? 0

/** `GET /v1/stats` (docs/directory.md, 3.5); every key is there, also when its count is 0. */
export const statistics = (index: DirectoryIndex, lastUpdated: IngestionTimes): Statistics => {
  const { areaCodes, byCountry, byStatus, statesProvinces, total } = index.counts
  return {
    total_records: total,
    by_country: { US: position(countries, byCountry, "US"), CA: position(countries, byCountry, "CA") },
    by_status: {
      ASSIGNED: position(exchangeStatuses, byStatus, "ASSIGNED"),
      UNASSIGNED: position(exchangeStatuses, byStatus, "UNASSIGNED"),
      RESERVED: position(exchangeStatuses, byStatus, "RESERVED")
    },
    last_updated: { NANPA: lastUpdated.NANPA, CNAC: lastUpdated.CNAC },
    coverage: { area_codes: areaCodes, states_provinces: statesProvinces }
  }
}

/** Time of the latest of all ingestions, null before the first (docs/directory.md, 3.6). */
export const lastIngestion = (times: Readonly<Record<string, string | null>>): string | null =>
  // Times in this format sort as text.
  Object.values(times).reduce((latest, time) => (latest === null || (time ?? "") > latest ? time : latest), null)

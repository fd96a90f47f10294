import type { AreaCodeColumns, CarrierColumns, CodeColumns, DirectoryCounts } from "./DirectoryIndex.ts"
import { type AreaCodeRecord, countries, exchangeStatuses, multipleCarriersOcn } from "./model.ts"
import type { AreaCodeDetails } from "./schema.ts"
import { timeZoneNames } from "./timeZones.ts"

/**
 * Computes what an index knows beyond the records: carriers, the states of carriers and area codes by majority, and
 * counts (docs/directory.md, 2). Pure; strings are numbers of the index's table, 0 for null.
 */

/** A line of the carrier type list. */
export interface ListedCarrier {
  readonly company: number
  readonly commonName: number
  /** Position in `carrierTypes` plus 1, 0 for none. */
  readonly type: number
}

/** The input of the derivation. The codes are sorted by NPA, then NXX. */
export interface DerivationInput {
  readonly strings: ReadonlyArray<string>
  readonly codes: CodeColumns
  /** NPA of each code. */
  readonly npas: Uint16Array
  /** The carrier type list, by number of the OCN. */
  readonly listed: ReadonlyMap<number, ListedCarrier>
  /** The NPA report's location, by NPA. */
  readonly locations: ReadonlyMap<number, number>
  /** Records of the NPA report that have details, by NPA. */
  readonly reports: ReadonlyMap<number, AreaCodeRecord>
  readonly numberOf: (text: string) => number
  /** The number of a text, which is added where it is missing. */
  readonly intern: (text: string | null) => number
}

/** Carriers that one step derives. */
const carriersPerStep = 512

/** Country of a carrier that only the type list knows (docs/directory.md, 2). */
const listOnlyCountry = countries.indexOf("US")

const assignedStatus = exchangeStatuses.indexOf("ASSIGNED")

/**
 * Counts votes for interned strings, 0 for none. One ballot is made and emptied by `take`: a quarter of a million votes
 * in three thousand elections would otherwise leave more garbage than the index has bytes.
 */
const makeBallot = (strings: ReadonlyArray<string>) => {
  const votes = new Uint32Array(strings.length)
  let candidates: Array<number> = []
  return {
    add: (candidate: number) => {
      if (candidate === 0) return
      if (votes[candidate] === 0) candidates.push(candidate)
      votes[candidate]!++
    },
    /**
     * Ends the vote. Answers the candidates in alphabetical order with their votes, and the winner: among equals the
     * first.
     */
    take: () => {
      if (candidates.length > 1) candidates.sort((a, b) => (strings[a]! < strings[b]! ? -1 : 1))
      const counts: Array<number> = []
      let winner = 0
      let most = 0
      for (const candidate of candidates) {
        const count = votes[candidate]!
        counts.push(count)
        votes[candidate] = 0
        if (count > most) {
          winner = candidate
          most = count
        }
      }
      const result = { winner, candidates, counts }
      candidates = []
      return result
    }
  }
}

const majorityCountry = (counts: ReadonlyArray<number>): number => {
  let winner = 0
  for (let country = 1; country < countries.length; country++) {
    const tied = counts[country] === counts[winner] && countries[country]! < countries[winner]!
    if (counts[country]! > counts[winner]! || tied) winner = country
  }
  return winner
}

/** The columns of an area code's details. Area codes share most of the texts with others of their overlay. */
const fillDetails = (
  columns: AreaCodeColumns,
  area: number,
  record: AreaCodeRecord,
  intern: DerivationInput["intern"]
): void => {
  const { details } = record
  if (details === null || details === undefined) return
  const { dialingPlan, inServiceDate, overlayComplexes, parent, relief, zones } = details
  columns.timeZones[area] = intern(timeZoneNames(zones, record.country, record.locations).join(" ") || null)
  columns.overlayComplexes[area] = overlayComplexes.length === 0 ? 0 : intern(JSON.stringify(overlayComplexes))
  columns.parent[area] = Number(parent ?? 0)
  columns.inServiceDate[area] = intern(inServiceDate)
  const plan: AreaCodeDetails["dialing_plan"] = {
    home_local: dialingPlan.homeLocal,
    home_toll: dialingPlan.homeToll,
    foreign_local: dialingPlan.foreignLocal,
    foreign_toll: dialingPlan.foreignToll,
    permissive_home_local: dialingPlan.permissiveHomeLocal,
    permissive_home_toll: dialingPlan.permissiveHomeToll,
    permissive_foreign_local: dialingPlan.permissiveForeignLocal,
    notes: dialingPlan.notes
  }
  columns.dialingPlan[area] = intern(JSON.stringify(plan))
  const { jeopardy, planning, status } = relief
  columns.relief[area] = intern(JSON.stringify({ status, planning, jeopardy }))
}

/** The area codes of the records. An area code that only the NPA report knows does not count. */
export const deriveAreaCodes = (given: DerivationInput): AreaCodeColumns => {
  const { codes, intern, locations, npas, reports, strings } = given
  const starts: Array<number> = []
  for (let code = 0; code < npas.length; code++) if (code === 0 || npas[code] !== npas[code - 1]) starts.push(code)
  const areaCodes = {
    npa: new Uint16Array(starts.length),
    firstCode: Uint32Array.from([...starts, npas.length]),
    state: new Uint32Array(starts.length),
    country: new Uint8Array(starts.length),
    timeZones: new Uint32Array(starts.length),
    overlayComplexes: new Uint32Array(starts.length),
    parent: new Uint16Array(starts.length),
    inServiceDate: new Uint32Array(starts.length),
    dialingPlan: new Uint32Array(starts.length),
    relief: new Uint32Array(starts.length)
  }
  const states = makeBallot(strings)
  for (let area = 0; area < starts.length; area++) {
    const npa = npas[starts[area]!]!
    const byCountry = countries.map(() => 0)
    for (let code = starts[area]!; code < areaCodes.firstCode[area + 1]!; code++) {
      states.add(codes.state[code]!)
      byCountry[codes.country[code]!]!++
    }
    areaCodes.npa[area] = npa
    areaCodes.state[area] = states.take().winner || (locations.get(npa) ?? 0)
    areaCodes.country[area] = majorityCountry(byCountry)
    const report = reports.get(npa)
    if (report !== undefined) fillDetails(areaCodes, area, report, intern)
  }
  return areaCodes
}

/** Carriers of the records and of the list, as numbers of their OCNs, ordered by OCN; `MULT` is none. */
const carrierOcns = ({ codes, listed, numberOf, strings }: DerivationInput): Uint32Array => {
  const isCarrier = new Uint8Array(strings.length)
  for (const ocn of listed.keys()) isCarrier[ocn] = 1
  for (let code = 0; code < codes.ocn.length; code++) isCarrier[codes.ocn[code]!] = 1
  isCarrier[0] = 0
  isCarrier[numberOf(multipleCarriersOcn)] = 0
  const ocns: Array<number> = []
  for (let ocn = 0; ocn < isCarrier.length; ocn++) if (isCarrier[ocn] === 1) ocns.push(ocn)
  return Uint32Array.from(ocns.sort((a, b) => (strings[a]! < strings[b]! ? -1 : 1)))
}

/** Rows of `codes` by carrier: those of carrier `c` are `rows[first[c]]` up to `rows[first[c + 1]]`. */
const rowsByCarrier = ({ codes, strings }: DerivationInput, ocns: Uint32Array) => {
  const carrierOfOcn = new Int32Array(strings.length).fill(-1)
  for (let carrier = 0; carrier < ocns.length; carrier++) carrierOfOcn[ocns[carrier]!] = carrier
  const first = new Uint32Array(ocns.length + 1)
  for (let code = 0; code < codes.ocn.length; code++) {
    const carrier = carrierOfOcn[codes.ocn[code]!]!
    if (carrier !== -1) first[carrier + 1]!++
  }
  for (let carrier = 0; carrier < ocns.length; carrier++) first[carrier + 1]! += first[carrier]!
  const next = first.slice()
  const rows = new Uint32Array(first[ocns.length]!)
  for (let code = 0; code < codes.ocn.length; code++) {
    const carrier = carrierOfOcn[codes.ocn[code]!]!
    if (carrier !== -1) rows[next[carrier]!++] = code
  }
  return { first, rows }
}

/** The carriers: every OCN of the records and of the list, with names, state and exchanges. */
export function* deriveCarriers(given: DerivationInput): Generator<void, CarrierColumns> {
  const { codes, listed, locations, npas, strings } = given
  const ocns = carrierOcns(given)
  const { first, rows } = rowsByCarrier(given, ocns)
  yield
  const columns = {
    ocn: ocns,
    company: new Uint32Array(ocns.length),
    commonName: new Uint32Array(ocns.length),
    type: new Uint8Array(ocns.length),
    state: new Uint32Array(ocns.length),
    country: new Uint8Array(ocns.length),
    assigned: new Uint32Array(ocns.length),
    firstState: new Uint32Array(ocns.length + 1)
  }
  const stateNames: Array<number> = []
  const stateCounts: Array<number> = []
  const states = makeBallot(strings)
  const reportedStates = makeBallot(strings)
  const assignedStates = makeBallot(strings)
  const companies = makeBallot(strings)
  for (let carrier = 0; carrier < ocns.length; carrier++) {
    const byCountry = countries.map(() => 0)
    for (let position = first[carrier]!; position < first[carrier + 1]!; position++) {
      const code = rows[position]!
      states.add(codes.state[code]!)
      reportedStates.add(locations.get(npas[code]!) ?? 0)
      companies.add(codes.company[code]!)
      byCountry[codes.country[code]!]!++
      if (codes.status[code] === assignedStatus) {
        columns.assigned[carrier]!++
        assignedStates.add(codes.state[code]!)
      }
    }
    const list = listed.get(ocns[carrier]!)
    const { winner: elected } = states.take()
    const { winner: reported } = reportedStates.take()
    columns.company[carrier] = companies.take().winner || (list?.company ?? 0)
    columns.commonName[carrier] = list?.commonName ?? 0
    columns.type[carrier] = list?.type ?? 0
    columns.state[carrier] = elected || reported
    columns.country[carrier] = first[carrier] === first[carrier + 1] ? listOnlyCountry : majorityCountry(byCountry)
    const { candidates, counts } = assignedStates.take()
    stateNames.push(...candidates)
    stateCounts.push(...counts)
    columns.firstState[carrier + 1] = stateNames.length
    if (carrier % carriersPerStep === carriersPerStep - 1) yield
  }
  return { ...columns, stateNames: Uint32Array.from(stateNames), stateCounts: Uint32Array.from(stateCounts) }
}

/** Counts over all records (docs/directory.md, 3.5). */
export const deriveCounts = ({ codes, strings }: DerivationInput, areaCodes: AreaCodeColumns): DirectoryCounts => {
  const byCountry = countries.map(() => 0)
  const byStatus = exchangeStatuses.map(() => 0)
  const states = makeBallot(strings)
  for (let code = 0; code < codes.nxx.length; code++) {
    byCountry[codes.country[code]!]!++
    byStatus[codes.status[code]!]!++
    states.add(codes.state[code]!)
  }
  return {
    total: codes.nxx.length,
    byCountry,
    byStatus,
    areaCodes: areaCodes.npa.length,
    statesProvinces: states.take().candidates.length
  }
}

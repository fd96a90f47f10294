import type { AreaCodeColumns, CarrierColumns, CodeColumns, DirectoryCounts } from "./DirectoryIndex.ts"
import { countries, exchangeStatuses, multipleCarriersOcn } from "./model.ts"

/**
 * What an index knows beyond the records themselves: carriers, the states of carriers and area codes by majority, and
 * counts (decisions, "Number directory"). Pure; strings are numbers of the index's table, 0 for null.
 */

/** A line of the carrier type list. */
export interface ListedCarrier {
  readonly company: number
  readonly commonName: number
  /** Position in `carrierTypes` plus 1, 0 for none. */
  readonly type: number
}

/** Everything that derived values come from; the codes are sorted by NPA, then NXX. */
export interface Given {
  readonly strings: ReadonlyArray<string>
  readonly codes: CodeColumns
  /** NPA of each code. */
  readonly npas: Uint16Array
  /** The carrier type list, by number of the OCN. */
  readonly listed: ReadonlyMap<number, ListedCarrier>
  /** The NPA report's location, by NPA. */
  readonly locations: ReadonlyMap<number, number>
  readonly numberOf: (text: string) => number
}

/** Carriers that are worked out in one step. */
const carriersPerStep = 512

/** Country of a carrier that only the type list knows (decisions, "Number directory"). */
const listOnlyCountry = countries.indexOf("US")

const assignedStatus = exchangeStatuses.indexOf("ASSIGNED")

type Votes = ReadonlyArray<readonly [candidate: number, votes: number]>

/** Counts votes for interned strings. Neighbouring codes mostly vote alike, so a run of equal votes is one entry. */
const makeBallot = (strings: ReadonlyArray<string>) => {
  const votes = new Map<number, number>()
  let running = 0
  let run = 0
  const closeRun = () => {
    if (running !== 0) votes.set(running, (votes.get(running) ?? 0) + run)
    run = 0
  }
  return {
    add: (candidate: number) => {
      if (candidate !== running) {
        closeRun()
        running = candidate
      }
      run++
    },
    /** Votes by candidate, the candidates in alphabetical order. */
    result: (): Votes => {
      closeRun()
      const result = [...votes]
      return result.length < 2 ? result : result.sort(([a], [b]) => (strings[a]! < strings[b]! ? -1 : 1))
    }
  }
}

/** The candidate with most votes, the alphabetically first of equals, 0 when there was no vote. */
const winnerOf = (votes: Votes): number => {
  let winner = 0
  let most = 0
  for (const [candidate, count] of votes) {
    if (count > most) {
      winner = candidate
      most = count
    }
  }
  return winner
}

const majorityCountry = (counts: ReadonlyArray<number>): number => {
  let winner = 0
  for (let country = 1; country < countries.length; country++) {
    const tied = counts[country] === counts[winner] && countries[country]! < countries[winner]!
    if (counts[country]! > counts[winner]! || tied) winner = country
  }
  return winner
}

/** The area codes of the records. One that only the NPA report knows has no records and is none. */
export const deriveAreaCodes = ({ codes, locations, npas, strings }: Given): AreaCodeColumns => {
  const starts: Array<number> = []
  for (let code = 0; code < npas.length; code++) if (code === 0 || npas[code] !== npas[code - 1]) starts.push(code)
  const areaCodes = {
    npa: new Uint16Array(starts.length),
    firstCode: Uint32Array.from([...starts, npas.length]),
    state: new Uint32Array(starts.length),
    country: new Uint8Array(starts.length)
  }
  for (let area = 0; area < starts.length; area++) {
    const npa = npas[starts[area]!]!
    const states = makeBallot(strings)
    const byCountry = countries.map(() => 0)
    for (let code = starts[area]!; code < areaCodes.firstCode[area + 1]!; code++) {
      states.add(codes.state[code]!)
      byCountry[codes.country[code]!]!++
    }
    areaCodes.npa[area] = npa
    areaCodes.state[area] = winnerOf(states.result()) || (locations.get(npa) ?? 0)
    areaCodes.country[area] = majorityCountry(byCountry)
  }
  return areaCodes
}

/** Carriers of the records and of the list, as numbers of their OCNs, ordered by OCN; `MULT` is none. */
const carrierOcns = ({ codes, listed, numberOf, strings }: Given): Uint32Array => {
  const isCarrier = new Uint8Array(strings.length)
  for (const ocn of listed.keys()) isCarrier[ocn] = 1
  for (const ocn of codes.ocn) isCarrier[ocn] = 1
  isCarrier[0] = 0
  isCarrier[numberOf(multipleCarriersOcn)] = 0
  const ocns: Array<number> = []
  isCarrier.forEach((carrier, ocn) => {
    if (carrier === 1) ocns.push(ocn)
  })
  return Uint32Array.from(ocns.sort((a, b) => (strings[a]! < strings[b]! ? -1 : 1)))
}

/** Rows of `codes` by carrier: those of carrier `c` are `rows[first[c]]` up to `rows[first[c + 1]]`. */
const rowsByCarrier = ({ codes, strings }: Given, ocns: Uint32Array) => {
  const carrierOfOcn = new Int32Array(strings.length).fill(-1)
  ocns.forEach((ocn, carrier) => {
    carrierOfOcn[ocn] = carrier
  })
  const first = new Uint32Array(ocns.length + 1)
  for (const ocn of codes.ocn) {
    const carrier = carrierOfOcn[ocn]!
    if (carrier !== -1) first[carrier + 1]!++
  }
  for (let carrier = 0; carrier < ocns.length; carrier++) first[carrier + 1]! += first[carrier]!
  const next = first.slice()
  const rows = new Uint32Array(first[ocns.length]!)
  codes.ocn.forEach((ocn, code) => {
    const carrier = carrierOfOcn[ocn]!
    if (carrier !== -1) rows[next[carrier]!++] = code
  })
  return { first, rows }
}

/** The carriers: every OCN of the records and of the list, with names, state and exchanges. */
export function* deriveCarriers(given: Given): Generator<void, CarrierColumns> {
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
  for (let carrier = 0; carrier < ocns.length; carrier++) {
    const states = makeBallot(strings)
    const reportedStates = makeBallot(strings)
    const companies = makeBallot(strings)
    const assignedStates = makeBallot(strings)
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
    columns.company[carrier] = winnerOf(companies.result()) || (list?.company ?? 0)
    columns.commonName[carrier] = list?.commonName ?? 0
    columns.type[carrier] = list?.type ?? 0
    columns.state[carrier] = winnerOf(states.result()) || winnerOf(reportedStates.result())
    columns.country[carrier] = first[carrier] === first[carrier + 1] ? listOnlyCountry : majorityCountry(byCountry)
    for (const [state, exchanges] of assignedStates.result()) {
      stateNames.push(state)
      stateCounts.push(exchanges)
    }
    columns.firstState[carrier + 1] = stateNames.length
    if (carrier % carriersPerStep === carriersPerStep - 1) yield
  }
  return { ...columns, stateNames: Uint32Array.from(stateNames), stateCounts: Uint32Array.from(stateCounts) }
}

/** Counts over all records (number-directory.md, "Statistics record"). */
export const deriveCounts = ({ codes, strings }: Given, areaCodes: AreaCodeColumns): DirectoryCounts => {
  const byCountry = countries.map(() => 0)
  const byStatus = exchangeStatuses.map(() => 0)
  const states = makeBallot(strings)
  for (const country of codes.country) byCountry[country]!++
  for (const status of codes.status) byStatus[status]!++
  for (const state of codes.state) states.add(state)
  return {
    total: codes.nxx.length,
    byCountry,
    byStatus,
    areaCodes: areaCodes.npa.length,
    statesProvinces: states.result().length
  }
}

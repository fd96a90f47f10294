import { Data } from "effect"
import type { AreaCodeColumns, CarrierColumns, CodeColumns, DirectoryIndex } from "./DirectoryIndex.ts"
import {
  type AreaCodeRecord,
  type CarrierTypeRecord,
  type CodeRecord,
  carrierTypes,
  countries,
  exchangeStatuses,
  multipleCarriersOcn
} from "./model.ts"

/**
 * Builds a `DirectoryIndex` from records that pass by once, in any order: nothing of a record is kept but numbers and
 * interned strings, so a quarter of a million of them cost a few megabytes. Adding is cheap and `build` is the rest
 * of the work, which makes it easy to give way to others between batches. Needs no service.
 */
export interface IndexBuilder {
  /**
   * Adds a code; one with the same NPA-NXX as an earlier one replaces it.
   * @throws InvalidRecord when NPA or NXX is not 3 digits
   */
  readonly addCode: (record: CodeRecord) => void
  /** Adds a line of the carrier type list; one with the same OCN as an earlier one replaces it. */
  readonly addCarrierType: (record: CarrierTypeRecord) => void
  /** Adds an area code of the NPA report, whose location counts only where no record names a state. */
  readonly addAreaCode: (record: AreaCodeRecord) => void
  /** The index of all that was added. The builder is used up. */
  readonly build: () => DirectoryIndex
}

/** A record that no file reader would produce: its code is not digits. */
export class InvalidRecord extends Data.TaggedError("InvalidRecord")<{ readonly message: string }> {}

/** Keys are NPA * 1000 + NXX, so a table of all of them sorts the codes in one pass. */
const keyCount = 1_000_000

/** Country of a carrier that only the type list knows (decisions, "Number directory"). */
const listOnlyCountry = countries.indexOf("US")

const digits = /^[0-9]{3}$/

const codeNumber = (text: string, field: string): number => {
  if (!digits.test(text)) throw new InvalidRecord({ message: `${field} must be 3 digits, not ${JSON.stringify(text)}` })
  return Number(text)
}

type Column = Uint8Array | Uint16Array | Uint32Array

const grown = <A extends Column>(column: A): A => {
  const larger = new (column.constructor as new (length: number) => A)(Math.max(1024, column.length * 2))
  larger.set(column)
  return larger
}

/**
 * Counts votes for interned strings; the winner has most, ties go to the alphabetically first. Neighbouring codes
 * mostly vote alike, so a run of equal votes costs one entry.
 */
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
    result: (): ReadonlyArray<readonly [candidate: number, votes: number]> => {
      closeRun()
      const result = [...votes]
      return result.length < 2 ? result : result.sort(([a], [b]) => (strings[a]! < strings[b]! ? -1 : 1))
    }
  }
}

/** The candidate with most votes, the alphabetically first of equals, 0 when there was no vote. */
const winnerOf = (result: ReadonlyArray<readonly [candidate: number, votes: number]>): number => {
  let winner = 0
  let most = 0
  for (const [candidate, votes] of result) {
    if (votes > most) {
      winner = candidate
      most = votes
    }
  }
  return winner
}

export const make = (): IndexBuilder => {
  const strings: Array<string> = [""]
  const numbers = new Map<string, number>()

  const intern = (text: string | null): number => {
    if (text === null) return 0
    const known = numbers.get(text)
    if (known !== undefined) return known
    // A piece of a larger string keeps the whole of it alive: a line, a file, an answer of the database.
    const copy = JSON.parse(JSON.stringify(text)) as string
    strings.push(copy)
    numbers.set(copy, strings.length - 1)
    return strings.length - 1
  }

  let count = 0
  let keys = new Uint32Array(0)
  let added = {
    nxx: new Uint16Array(0),
    status: new Uint8Array(0),
    country: new Uint8Array(0),
    state: new Uint32Array(0),
    ocn: new Uint32Array(0),
    company: new Uint32Array(0),
    rateCenter: new Uint32Array(0)
  }
  const rowOfKey = new Int32Array(keyCount).fill(-1)

  const listed = new Map<number, { company: number; commonName: number; type: number }>()
  const locations = new Map<number, number>()

  const grow = () => {
    keys = grown(keys)
    added = {
      nxx: grown(added.nxx),
      status: grown(added.status),
      country: grown(added.country),
      state: grown(added.state),
      ocn: grown(added.ocn),
      company: grown(added.company),
      rateCenter: grown(added.rateCenter)
    }
  }

  const addCode = (record: CodeRecord) => {
    const nxx = codeNumber(record.nxx, "nxx")
    const key = codeNumber(record.npa, "npa") * 1000 + nxx
    let row = rowOfKey[key]!
    if (row === -1) {
      if (count === keys.length) grow()
      row = count++
      rowOfKey[key] = row
    }
    keys[row] = key
    added.nxx[row] = nxx
    added.status[row] = exchangeStatuses.indexOf(record.status)
    added.country[row] = countries.indexOf(record.country)
    added.state[row] = intern(record.state)
    added.ocn[row] = intern(record.ocn)
    added.company[row] = intern(record.company)
    added.rateCenter[row] = intern(record.rateCenter)
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

  const sortedCodes = (): { codes: CodeColumns; npas: Uint16Array } => {
    const codes = {
      nxx: new Uint16Array(count),
      status: new Uint8Array(count),
      country: new Uint8Array(count),
      state: new Uint32Array(count),
      ocn: new Uint32Array(count),
      company: new Uint32Array(count),
      rateCenter: new Uint32Array(count)
    }
    const npas = new Uint16Array(count)
    let to = 0
    for (let key = 0; key < keyCount && to < count; key++) {
      const from = rowOfKey[key]!
      if (from === -1) continue
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
    return { codes, npas }
  }

  const majorityCountry = (counts: ReadonlyArray<number>): number => {
    let winner = 0
    for (let country = 1; country < countries.length; country++) {
      const tied = counts[country] === counts[winner] && countries[country]! < countries[winner]!
      if (counts[country]! > counts[winner]! || tied) winner = country
    }
    return winner
  }

  const areaCodesOf = (codes: CodeColumns, npas: Uint16Array): AreaCodeColumns => {
    const starts: Array<number> = []
    for (let code = 0; code < count; code++) if (code === 0 || npas[code] !== npas[code - 1]) starts.push(code)
    const areaCodes = {
      npa: new Uint16Array(starts.length),
      firstCode: Uint32Array.from([...starts, count]),
      state: new Uint32Array(starts.length),
      country: new Uint8Array(starts.length)
    }
    for (let area = 0; area < starts.length; area++) {
      const npa = npas[starts[area]!]!
      const ballot = makeBallot(strings)
      const byCountry = countries.map(() => 0)
      for (let code = starts[area]!; code < areaCodes.firstCode[area + 1]!; code++) {
        ballot.add(codes.state[code]!)
        byCountry[codes.country[code]!]!++
      }
      areaCodes.npa[area] = npa
      areaCodes.state[area] = winnerOf(ballot.result()) || (locations.get(npa) ?? 0)
      areaCodes.country[area] = majorityCountry(byCountry)
    }
    return areaCodes
  }

  /** Carriers of the records and of the list, as numbers of their OCNs, ordered by OCN. */
  const carrierOcns = (codes: CodeColumns): Uint32Array => {
    const isCarrier = new Uint8Array(strings.length)
    for (const ocn of listed.keys()) isCarrier[ocn] = 1
    for (const ocn of codes.ocn) isCarrier[ocn] = 1
    isCarrier[0] = 0
    isCarrier[numbers.get(multipleCarriersOcn) ?? 0] = 0
    const ocns: Array<number> = []
    isCarrier.forEach((carrier, ocn) => {
      if (carrier === 1) ocns.push(ocn)
    })
    return Uint32Array.from(ocns.sort((a, b) => (strings[a]! < strings[b]! ? -1 : 1)))
  }

  /** Rows of `codes` by carrier: those of carrier `c` are `rows[first[c]]` up to `rows[first[c + 1]]`. */
  const rowsByCarrier = (codes: CodeColumns, ocns: Uint32Array) => {
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

  const carriersOf = (codes: CodeColumns, npas: Uint16Array): CarrierColumns => {
    const ocns = carrierOcns(codes)
    const { first, rows } = rowsByCarrier(codes, ocns)
    const assignedStatus = exchangeStatuses.indexOf("ASSIGNED")
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
      const reported = makeBallot(strings)
      const companies = makeBallot(strings)
      const assignedStates = makeBallot(strings)
      const byCountry = countries.map(() => 0)
      for (let position = first[carrier]!; position < first[carrier + 1]!; position++) {
        const code = rows[position]!
        states.add(codes.state[code]!)
        reported.add(locations.get(npas[code]!) ?? 0)
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
      columns.state[carrier] = winnerOf(states.result()) || winnerOf(reported.result())
      columns.country[carrier] = first[carrier] === first[carrier + 1] ? listOnlyCountry : majorityCountry(byCountry)
      for (const [state, exchanges] of assignedStates.result()) {
        stateNames.push(state)
        stateCounts.push(exchanges)
      }
      columns.firstState[carrier + 1] = stateNames.length
    }
    return { ...columns, stateNames: Uint32Array.from(stateNames), stateCounts: Uint32Array.from(stateCounts) }
  }

  const build = (): DirectoryIndex => {
    const { codes, npas } = sortedCodes()
    const areaCodes = areaCodesOf(codes, npas)
    const byCountry = countries.map(() => 0)
    const byStatus = exchangeStatuses.map(() => 0)
    for (const country of codes.country) byCountry[country]!++
    for (const status of codes.status) byStatus[status]!++
    const states = makeBallot(strings)
    for (const state of codes.state) states.add(state)
    return {
      strings,
      codes,
      areaCodes,
      carriers: carriersOf(codes, npas),
      counts: {
        total: count,
        byCountry,
        byStatus,
        areaCodes: areaCodes.npa.length,
        statesProvinces: states.result().length
      }
    }
  }

  return { addCode, addCarrierType, addAreaCode, build }
}

import { carrierTypes, countries, exchangeStatuses } from "./model.ts"

/**
 * The whole number directory in memory: immutable columns in typed arrays over one table of interned strings, with
 * everything that a request would otherwise count (a carrier's state and exchanges, an area code's state, the
 * statistics) computed beforehand. Plain data: it can be moved between threads, and is replaced as a whole.
 * `IndexBuilder` makes it, `rules.ts` answers from it. Needs no service. See {@link codesMatching}.
 */
export interface DirectoryIndex {
  /** Interned strings. Number 0 means null in every column that holds numbers of strings. */
  readonly strings: ReadonlyArray<string>
  readonly codes: CodeColumns
  readonly areaCodes: AreaCodeColumns
  readonly carriers: CarrierColumns
  readonly blocks: BlockColumns
  readonly counts: DirectoryCounts
}

/**
 * One row per NPA-NXX code, ordered by NPA, then NXX; the area codes know which rows are theirs. See
 * {@link Directory}.
 */
export interface CodeColumns {
  readonly nxx: Uint16Array
  /** Position in `exchangeStatuses`. */
  readonly status: Uint8Array
  /** Position in `countries`. */
  readonly country: Uint8Array
  readonly state: Uint32Array
  readonly ocn: Uint32Array
  readonly company: Uint32Array
  readonly rateCenter: Uint32Array
  /** Two bits a code, four codes a byte, the first one lowest: position in `pooledValues`. See {@link pooledAt}. */
  readonly pooled: Uint8Array
}

/** The values of `CodeColumns.pooled`. */
export const pooledValues = [null, false, true] as const

/** One row per area code that has records, ordered by NPA. See {@link Directory}. */
export interface AreaCodeColumns {
  readonly npa: Uint16Array
  /** First of the area code's rows in `codes`; one more entry at the end holds the number of all codes. */
  readonly firstCode: Uint32Array
  readonly state: Uint32Array
  readonly country: Uint8Array
  /** IANA names with blanks between them. */
  readonly timeZones: Uint32Array
  /** JSON of `overlay_complexes` of the answer. */
  readonly overlayComplexes: Uint32Array
  /** 0 for none. */
  readonly parent: Uint16Array
  readonly inServiceDate: Uint32Array
  /** JSON of `dialing_plan` of the answer. */
  readonly dialingPlan: Uint32Array
  /** JSON of `relief` of the answer; 0 where there are no details. */
  readonly relief: Uint32Array
}

/** One row per carrier, ordered by OCN. See {@link Directory}. */
export interface CarrierColumns {
  readonly ocn: Uint32Array
  readonly company: Uint32Array
  readonly commonName: Uint32Array
  /** Position in `carrierTypes` plus 1, 0 for none. */
  readonly type: Uint8Array
  readonly state: Uint32Array
  readonly country: Uint8Array
  /** ASSIGNED exchanges, those without a state included. */
  readonly assigned: Uint32Array
  /** First of the carrier's entries in the two columns after it; one more entry at the end. */
  readonly firstState: Uint32Array
  /** States with ASSIGNED exchanges, alphabetical within a carrier. */
  readonly stateNames: Uint32Array
  readonly stateCounts: Uint32Array
}

/** Blocks of a code, one for each digit after the NXX. */
export const blocksOfCode = 10

/**
 * One row per code that has blocks, ordered by code; the other columns have ten entries a row. See {@link Directory}.
 */
export interface BlockColumns {
  /** NPA * 1000 + NXX. */
  readonly code: Uint32Array
  /** Position in `exchangeStatuses` plus 1, 0 where there is no record of the block. */
  readonly status: Uint8Array
  readonly ocn: Uint32Array
  readonly company: Uint32Array
}

/** Counts over all records (docs/directory.md, 3.5). See {@link Directory}. */
export interface DirectoryCounts {
  readonly total: number
  /** By position in `countries`. */
  readonly byCountry: ReadonlyArray<number>
  /** By position in `exchangeStatuses`. */
  readonly byStatus: ReadonlyArray<number>
  readonly areaCodes: number
  readonly statesProvinces: number
}

/** A directory without any record, which is what an empty database holds. */
export const emptyIndex: DirectoryIndex = {
  strings: [""],
  codes: {
    nxx: new Uint16Array(0),
    status: new Uint8Array(0),
    country: new Uint8Array(0),
    state: new Uint32Array(0),
    ocn: new Uint32Array(0),
    company: new Uint32Array(0),
    rateCenter: new Uint32Array(0),
    pooled: new Uint8Array(0)
  },
  areaCodes: {
    npa: new Uint16Array(0),
    firstCode: new Uint32Array(1),
    state: new Uint32Array(0),
    country: new Uint8Array(0),
    timeZones: new Uint32Array(0),
    overlayComplexes: new Uint32Array(0),
    parent: new Uint16Array(0),
    inServiceDate: new Uint32Array(0),
    dialingPlan: new Uint32Array(0),
    relief: new Uint32Array(0)
  },
  carriers: {
    ocn: new Uint32Array(0),
    company: new Uint32Array(0),
    commonName: new Uint32Array(0),
    type: new Uint8Array(0),
    state: new Uint32Array(0),
    country: new Uint8Array(0),
    assigned: new Uint32Array(0),
    firstState: new Uint32Array(1),
    stateNames: new Uint32Array(0),
    stateCounts: new Uint32Array(0)
  },
  blocks: {
    code: new Uint32Array(0),
    status: new Uint8Array(0),
    ocn: new Uint32Array(0),
    company: new Uint32Array(0)
  },
  counts: {
    total: 0,
    byCountry: countries.map(() => 0),
    byStatus: exchangeStatuses.map(() => 0),
    areaCodes: 0,
    statesProvinces: 0
  }
}

/** The string of a number, null for 0. */
export const stringAt = (index: DirectoryIndex, number: number): string | null =>
  number === 0 ? null : index.strings[number]!

/** Whether a row of `codes` is pooled, null where its file does not say. */
export const pooledAt = (index: DirectoryIndex, code: number): boolean | null =>
  pooledValues[(index.codes.pooled[code >>> 2]! >>> ((code & 3) << 1)) & 3]!

/** The carrier type of a row of `carriers`. */
export const carrierTypeAt = (index: DirectoryIndex, carrier: number) => {
  const type = index.carriers.type[carrier]!
  return type === 0 ? null : carrierTypes[type - 1]!
}

/** Every typed array of an index; its buffers may be transferred to another thread. */
export const columnsOf = (index: DirectoryIndex): ReadonlyArray<Uint8Array | Uint16Array | Uint32Array> => [
  ...Object.values(index.codes),
  ...Object.values(index.areaCodes),
  ...Object.values(index.carriers),
  ...Object.values(index.blocks)
]

/** Fixed cost of a string on the heap: header, hash and length, and the pointer to it. */
const stringOverheadBytes = 24

/** Memory of an index: exact for its columns, estimated for its strings by length and a fixed cost each. */
export const indexBytes = (index: DirectoryIndex): number => {
  let bytes = 0
  for (const column of columnsOf(index)) bytes += column.byteLength
  for (const text of index.strings) bytes += stringOverheadBytes + text.length
  return bytes
}

/**
 * Position of `value` in an ascending column, or -1. Area codes are few and a request looks one up once, so a binary
 * search is enough.
 */
export const searchColumn = (
  column: Uint16Array | Uint32Array,
  value: number,
  from = 0,
  to = column.length
): number => {
  let low = from
  let high = to - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = column[middle]!
    if (found === value) return middle
    if (found < value) low = middle + 1
    else high = middle - 1
  }
  return -1
}

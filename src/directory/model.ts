/**
 * Defines the records of the number directory as the files give them, after reading and before indexing
 * (docs/directory.md, 1). Readers of files produce them, the store keeps them, the index answers from them.
 */

/** Countries covered; US territories count as `US`. See {@link codesMatching}. */
export const countries = ["US", "CA"] as const
/** A covered country. See {@link codesMatching}. */
export type Country = (typeof countries)[number]

/** Assignment status of an exchange code. See {@link codesMatching}. */
export const exchangeStatuses = ["ASSIGNED", "UNASSIGNED", "RESERVED"] as const
/** The status of an exchange code. See {@link codesMatching}. */
export type ExchangeStatus = (typeof exchangeStatuses)[number]

/** Carrier types (docs/directory.md, 2.1). The bundled list has ILEC, CLEC and WIRELESS only. See {@link Directory}. */
export const carrierTypes = ["ILEC", "CLEC", "WIRELESS", "CAP", "IXC", "PCS"] as const
/** The type of a carrier. See {@link Directory}. */
export type CarrierType = (typeof carrierTypes)[number]

/** The OCN of a US code that several carriers share. Exchanges show it, but it is no carrier. */
export const multipleCarriersOcn = "MULT"

/** One NPA-NXX code. Empty cells of the files are null. See {@link codesMatching}. */
export interface CodeRecord {
  readonly country: Country
  /** Area code, 3 digits. */
  readonly npa: string
  /** Exchange code, 3 digits. */
  readonly nxx: string
  /** State, territory or province, two capital letters (`MP` for the file's `NN`), or null. */
  readonly state: string | null
  /** Operating Company Number, 4 alphanumeric characters, `MULT`, or null. */
  readonly ocn: string | null
  readonly company: string | null
  readonly rateCenter: string | null
  readonly status: ExchangeStatus
  /**
   * Whether the code's numbers are handed out in blocks of a thousand, so that the carrier of a number may be another
   * one than the code's. Null or missing where the file does not say.
   */
  readonly pooled?: boolean | null | undefined
}

/** One line of the carrier type list. See {@link codesMatching}. */
export interface CarrierTypeRecord {
  readonly ocn: string
  readonly companyName: string | null
  readonly commonName: string | null
  readonly type: CarrierType | null
  readonly country: Country
}

/** One block of a thousand numbers of a pooled code, NPA-NXX-X. See {@link codesMatching}. */
export interface BlockRecord {
  readonly npa: string
  readonly nxx: string
  /** The digit after the NXX. */
  readonly block: string
  readonly status: ExchangeStatus
  /** Operating Company Number of the block's holder, or null. */
  readonly ocn: string | null
  readonly company: string | null
}

/**
 * How the area code's customers dial: `7D`, `10D` or `1+10D` digits, or what else the report writes; null where it is
 * empty. Home calls stay in the area code, foreign ones leave it. See {@link codesMatching}.
 */
export interface DialingPlan {
  readonly homeLocal: string | null
  readonly homeToll: string | null
  readonly foreignLocal: string | null
  readonly foreignToll: string | null
  readonly permissiveHomeLocal: string | null
  readonly permissiveHomeToll: string | null
  readonly permissiveForeignLocal: string | null
  readonly notes: string | null
}

/** The NPA report's details of an area code, beside its place. See {@link codesMatching}. */
export interface ReportedDetails {
  /** Zones as the report names them: `E`, `C`, `UTC-10`; empty where it names none. */
  readonly zones: ReadonlyArray<string>
  /** Area codes that share one region with this one, itself included; empty where there is no overlay. */
  readonly overlayComplexes: ReadonlyArray<ReadonlyArray<string>>
  /** The area code that this one was split from or laid over, or null. */
  readonly parent: string | null
  /** YYYY-MM-DD, or null. */
  readonly inServiceDate: string | null
  readonly dialingPlan: DialingPlan
  readonly relief: ReportedRelief
}

/** The state of the relief of an area code that runs out of exchange codes. See {@link codesMatching}. */
export interface ReportedRelief {
  /** `Trigger`, `Active` or `Suspended`, as the report writes it, or null. */
  readonly status: string | null
  readonly planning: boolean | null
  readonly jeopardy: boolean | null
}

/** One area code of the NPA report. See {@link codesMatching}. */
export interface AreaCodeRecord {
  readonly npa: string
  readonly inService: boolean
  /** `G` geographic, `N` not, null where the report leaves it empty. */
  readonly use: "G" | "N" | null
  readonly country: Country | null
  /** State or province codes named by LOCATION, first one first; empty where the report names none. */
  readonly locations: ReadonlyArray<string>
  /** Null or missing where they were not read. */
  readonly details?: ReportedDetails | null | undefined
}

/** The kinds of file that can be ingested, each replacing its own set as a whole. See {@link openSource}. */
export const datasetKinds = ["NANPA", "CNAC", "CARRIER_TYPES", "NPA_REPORT", "NANPA_BLOCKS"] as const
/** A kind of published file. See {@link openSource}. */
export type DatasetKind = (typeof datasetKinds)[number]

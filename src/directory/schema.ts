import { Schema } from "effect"
import { carrierTypes, countries, datasetKinds, exchangeStatuses } from "./model.ts"

/**
 * Defines the answers of the number directory, field by field (docs/directory.md, 3), as schemas that the HTTP group,
 * its documentation and the typed client share. A field is null when the published files have no value for it
 * (docs/directory.md, 1.2 and 2).
 */

/** Page size when a request names none (docs/directory.md, 5). */
export const pageLimitDefault = 50

/** Largest page size; more is an error, not clamped (docs/directory.md, 5). */
export const pageLimitMaximum = 100

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const described = (description: string, example: string) => Schema.String.annotate({ description, examples: [example] })

const nullable = (description: string, example: string) =>
  Schema.NullOr(Schema.String).annotate({ description, examples: [example] })

export const Country = Schema.Literals(countries).annotate({
  description: "US, which includes its territories, or CA",
  examples: ["US"]
})

export const CarrierType = Schema.Literals(carrierTypes).annotate({
  description:
    "ILEC incumbent local exchange, CLEC competitive local exchange, WIRELESS mobile or cellular, CAP competitive access, IXC interexchange, PCS personal communications service",
  examples: ["CLEC"]
})

export const ExchangeStatus = Schema.Literals(exchangeStatuses).annotate({
  description: "Assignment status of the exchange code",
  examples: ["ASSIGNED"]
})

/** Which part of a list a page is. See {@link Directory}. */
export const Pagination = Schema.Struct({
  limit: Count.annotate({ description: "Page size requested", examples: [pageLimitDefault] }),
  offset: Count.annotate({ description: "Results skipped", examples: [0] }),
  total: Count.annotate({ description: "Total matching records", examples: [118] })
}).annotate({ identifier: "Pagination" })
export type Pagination = typeof Pagination.Type

const carrierFields = {
  ocn: described("Operating Company Number, 4 alphanumeric characters", "9104"),
  company_name: nullable("Full legal company name", "VERIZON NEW YORK, INC."),
  common_name: nullable("Common or trade name, where the carrier type list has one", "Metro by T-Mobile"),
  carrier_type: Schema.NullOr(CarrierType).annotate({
    description: "Carrier type, null where the carrier type list has none",
    examples: ["ILEC"]
  }),
  state: nullable("State or province where the carrier has most exchanges", "NY"),
  country: Country
}

/** One carrier of a list (docs/directory.md, 3.2). See {@link Directory}. */
export const Carrier = Schema.Struct(carrierFields).annotate({ identifier: "Carrier" })
export type Carrier = typeof Carrier.Type

/** One carrier with its exchanges counted (docs/directory.md, 3.3). See {@link Directory}. */
export const CarrierDetail = Schema.Struct({
  ...carrierFields,
  exchanges: Schema.Struct({
    total: Count.annotate({ description: "ASSIGNED exchanges of the carrier", examples: [2901] }),
    by_state: Schema.Record(Schema.String, Count).annotate({
      description: "ASSIGNED exchanges by state or province; those without one are in the total only",
      examples: [{ CT: 15, NY: 2886 }]
    })
  })
}).annotate({ identifier: "CarrierDetail" })
export type CarrierDetail = typeof CarrierDetail.Type

/** Answer of `GET /v1/carriers`, ordered by OCN. See {@link Directory}. */
export const CarrierPage = Schema.Struct({
  carriers: Schema.Array(Carrier),
  pagination: Pagination
}).annotate({ identifier: "CarrierPage" })
export type CarrierPage = typeof CarrierPage.Type

/** One block of a thousand numbers of an exchange (docs/directory.md, 3.4). See {@link Directory}. */
export const Block = Schema.Struct({
  block: described("The digit after the exchange code", "0"),
  ocn: nullable("Operating Company Number of the block's holder", "9104"),
  company_name: nullable("Company the block is assigned to", "VERIZON NEW YORK, INC."),
  status: Schema.Literals(exchangeStatuses).annotate({
    description: "Assignment status of the block",
    examples: ["ASSIGNED"]
  })
}).annotate({ identifier: "Block" })
export type Block = typeof Block.Type

/** One exchange code of an area code (docs/directory.md, 3.4). See {@link Directory}. */
export const Exchange = Schema.Struct({
  nxx: described("Exchange code, 3 digits", "226"),
  ocn: nullable("Operating Company Number; `MULT` where several carriers share the code", "9104"),
  company_name: nullable("Company the code is assigned to", "VERIZON NEW YORK, INC."),
  rate_center: nullable("Rate center", "NWYRCYZN01"),
  status: ExchangeStatus,
  blocks: Schema.optionalKey(Schema.Array(Block)).annotate({
    description: "With `blocks=true` only: the blocks that the report on thousands blocks names, by their digit"
  })
}).annotate({ identifier: "Exchange" })
export type Exchange = typeof Exchange.Type

const dialing = (description: string, example: string) =>
  nullable(`${description}: \`7D\`, \`10D\`, \`1+10D\`, or what else the report writes`, example)

/** The details of an area code in NANPA's report (docs/directory.md, 3.4). See {@link Directory}. */
export const AreaCodeDetails = Schema.Struct({
  time_zones: Schema.Array(Schema.String).annotate({
    description: "IANA names of the time zones of its region; empty where the report names none",
    examples: [["America/New_York"]]
  }),
  overlay_complexes: Schema.Array(Schema.Array(Schema.String)).annotate({
    description: "Area codes that share one region with it, itself included, a list for each region",
    examples: [[["212", "332", "646", "917"]]]
  }),
  parent: nullable("Area code that it was split from or laid over", "212"),
  in_service_date: nullable("Date since which it is in service, YYYY-MM-DD", "1947-01-01"),
  dialing_plan: Schema.Struct({
    home_local: dialing("Local calls inside the area code", "1+10D"),
    home_toll: dialing("Toll calls inside the area code", "1+10D"),
    foreign_local: dialing("Local calls to another area code", "1+10D"),
    foreign_toll: dialing("Toll calls to another area code", "1+10D"),
    permissive_home_local: dialing("Also allowed for local calls inside the area code", "NA"),
    permissive_home_toll: dialing("Also allowed for toll calls inside the area code", "NA"),
    permissive_foreign_local: dialing("Also allowed for local calls to another area code", "NA"),
    notes: nullable("Notes of the report", "1+10 digit permissible at service provider discretion.")
  }).annotate({ description: "How its customers dial" }),
  relief: Schema.Struct({
    status: nullable("State of the relief as the report writes it: `Trigger`, `Active`, `Suspended`", "Active"),
    planning: Schema.NullOr(Schema.Boolean).annotate({ description: "Whether relief is being planned" }),
    jeopardy: Schema.NullOr(Schema.Boolean).annotate({
      description: "Whether exchange codes are feared to run out before relief comes"
    })
  }).annotate({ description: "Measure before its exchange codes run out" })
}).annotate({ identifier: "AreaCodeDetails" })
export type AreaCodeDetails = typeof AreaCodeDetails.Type

/** Answer of the `/v1/npa` endpoints, its exchanges ordered by NXX (docs/directory.md, 3.4). See {@link Directory}. */
export const AreaCode = Schema.Struct({
  npa: described("Area code, 3 digits", "212"),
  state: nullable("State or province of most of its exchanges", "NY"),
  country: Country,
  total_exchanges: Count.annotate({ description: "Records of the area code, of every status", examples: [800] }),
  exchanges: Schema.Array(Exchange),
  pagination: Pagination,
  details: Schema.optionalKey(Schema.NullOr(AreaCodeDetails)).annotate({
    description: "With `include=details` only; null where the area code report has not been read"
  })
}).annotate({ identifier: "AreaCode" })
export type AreaCode = typeof AreaCode.Type

const Timestamp = Schema.NullOr(Schema.String).annotate({
  description: "ISO 8601 time in UTC, null before the first ingestion",
  examples: ["2026-07-06T12:00:00.000Z"]
})

const Record = Schema.NullOr(Schema.JsonObject)

/** A record that an ingestion added, changed or removed (docs/directory.md, 3.8). See {@link Directory}. */
export const DirectoryChange = Schema.Struct({
  source: Schema.Literals(datasetKinds).annotate({ description: "Kind of the file", examples: ["NANPA"] }),
  publication: nullable("Date the file names as its own, YYYY-MM-DD", "2026-07-06"),
  ingested_at: described("Time of the ingestion, ISO 8601 in UTC", "2026-07-06T12:00:00.000Z"),
  key: described("Key of the record: NPA-NXX, NPA-NXX-X, an OCN or an area code", "212-556"),
  change: Schema.Literals(["added", "changed", "removed"]).annotate({ examples: ["changed"] }),
  before: Record.annotate({ description: "The record's other fields before, null for an added one" }),
  after: Record.annotate({ description: "The record's other fields after, null for a removed one" })
}).annotate({ identifier: "DirectoryChange" })
export type DirectoryChange = typeof DirectoryChange.Type

/** Answer of `GET /v1/directory/changes`, oldest ingestion first, then by key (docs/directory.md, 3.8). */
export const DirectoryChangePage = Schema.Struct({
  data: Schema.Array(DirectoryChange),
  pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
}).annotate({ identifier: "DirectoryChangePage" })

/** Answer of `/v1/stats` and `/stats` (docs/directory.md, 3.5). See {@link Directory}. */
export const Statistics = Schema.Struct({
  total_records: Count.annotate({ description: "Total NPA-NXX records", examples: [236982] }),
  by_country: Schema.Struct({ US: Count, CA: Count }).annotate({ description: "Records by country" }),
  by_status: Schema.Struct({ ASSIGNED: Count, UNASSIGNED: Count, RESERVED: Count }).annotate({
    description: "Records by assignment status"
  }),
  last_updated: Schema.Struct({ NANPA: Timestamp, CNAC: Timestamp }).annotate({
    description: "Times of the last ingestion of US (NANPA) and Canadian (CNAC) codes"
  }),
  coverage: Schema.Struct({
    area_codes: Count.annotate({ description: "Unique area codes", examples: [413] }),
    states_provinces: Count.annotate({
      description: "Distinct states and provinces of the records, territories included",
      examples: [69]
    })
  })
}).annotate({ identifier: "Statistics" })
export type Statistics = typeof Statistics.Type

/** Answer of `/v1/health` and `/health` (docs/directory.md, 3.6). */
export const Health = Schema.Struct({
  status: Schema.Literals(["healthy", "degraded", "unhealthy"]).annotate({
    description:
      "`unhealthy` while the database does not answer; `degraded` while a check of `/readyz` fails or a kind of records was not ingested within 90 days; else `healthy`"
  }),
  database: Schema.Literals(["connected", "error"]),
  last_ingestion: Timestamp,
  version: described("API version number", "0.1.0")
}).annotate({ identifier: "Health" })
export type Health = typeof Health.Type

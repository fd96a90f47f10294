import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { type UnnestType, unnest } from "../postgres/unnest.ts"
import type { Records } from "./files/DatasetReader.ts"
import type { CodeRecord, DatasetKind } from "./model.ts"

/**
 * Describes how the records of each kind of file are stored: their table, the columns of the key, and how a batch is
 * sent. `ingest.ts` works from these alone, the same for every kind.
 */
export interface Dataset {
  readonly table: string
  /** Columns and their types, the key first; a staging table has the same ones. */
  readonly columns: ReadonlyArray<readonly [name: string, type: string]>
  /** Number of columns at the beginning that are the key. */
  readonly keyLength: number
  /** The country whose rows of the table are this kind's; null when all are. */
  readonly country: "US" | "CA" | null
}

const codes = {
  table: "directory_codes",
  columns: [
    ["npa", "text"],
    ["nxx", "text"],
    ["country", "text"],
    ["state", "text"],
    ["ocn", "text"],
    ["company", "text"],
    ["rate_center", "text"],
    ["status", "text"],
    ["pooled", "boolean"]
  ],
  keyLength: 2
} as const

export const datasets: Readonly<Record<DatasetKind, Dataset>> = {
  NANPA: { ...codes, country: "US" },
  CNAC: { ...codes, country: "CA" },
  CARRIER_TYPES: {
    table: "directory_carrier_types",
    columns: [
      ["ocn", "text"],
      ["company_name", "text"],
      ["common_name", "text"],
      ["type", "text"],
      ["country", "text"]
    ],
    keyLength: 1,
    country: null
  },
  NPA_REPORT: {
    table: "directory_area_codes",
    columns: [
      ["npa", "text"],
      ["in_service", "boolean"],
      ["use", "text"],
      ["country", "text"],
      ["locations", "text[]"],
      ["details", "jsonb"]
    ],
    keyLength: 1,
    country: null
  },
  NANPA_BLOCKS: {
    table: "directory_blocks",
    columns: [
      ["npa", "text"],
      ["nxx", "text"],
      ["block", "text"],
      ["status", "text"],
      ["ocn", "text"],
      ["company", "text"]
    ],
    keyLength: 3,
    country: null
  }
}

/**
 * The dataset with those of its columns that its table has: programs that embed the directory may have made its tables
 * without the later ones (`addDirectoryDetails`).
 */
export const datasetAsStored = Effect.fnUntraced(function* (
  dataset: Dataset
): Effect.fn.Return<Dataset, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const columns = yield* sql<{ readonly name: string }>`
    select attname as name from pg_attribute
    where attrelid = to_regclass(${dataset.table}::text) and attnum > 0 and not attisdropped`
  const stored = new Set(columns.map(({ name }) => name))
  return { ...dataset, columns: dataset.columns.filter(([name]) => stored.has(name)) }
})

/** A query whose rows are the records of a batch, its columns in the order of the dataset's. */
export const batchQuery = (
  sql: (strings: TemplateStringsArray, ...values: ReadonlyArray<Statement.Fragment>) => Statement.Fragment,
  batch: Records
): Statement.Fragment => {
  const text: UnnestType = "text"
  switch (batch.kind) {
    case "NANPA":
    case "CNAC": {
      const types = {
        npa: text,
        nxx: text,
        country: text,
        state: text,
        ocn: text,
        company: text,
        rateCenter: text,
        status: text,
        pooled: "bool" as const
      }
      // A record may lack `pooled`, which goes as null.
      const records = batch.records as ReadonlyArray<Required<CodeRecord>>
      return sql`select * from ${unnest(records, types)}`
    }
    case "CARRIER_TYPES": {
      const types = { ocn: text, companyName: text, commonName: text, type: text, country: text }
      return sql`select * from ${unnest(batch.records, types)}`
    }
    case "NANPA_BLOCKS": {
      const types = { npa: text, nxx: text, block: text, status: text, ocn: text, company: text }
      return sql`select * from ${unnest(batch.records, types)}`
    }
    case "NPA_REPORT": {
      const types = {
        npa: text,
        inService: "bool" as const,
        use: text,
        country: text,
        locations: text,
        details: "jsonb" as const
      }
      const rows = batch.records.map((record) => ({
        ...record,
        // Unnest would turn an array of arrays into one row per element.
        locations: record.locations.join(","),
        details: record.details
      }))
      return sql`
        select npa, "inService", use, country, string_to_array(locations, ','), details from ${unnest(rows, types)}`
    }
  }
}

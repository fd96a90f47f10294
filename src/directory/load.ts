import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { withStatementTimeout } from "../postgres/deadlines.ts"
import type { DirectoryIndex } from "./DirectoryIndex.ts"
import { type Dataset, datasetAsStored, datasets } from "./datasets.ts"
import * as IndexBuilder from "./IndexBuilder.ts"
import { loadImage } from "./indexImage.ts"
import type { AreaCodeRecord, CarrierTypeRecord, Country, DatasetKind, ExchangeStatus } from "./model.ts"

/**
 * Reads the directory's tables into an index: their image (`indexImage.ts`), or the records where there is none. Each
 * column comes as its values with the codes that have them, one row per value. The database does the grouping, so this
 * process makes little garbage, and it never blocks its event loop for more than a few milliseconds. Needs `SqlClient`.
 */

/**
 * The facts about the stored records that need no read of them. Times are ISO 8601 in UTC, null before the first. See
 * {@link Directory}.
 */
export interface DirectoryState {
  /** Raised by every change of the records. */
  readonly generation: number
  /** Time of the last successful ingestion of each kind, a repeated one included. */
  readonly lastUpdated: Readonly<Record<DatasetKind, string | null>>
}

/** Rows handled before other fibers get their turn. */
const rowsPerTurn = 1_000

/** A statement reads a whole table. */
const statementTimeoutMillis = 10 * 60 * 1000

/** Memory the server may use to group a column, so that it need not write to disk. */
const workMemory = "32MB"

/** Generation and times of the stored records. */
export const loadState: Effect.Effect<DirectoryState, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    const [current] = yield* sql<{ readonly generation: number }>`select generation from directory_generation`
    const times = yield* sql<{ readonly kind: DatasetKind; readonly at: Date }>`
    select kind, max(finished_at) as at from directory_ingestions group by kind`
    const lastUpdated: Record<DatasetKind, string | null> = {
      NANPA: null,
      CNAC: null,
      CARRIER_TYPES: null,
      NPA_REPORT: null,
      NANPA_BLOCKS: null
    }
    for (const { at, kind } of times) lastUpdated[kind] = at.toISOString()
    return { generation: Number(current?.generation ?? 0), lastUpdated }
  }
)

const eachInTurns = <A>(rows: ReadonlyArray<A>, use: (row: A) => void): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let start = 0; start < rows.length; start += rowsPerTurn) {
      for (const row of rows.slice(start, start + rowsPerTurn)) use(row)
      yield* Effect.yieldNow
    }
  })

/** Codes, 6 digits each, that have these values. */
interface CodeGroup {
  readonly country: Country
  readonly status: ExchangeStatus
  readonly pooled: boolean | null
  readonly codes: string
}

/** Blocks, 7 digits each, of one status and holder. */
interface BlockGroup {
  readonly status: ExchangeStatus
  readonly ocn: string | null
  readonly company: string | null
  readonly blocks: string
}

/** A column, or null of its type where the table has none such. */
const columnOrNull = Effect.fnUntraced(function* (dataset: Dataset, column: string, type: string) {
  const sql = yield* SqlClient.SqlClient
  const { columns } = yield* datasetAsStored(dataset)
  return columns.some(([name]) => name === column) ? sql`${sql(column)}` : sql`null::${sql.literal(type)}`
})

const addRecords = Effect.fnUntraced(function* (builder: IndexBuilder.IndexBuilder) {
  const sql = yield* SqlClient.SqlClient
  const pooled = yield* columnOrNull(datasets.NANPA, "pooled", "boolean")
  const groups = yield* sql<CodeGroup>`
    select country, status, ${pooled} as pooled, string_agg(npa || nxx, '') as codes
    from directory_codes group by 1, 2, 3`
  for (const { codes, country, pooled, status } of groups) {
    builder.addCodes(country, status, pooled, codes)
    yield* Effect.yieldNow
  }
  const columns = [
    ["state", "state"],
    ["ocn", "ocn"],
    ["company", "company"],
    ["rate_center", "rateCenter"]
  ] as const
  for (const [column, name] of columns) {
    const values = yield* sql<{ readonly value: string; readonly codes: string }>`
      select ${sql(column)} as value, string_agg(npa || nxx, '') as codes
      from directory_codes where ${sql(column)} is not null group by ${sql(column)}`
    yield* eachInTurns(values, ({ codes, value }) => builder.assign(name, value, codes))
  }
  const carrierTypes = yield* sql<CarrierTypeRecord>`
    select ocn, company_name as "companyName", common_name as "commonName", type, country from directory_carrier_types`
  yield* eachInTurns(carrierTypes, builder.addCarrierType)
  const areaCodes = yield* sql<AreaCodeRecord>`
    select npa, in_service as "inService", use, country, locations,
      ${yield* columnOrNull(datasets.NPA_REPORT, "details", "jsonb")} as details
    from directory_area_codes`
  yield* eachInTurns(areaCodes, builder.addAreaCode)
  // Programs that embed the directory may have made its tables without this one.
  if ((yield* datasetAsStored(datasets.NANPA_BLOCKS)).columns.length === 0) return
  const blocks = yield* sql<BlockGroup>`
    select status, ocn, company, string_agg(npa || nxx || block, '') as blocks from directory_blocks group by 1, 2, 3`
  for (const { blocks: numbers, company, ocn, status } of blocks) {
    builder.addBlocks(status, ocn, company, numbers)
    yield* Effect.yieldNow
  }
})

/** Builds an index and lets other fibers have their turns meanwhile. */
export const buildInTurns = Effect.fnUntraced(function* (builder: IndexBuilder.IndexBuilder) {
  const steps = builder.steps()
  let step = steps.next()
  while (step.done !== true) {
    yield* Effect.yieldNow
    step = steps.next()
  }
  return step.value
})

/** An index of the stored records with their state. */
export interface LoadedIndex {
  readonly index: DirectoryIndex
  readonly state: DirectoryState
  /** Whether it was built from the records, and not read from their image. */
  readonly isBuilt: boolean
}

/** The index of the stored records with their state, both of one moment. */
export const loadIndex: Effect.Effect<LoadedIndex, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const builder = IndexBuilder.make()
  const { image, state } = yield* Effect.gen(function* () {
    const image = yield* loadImage
    if (image === undefined) {
      yield* sql`set local work_mem = ${sql.literal(`'${workMemory}'`)}`
      yield* sql`set local jit = off`
      yield* addRecords(builder)
    }
    return { image, state: yield* loadState }
  }).pipe(
    (statements) => sql.withTransaction(withStatementTimeout(sql, statementTimeoutMillis, statements)),
    // These statements must not see half of an ingestion that ends between them.
    Effect.provideService(SqlClient.BeginTransaction, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  )
  return { index: image ?? (yield* buildInTurns(builder)), state, isBuilt: image === undefined }
}).pipe(Effect.withSpan("directory.loadIndex"))

/**
 * Computes the health record (docs/directory.md, 3.6), and sentences that say why it is not `healthy`. Needs
 * `Directory` and `Health`.
 */
import { Clock, Effect } from "effect"
import { version } from "../common/version.ts"
import { Health } from "../platform/Health.ts"
import { Directory } from "./Directory.ts"
import type { Health as HealthRecord } from "./schema.ts"

/** How long ingested data counts as fresh: 90 days. */
export const freshDataMillis = 90 * 24 * 60 * 60 * 1000

/** The kinds of file that must be present and fresh. */
const neededKinds = ["NANPA", "CNAC"] as const

/** When each needed kind was ingested last, ISO 8601; null before the first time. */
export type LastUpdated = Readonly<Record<(typeof neededKinds)[number], string | null>>

/** The faults of the data, a clause each. */
export const dataFaults = (lastUpdated: LastUpdated, nowMillis: number): ReadonlyArray<string> =>
  neededKinds.flatMap((kind) => {
    const last = lastUpdated[kind]
    if (last === null) return [`no ${kind} data was ever ingested`]
    return nowMillis - Date.parse(last) > freshDataMillis ? [`the ${kind} data was ingested more than 90 days ago`] : []
  })

export interface HealthReport {
  readonly record: HealthRecord
  /** Empty where the status is `healthy`. */
  readonly faults: ReadonlyArray<string>
}

/** Looks at everything once. */
export const healthReport: Effect.Effect<HealthReport, never, Directory | Health> = Effect.gen(function* () {
  const directory = yield* Directory
  const platform = yield* Health
  const { checks } = yield* platform.readiness
  const database = yield* platform.database
  const now = yield* Clock.currentTimeMillis
  const snapshot = yield* Effect.orElseSucceed(directory.snapshot, () => undefined)
  const last = yield* Effect.orElseSucceed(directory.lastIngestion, () => null)
  const faults = [
    ...Object.values(checks).flatMap(({ detail, ok }) => (ok ? [] : [detail ?? "a part is not ready"])),
    // Without an index, the directory's own check says so.
    ...(snapshot === undefined ? [] : dataFaults(snapshot.state.lastUpdated, now))
  ]
  const status = database ? (faults.length === 0 ? "healthy" : "degraded") : "unhealthy"
  return {
    record: { status, database: database ? "connected" : "error", last_ingestion: last, version },
    faults
  }
})

/** Serves figures of an endpoint's attempts over time (docs/platform.md, 7.11). Needs `SqlClient`. */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { percentileOf } from "../../common/DurationHistogram.ts"
import { type FiguresPeriod, rateOf, seriesOf } from "../../common/figuresPeriod.ts"
import { attemptHoursTable, latencyColumns } from "./attemptHours.ts"
import { type AttemptMeasure, attemptMeasures, latencyBounds } from "./countAttempts.ts"

/** The attempts that began in a time. */
export interface AttemptFiguresShown extends Readonly<Record<AttemptMeasure, number>> {
  /** The share of the attempts that succeeded. */
  readonly successRate: number | null
  /** Until the answer, or until the attempt was given up. In milliseconds. */
  readonly latency: { readonly p50: number | null; readonly p95: number | null }
}

export interface AttemptFiguresOverTime {
  readonly totals: AttemptFiguresShown
  /** One for each interval of the period, in order. */
  readonly series: ReadonlyArray<AttemptFiguresShown & { readonly at: number }>
}

export class AttemptFigures extends Context.Service<
  AttemptFigures,
  {
    /** Figures of an endpoint, whose owner the caller has checked. The newest attempts come a moment late. */
    readonly of: (endpointId: string, period: FiguresPeriod) => Effect.Effect<AttemptFiguresOverTime, SqlError.SqlError>
  }
>()("sluice/webhooks/AttemptFigures") {
  static readonly layer: Layer.Layer<AttemptFigures, never, SqlClient.SqlClient> = Layer.effect(
    AttemptFigures,
    Effect.map(SqlClient.SqlClient, (sql) => make(sql))
  )
}

/** Sums of columns, by their names. */
type Sums = Readonly<Record<string, number>>

const shown = (sums: Sums): AttemptFiguresShown => {
  const of = (column: string): number => sums[column] ?? 0
  const times = latencyColumns.map(of)
  return {
    attempts: of("attempts"),
    succeeded: of("succeeded"),
    failed: of("failed"),
    retried: of("retried"),
    successRate: rateOf(of("succeeded"), of("attempts")),
    latency: { p50: percentileOf(latencyBounds, times, 0.5), p95: percentileOf(latencyBounds, times, 0.95) }
  }
}

const columns = [...attemptMeasures, ...latencyColumns]
const summed = columns.map((column) => `sum(${column})::int8 as ${column}`).join(", ")

const make = (sql: SqlClient.SqlClient) =>
  AttemptFigures.of({
    of: Effect.fn("AttemptFigures.of")(function* (endpointId, period) {
      const rows = yield* sql<Sums & { readonly at: number }>`
        select hour - hour % ${period.stepMillis}::int8 as at, ${sql.literal(summed)}
        from ${sql(attemptHoursTable)}
        where endpoint_id = ${endpointId} and hour >= ${period.since}::int8 and hour < ${period.until}::int8
        group by 1`
      const totals = Object.fromEntries(
        columns.map((column) => [column, rows.reduce((sum, row) => sum + (row[column] ?? 0), 0)])
      )
      const series = seriesOf(
        period,
        rows.map((row) => ({ at: row.at, ...shown(row) })),
        (at) => ({ at, ...shown({}) })
      )
      return { totals: shown(totals), series }
    })
  })

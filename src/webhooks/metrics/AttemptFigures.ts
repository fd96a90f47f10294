/** Serves figures of an endpoint's attempts over time (docs/platform.md, 7.11). Needs `SqlClient`. */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type DurationPercentiles, percentilesOf } from "../../common/DurationHistogram.ts"
import {
  type FigureSums,
  type FiguresOverTime,
  type FiguresPeriod,
  figuresOver,
  rateOf
} from "../../common/figuresPeriod.ts"
import { attemptHoursTable, latencyColumns } from "./attemptHours.ts"
import { type AttemptMeasure, attemptMeasures, latencyBounds } from "./countAttempts.ts"

/** The attempts that began in a time. */
export interface AttemptFiguresShown extends Readonly<Record<AttemptMeasure, number>> {
  /** The share of the attempts that succeeded. */
  readonly successRate: number | null
  /** Until the answer, or until the attempt was given up. In milliseconds. */
  readonly latency: DurationPercentiles
}

export type AttemptFiguresOverTime = FiguresOverTime<AttemptFiguresShown>

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

const shown = (sums: FigureSums): AttemptFiguresShown => {
  const of = (column: string): number => sums[column] ?? 0
  return {
    attempts: of("attempts"),
    succeeded: of("succeeded"),
    failed: of("failed"),
    retried: of("retried"),
    successRate: rateOf(of("succeeded"), of("attempts")),
    latency: percentilesOf(latencyBounds, latencyColumns.map(of))
  }
}

const columns = [...attemptMeasures, ...latencyColumns]
const summed = columns.map((column) => `sum(${column})::int8 as ${column}`).join(", ")

const make = (sql: SqlClient.SqlClient) =>
  AttemptFigures.of({
    of: Effect.fn("AttemptFigures.of")(function* (endpointId, period) {
      const rows = yield* sql<FigureSums & { readonly at: number }>`
        select hour - hour % ${period.stepMillis}::int8 as at, ${sql.literal(summed)}
        from ${sql(attemptHoursTable)}
        where endpoint_id = ${endpointId} and hour >= ${period.since}::int8 and hour < ${period.until}::int8
        group by 1`
      return figuresOver(period, rows, shown)
    })
  })

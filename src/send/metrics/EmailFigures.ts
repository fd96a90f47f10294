/** Serves figures of an account's emails over time (docs/platform.md, 9.19). Needs `SqlClient`. */
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
import type { EmailOwner } from "../emails/AcceptEmails.ts"
import { deliveryTimeBounds, type EmailMeasure, emailMeasures } from "./countEmails.ts"
import { emailHoursTable, timeColumns } from "./emailHours.ts"

/** The fate of the emails that were accepted in a time. */
export interface EmailFiguresShown extends Readonly<Record<EmailMeasure, number>> {
  /** Shares of the accepted emails, and of the sent ones. */
  readonly rates: {
    readonly held: number | null
    readonly suppressed: number | null
    readonly failed: number | null
    readonly delivered: number | null
    readonly bounced: number | null
    readonly complained: number | null
  }
  /** From acceptance, or the scheduled time, to the hand-over. In milliseconds. */
  readonly timeToHandOver: DurationPercentiles
}

export type EmailFiguresOverTime = FiguresOverTime<EmailFiguresShown>

export class EmailFigures extends Context.Service<
  EmailFigures,
  {
    /** Figures of a period; with a domain of the emails of its senders alone. Newest emails come a moment late. */
    readonly of: (
      owner: EmailOwner,
      period: FiguresPeriod,
      domain?: string
    ) => Effect.Effect<EmailFiguresOverTime, SqlError.SqlError>
  }
>()("sluice/send/EmailFigures") {
  static readonly layer: Layer.Layer<EmailFigures, never, SqlClient.SqlClient> = Layer.effect(
    EmailFigures,
    Effect.map(SqlClient.SqlClient, (sql) => make(sql))
  )
}

const shown = (sums: FigureSums): EmailFiguresShown => {
  const of = (column: string): number => sums[column] ?? 0
  const share = (part: EmailMeasure, whole: EmailMeasure) => rateOf(of(part), of(whole))
  return {
    accepted: of("accepted"),
    held: of("held"),
    sent: of("sent"),
    delivered: of("delivered"),
    bounced: of("bounced"),
    complained: of("complained"),
    suppressed: of("suppressed"),
    failed: of("failed"),
    canceled: of("canceled"),
    rates: {
      held: share("held", "accepted"),
      suppressed: share("suppressed", "accepted"),
      failed: share("failed", "accepted"),
      delivered: share("delivered", "sent"),
      bounced: share("bounced", "sent"),
      complained: share("complained", "sent")
    },
    timeToHandOver: percentilesOf(deliveryTimeBounds, timeColumns.map(of))
  }
}

const columns = [...emailMeasures, ...timeColumns]
const summed = columns.map((column) => `sum(${column})::int8 as ${column}`).join(", ")

const make = (sql: SqlClient.SqlClient) =>
  EmailFigures.of({
    of: Effect.fn("EmailFigures.of")(function* ({ mode, organizationId }, period, domain) {
      const only = domain === undefined ? sql.literal("true") : sql`domain = ${domain}`
      const rows = yield* sql<FigureSums & { readonly at: number }>`
        select hour - hour % ${period.stepMillis}::int8 as at, ${sql.literal(summed)}
        from ${sql(emailHoursTable)}
        where organization_id = ${organizationId} and mode = ${mode} and ${only}
          and hour >= ${period.since}::int8 and hour < ${period.until}::int8
        group by 1`
      return figuresOver(period, rows, shown)
    })
  })

/** Serves the reports about a domain that were taken in (docs/platform.md, 9.21). Needs `SqlClient`. */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { shownReporters } from "./limits.ts"
import { type ReportKind, type TlsFailure, type TlsPolicy, tlsFailures } from "./model.ts"
import type { ReportPeriod } from "./reportPeriod.ts"
import { otherSources, type SourceCounts } from "./sourceCounts.ts"
import { reportsTable, sessionsTable, sourcesTable } from "./tables.ts"

/** A source in a period. `source` is null for all that no row of its own counts. Days are their starts. */
export interface SourceShown extends SourceCounts {
  readonly source: string | null
  readonly firstDay: number
  readonly lastDay: number
}

/** The sessions of a day under one policy. */
export interface TlsDayShown {
  readonly day: number
  readonly policy: TlsPolicy
  readonly successful: number
  readonly failed: number
  readonly failures: ReadonlyArray<{ readonly type: TlsFailure; readonly sessions: number }>
}

/** A reporter's name as it gives it, and its reports in a period. */
export interface ReporterShown {
  readonly name: string
  readonly reports: number
}

export interface TlsTotals {
  readonly successful: number
  readonly failed: number
}

/** The last item of the page before. */
export interface SourcePlace {
  readonly failed: number
  readonly messages: number
  readonly source: string
}

type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** All are about a domain's id: who may see the domain is decided before. */
export class DomainReports extends Context.Service<
  DomainReports,
  {
    /** The most frequent reporters. */
    readonly reporters: (
      domainId: string,
      kind: ReportKind,
      period: ReportPeriod
    ) => Answer<ReadonlyArray<ReporterShown>>
    readonly dmarcTotals: (domainId: string, period: ReportPeriod) => Answer<SourceCounts>
    /** Sources of most failures first, then those of most messages. */
    readonly sources: (
      domainId: string,
      period: ReportPeriod,
      beyond: SourcePlace | undefined,
      limit: number
    ) => Answer<ReadonlyArray<SourceShown>>
    readonly tlsTotals: (domainId: string, period: ReportPeriod) => Answer<TlsTotals>
    /** Newest day first. */
    readonly tlsDays: (
      domainId: string,
      period: ReportPeriod,
      beyond: { readonly day: number; readonly policy: string } | undefined,
      limit: number
    ) => Answer<ReadonlyArray<TlsDayShown>>
  }
>()("sluice/send/DomainReports") {
  static readonly layer: Layer.Layer<DomainReports, never, SqlClient.SqlClient> = Layer.effect(
    DomainReports,
    Effect.map(SqlClient.SqlClient, (sql) => make(sql))
  )
}

const summed = ["messages", "passed", "dkim", "spf", "quarantined", "rejected"]
  .map((column) => `coalesce(sum(${column}), 0)::int8 as ${column}`)
  .join(", ")

const tlsSummed = `
  coalesce(sum(sessions) filter (where result = 'successful'), 0)::int8 as successful,
  coalesce(sum(sessions) filter (where result <> 'successful'), 0)::int8 as failed`

interface TlsRow extends TlsTotals {
  readonly day: number
  readonly policy: TlsPolicy
  readonly sessions: Readonly<Partial<Record<TlsFailure, number>>> | null
}

const make = (sql: SqlClient.SqlClient) => {
  const within = (domainId: string, { since, until }: ReportPeriod) =>
    sql`domain_id = ${domainId} and day >= ${since} and day < ${until}`
  return DomainReports.of({
    reporters: Effect.fn("DomainReports.reporters")(
      (domainId, kind, period) => sql<ReporterShown>`
        select reporter as name, count(*)::int4 as reports from ${sql(reportsTable)}
        where ${within(domainId, period)} and kind = ${kind}
        group by reporter order by 2 desc, 1 limit ${shownReporters}`
    ),
    dmarcTotals: Effect.fn("DomainReports.dmarcTotals")((domainId, period) =>
      Effect.map(
        sql<SourceCounts>`
          select ${sql.literal(summed)} from ${sql(sourcesTable)} where ${within(domainId, period)}`,
        ([row]) => row!
      )
    ),
    sources: Effect.fn("DomainReports.sources")((domainId, period, beyond, limit) => {
      const rest =
        beyond === undefined
          ? sql.literal("true")
          : sql`(passed - messages, -messages, source) > (${0 - beyond.failed}, ${0 - beyond.messages}, ${beyond.source})`
      return Effect.map(
        sql<SourceShown & { readonly source: string }>`
          select * from (
            select source, min(day) as "firstDay", max(day) as "lastDay", ${sql.literal(summed)}
            from ${sql(sourcesTable)} where ${within(domainId, period)} group by source
          ) of_source
          where ${rest} order by passed - messages, -messages, source limit ${limit}`,
        (rows) => rows.map((row) => (row.source === otherSources ? { ...row, source: null } : row))
      )
    }),
    tlsTotals: Effect.fn("DomainReports.tlsTotals")((domainId, period) =>
      Effect.map(
        sql<TlsTotals>`
          select ${sql.literal(tlsSummed)} from ${sql(sessionsTable)} where ${within(domainId, period)}`,
        ([row]) => row!
      )
    ),
    tlsDays: Effect.fn("DomainReports.tlsDays")((domainId, period, beyond, limit) => {
      const rest =
        beyond === undefined ? sql.literal("true") : sql`(-day, policy) > (${0 - beyond.day}, ${beyond.policy})`
      return Effect.map(
        sql<TlsRow>`
          select day, policy, ${sql.literal(tlsSummed)},
            jsonb_object_agg(result, sessions) filter (where result <> 'successful') as sessions
          from ${sql(sessionsTable)} where ${within(domainId, period)} and ${rest}
          group by day, policy order by day desc, policy limit ${limit}`,
        (rows) =>
          rows.map(({ sessions, ...row }) => ({
            ...row,
            failures: tlsFailures.flatMap((type) => {
              const failed = sessions?.[type] ?? 0
              return failed === 0 ? [] : [{ type, sessions: failed }]
            })
          }))
      )
    })
  })
}

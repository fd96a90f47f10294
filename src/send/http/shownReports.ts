/** Answers pages of reports about a domain (docs/platform.md, 9.21). Needs `PageCursors`. */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { DomainReports, SourceShown, TlsDayShown } from "../senders/reports/DomainReports.ts"
import type { ReportKind } from "../senders/reports/model.ts"
import { type ReportPeriod, reportPeriodOf } from "../senders/reports/reportPeriod.ts"
import { otherSources, type SourceCounts } from "../senders/reports/sourceCounts.ts"
import { answerPage, type PageStart } from "./answerPage.ts"
import { SendInvalidRequest } from "./sendErrors.ts"

/** The parameters of a request for reports. Times in Unix milliseconds. */
export interface ReportsQuery {
  readonly kind?: ReportKind | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

export const shownCounts = ({ dkim, messages, passed, quarantined, rejected, spf }: SourceCounts) => ({
  messages,
  passed,
  dkimAligned: dkim,
  spfAligned: spf,
  quarantined,
  rejected
})

export const shownSource = ({ firstDay, lastDay, source, ...counts }: SourceShown) => ({
  source,
  firstDay: dayText(firstDay),
  lastDay: dayText(lastDay),
  ...shownCounts(counts)
})

export const shownTlsDay = ({ day, ...sessions }: TlsDayShown) => ({ day: dayText(day), ...sessions })

/** The place of a source in its order, as a cursor has it. */
const placeOf = ({ messages, passed, source }: SourceShown) => ({
  at: messages - passed,
  id: `${messages} ${source ?? otherSources}`
})

const beyondSource = (start: PageStart | undefined) => {
  if (start === undefined) return undefined
  const blank = start.id.indexOf(" ")
  return { failed: start.at, messages: Number(start.id.slice(0, blank)), source: start.id.slice(blank + 1) }
}

// Cursors are the only way through these lists.
const noItem: Effect.Effect<undefined> = Effect.succeed(undefined)

const dmarcPage = Effect.fnUntraced(function* (
  reports: DomainReports["Service"],
  domainId: string,
  period: ReportPeriod,
  query: ReportsQuery
) {
  const page = yield* answerPage<SourceShown, SqlError.SqlError>(`domainReports dmarc ${domainId}`, query, {
    placeOf: () => noItem,
    page: (beyond, limit) => reports.sources(domainId, period, beyondSource(beyond), limit),
    at: placeOf
  })
  const totals = shownCounts(yield* reports.dmarcTotals(domainId, period))
  return { kind: "dmarc" as const, totals, ...page, data: page.data.map(shownSource) }
})

const tlsPage = Effect.fnUntraced(function* (
  reports: DomainReports["Service"],
  domainId: string,
  period: ReportPeriod,
  query: ReportsQuery
) {
  const page = yield* answerPage<TlsDayShown, SqlError.SqlError>(`domainReports tls ${domainId}`, query, {
    placeOf: () => noItem,
    page: (beyond, limit) =>
      reports.tlsDays(
        domainId,
        period,
        beyond === undefined ? undefined : { day: beyond.at, policy: beyond.id },
        limit
      ),
    at: ({ day, policy }) => ({ at: day, id: policy })
  })
  const totals = yield* reports.tlsTotals(domainId, period)
  return { kind: "tls" as const, totals, ...page, data: page.data.map(shownTlsDay) }
})

/** The first items of the reports about a domain, as operators see them. */
export const firstReports = Effect.fnUntraced(function* (
  reports: DomainReports["Service"],
  domainId: string,
  kind: ReportKind,
  period: ReportPeriod,
  limit: number
) {
  const head = { ...period, reporters: yield* reports.reporters(domainId, kind, period) }
  if (kind === "dmarc") {
    const totals = shownCounts(yield* reports.dmarcTotals(domainId, period))
    const sources = yield* reports.sources(domainId, period, undefined, limit)
    return { kind, ...head, totals, data: sources.map(shownSource) }
  }
  const totals = yield* reports.tlsTotals(domainId, period)
  const days = yield* reports.tlsDays(domainId, period, undefined, limit)
  return { kind, ...head, totals, data: days.map(shownTlsDay) }
})

/** A page of the reports about a domain, which the caller may see. */
export const shownReports = Effect.fnUntraced(function* (
  reports: DomainReports["Service"],
  domainId: string,
  query: ReportsQuery
) {
  const now = yield* Clock.currentTimeMillis
  const period = yield* Effect.catchTag(Effect.fromResult(reportPeriodOf(query, now)), "PeriodInvalid", (error) =>
    Effect.fail(SendInvalidRequest.of(error.message))
  )
  const { kind = "dmarc" } = query
  const head = { object: "list" as const, ...period, reporters: yield* reports.reporters(domainId, kind, period) }
  return kind === "dmarc"
    ? { ...head, ...(yield* dmarcPage(reports, domainId, period, query)) }
    : { ...head, ...(yield* tlsPage(reports, domainId, period, query)) }
})

/**
 * Takes in reports about domains (docs/handoff.md, 6.4): for every organization that has verified the domain, once
 * each. Anybody can send a report, so what one network and all of them may add to a domain on a day is bounded; a report
 * beyond that comes again later. Needs `SqlClient`.
 */
import { Clock, Context, Data, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { networkOf } from "../../../common/networkOf.ts"
import { unnest } from "../../../postgres/unnest.ts"
import {
  maximumOwners,
  maximumReportsOfDomain,
  maximumReportsOfNetwork,
  maximumRowCount,
  maximumSources
} from "./limits.ts"
import type { DmarcReport, DomainReport, TlsReport } from "./model.ts"
import { parseReportMail } from "./parseReportMail.ts"
import { dayOf, timeliness } from "./reportText.ts"
import { boundedCounts, countsBySource } from "./sourceCounts.ts"
import { reportsKey, reportsTable, sessionsKey, sessionsTable, sourcesKey, sourcesTable } from "./tables.ts"

/**
 * The result of a mail: `taken`; `repeated`, counted before; `unreadable`, no report, or beyond a bound; `stray`, about
 * a domain that no organization has verified; `late` or `early`, about a time that is not counted; `full`, refused for
 * now because the domain has had too many.
 */
export const reportOutcomes = ["taken", "repeated", "unreadable", "stray", "late", "early", "full"] as const
export type ReportOutcome = (typeof reportOutcomes)[number]

/** PostgreSQL is away. Retryable: nothing was counted, or it is counted once in the end. */
export class ReportsUnavailable extends Data.TaggedError("ReportsUnavailable")<{ readonly cause: unknown }> {}

export class ReportIntake extends Context.Service<
  ReportIntake,
  {
    /** Takes in a mail, as it came over the wire from an address. */
    readonly take: (raw: Uint8Array, address: string) => Effect.Effect<ReportOutcome, ReportsUnavailable>
  }
>()("sluice/send/ReportIntake") {
  static readonly layer: Layer.Layer<ReportIntake, never, SqlClient.SqlClient> = Layer.effect(
    ReportIntake,
    Effect.suspend(() => make)
  )
}

interface Owner {
  readonly id: string
  readonly organization: string
}

const sourceTypes = {
  domain_id: "text",
  organization_id: "text",
  day: "int8",
  source: "text",
  messages: "int8",
  passed: "int8",
  dkim: "int8",
  spf: "int8",
  quarantined: "int8",
  rejected: "int8"
} as const

const sessionTypes = {
  domain_id: "text",
  organization_id: "text",
  day: "int8",
  policy: "text",
  result: "text",
  sessions: "int8"
} as const

/** Adds the counts of a row that is there, up to a bound that keeps sums exact. */
const added = (columns: ReadonlyArray<string>): string =>
  columns.map((column) => `${column} = least(r.${column} + excluded.${column}, ${maximumRowCount})`).join(", ")

const sourceSums = added(["messages", "passed", "dkim", "spf", "quarantined", "rejected"])
const sessionSums = added(["sessions"])

const statements = (sql: SqlClient.SqlClient) => {
  const ownerColumns = ({ id, organization }: Owner, day: number) => ({
    domain_id: id,
    organization_id: organization,
    day
  })
  return {
    /**
     * The domains of a name, oldest verification first. Their rows are locked until the end: reports about a domain are
     * counted one after the other, and it is not deleted meanwhile.
     */
    owners: (name: string) => sql<Owner>`
      select id, organization_id as organization from send_domains
      where name = ${name} and mode = 'live' and status = 'verified'
      order by verified_at, id limit ${maximumOwners} for no key update`,

    /** Reports that a domain has had since a time, in all and from a network. */
    had: (domainId: string, network: string, since: number) =>
      Effect.map(
        sql<{ readonly all: number; readonly own: number }>`
          select count(*)::int4 as all, count(*) filter (where network = ${network})::int4 as own
          from ${sql(reportsTable)} where domain_id = ${domainId} and received_at >= ${since}`,
        ([row]) => row!
      ),

    isRepeated: ({ id }: Owner, { kind, reportId, reporter }: DomainReport) =>
      Effect.map(
        sql`
          select 1 from ${sql(reportsTable)}
          where domain_id = ${id} and kind = ${kind} and reporter = ${reporter} and report_id = ${reportId}`,
        (rows) => rows.length > 0
      ),

    remember: (owner: Owner, { beginsAt, kind, reportId, reporter }: DomainReport, network: string, now: number) => sql`
      insert into ${sql(reportsTable)} ${sql.insert({
        ...ownerColumns(owner, dayOf(beginsAt)),
        kind,
        reporter,
        report_id: reportId,
        network,
        received_at: now
      })} on conflict (${sql.literal(reportsKey)}) do nothing`,

    sources: (owner: Owner, { beginsAt, records }: DmarcReport) =>
      Effect.gen(function* () {
        const day = dayOf(beginsAt)
        const rows = yield* sql<{ readonly source: string }>`
          select source from ${sql(sourcesTable)}
          where domain_id = ${owner.id} and day = ${day} limit ${maximumSources + 1}`
        const counts = boundedCounts(countsBySource(records), new Set(rows.map(({ source }) => source)))
        if (counts.length === 0) return
        const values = counts.map((one) => ({ ...ownerColumns(owner, day), ...one }))
        yield* sql`
          insert into ${sql(sourcesTable)} as r (${sql.literal(Object.keys(sourceTypes).join(", "))})
          select * from ${unnest(values, sourceTypes)}
          on conflict (${sql.literal(sourcesKey)}) do update set ${sql.literal(sourceSums)}`
      }),

    sessions: (owner: Owner, { beginsAt, policies }: TlsReport) => {
      const values = policies.flatMap(({ failures, policy, successful }) =>
        [
          { result: "successful", sessions: successful },
          ...failures.map(({ type, sessions }) => ({ result: type, sessions }))
        ]
          .filter(({ sessions }) => sessions > 0)
          .map((one) => ({ ...ownerColumns(owner, dayOf(beginsAt)), policy, ...one }))
      )
      if (values.length === 0) return Effect.void
      return sql`
        insert into ${sql(sessionsTable)} as r (${sql.literal(Object.keys(sessionTypes).join(", "))})
        select * from ${unnest(values, sessionTypes)}
        on conflict (${sql.literal(sessionsKey)}) do update set ${sql.literal(sessionSums)}`
    }
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = statements(sql)
  const context = yield* Effect.context<never>()

  const came = (outcome: ReportOutcome, mails: number): void =>
    Metric.counter("sluice_send_domain_reports_total", {
      description: "Mails to the addresses for reports about domains, by what became of them",
      incremental: true,
      attributes: { outcome }
    }).updateUnsafe(mails, context)
  for (const outcome of reportOutcomes) came(outcome, 0)

  /** Counts a report for one of the organizations. */
  const count = Effect.fnUntraced(function* (owner: Owner, report: DomainReport, network: string, now: number) {
    if (yield* rows.isRepeated(owner, report)) return "repeated" as const
    const { all, own } = yield* rows.had(owner.id, network, dayOf(now))
    if (all >= maximumReportsOfDomain || own >= maximumReportsOfNetwork) return "full" as const
    yield* rows.remember(owner, report, network, now)
    yield* report.kind === "dmarc" ? rows.sources(owner, report) : rows.sessions(owner, report)
    return "taken" as const
  })

  const countForAll = Effect.fnUntraced(function* (report: DomainReport, network: string) {
    const now = yield* Clock.currentTimeMillis
    const timely = timeliness(report, now)
    if (timely !== "timely") return timely
    const owners = yield* rows.owners(report.domain)
    const outcomes: ReadonlyArray<ReportOutcome> = yield* Effect.forEach(owners, (owner) =>
      count(owner, report, network, now)
    )
    // Where one has no room for it the report comes again, and counts for the others no second time.
    return (["full", "taken", "repeated"] as const).find((one) => outcomes.includes(one)) ?? "stray"
  })

  return ReportIntake.of({
    take: Effect.fn("ReportIntake.take")((raw, address) =>
      parseReportMail(raw).pipe(
        Effect.flatMap((report) => sql.withTransaction(countForAll(report, networkOf(address)))),
        Effect.catchTags({
          ReportUnreadable: ({ reason }) =>
            Effect.as(
              Effect.logDebug(`a mail to the addresses for reports was not read: ${reason}`),
              "unreadable" as const
            ),
          SqlError: (cause) => Effect.fail(new ReportsUnavailable({ cause }))
        }),
        Effect.tap((outcome) => Effect.sync(() => came(outcome, 1)))
      )
    )
  })
})

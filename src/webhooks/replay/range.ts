/** Selects the events of a replay, by fragments of SQL on the tables of the event log and of the deliveries. */
import { Result } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type EventPattern, eventsTable, parsePatterns } from "../../events/index.ts"
import { deliveriesTable } from "../delivery/model.ts"

/** The events that a replay covers. */
export interface ReplayRange {
  readonly organizationId: string
  readonly endpointId: string
  /** Milliseconds since the Unix epoch; `until` is exclusive. */
  readonly since: number
  readonly until: number
  readonly patterns: ReadonlyArray<string>
  /** Further patterns, of which one must match too; null for none. */
  readonly types: ReadonlyArray<string> | null
  /** Of the endpoint: events of the other mode are not for it. */
  readonly livemode: boolean
}

/**
 * Whether an event of the row `e` matches one of the patterns. A stored pattern that this version would refuse matches
 * nothing.
 */
const matching = (sql: SqlClient.SqlClient, texts: ReadonlyArray<string>): Statement.Fragment => {
  const patterns = Result.getOrElse(parsePatterns(texts), (): ReadonlyArray<EventPattern> => [])
  if (patterns.some(({ _tag }) => _tag === "All")) return sql`true`
  const exact = patterns.flatMap((pattern) => (pattern._tag === "Exact" ? [pattern.type] : []))
  const prefixes = patterns.flatMap((pattern) => (pattern._tag === "Prefix" ? [pattern.prefix] : []))
  const services = patterns.flatMap((pattern) => (pattern._tag === "Prefix" ? (pattern.service ?? []) : []))
  return sql`(e.type = any(${exact}::text[]) or e.service = any(${services}::text[])
    or exists (select 1 from unnest(${prefixes}::text[]) as prefix where starts_with(e.type, prefix)))`
}

/** The matching events `e` of a replay, without test events, which are only for the tested endpoint. */
export const eventsOf = (sql: SqlClient.SqlClient, range: ReplayRange): Statement.Fragment => sql`
  from ${sql(eventsTable)} e
  where e.organization_id = ${range.organizationId} and e.created_at >= ${range.since} and e.created_at < ${range.until}
    and e.type <> 'platform.test' and (e.livemode = ${range.livemode} or e.for_both_modes)
    and ${matching(sql, range.patterns)} and ${range.types === null ? sql`true` : matching(sql, range.types)}`

/**
 * The events that a replay sends: those without a pending delivery to this endpoint. Reads all of the endpoint's
 * pending deliveries.
 */
export const sentEventsOf = (sql: SqlClient.SqlClient, range: ReplayRange): Statement.Fragment => sql`
  ${eventsOf(sql, range)}
    and not exists (
      select 1 from ${sql(deliveriesTable)} d
      where d.endpoint_id = ${range.endpointId} and d.event_created_at = e.created_at and d.event_id = e.event_id
        and d.status = 'pending'
    )`

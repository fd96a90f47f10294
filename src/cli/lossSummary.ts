/** Counts the loss of a recovery in an operator's terms: organizations, emails and minutes. Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { partitionOf } from "../engine/address.ts"
import type { LossReport } from "../engine/operator/Findings.ts"
import { eventsTable } from "../events/table.ts"
import { emailsTable } from "../send/emails/table.ts"

/** PostgreSQL's rows of one organization from the lost time. */
interface Seen {
  readonly organizationId: string
  readonly events: number
  readonly emails: number
}

/** Counts of the organizations of one partition. */
export const counted = (seen: ReadonlyArray<Seen>, partition: number, partitions: number) => {
  const own = seen.filter(({ organizationId }) => partitionOf(organizationId, partitions) === partition)
  const sum = (of: (one: Seen) => number) => own.reduce((total, one) => total + of(one), 0)
  return { organizations: own.length, events: sum(({ events }) => events), emails: sum(({ emails }) => emails) }
}

const many = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`

/** Looks what PostgreSQL has of the time that a partition's decisions are missing of, and says it. */
export const lossSummary = Effect.fnUntraced(function* (
  partition: number,
  partitions: number,
  lost: NonNullable<LossReport["lost"]>
) {
  const sql = yield* SqlClient.SqlClient
  const { sinceMillis, untilMillis } = lost
  const until = untilMillis ?? Number.MAX_SAFE_INTEGER
  const seen = yield* sql<Seen & { readonly last: number }>`
    select organization_id as "organizationId", count(*) filter (where not email)::int4 as events,
      count(*) filter (where email)::int4 as emails, max(at)::float8 as last
    from (
      select organization_id, created_at as at, false as email from ${sql(eventsTable)}
      where created_at > ${sinceMillis} and created_at <= ${until}
      union all
      select organization_id, accepted_at, true from ${sql(emailsTable)}
      where accepted_at > ${sinceMillis} and accepted_at <= ${until}
    ) as found group by organization_id`
  const { emails, events, organizations } = counted(seen, partition, partitions)
  const end = untilMillis ?? Math.max(sinceMillis, ...seen.map(({ last }) => last))
  const minutes = Math.ceil((end - sinceMillis) / 60_000)
  return `Of ${many(minutes, "minute")} from ${new Date(sinceMillis).toISOString()} on: PostgreSQL shows ${many(events, "event")} and ${many(emails, "email")} of ${many(organizations, "organization")}, whose states may lack them.`
})

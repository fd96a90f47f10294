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
  /** When the last of them was, Unix milliseconds. */
  readonly last: number
}

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, one) => total + one, 0)

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
  const seen = yield* sql<Seen>`
    select organization_id as "organizationId", count(*) filter (where not email)::int4 as events,
      count(*) filter (where email)::int4 as emails, max(at)::float8 as last
    from (
      select organization_id, created_at as at, false as email from ${sql(eventsTable)}
      where created_at > ${sinceMillis} and created_at <= ${until}
      union all
      select organization_id, accepted_at, true from ${sql(emailsTable)}
      where accepted_at > ${sinceMillis} and accepted_at <= ${until}
    ) as found group by organization_id`
  // Other partitions have lost nothing.
  const own = seen.filter(({ organizationId }) => partitionOf(organizationId, partitions) === partition)
  const events = many(sumOf(own.map((one) => one.events)), "event")
  const emails = many(sumOf(own.map((one) => one.emails)), "email")
  const end = untilMillis ?? own.reduce((latest, { last }) => Math.max(latest, last), sinceMillis)
  const minutes = many(Math.ceil((end - sinceMillis) / 60_000), "minute")
  return `Of ${minutes} from ${new Date(sinceMillis).toISOString()} on: PostgreSQL shows ${events} and ${emails} of ${many(own.length, "organization")}, whose states may lack them.`
})

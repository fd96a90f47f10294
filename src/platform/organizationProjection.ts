/**
 * Writes an organization's plans and limits, which are facts of the log, to its row, as part of the SQL reactor's
 * batch; nodes are notified in the same transaction. Needs `SqlClient` and `Notifications`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { FactRecord, LogRecord } from "../engine/records.ts"
import { Notifications } from "../postgres/Notifications.ts"
import { keysChannel } from "./ApiKeys.ts"
import { OrganizationActor, type OrganizationFact } from "./OrganizationActor.ts"

const isOurs = (record: LogRecord): record is FactRecord =>
  record._tag === "Fact" && record.kind === OrganizationActor.kind

const project = Effect.fnUntraced(function* (record: FactRecord) {
  const sql = yield* SqlClient.SqlClient
  const notifications = yield* Notifications
  // The actor's own schema has decoded it before.
  const fact = record.fact as OrganizationFact
  switch (fact._tag) {
    case "PlansSet":
    case "PlansSubscribed":
    case "SubscriptionFollowed":
      yield* sql`
        update organizations
        set plan = coalesce(${fact.plan ?? null}, plan), send_plan = coalesce(${fact.sendPlan ?? null}, send_plan)
        where id = ${record.organization}`
      break
    case "LimitsSet":
      yield* sql`
        update organizations set requests_per_minute = ${
          fact.limits.requestsPerMinute === null ? null : String(fact.limits.requestsPerMinute)
        }
        where id = ${record.organization}`
  }
  const digests = yield* sql<{ readonly digest: string }>`
    select digest from api_keys where organization_id = ${record.organization} and active`
  // Nodes remember a key together with its organization's plan.
  for (const { digest } of digests) yield* notifications.notify(keysChannel, digest)
})

/** The part of the SQL reactor that keeps organizations' rows. */
export const organizationProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) => Effect.forEach(records.filter(isOurs), project, { discard: true })
}

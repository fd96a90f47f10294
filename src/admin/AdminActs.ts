/** Records the acts of operators (docs/platform.md, 8.3: admin acts are recorded). Needs `SqlClient`. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomText } from "../common/identifiers.ts"
import { auditTable } from "../platform/audit/AuditLog.ts"

const organizationOf = (subject: string): string | undefined => (subject.startsWith("org_") ? subject : undefined)

export class AdminActs extends Context.Service<
  AdminActs,
  {
    /**
     * Records that `act` was done to `subject`. `detail` must hold no secret. The audit log of the organization keeps the
     * act too, without the detail: `organization`, or the subject that is one.
     */
    readonly record: (
      act: string,
      subject: string,
      detail: object,
      organization?: string
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("sluice/admin/AdminActs") {
  static readonly layer = Layer.effect(
    AdminActs,
    Effect.map(SqlClient.SqlClient, (sql) =>
      AdminActs.of({
        record: Effect.fn("AdminActs.record")((act, subject, detail, organization = organizationOf(subject)) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now) => sql`
              with recorded as (
                insert into admin_acts (at, act, subject, detail)
                values (${new Date(now)}, ${act}, ${subject}, ${JSON.stringify(detail)}::jsonb)
              )
              insert into ${sql(auditTable)} (organization_id, at, id, act, actor, object)
              select ${organization ?? null}::text, ${now}::int8, ${`aud_${randomText()}`}, ${act}, 'operator', ${subject}
              where ${organization ?? null}::text is not null`
          ).pipe(Effect.asVoid)
        )
      })
    )
  )
}

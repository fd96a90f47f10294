/** Records the acts of operators (docs/platform.md, 8.3: admin acts are recorded). Needs `SqlClient`. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export class AdminActs extends Context.Service<
  AdminActs,
  {
    /** Records that `act` was done to `subject`. `detail` must hold no secret. */
    readonly record: (act: string, subject: string, detail: object) => Effect.Effect<void, SqlError.SqlError>
  }
>()("sluice/admin/AdminActs") {
  static readonly layer = Layer.effect(
    AdminActs,
    Effect.map(SqlClient.SqlClient, (sql) =>
      AdminActs.of({
        record: Effect.fn("AdminActs.record")((act, subject, detail) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now) => sql`
              insert into admin_acts (at, act, subject, detail)
              values (${new Date(now)}, ${act}, ${subject}, ${JSON.stringify(detail)}::jsonb)`
          ).pipe(Effect.asVoid)
        )
      })
    )
  )
}

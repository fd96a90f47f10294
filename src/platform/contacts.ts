/** Finds the contact of an organization to whom the platform writes (docs/platform.md, 2.1). Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** The contact's address and the organization's name; null without a contact or such an organization. */
export const contactOf = (
  organization: string
): Effect.Effect<{ readonly email: string; readonly name: string } | null, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly email: string; readonly name: string }>`
      select email, name from organizations where id = ${organization} and email is not null`
    return row ?? null
  })

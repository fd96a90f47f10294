/**
 * Creates the organization `demo` of a first start (docs/platform.md, 2.7): plan `team`, send plan `enterprise`, one
 * key for all services and scopes. Only an empty database gets one. Needs `Organizations`, `ApiKeys` and `SqlClient`.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "./ApiKeys.ts"
import { services } from "./model.ts"
import { Organizations } from "./Organizations.ts"

/**
 * Creates the demo organization if there is no organization, and says whether it did. `show` gets the key's text, which
 * is never shown again, before the organization is stored. A process that is killed in between has shown a key that
 * does not exist, and the next start makes another one.
 */
export const ensureDemo = Effect.fnUntraced(function* <E, R>(
  value: Redacted.Redacted<string> | undefined,
  show: (key: Redacted.Redacted<string>) => Effect.Effect<void, E, R>,
  /** Further parts of the organization, in the transaction that creates it. */
  also: (organizationId: string) => Effect.Effect<void, E, R> = () => Effect.void
) {
  const sql = yield* SqlClient.SqlClient
  const organizations = yield* Organizations
  const apiKeys = yield* ApiKeys
  const ensure = Effect.gen(function* () {
    // Two nodes that start on one empty database must not make two.
    yield* sql`lock table organizations in share row exclusive mode`
    if (!(yield* organizations.isEmpty)) return false
    const { organization } = yield* organizations.create({
      name: "demo",
      email: null,
      plan: "team",
      sendPlan: "enterprise",
      risk: "standard"
    })
    yield* also(organization.id)
    const text = value === undefined ? undefined : Redacted.value(value)
    const { key } = yield* apiKeys.create(organization.id, {
      name: "demo",
      mode: text?.startsWith("sk_test_") === true ? "test" : "live",
      services,
      scopes: ["*"],
      expiresAtMillis: null,
      value: text
    })
    if (key !== null) yield* show(Redacted.make(key))
    return true
  })
  return yield* sql.withTransaction(ensure)
})

/** The id of the organization that a first start created; undefined if there is none. */
export const findDemo = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly id: string }>`
    select id from organizations where name = 'demo' and deleted_at is null order by created_at limit 1`
  return row?.id
})

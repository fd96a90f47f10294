/**
 * The organization `demo` of a first start (decisions, "Tenancy, keys, scopes"): plan `team`, send plan `enterprise`, one
 * key for all services and scopes. Only an empty database gets one. Needs `Organizations`, `ApiKeys` and `SqlClient`.
 */
import { Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "./ApiKeys.ts"
import { services } from "./model.ts"
import { Organizations } from "./Organizations.ts"

/** Makes the demo organization where there is none at all; answers its key's text, which is not to be had again. */
export const ensureDemo = Effect.fnUntraced(function* (value: Redacted.Redacted<string> | undefined) {
  const sql = yield* SqlClient.SqlClient
  const organizations = yield* Organizations
  const apiKeys = yield* ApiKeys
  const ensure = Effect.gen(function* () {
    // Two nodes that start on one empty database must not make two.
    yield* sql`lock table organizations in share row exclusive mode`
    if (!(yield* organizations.isEmpty)) return Option.none()
    const { organization } = yield* organizations.create({
      name: "demo",
      email: null,
      plan: "team",
      sendPlan: "enterprise",
      risk: "standard"
    })
    const text = value === undefined ? undefined : Redacted.value(value)
    const { key } = yield* apiKeys.create(organization.id, {
      name: "demo",
      mode: text?.startsWith("sk_test_") === true ? "test" : "live",
      services,
      scopes: ["*"],
      expiresAtMillis: null,
      value: text
    })
    return Option.map(Option.fromNullishOr(key), Redacted.make)
  })
  return yield* sql.withTransaction(ensure)
})

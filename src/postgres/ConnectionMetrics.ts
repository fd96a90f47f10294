/**
 * Shows how many connections PostgreSQL has, and how many it allows, each minute: a server without a free one refuses
 * the next program. A minute in which it does not answer keeps the last figures. Needs `SqlClient`.
 */
import { Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"

/** How often it is asked. One short statement a minute is nothing for an idle platform. */
const askMillis = 60_000
/** How long it may take. */
const answerMillis = 5_000

const used = Metric.gauge("sluice_postgres_connections", {
  description: "Connections that PostgreSQL has, of all programs"
})

const allowed = Metric.gauge("sluice_postgres_connections_allowed", {
  description: "Connections that PostgreSQL allows to ordinary roles"
})

interface Counted {
  readonly used: number
  readonly allowed: number
}

const ask = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql<Counted>`
    select (select count(*)::int from pg_stat_activity where datid is not null and usesysid is not null) as used,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as allowed`
  if (counted === undefined) return
  yield* Metric.update(used, counted.used)
  yield* Metric.update(allowed, counted.allowed)
}).pipe(Effect.timeout(answerMillis), Effect.ignore)

/** Shows the figures until the scope ends. */
export const layerConnectionMetrics = Layer.effectDiscard(
  Effect.forkScoped(Effect.forever(Effect.andThen(ask, Effect.sleep(askMillis))))
)

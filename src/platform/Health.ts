/**
 * Whether the systems the platform stands on can be reached (docs/platform.md, 8.1). They are asked at most once a
 * second: probes and the health record are open to anybody and must not become a load. Parts of the platform add checks
 * of their own, which show in `/readyz`. Needs `SqlClient`.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"

/** How old an answer about a system may be. */
const freshMillis = 1_000
/** How long the database may take to answer before it counts as away. */
const databaseTimeoutMillis = 1_000

/** One line of `/readyz`. */
export interface HealthCheck {
  readonly ok: boolean
  readonly detail?: string
}

export interface NamedCheck {
  readonly name: string
  /** Whether the platform cannot serve without it. */
  readonly required: boolean
  readonly check: Effect.Effect<HealthCheck>
}

/** Tells load balancers that the process is stopping. */
export const stopping: NamedCheck = {
  name: "stopping",
  required: true,
  check: Effect.succeed({ ok: false, detail: "The server is stopping" })
}

export class Health extends Context.Service<
  Health,
  {
    /** Whether PostgreSQL answers. */
    readonly database: Effect.Effect<boolean>
    /** Adds a check for as long as the scope lives. */
    readonly register: (check: NamedCheck) => Effect.Effect<void, never, Scope.Scope>
    /** All checks, run now. */
    readonly readiness: Effect.Effect<{ readonly ready: boolean; readonly checks: Record<string, HealthCheck> }>
  }
>()("sluice/platform/Health") {
  static readonly layer = Layer.effect(
    Health,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const database = yield* sql`select 1`.pipe(
        Effect.timeout(databaseTimeoutMillis),
        Effect.match({ onFailure: () => false, onSuccess: () => true }),
        Effect.cachedWithTTL(freshMillis)
      )
      const registered = new Map<string, NamedCheck>()
      registered.set("database", {
        name: "database",
        required: true,
        check: Effect.map(database, (ok) => (ok ? { ok } : { ok, detail: "PostgreSQL does not answer" }))
      })
      return Health.of({
        database,
        register: Effect.fn("Health.register")((check) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => registered.set(check.name, check)),
              () => Effect.sync(() => registered.delete(check.name))
            )
          )
        ),
        readiness: Effect.gen(function* () {
          const checks: Record<string, HealthCheck> = {}
          let ready = true
          for (const { name, required, check } of registered.values()) {
            const result = yield* check
            checks[name] = result
            if (required && !result.ok) ready = false
          }
          return { ready, checks }
        })
      })
    })
  )
}

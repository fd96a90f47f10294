/**
 * Reports the parts of the platform that can be used now (docs/platform.md, 8.1). A probe waits for no other system:
 * checks report earlier findings, since probes need no authentication, must not become a load, and must not fail
 * because the process is busy. Parts of the platform add checks of their own, which show in `/readyz`. Needs
 * `DatabaseWatch`.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { DatabaseWatch } from "../postgres/DatabaseWatch.ts"

/** One line of `/readyz`. */
export interface HealthCheck {
  readonly ok: boolean
  readonly detail?: string
}

/** The finding of a check. */
export interface Finding extends HealthCheck {
  /** Whether the part can be used although it is not in order; default: whether it is. */
  readonly usable?: boolean
}

export interface NamedCheck {
  readonly name: string
  /**
   * Its part in readiness. Without a `gate` nothing can be served; each `service` serves something by itself, so
   * readiness ends with the last of them; a `note` is only shown.
   */
  readonly part: "gate" | "service" | "note"
  readonly check: Effect.Effect<Finding>
}

/** Reports to load balancers that the process is stopping. */
export const stopping: NamedCheck = {
  name: "stopping",
  part: "gate",
  check: Effect.succeed({ ok: false, detail: "The server is stopping" })
}

/** Whether something can be served: every gate is open, and at least one service is there. */
export const isReady = (
  found: ReadonlyArray<{ readonly part: NamedCheck["part"]; readonly finding: Finding }>
): boolean => {
  const isUsable = ({ finding: { ok, usable = ok } }: (typeof found)[number]) => usable
  const services = found.filter(({ part }) => part === "service")
  return (
    found.every((one) => one.part !== "gate" || isUsable(one)) && (services.length === 0 || services.some(isUsable))
  )
}

/** Describes PostgreSQL. Known keys work for the grace, so something can be served until it has ended. */
export const databaseFinding = (
  awaySinceMillis: number | undefined,
  graceMillis: number,
  nowMillis: number
): Finding => {
  if (awaySinceMillis === undefined) return { ok: true }
  const leftMillis = awaySinceMillis + graceMillis - nowMillis
  const seconds = (millis: number) => `${Math.max(0, Math.round(millis / 1_000))} s`
  return leftMillis > 0
    ? {
        ok: false,
        usable: true,
        detail: `PostgreSQL does not answer, for ${seconds(nowMillis - awaySinceMillis)}; keys that were used before work for ${seconds(leftMillis)} more`
      }
    : {
        ok: false,
        detail: `PostgreSQL does not answer, for ${seconds(nowMillis - awaySinceMillis)}; no key can be checked`
      }
}

export class Health extends Context.Service<
  Health,
  {
    /** Whether PostgreSQL answers. */
    readonly database: Effect.Effect<boolean>
    /** Adds a check for as long as the scope lives. */
    readonly register: (check: NamedCheck) => Effect.Effect<void, never, Scope.Scope>
    /** All checks, and whether anything can be served. */
    readonly readiness: Effect.Effect<{ readonly ready: boolean; readonly checks: Record<string, HealthCheck> }>
  }
>()("sluice/platform/Health") {
  static readonly layer = Layer.effect(
    Health,
    Effect.gen(function* () {
      const watch = yield* DatabaseWatch
      const registered = new Map<string, NamedCheck>()
      registered.set("database", {
        name: "database",
        part: "gate",
        check: Effect.map(Clock.currentTimeMillis, (now) =>
          databaseFinding(watch.awaySinceMillis(), watch.graceMillis, now)
        )
      })
      return Health.of({
        database: Effect.sync(() => watch.awaySinceMillis() === undefined),
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
          const found: Array<{ readonly part: NamedCheck["part"]; readonly finding: Finding }> = []
          for (const { check, name, part } of [...registered.values()]) {
            const finding = yield* check
            const { detail, ok } = finding
            checks[name] = detail === undefined ? { ok } : { ok, detail }
            found.push({ part, finding })
          }
          return { ready: isReady(found), checks }
        })
      })
    })
  )
}

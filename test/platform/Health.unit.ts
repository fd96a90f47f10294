/** Readiness by part: it ends with the last thing that can be served, and asks nobody at the time of a probe. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { databaseFinding, Health, isReady, type NamedCheck, stopping } from "../../src/platform/Health.ts"
import { DatabaseWatch } from "../../src/postgres/DatabaseWatch.ts"

const found = (part: NamedCheck["part"], ok: boolean, usable?: boolean) => ({
  part,
  finding: { ok, ...(usable === undefined ? {} : { usable }) }
})

describe("[platform 8.1] readiness", () => {
  it("is there while one service is, and no gate is closed", () => {
    expect(isReady([found("gate", true), found("service", false), found("service", true)])).toBe(true)
    expect(isReady([found("gate", true), found("service", false), found("service", false)])).toBe(false)
    expect(isReady([found("gate", true), found("service", false, true), found("note", false)])).toBe(true)
    expect(isReady([found("gate", false), found("service", true)])).toBe(false)
    expect(isReady([found("gate", false, true), found("service", true)])).toBe(true)
    expect(isReady([found("gate", true)])).toBe(true)
  })

  it("lets PostgreSQL be away for the grace", () => {
    expect(databaseFinding(undefined, 60_000, 5)).toEqual({ ok: true })
    expect(databaseFinding(1_000, 60_000, 31_000)).toEqual({
      ok: false,
      usable: true,
      detail: "PostgreSQL does not answer, for 30 s; keys that were used before work for 30 s more"
    })
    expect(databaseFinding(1_000, 60_000, 61_000)).toEqual({
      ok: false,
      detail: "PostgreSQL does not answer, for 60 s; no key can be checked"
    })
  })

  const away = (awaySinceMillis: () => number | undefined) =>
    Health.layer.pipe(
      Layer.provide(
        Layer.succeed(DatabaseWatch, {
          awaySinceMillis,
          graceMillis: 60_000,
          look: Effect.die("a probe has asked PostgreSQL")
        })
      )
    )

  it.effect("asks no other system, says each part, and ends with a stop", () =>
    Effect.gen(function* () {
      const health = yield* Health
      yield* TestClock.setTime(59_999)
      yield* health.register({ name: "mail", part: "note", check: Effect.succeed({ ok: false, detail: "it waits" }) })
      yield* health.register({
        name: "partitions",
        part: "service",
        check: Effect.succeed({ ok: false, usable: true, detail: "1 is away" })
      })
      const { checks, ready } = yield* health.readiness
      expect(ready).toBe(true)
      expect(checks).toEqual({
        database: { ok: false, detail: expect.stringContaining("keys that were used before") },
        mail: { ok: false, detail: "it waits" },
        partitions: { ok: false, detail: "1 is away" }
      })
      yield* TestClock.setTime(60_000)
      expect((yield* health.readiness).ready).toBe(false)
    }).pipe(Effect.scoped, Effect.provide(away(() => 0)))
  )

  it.effect("is over from the moment of a stop", () =>
    Effect.gen(function* () {
      const health = yield* Health
      expect((yield* health.readiness).ready).toBe(true)
      yield* health.register(stopping)
      expect(yield* health.readiness).toMatchObject({ ready: false, checks: { stopping: { ok: false } } })
    }).pipe(Effect.scoped, Effect.provide(away(() => undefined)))
  )
})

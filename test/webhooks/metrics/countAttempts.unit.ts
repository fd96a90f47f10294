/** Figures of attempts by endpoint and hour (docs/platform.md, 7.11). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { bucketOf } from "../../../src/common/DurationHistogram.ts"
import type { DeliveryOutcome } from "../../../src/webhooks/delivery/ports.ts"
import { countAttempts, countedAttempt, latencyBounds } from "../../../src/webhooks/metrics/countAttempts.ts"

const hour = 3_600_000

const Made = Schema.Struct({
  endpointId: Schema.Literals(["we_a", "we_b", "we_B"]),
  at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * hour })),
  duration: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40_000 })),
  /** Null for an outcome without an attempt. */
  result: Schema.NullOr(Schema.Literals(["succeeded", "failed", "again", "returned"]))
})

const outcomeOf = ({ at, duration, endpointId, result }: typeof Made.Type): DeliveryOutcome => ({
  delivery: { id: "dlv_1", endpointId, attempt: 1, eventCreatedAt: 0 },
  made: result === null ? null : { at, status: 200, duration, response: null, error: null },
  result:
    result === "again"
      ? { _tag: "Again", dueAt: at }
      : result === null || result === "returned"
        ? { _tag: "Returned", dueAt: at }
        : { _tag: "Settled", status: result }
})

const figuresOf = (outcomes: ReadonlyArray<DeliveryOutcome>) =>
  countAttempts(outcomes.flatMap((outcome) => countedAttempt(outcome) ?? []))

describe("[platform 7.11] an attempt", () => {
  const made = { endpointId: "we_a", at: hour + 5, duration: 30 } as const

  it("counts in the hour in which it began, as succeeded or failed, and as retried where another one follows", () => {
    const [figures] = figuresOf([
      outcomeOf({ ...made, result: "succeeded" }),
      outcomeOf({ ...made, result: "again" }),
      outcomeOf({ ...made, result: "failed" })
    ])
    expect(figures).toMatchObject({
      endpointId: "we_a",
      hour,
      counts: { attempts: 3, succeeded: 1, failed: 2, retried: 1 }
    })
    expect(figures!.times[bucketOf(latencyBounds, 30)]).toBe(3)
  })

  it("that was not made counts nowhere", () => {
    expect(figuresOf([outcomeOf({ ...made, result: null })])).toEqual([])
  })

  it.prop(
    "is in the figures once, which are in the order in which everybody writes them",
    { all: Schema.Array(Made).check(Schema.isMaxLength(30)) },
    ({ all }) => {
      const figures = figuresOf(all.map(outcomeOf))
      const names = figures.map(({ endpointId, hour: at }) => `${endpointId} ${String(at).padStart(12, "0")}`)
      expect(names).toEqual(names.toSorted())
      expect(new Set(names).size).toBe(names.length)
      for (const { counts, endpointId, hour: from, times } of figures) {
        const own = all.filter(
          (one) => one.result !== null && one.endpointId === endpointId && one.at >= from && one.at < from + hour
        )
        const failed = own.filter(({ result }) => result !== "succeeded")
        expect(counts).toEqual({
          attempts: own.length,
          succeeded: own.length - failed.length,
          failed: failed.length,
          retried: own.filter(({ result }) => result === "again").length
        })
        for (const [bucket, count] of times.entries())
          expect(count).toBe(own.filter(({ duration }) => bucketOf(latencyBounds, duration) === bucket).length)
      }
      const total = figures.reduce((sum, { counts }) => sum + counts.attempts, 0)
      expect(total).toBe(all.filter(({ result }) => result !== null).length)
    }
  )
})

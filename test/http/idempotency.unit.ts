/** How callers' keys are named in the engine. */
import { describe, expect, it } from "vitest"
import { maximumOnceKeyLength } from "../../src/engine/limits.ts"
import { engineKeyOf } from "../../src/http/idempotency.ts"

describe("a caller's key in the engine", () => {
  it("is the key behind its kind, as earlier versions have stored it", () => {
    expect(engineKeyOf("l", "order 7")).toBe("lorder 7")
    expect(engineKeyOf("t", "x".repeat(255))).toBe(`t${"x".repeat(255)}`)
  })

  it("fits where the caller's is as long as it may be, and differs by its last character and its kind", () => {
    const long = "x".repeat(255)
    const keys = ["ly", "lz", "ty"].map(([kind, last]) => engineKeyOf(kind!, `${long}${last}`))
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(maximumOnceKeyLength)
    expect(new Set(keys).size).toBe(3)
  })
})

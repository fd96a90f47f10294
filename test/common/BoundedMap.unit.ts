/** The bounded map: whatever was set longest ago gives way, and nothing else. */
import { describe, expect, it } from "vitest"
import { BoundedMap } from "../../src/common/BoundedMap.ts"

describe("a bounded map", () => {
  it("forgets what was set longest ago", () => {
    const map = new BoundedMap<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    map.set("c", 3)
    expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([undefined, 2, 3, 2])
  })

  it("keeps what is set anew, and a read changes nothing", () => {
    const map = new BoundedMap<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    map.set("a", 4)
    map.get("b")
    map.set("c", 3)
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([4, undefined, 3])
  })

  it("has room again for what was deleted", () => {
    const map = new BoundedMap<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    expect(map.delete("b")).toBe(true)
    map.set("c", 3)
    expect([map.get("a"), map.size]).toEqual([1, 2])
    map.clear()
    expect(map.size).toBe(0)
  })
})

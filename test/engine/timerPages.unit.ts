/** When a page of timers is read from the checkpoints, and how long what is in memory waits for it. */
import { describe, expect, it } from "@effect/vitest"
import { TimerPages } from "../../src/engine/core/timers/TimerPages.ts"
import { Timers } from "../../src/engine/core/timers/Timers.ts"
import { maximumTimerPage, pageHoldMillis } from "../../src/engine/limits.ts"
import type { TimerRow } from "../../src/engine/ports/Checkpoints.ts"
import { loadedCell, makeMemory } from "./support/memory.ts"

const row = (wakeAt: number): TimerRow => ({ organization: "org_1", kind: "counter", key: `${wakeAt}`, wakeAt })

/** A timer of an actor in memory at 50, and pages of which the first was read up to 20. */
const known = () => {
  const pages = new TimerPages()
  const timers = new Timers(true)
  timers.addPage([row(20)], true, () => true)
  timers.set(loadedCell(makeMemory(), "org_2"), 50)
  return { pages, timers, timer: timers.first! }
}

describe("pages of timers", () => {
  it("are wanted from the time on that the last one ends with, one at a time", () => {
    const { pages, timers } = known()
    expect([pages.isWanted(timers, 19, 0), pages.isWanted(timers, 20, 0)]).toEqual([false, true])
    const request = pages.ask(timers, 7, 0)
    expect(request).toMatchObject({ through: 7, after: row(20), limit: maximumTimerPage })
    expect(pages.isWanted(timers, 100, 0)).toBe(false)
    expect(pages.ended(request, true, 5)).toBe(true)
    expect(pages.isWanted(timers, 100, 5)).toBe(true)
  })

  it("that could not be read are asked for again after a pause", () => {
    const { pages, timers } = known()
    expect(pages.ended(pages.ask(timers, 1, 0), false, 1_000)).toBe(true)
    expect(pages.isWanted(timers, 100, 999 + pageHoldMillis)).toBe(false)
    expect(pages.waitMillis(timers, 10, 1_000)).toBe(40)
    expect(pages.isWanted(timers, 100, 1_000 + pageHoldMillis)).toBe(true)
  })

  it("hold back what may come after them, for a second at most", () => {
    const { pages, timer, timers } = known()
    expect(pages.holds(timer, timers, 0)).toBe(false)
    pages.ask(timers, 1, 100)
    expect([pages.holds(timer, timers, 100), pages.holds(timer, timers, 99 + pageHoldMillis)]).toEqual([true, true])
    expect(pages.holds(timer, timers, 100 + pageHoldMillis)).toBe(false)
    // The partition looks again when the hold is over, not only when the page is there.
    expect(pages.waitMillis(timers, 60, 100)).toBe(pageHoldMillis)
    timers.set(loadedCell(makeMemory(), "org_0"), 15)
    expect(pages.holds(timers.first!, timers, 100)).toBe(false)
    expect(pages.waitMillis(timers, 12, 100)).toBe(3)
  })

  it("of an earlier life count no more", () => {
    const before = known()
    const old = before.pages.ask(before.timers, 1, 0)
    const { pages, timers } = known()
    const request = pages.ask(timers, 1, 0)
    expect(pages.ended(old, true, 0)).toBe(false)
    expect(pages.isUnderWay).toBe(true)
    expect(pages.ended(request, true, 0)).toBe(true)
  })
})

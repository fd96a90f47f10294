/** Due timers of actors that are not in the core's memory: each rings once, whatever its load, its frame or its life comes to. */
import { describe, expect, it } from "@effect/vitest"
import type { Demand } from "../../src/engine/core/protocol.ts"
import { PartitionUnavailable } from "../../src/engine/errors.ts"
import { Reminder } from "./support/actors.ts"
import type { CoreDriver } from "./support/core.ts"
import { cold, failAllReads, runUnread } from "./support/coreSteps.ts"

const full = new PartitionUnavailable({ partition: 0, reason: "its log is full", retryAfterMillis: 1_000 })
const set = (at: number) => ({ _tag: "Set" as const, at })
const rang = { _tag: "Rang" as const }

describe("due timers of actors that are not in memory", () => {
  const reminded = (at: number, ...organizations: ReadonlyArray<string>) => {
    return (core: CoreDriver) => {
      for (const organization of organizations) core.ask(Reminder, organization, set(at))
    }
  }
  const ringsOf = (core: CoreDriver, organization: string) => {
    const asked = core.ask(Reminder, organization, rang)
    core.run()
    return asked.value
  }

  it("given loads that fail, then it waits a second, and they ring when the store is back, each once", () => {
    const core = cold(reminded(1_010_000, "org_1", "org_2"))
    core.run()
    core.pass(10_000)
    runUnread(core)
    expect(failAllReads(core)).toBe(1)
    const demand = runUnread(core)
    expect(demand).toMatchObject({ _tag: "Wait" })
    expect((demand as { millis: number }).millis).toBeLessThanOrEqual(1_000)
    // Not before.
    core.pass(500)
    runUnread(core)
    expect(core.takeRead()).toBeUndefined()
    core.pass(500)
    core.run()
    core.pass(1_000)
    expect([ringsOf(core, "org_1"), ringsOf(core, "org_2")]).toEqual([[1_011_000], [1_011_000]])
  })

  it("given the store is away, when a timer of an actor in memory is due too, then that one rings in time", () => {
    const core = cold(reminded(1_010_000, "cold_1", "cold_2"))
    core.run()
    core.ask(Reminder, "warm", set(1_010_100))
    core.run()
    core.pass(10_000)
    runUnread(core)
    failAllReads(core)
    core.ask(Reminder, "cold_3", rang)
    core.pass(100)
    runUnread(core)
    const asked = core.ask(Reminder, "warm", rang)
    runUnread(core)
    expect(asked.value).toEqual([1_010_100])
  })

  it("given a life that ends while one waits for its actor, then it rings in the next life", () => {
    const core = cold(reminded(1_010_000, "org_1"))
    core.run()
    core.pass(10_000)
    runUnread(core)
    core.core.failAll(full)
    core.begin()
    core.pass(1_000)
    core.run()
    core.pass(1_000)
    expect(ringsOf(core, "org_1")).toEqual([1_011_000])
  })

  it("given commands that fail because the partition is away, then a wake that waits for its actor goes on in this life", () => {
    const core = cold(reminded(1_010_000, "org_1"))
    core.run()
    core.pass(10_000)
    runUnread(core)
    core.core.intake.failWaiting(full)
    core.pass(2_000)
    core.run()
    core.pass(1_000)
    core.run()
    expect(ringsOf(core, "org_1")).toHaveLength(1)
  })

  it("given its actor is asked for by a command at that moment, then it rings once", () => {
    const core = cold(reminded(1_010_000, "org_1"))
    core.run()
    core.pass(10_000)
    const asked = core.ask(Reminder, "org_1", rang)
    core.run()
    core.pass(1_000)
    core.run()
    expect(asked.answers).toBe(1)
    expect(ringsOf(core, "org_1")).toEqual([1_010_000])
  })

  it("given a frame that takes its wake is refused after the actor has left, then it rings later", () => {
    const core = cold(reminded(1_010_000, "org_1"))
    core.run()
    core.pass(10_000)
    core.readAll()
    runUnreadUntilAppend(core, (frame) => core.fencedOff(frame, full))
    core.pass(60_000)
    core.core.sweep(0, core.now)
    core.confirm()
    core.run()
    core.pass(1_000)
    core.run()
    expect(ringsOf(core, "org_1")).toHaveLength(1)
  })

  it("given it was set anew while the page with its old time was read, then it rings at the new time only", () => {
    const core = cold(reminded(1_010_000, "org_1"))
    const page = core.takeRead()!
    expect(page._tag).toBe("Timers")
    core.ask(Reminder, "org_1", set(1_050_000))
    runUnread(core)
    core.answerRead(core.takeRead()!)
    runUnread(core)
    core.answerRead(page)
    core.pass(20_000)
    core.run()
    expect(ringsOf(core, "org_1")).toEqual([])
    core.pass(30_000)
    core.run()
    expect(ringsOf(core, "org_1")).toEqual([1_050_000])
  })

  it("given a due timer in memory and a page with earlier ones under way, then the page is waited for, a second at most", () => {
    const core = cold(reminded(1_020_000, "early"))
    core.ask(Reminder, "warm", set(1_020_100))
    runUnread(core)
    for (let read = core.takeRead(); read !== undefined && read._tag === "Actors"; read = core.takeRead()) {
      core.answerRead(read)
      runUnread(core)
    }
    core.pass(20_100)
    runUnread(core)
    core.pass(1_000)
    runUnread(core)
    const asked = core.ask(Reminder, "warm", rang)
    runUnread(core)
    expect(asked.value).toHaveLength(1)
  })
})

const runUnreadUntilAppend = (
  core: CoreDriver,
  onFrame: (frame: Extract<Demand, { _tag: "Append" }>["frame"]) => void
) => {
  for (let steps = 0; steps < 100; steps++) {
    const demand = core.next()
    if (demand._tag === "Append") {
      onFrame(demand.frame)
      return
    }
    if (demand._tag === "Confirm") core.confirm()
    if (demand._tag === "Wait" && !core.readAll()) throw new Error("nothing was drafted")
  }
}

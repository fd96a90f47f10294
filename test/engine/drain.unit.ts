/** A drain that breaks: who was being decided is answered all the same, and does not break the next one. */
import { describe, expect, it } from "@effect/vitest"
import type { Cell } from "../../src/engine/core/actors/Organization.ts"
import { Drain } from "../../src/engine/core/drain/Drain.ts"
import { Mailbox } from "../../src/engine/core/drain/Mailbox.ts"
import { SignalQueues } from "../../src/engine/core/drain/SignalQueues.ts"
import { Timers } from "../../src/engine/core/timers/Timers.ts"
import { emptyHead } from "../../src/engine/frame.ts"
import { entryOf, makeBounds, makeMemory } from "./support/memory.ts"

describe("a drain in which a belief of the core is false", () => {
  const makeDrain = () => {
    const bounds = makeBounds({})
    const memory = makeMemory(bounds)
    const mailbox = new Mailbox(100, bounds)
    const host = {
      partition: 0,
      memory,
      mailbox,
      signals: new SignalQueues(),
      load: (cell: Cell) => {
        cell.state = cell.actor.options.initial(cell.key)
        cell.loaded = true
        return true
      },
      prefetch: () => {},
      waitFor: () => {},
      poisoned: () => {},
      signalFailed: () => {},
      braked: () => {},
      crowded: () => {},
      wantsRecords: false,
      level: () => Number.POSITIVE_INFINITY,
      mayLoad: () => true,
      defer: () => {},
      waitsForPage: () => false
    }
    const drain = new Drain(host, new Timers(false))
    const run = () => drain.run(emptyHead, 1_000, { monotonic: 0, spent: () => 0 }, Number.POSITIVE_INFINITY, false)
    return { drain, memory, mailbox, run }
  }

  it("keeps every command, and refuses the one that it broke at", () => {
    const { drain, mailbox, memory, run } = makeDrain()
    const entries = ["a", "b", "c"].map((name) => entryOf(memory, name, { _tag: "Add", amount: 1 }))
    for (const entry of entries) mailbox.offer(entry)
    const { draft } = drain.decider
    const { add } = draft
    let added = 0
    draft.add = (cell, encoded) => {
      if (++added === 2) throw new Error("a belief is false")
      add.call(draft, cell, encoded)
    }
    expect(run).toThrow("a belief is false")
    expect(mailbox.size).toBe(3)
    run()
    const answers = new Map<unknown, boolean>()
    drain.commit(1).give((caller, accepted) => void answers.set(caller, accepted))
    drain.immediate.give((caller, accepted) => void answers.set(caller, accepted))
    expect(entries.map(({ caller }) => answers.get(caller))).toEqual([true, false, true])
    expect(["a", "b", "c"].map((name) => memory.organizations.get(name)?.cell(0, "")?.state)).toEqual([
      { total: 1, notes: [] },
      { total: 0, notes: [] },
      { total: 1, notes: [] }
    ])
  })
})

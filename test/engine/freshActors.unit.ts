/** Rule 20: actors that a command claims to be fresh are not loaded, begin anew where they get facts, and leave nothing where they get none. */
import { describe, expect, it } from "@effect/vitest"
import { decodeFrame } from "../../src/engine/frame.ts"
import type { CoreDriver } from "./support/core.ts"
import { servingCore } from "./support/core.ts"
import { failAllReads, runUnread } from "./support/coreSteps.ts"
import { Letter, Post, unwritable } from "./support/letters.ts"

const options = { actors: [Letter, Post], lanes: [] }
const write = (text: string, remindAt?: number) => ({
  _tag: "Write" as const,
  text,
  ...(remindAt === undefined ? {} : { remindAt })
})
const read = { _tag: "Read" as const }
const send = (letters: ReadonlyArray<string>, text: string, fresh = true) => ({ letters, text, fresh })
const look = (letters: ReadonlyArray<string>) => ({ letters, text: "", fresh: true, looks: true })

/** A core with nothing in memory; a checkpoint has letter `old` with the text `before`, whose reminder is due in a minute. */
const withOld = (more: (core: CoreDriver) => void = () => {}): CoreDriver => {
  const core = servingCore(options)
  core.ask(Letter, "org_1", write("before", core.now.wall + 60_000), "old")
  more(core)
  core.run()
  core.save()
  core.begin()
  // The organization's post is in memory.
  core.ask(Post, "org_1", look([]))
  core.run()
  return core
}

const textsOf = (core: CoreDriver, key: string) => {
  const asked = core.ask(Letter, "org_1", read, key)
  core.run()
  return asked.value
}

const freshIn = (bytes: Uint8Array) =>
  [...new Set(decodeFrame(bytes).records.map(({ actor }) => actor))]
    .filter(({ isFresh }) => isFresh)
    .map(({ key }) => key)

describe("an actor that a command claims to be fresh", () => {
  it("given it has no facts, then nothing is loaded, its frame says so, and it is there afterwards", () => {
    const core = withOld()
    const asked = core.ask(Post, "org_1", send(["new"], "hello"))
    const frame = core.draft()
    expect(core.takeRead()).toBeUndefined()
    expect(freshIn(frame.bytes)).toEqual(["new"])
    core.stored(frame)
    expect(asked.value).toEqual([[]])
    expect(core.peek(Letter, "org_1", "new").value).toMatchObject({ texts: ["hello"] })
    const later = core.ask(Letter, "org_1", write("again"), "new")
    const next = core.draft()
    expect(freshIn(next.bytes)).toEqual([])
    core.stored(next)
    expect(later.value).toEqual(["hello", "again"])
  })

  it("given the asked actor itself, then it is decided from its initial state at once", () => {
    const core = withOld()
    const asked = core.ask(Letter, "org_1", write("hello"), "new", true)
    const frame = core.draft()
    expect(core.takeRead()).toBeUndefined()
    expect(freshIn(frame.bytes)).toEqual(["new"])
    core.stored(frame)
    expect(asked.value).toEqual(["hello"])
  })

  it("given it has a row, then the row counts no more: not for commands, not after a replay, not after a checkpoint", () => {
    const core = withOld()
    core.ask(Post, "org_1", send(["old"], "after"))
    core.run()
    expect(textsOf(core, "old")).toEqual(["after"])
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
    core.save()
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
  })

  it("given its row has a timer, then that timer wakes nobody, here and after a replay", () => {
    for (const isReplayed of [false, true]) {
      const core = withOld((one) => one.ask(Letter, "org_1", write("other", one.now.wall + 50_000), "other"))
      // The page of timers is there, and the row's timer among them.
      core.readAll()
      core.ask(Post, "org_1", send(["old", "other"], "after"))
      core.run()
      if (isReplayed) core.begin()
      core.run()
      const frames = core.log.length
      core.pass(120_000)
      core.run()
      expect(core.log.length).toBe(frames)
      expect(core.core.probe.counts.timers).toBe(0)
    }
  })

  it("given a wake of its own, then that comes at its time", () => {
    const core = withOld()
    core.ask(Letter, "org_1", write("after", core.now.wall + 90_000), "old", true)
    core.run()
    core.pass(61_000)
    core.run()
    expect(core.peek(Letter, "org_1", "old").value).toMatchObject({
      texts: ["after"],
      remindAt: core.now.wall + 29_000
    })
    core.pass(30_000)
    core.run()
    expect(core.peek(Letter, "org_1", "old").value).toMatchObject({ remindAt: null })
  })

  it("given commands of one drain, then the second one sees the facts of the first, and may not claim it again", () => {
    const core = withOld()
    const first = core.ask(Post, "org_1", send(["new"], "one"))
    const second = core.ask(Post, "org_1", send(["new"], "two", false))
    const third = core.ask(Post, "org_1", send(["new"], "three"))
    core.run()
    expect([first.value, second.value]).toEqual([[[]], [["one"]]])
    expect(third.value).toMatchObject({ _tag: "CommandInvalid" })
    expect(textsOf(core, "new")).toEqual(["one", "two"])
  })

  it("given it is in memory with facts, then the command is refused and nothing of it happens; one that only looks sees them", () => {
    const core = withOld()
    expect(textsOf(core, "old")).toEqual(["before"])
    const looked = core.ask(Post, "org_1", look(["old"]))
    const refused = core.ask(Post, "org_1", send(["new", "old"], "after"))
    const own = core.ask(Letter, "org_1", write("own"), "old", true)
    core.run()
    expect(looked.value).toEqual([["before"]])
    expect([refused.value, own.value]).toMatchObject([{ _tag: "CommandInvalid" }, { _tag: "CommandInvalid" }])
    expect(core.poisoned).toEqual([])
    expect(textsOf(core, "old")).toEqual(["before"])
    expect(textsOf(core, "new")).toEqual([])
  })

  it("given it is being loaded, then the claim waits for what comes", () => {
    const core = withOld()
    const waiting = core.ask(Letter, "org_1", read, "old")
    runUnread(core)
    const claimed = core.ask(Post, "org_1", send(["old"], "after"))
    runUnread(core)
    expect(claimed.answers).toBe(0)
    core.run()
    expect(waiting.value).toEqual(["before"])
    expect(claimed.value).toMatchObject({ _tag: "CommandInvalid" })
  })
})

describe("an actor that is claimed to be fresh and gets no facts", () => {
  it("given a command that only looks, then nothing of it stays, and who asks next loads it", () => {
    const core = withOld()
    const actors = core.core.probe.counts.actors
    const asked = core.ask(Post, "org_1", look(["old", "new"]))
    core.run()
    expect(asked.value).toEqual([[], []])
    expect(core.core.probe.counts.actors).toBe(actors)
    expect(core.bounds.actors).toBe(actors)
    expect(textsOf(core, "old")).toEqual(["before"])
  })

  it("given another command of the same drain that does not claim it, then that one waits for its row", () => {
    const core = withOld()
    core.ask(Post, "org_1", look(["old"]))
    const asked = core.ask(Letter, "org_1", write("more"), "old")
    core.run()
    expect(asked.value).toEqual(["before", "more"])
  })

  it("given its fact cannot be folded, then its command fails alone and it is loaded for the next", () => {
    const core = withOld()
    const failed = core.ask(Post, "org_1", send(["old"], unwritable))
    const beside = core.ask(Post, "org_1", send(["new"], "hello"))
    core.run()
    expect(failed.value).toMatchObject({ _tag: "CommandFailed" })
    expect(beside.value).toEqual([[]])
    expect(textsOf(core, "old")).toEqual(["before"])
  })

  it("given it cannot be made, then its command fails and nothing of it stays", () => {
    const core = withOld()
    const actors = core.core.probe.counts.actors
    const failed = [core.ask(Post, "org_1", send(["broken"], "x")), core.ask(Letter, "org_1", read, "broken", true)]
    core.run()
    expect(failed.map(({ value }) => value)).toMatchObject([{ _tag: "CommandFailed" }, { _tag: "CommandFailed" }])
    expect(core.core.probe.counts.actors).toBe(actors)
  })

  it("given a decision that is taken again on copies, then it begins anew once", () => {
    const core = withOld()
    const first = core.ask(Letter, "org_1", write("one"), "old", true)
    // Changes the draft in place and cannot be undone alone.
    const broken = core.ask(Letter, "org_1", write(unwritable), "old")
    const last = core.ask(Letter, "org_1", write("two"), "old")
    core.run()
    expect([first.value, last.value]).toEqual([["one"], ["one", "two"]])
    expect(broken.value).toMatchObject({ _tag: "CommandFailed" })
    core.begin()
    expect(textsOf(core, "old")).toEqual(["one", "two"])
  })
})

describe("a fresh actor whose frame is not stored", () => {
  it("given the log has no room, then nothing of it stays, and who asks next loads it", () => {
    const core = withOld()
    const actors = core.core.probe.counts.actors
    const asked = core.ask(Post, "org_1", send(["old"], "after"))
    core.fencedOff(core.draft(), new Error("full"))
    expect(asked.accepted).toBe(false)
    expect(core.core.probe.counts.actors).toBe(actors)
    core.pass(2_000)
    expect(textsOf(core, "old")).toEqual(["before"])
  })

  it("given somebody looks at it meanwhile, then they wait for what a checkpoint has of it", () => {
    for (const isStored of [true, false]) {
      const core = withOld()
      core.ask(Post, "org_1", send(["old"], "after"))
      const looked = core.peek(Letter, "org_1", "old")
      const frame = core.draft()
      expect(looked.answers).toBe(0)
      const request = core.takeRead()!
      core.answerRead(request)
      if (isStored) core.stored(frame)
      else core.fencedOff(frame, new Error("full"))
      core.run()
      expect(looked.value).toMatchObject({ texts: [isStored ? "after" : "before"] })
      expect(textsOf(core, "old")).toEqual([isStored ? "after" : "before"])
    }
  })

  it("given its row cannot be read meanwhile, then it is not dropped before its frame is stored", () => {
    const core = withOld()
    core.ask(Post, "org_1", send(["old"], "after"))
    core.peek(Letter, "org_1", "old")
    const frame = core.draft()
    expect(failAllReads(core)).toBe(1)
    core.stored(frame)
    core.run()
    expect(textsOf(core, "old")).toEqual(["after"])
    expect(core.save()).toBeDefined()
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
  })
})

describe("a fresh actor and a row that cannot be read", () => {
  const spoil = (core: CoreDriver) => {
    const rows = core.store.of(0).rows
    for (const [name, [row]] of rows) if (row?.key === "old") rows.set(name, [{ ...row, state: '{"texts":7}' }])
  }

  it("given the row, then it is replaced unread, and its organization goes on", () => {
    const core = withOld()
    spoil(core)
    core.ask(Post, "org_1", send(["old"], "after"))
    core.run()
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
    expect(core.quarantined).toEqual([])
    core.save()
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
  })

  it("given it was read while the frame was under way, then what is written is the new state", () => {
    const core = withOld()
    spoil(core)
    core.ask(Post, "org_1", send(["old"], "after"))
    core.peek(Letter, "org_1", "old")
    const frame = core.draft()
    core.answerRead(core.takeRead()!)
    core.stored(frame)
    core.run()
    expect(core.quarantined).toEqual(["org_1"])
    core.save()
    core.begin()
    expect(textsOf(core, "old")).toEqual(["after"])
  })
})

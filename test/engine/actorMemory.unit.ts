/** A partition's memory against a naive model: the states that may leave, their order, and the bounds of the process. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { ActorMemory } from "../../src/engine/core/actors/ActorMemory.ts"
import { type Cell, LaneCell } from "../../src/engine/core/actors/Organization.ts"
import { Replay } from "../../src/engine/core/log/Replay.ts"
import { emptyHead, FrameBuilder } from "../../src/engine/frame.ts"
import { loadedCell, makeBounds, makeMemory } from "./support/memory.ts"

const maximumActors = 6

const Steps = Schema.Array(
  Schema.Struct({
    act: Schema.Literals(["use", "use", "use", "change", "save", "drain", "evict", "sweep"]),
    partition: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    of: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
  })
).check(Schema.isMaxLength(120))

/** The same in plain arrays. */
class Model {
  /** Clean actors, the one that was used or saved longest ago first. */
  idle: Array<string> = []
  dirty = new Map<string, number>()
  usedNow = new Set<string>()
  usedAt = new Map<string, number>()

  get size(): number {
    return this.idle.length + this.dirty.size
  }

  use(name: string, now: number): void {
    this.usedNow.add(name)
    this.usedAt.set(name, now)
    if (this.dirty.has(name)) return
    this.idle = [...this.idle.filter((one) => one !== name), name]
  }

  evict(count: number): ReadonlyArray<string> {
    const gone = this.idle.filter((name) => !this.usedNow.has(name)).slice(0, count)
    this.idle = this.idle.filter((name) => !gone.includes(name))
    return gone
  }
}

describe("rule 10, actors in memory", () => {
  it.prop(
    "leave longest unused first, never changed ones, and within the bound of the process",
    [Arbitrary.schema(Steps)],
    ([steps]) => {
      const bounds = makeBounds({ maximumActors })
      const left: Array<string> = []
      const memories = [0, 1].map((partition) =>
        makeMemory(bounds, ({ organization }: Cell) => left.push(`${partition} ${organization.name}`))
      )
      const models = [new Model(), new Model()]
      const cellOf = (memory: ActorMemory, name: string) => memory.organizations.get(name)?.cell(0, "")
      let sequence = 1
      for (const [step, { act, of, partition }] of steps.entries()) {
        // Uses within a second may count as one.
        const now = 1_000 * step
        const memory = memories[partition]!
        const model = models[partition]!
        const name = `org_${of}`
        if (act === "use") {
          const known = cellOf(memory, name)
          if (known === undefined) {
            left.length = 0
            const admitted = memory.admitsActor()
            // Only what this and the other partition could let go makes room.
            const freed = bounds.actors < maximumActors
            expect(admitted).toBe(freed)
            const before = models[0]!.size + models[1]!.size
            const own = before < maximumActors ? [] : model.evict(1)
            const others = before < maximumActors || own.length > 0 ? [] : models[1 - partition]!.evict(1)
            expect(left).toEqual([
              ...own.map((one) => `${partition} ${one}`),
              ...others.map((one) => `${1 - partition} ${one}`)
            ])
            if (!admitted) continue
            loadedCell(memory, name)
          }
          memory.use(cellOf(memory, name)!, now)
          model.use(name, now)
        } else if (act === "change") {
          const cell = cellOf(memory, name)
          if (cell === undefined) continue
          cell.changedAt = sequence++
          memory.changed(cell)
          model.idle = model.idle.filter((one) => one !== name)
          model.dirty.delete(name)
          model.dirty.set(name, cell.changedAt)
        } else if (act === "save") {
          const through = sequence - 1 - (of % 3)
          const saved = [...memory.dirty].filter(({ changedAt }) => changedAt <= through)
          memory.saved(through)
          for (const { organization } of saved) {
            model.dirty.delete(organization.name)
            model.idle.push(organization.name)
          }
        } else if (act === "drain") {
          memory.drain++
          model.usedNow.clear()
        } else if (act === "evict") {
          left.length = 0
          const gone = model.evict(of)
          expect(memory.evict(of)).toBe(gone.length)
          expect(left).toEqual(gone.map((one) => `${partition} ${one}`))
        } else {
          left.length = 0
          memory.evictUnusedSince(now - 1_000 * of)
          // Never one that was used since, and what was not goes unless one that was used later stands before it.
          for (const one of left) expect(model.usedAt.get(one.slice(2))).toBeLessThanOrEqual(now - 1_000 * of)
          model.idle = model.idle.filter((one) => !left.includes(`${partition} ${one}`))
        }
        for (const [index, one] of memories.entries()) {
          const { dirty, idle, size } = models[index]!
          expect(one.cellCount).toBe(size)
          expect(new Set([...one.dirty].map(({ organization }) => organization.name))).toEqual(new Set(dirty.keys()))
          for (const name of [...idle, ...dirty.keys()]) expect(cellOf(one, name)).toBeDefined()
        }
        expect(bounds.actors).toBe(models[0]!.size + models[1]!.size)
        expect(bounds.actors).toBeLessThanOrEqual(maximumActors)
      }
      for (const memory of memories) memory.dropActors()
      expect(bounds.actors).toBe(0)
    }
  )

  it("an organization is forgotten when nothing of it is left, not earlier", () => {
    const memory = makeMemory()
    const cell = loadedCell(memory, "org_1")
    const organization = memory.organization("org_1")!
    organization.waiting = 1
    memory.remove(cell)
    memory.releaseEmptied()
    expect(memory.organizations.get("org_1")).toBe(organization)
    organization.waiting = 0
    organization.stalled = 1
    memory.noteEmptied(organization)
    memory.releaseEmptied()
    expect(memory.organizations.get("org_1")).toBe(organization)
    organization.stalled = 0
    memory.noteEmptied(organization)
    memory.releaseEmptied()
    expect(memory.organizations.size).toBe(0)
  })

  it("actors with a timer stay while a page of timers is read, and all of them while the log is replayed", () => {
    const memory = makeMemory()
    const [timed, other] = [loadedCell(memory, "org_1"), loadedCell(memory, "org_2")]
    timed.wakeAt = 5
    memory.drain++
    memory.isReplaying = true
    expect(memory.evict(9)).toBe(0)
    memory.isReplaying = false
    memory.keepsTimers = true
    expect(memory.evict(9)).toBe(1)
    expect([memory.organization("org_1")!.cell(0, ""), memory.organization("org_2")!.cell(0, "")]).toEqual([
      timed,
      undefined
    ])
    expect(other.isIdle).toBe(false)
    memory.keepsTimers = false
    expect(memory.evict(9)).toBe(1)
  })

  it("a log that is replayed takes the room of other partitions' idle actors", () => {
    const bounds = makeBounds({ maximumActors })
    const [serving, recovering] = [makeMemory(bounds), makeMemory(bounds)]
    for (let n = 0; n < maximumActors; n++) loadedCell(serving, `org_${n}`)
    serving.drain++
    recovering.isReplaying = true
    const builder = new FrameBuilder()
    for (let n = 0; n < 4; n++) {
      const text = JSON.stringify({ _tag: "Added", amount: n })
      builder.addFact(builder.addActor("counter", 1, `late_${n}`, ""), text, text.length)
    }
    const { hash, ...first } = emptyHead
    const bytes = builder.encode({ ...first, epoch: 1, number: 1, now: 1, previousHash: hash })
    const replay = new Replay({ memory: recovering, fillAll: () => {}, quarantined: () => {} }, emptyHead, new Set())
    expect(replay.link([{ sequence: 1, identity: "0/1/1", bytes }])).toHaveLength(4)
    expect([recovering.cellCount, serving.cellCount, bounds.actors]).toEqual([4, 2, maximumActors])
  })

  it("lanes are bounded over all partitions too", () => {
    const bounds = makeBounds({ maximumLaneActors: 2 })
    const [one, two] = [makeMemory(bounds), makeMemory(bounds)]
    const lane = (memory: ActorMemory, name: string) => new LaneCell(memory.organization(name)!, 0, "", {}, [])
    const first = lane(one, "a")
    one.addLane(first)
    two.addLane(lane(two, "b"))
    expect([one.admitsLane(), two.admitsLane()]).toEqual([false, false])
    one.removeLane(first)
    one.removeLane(first)
    expect([one.admitsLane(), bounds.laneActors]).toEqual([true, 1])
    two.dropActors()
    expect(bounds.laneActors).toBe(0)
  })

  it.each([
    ["too long", "k".repeat(257)],
    ["with a zero byte", "a\0b"],
    ["with half a surrogate pair", "a\ud800"]
  ])("a key %s names no actor, and nothing of it stays", (_, key) => {
    const memory = makeMemory()
    expect(() => memory.cell(memory.organization("org_1")!, 0, key)).toThrow()
    expect(memory.cellCount).toBe(0)
  })
})

/** A partition's timers against a naive model: which one comes next, what the checkpoints still hold, and how many are in memory. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type ActorAddress, compareAddresses } from "../../src/engine/address.ts"
import type { Cell, Timer } from "../../src/engine/core/actors/Organization.ts"
import { maximumColdTimers, Timers } from "../../src/engine/core/timers/Timers.ts"
import { maximumTimerPage } from "../../src/engine/limits.ts"
import type { TimerRow } from "../../src/engine/ports/Checkpoints.ts"
import { loadedCell, makeMemory } from "./support/memory.ts"

const never = Number.POSITIVE_INFINITY
const compare = (a: TimerRow, b: TimerRow) => a.wakeAt - b.wakeAt || compareAddresses(a, b)
const nameOf = ({ key, organization }: ActorAddress) => `${organization} ${key}`
const rowOf = ({ key, kind, organization }: ActorAddress, wakeAt: number): TimerRow => ({
  organization,
  kind,
  key,
  wakeAt
})

/** Actors with timers, some in memory, whose checkpoint is always as of now. `pageSize`: rows that the store gives at once. */
class World {
  readonly timers: Timers
  private readonly memory = makeMemory()
  private readonly cells = new Map<string, Cell>()
  /** What each actor wants, in memory or not. */
  readonly wanted = new Map<string, TimerRow>()
  private readonly pageSize: number
  private readonly descending: boolean

  /** `descending`: the store sorts names in another way than the engine does. */
  constructor(more: boolean, pageSize: number, descending = false) {
    this.timers = new Timers(more)
    this.pageSize = pageSize
    this.descending = descending
  }

  set(organization: string, key: string, wakeAt: number): void {
    const cell = this.load(organization, key)
    cell.wakeAt = wakeAt
    this.timers.set(cell, wakeAt)
    if (wakeAt === never) this.wanted.delete(nameOf(cell.address))
    else this.wanted.set(nameOf(cell.address), rowOf(cell.address, wakeAt))
  }

  /** Its state comes from the checkpoints, and with it its own timer. */
  load(organization: string, key: string): Cell {
    const name = `${organization} ${key}`
    const known = this.cells.get(name)
    if (known !== undefined) return known
    const cell = loadedCell(this.memory, organization, key)
    this.cells.set(name, cell)
    cell.wakeAt = this.wanted.get(name)?.wakeAt ?? never
    this.timers.loaded(cell)
    this.timers.set(cell, cell.wakeAt)
    return cell
  }

  evict(organization: string, key: string): void {
    const cell = this.cells.get(`${organization} ${key}`)
    if (cell === undefined) return
    this.memory.remove(cell)
    this.cells.delete(nameOf(cell.address))
    this.timers.evicted(cell)
  }

  get inMemory(): number {
    return this.cells.size
  }

  readPage(): void {
    const direction = this.descending ? -1 : 1
    const order = (a: TimerRow, b: TimerRow) => a.wakeAt - b.wakeAt || direction * compareAddresses(a, b)
    const after = this.timers.pageAfter
    const rows = [...this.wanted.values()]
      .filter((row) => after === undefined || order(row, after) > 0)
      .sort(order)
      .slice(0, this.pageSize)
    this.timers.addPage(rows, rows.length === this.pageSize, (row) => this.cells.has(nameOf(row)))
  }

  /** The timers that are due, in the order in which they are first; each is taken away when it is seen. */
  fire(now: number): ReadonlyArray<TimerRow> {
    const fired: Array<TimerRow> = []
    while (true) {
      while (this.timers.needsPage(now)) this.readPage()
      const first: Timer | undefined = this.timers.first
      if (first === undefined || first.wakeAt > now) return fired
      fired.push(rowOf(first, first.wakeAt))
      const { cell } = first
      if (cell === undefined) this.timers.take(first)
      this.set(first.organization, first.key, never)
    }
  }

  due(now: number): ReadonlyArray<TimerRow> {
    return [...this.wanted.values()].filter(({ wakeAt }) => wakeAt <= now).sort(compare)
  }

  /** The earliest time that anybody wants. */
  get earliest(): number {
    return Math.min(never, ...[...this.wanted.values()].map(({ wakeAt }) => wakeAt))
  }
}

const Steps = Schema.Array(
  Schema.Struct({
    act: Schema.Literals(["set", "set", "clear", "load", "evict", "evict", "advance"]),
    of: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })),
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
  })
).check(Schema.isMaxLength(100))

describe("timers", () => {
  it.prop(
    "come due in the order of time and name, each once, wherever their actors are",
    [Arbitrary.schema(Steps), Arbitrary.schema(Schema.Boolean)],
    ([steps, descending]) => {
      const world = new World(true, 3, descending)
      let now = 0
      for (const { act, at, of } of steps) {
        const [organization, key] = [`org_${of % 4}`, `k${of}`] as const
        if (act === "set") world.set(organization, key, now + 1 + at)
        else if (act === "clear") world.set(organization, key, never)
        else if (act === "load") world.load(organization, key)
        else if (act === "evict") world.evict(organization, key)
        else {
          now += at
          const due = world.due(now)
          expect(world.fire(now)).toEqual(due)
        }
        // Who sleeps until then misses nothing.
        expect(world.timers.nextAt()).toBeLessThanOrEqual(world.earliest)
        expect(world.timers.size).toBeLessThanOrEqual(world.inMemory + 12)
      }
      const all = world.due(1_000)
      expect(world.fire(1_000)).toEqual(all)
      expect(world.timers.size).toBe(0)
      expect(world.timers.nextAt()).toBe(never)
    }
  )

  it("are as many as actors, however often each of them is moved", () => {
    const world = new World(false, maximumTimerPage)
    for (let n = 0; n < 20_000; n++) world.set(`org_${n % 512}`, "", 1_000 + ((n * 7_919) % 1_000))
    expect(world.timers.size).toBe(512)
    const due = world.due(2_000)
    expect(world.fire(2_000)).toEqual(due)
  })

  it.each([
    ["no checkpoint had any before", false, false],
    ["checkpoints hold more", true, false],
    ["the checkpoints were read to their end, far behind", true, true]
  ])("of actors that leave memory are bounded, and none is lost (%s)", (_, more, isRead) => {
    const world = new World(more, maximumTimerPage)
    if (isRead) {
      world.set("late", "", 1_000_000)
      world.evict("late", "")
      world.readPage()
      expect(world.timers.pageAfter).toMatchObject({ wakeAt: 1_000_000 })
    }
    const count = 3 * maximumColdTimers
    for (let n = 0; n < count; n++) {
      // In no order, and many of the same time.
      world.set(`org_${n}`, "", 1_000 + ((n * 7_919) % 1_000))
      world.evict(`org_${n}`, "")
      expect(world.timers.size).toBeLessThanOrEqual(maximumColdTimers)
    }
    const due = world.due(1_500)
    expect(due.length).toBeGreaterThan(maximumColdTimers)
    expect(world.fire(1_500)).toEqual(due)
    const rest = world.due(3_000)
    expect(world.fire(3_000)).toEqual(rest)
    expect(due.length + rest.length).toBe(count)
  })

  it("ask for a page before any timer could be due with those that are still in the checkpoints", () => {
    const timers = new Timers(true)
    const row = (at: number, key: string): TimerRow => ({ organization: "org_1", kind: "counter", key, wakeAt: at })
    expect(timers.needsPage(0)).toBe(true)
    timers.addPage([row(5, "a"), row(9, "b")], true, () => false)
    expect([timers.needsPage(8), timers.needsPage(9)]).toEqual([false, true])
    expect(timers.pageAfter).toEqual(row(9, "b"))
    expect(timers.nextAt()).toBe(5)
    expect([timers.isBeyondHorizon(row(8, "z")), timers.isBeyondHorizon(row(9, "a"))]).toEqual([false, true])
    timers.addPage([row(12, "c")], false, () => false)
    expect(timers.needsPage(1_000)).toBe(false)
    expect(timers.isBeyondHorizon(row(1_000, "z"))).toBe(false)
  })

  it("of a page that an actor in memory has outdated are its own", () => {
    const world = new World(true, 10)
    world.set("org_1", "", 50)
    const stale: TimerRow = { organization: "org_1", kind: "counter", key: "", wakeAt: 7 }
    world.timers.addPage([stale], false, ({ organization }) => organization === "org_1")
    expect(world.timers.nextAt()).toBe(50)
  })
})

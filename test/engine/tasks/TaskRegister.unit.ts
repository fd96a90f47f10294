/**
 * The register of a life's tasks: a specification, and random courses of events beside a store that keeps what committed
 * transactions have written. However they fall, an outcome reaches the store exactly once, and what the queue has is not
 * begun from the register.
 */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { TaskBounds } from "../../../src/engine/tasks/TaskBounds.ts"
import { type Task, TaskRegister } from "../../../src/engine/tasks/TaskRegister.ts"

const place = (sequence: number, index = 0, key = "a") => ({ organization: "acme", sequence, index, key })

const make = (tasks?: number) => {
  const late: Array<readonly [string, string]> = []
  const bounds = new TaskBounds(tasks)
  let settled = 0
  const register = new TaskRegister<string, string>(
    bounds,
    ({ payload }, outcome) => late.push([payload, outcome]),
    () => settled++
  )
  const add = (sequence: number, index = 0, key = "a") =>
    register.add(place(sequence, index, key), `${sequence}/${index}/${key}`, 10)!
  return { register, bounds, late, add, settled: () => settled }
}

describe("the register of tasks", () => {
  it("given a task that has ended, then the transaction writes its outcome, and it is forgotten with the frame", () => {
    const { add, bounds, late, register } = make()
    const task = add(1)
    expect(register.isSettled(1)).toBe(false)
    expect(register.run(task)).toBe(true)
    expect(register.end(task, "sent")).toBe(true)
    expect([register.isSettled(1), register.open === 0]).toEqual([true, true])
    expect(register.write(1, 0, "a")).toMatchObject({ _tag: "Ended", outcome: "sent" })
    register.recorded(1)
    expect([late, bounds.used, register.write(1, 0, "a")]).toEqual([[], 0, undefined])
  })

  it("given a task that runs as it is written, then its outcome goes to the queue", () => {
    const { add, late, register } = make()
    const [before, after] = [add(1, 0), add(1, 1)]
    for (const task of [before, after]) register.run(task)
    for (const index of [0, 1]) expect(register.write(1, index, "a")?._tag).toBe("Running")
    // One ends before the process knows of the commit, the other one after.
    expect(register.end(before, "sent")).toBe(true)
    register.recorded(1)
    expect(late).toEqual([["1/0/a", "sent"]])
    expect([register.isQueued(after), register.end(after, "sent"), late.length]).toEqual([true, false, 1])
  })

  it("given a transaction that is rolled back, then the next one writes what is known by then", () => {
    const { add, late, register } = make()
    const [slow, waits] = [add(1, 0), add(1, 1)]
    register.run(slow)
    expect(register.write(1, 0, "a")?._tag).toBe("Running")
    expect(register.write(1, 1, "a")?._tag).toBe("Left")
    register.end(slow, "sent")
    // What was once left to the queue stays there, since the first transaction may have been committed.
    expect(register.run(waits)).toBe(false)
    expect(register.write(1, 0, "a")).toMatchObject({ _tag: "Ended", outcome: "sent" })
    expect(register.write(1, 1, "a")?._tag).toBe("Left")
    register.recorded(1)
    expect(late).toEqual([])
  })

  it("given a frame that is recorded, then it gets no further tasks", () => {
    const { add, register } = make()
    register.recorded(2)
    expect([add(1), add(2)]).toEqual([undefined, undefined])
    expect(add(3)).toBeDefined()
  })

  it("given no room, then a task is not taken, and recorded ones give theirs back", () => {
    const { add, register } = make(4)
    // An organization alone gets half.
    expect([add(1, 0), add(1, 1), add(1, 2)].map((task) => task !== undefined)).toEqual([true, true, false])
    register.recorded(1)
    expect(add(2)).toBeDefined()
  })

  it("given the end of the life, then what waits is not begun and what runs belongs to the queue", () => {
    const { add, bounds, register, settled } = make()
    const [runs, waits] = [add(1, 0), add(1, 1)]
    register.run(runs)
    expect(register.isAbandoned(runs)).toBe(false)
    register.close()
    expect([register.isAbandoned(runs), register.isAbandoned(waits)]).toEqual([true, true])
    expect([register.run(waits), register.end(runs, "sent"), bounds.used, settled()]).toEqual([false, false, 0, 2])
    expect(add(2)).toBeUndefined()
  })

  it("given a record that is never written, such as a parked one, then its outcome is nobody's", () => {
    const { add, late, register } = make()
    const task = add(1)
    register.run(task)
    register.end(task, "sent")
    register.recorded(1)
    expect(late).toEqual([])
  })
})

const Act = Schema.Union([
  Schema.TaggedStruct("Add", { tasks: Schema.Literals([1, 2, 3]) }),
  Schema.TaggedStruct("Run", { nth: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })) }),
  Schema.TaggedStruct("End", { nth: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })) }),
  Schema.TaggedStruct("Leave", { nth: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })) }),
  Schema.TaggedStruct("Write", { frames: Schema.Literals([1, 2, 4]) }),
  Schema.TaggedStruct("Commit", {}),
  Schema.TaggedStruct("Learn", {}),
  Schema.TaggedStruct("RollBack", {}),
  Schema.TaggedStruct("Close", {})
])
type Act = typeof Act.Type

interface Known {
  readonly task: Task<string, string>
  /** Whether its runner has begun it, and whether it is done. */
  hasRun: boolean
  outcome: string | undefined
  /** The outcome was refused by the register: the runner tells the queue. */
  isToldToQueue: boolean
}

/** A store, and a reactor that writes frames in order, beside runners. */
class World {
  private readonly made = make()
  private readonly tasks: Array<Known> = []
  /** What committed transactions have written, by payload. */
  private readonly stored = new Map<string, string>()
  private drafted: ReadonlyMap<string, string> | undefined
  private head = 0
  private written = 0
  private recorded = 0
  private learned = 0
  private isClosed = false

  act(act: Act): void {
    const { add, register } = this.made
    const chosen = "nth" in act ? this.tasks[act.nth % Math.max(1, this.tasks.length)] : undefined
    switch (act._tag) {
      case "Add": {
        this.head++
        for (let index = 0; index < act.tasks; index++) {
          const task = add(this.head, index)
          if (task !== undefined) this.tasks.push({ task, hasRun: false, outcome: undefined, isToldToQueue: false })
        }
        return
      }
      case "Run":
        if (chosen === undefined || !register.run(chosen.task)) return
        expect(this.stored.get(chosen.task.payload), "what the queue has is not begun").toBeUndefined()
        chosen.hasRun = true
        return
      case "Leave":
        if (chosen !== undefined) register.leave(chosen.task)
        return
      case "End":
        if (chosen === undefined || !chosen.hasRun || chosen.outcome !== undefined) return
        chosen.outcome = `done ${chosen.task.payload}`
        chosen.isToldToQueue = !register.end(chosen.task, chosen.outcome)
        return
      case "Write":
        if (!this.isClosed && this.drafted === undefined && this.learned === this.recorded)
          this.write(Math.min(this.head, this.recorded + act.frames))
        return
      case "Commit":
        this.commit()
        return
      case "Learn":
        this.learn()
        return
      case "RollBack":
        this.drafted = undefined
        return
      case "Close":
        this.isClosed = true
        this.drafted = undefined
        register.close()
    }
  }

  private write(through: number): void {
    const { register } = this.made
    const drafted = new Map<string, string>()
    for (const { task } of this.tasks) {
      if (task.sequence <= this.recorded || task.sequence > through) continue
      const found = register.write(task.sequence, task.index, task.key)
      drafted.set(task.payload, found?._tag === "Ended" ? found.outcome : (found?._tag ?? "unknown"))
    }
    this.written = through
    this.drafted = drafted
  }

  private commit(): void {
    if (this.drafted === undefined) return
    for (const [payload, state] of this.drafted) this.stored.set(payload, state)
    this.drafted = undefined
    this.recorded = this.written
  }

  /** The process knows how far the store is: by the answer to a commit, or because it reads its place again. */
  private learn(): void {
    if (this.isClosed) return
    this.learned = this.recorded
    this.made.register.recorded(this.learned)
  }

  check(): void {
    const { bounds, late } = this.made
    for (const { hasRun, isToldToQueue, outcome, task } of this.tasks) {
      const state = this.stored.get(task.payload)
      const told = late.filter(([payload]) => payload === task.payload).length + (isToldToQueue ? 1 : 0)
      if (state === undefined) continue
      expect(state).not.toBe("unknown")
      if (state === "Left") expect(hasRun, "what is left to the queue was never begun").toBe(false)
      else if (state === "Running") {
        expect(hasRun).toBe(true)
        const isLearned = task.sequence <= this.learned
        if (outcome !== undefined && isLearned) expect(told, "its outcome reaches the queue once").toBe(1)
      } else {
        expect(state).toBe(outcome)
        expect(told, "what its row says is not told again").toBe(0)
      }
    }
    const kept = this.isClosed ? 0 : this.tasks.filter(({ task }) => task.sequence > this.learned).length
    expect(bounds.used).toBe(kept)
  }
}

it.prop(
  "every outcome reaches the store once, however transactions and runners fall",
  [Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(60)))],
  ([acts]) => {
    const world = new World()
    for (const act of acts) {
      world.act(act)
      world.check()
    }
  }
)

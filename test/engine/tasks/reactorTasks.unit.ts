/**
 * A reactor with tasks on a real engine in memory: what acknowledged frames ask for is offered before anything is
 * written, the reactor waits for it a moment, and writes what it came to.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EngineModule from "../../../src/engine/Engine.ts"
import * as Reactor from "../../../src/engine/Reactor.ts"
import * as Reactors from "../../../src/engine/Reactors.ts"
import type { FactRecord, LogRecord } from "../../../src/engine/records.ts"
import { ageFor, longestAgeMillis, shortestAgeMillis } from "../../../src/engine/shell/reactors/ReactorTasks.ts"
import { HeadTasks } from "../../../src/engine/tasks/HeadTasks.ts"
import { TaskBounds } from "../../../src/engine/tasks/TaskBounds.ts"
import type { Task, TaskRegister } from "../../../src/engine/tasks/TaskRegister.ts"
import type { TaskLife } from "../../../src/engine/tasks/TaskSource.ts"
import { Counter } from "../support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving } from "../support/deployment.ts"

type Sent = Task<number, string>

const amountOf = (record: LogRecord): number | undefined => {
  if (record._tag !== "Fact" || record.kind !== Counter.kind) return undefined
  const fact = (record as FactRecord).fact as { readonly _tag: string; readonly amount?: number }
  return fact._tag === "Added" ? fact.amount : undefined
}

/** A reactor whose amounts are sent outside. Every organization is known from its first committed record on. */
const makeMailer = () => {
  const offered: Array<Sent> = []
  const written: Array<string> = []
  const late: Array<string> = []
  const heads: Array<HeadTasks<number, number, string>> = []
  const control = { failsOn: Number.NaN, isStoreAway: false, resumed: 0 }
  const open = (life: TaskLife) => {
    const head = new HeadTasks<number, number, string>(
      life,
      {
        fold: (sum, record) => sum + (amountOf(record) ?? 0),
        tasks: (record) => {
          const amount = amountOf(record)
          return amount === undefined ? [] : [{ key: "", payload: amount, characters: 1 }]
        },
        changed: () => undefined,
        offer: (tasks, register) => {
          for (const task of tasks) {
            register.run(task)
            offered.push(task)
          }
        },
        resumed: () => void control.resumed++,
        late: ({ payload }, outcome) => late.push(`${payload} ${outcome}`)
      },
      new TaskBounds()
    )
    heads.push(head)
    return head
  }
  const handle = (records: ReadonlyArray<LogRecord>) =>
    Effect.suspend(() => {
      const lines: Array<string> = []
      for (const { index, sequence, ...record } of records) {
        const amount = amountOf({ index, sequence, ...record } as LogRecord)
        if (amount === undefined) continue
        if (amount === control.failsOn) return Effect.fail("not this one")
        const found = heads.at(-1)!.register.write(sequence, index, "")
        lines.push(`${amount} ${found?._tag === "Ended" ? found.outcome : (found?._tag ?? "unknown")}`)
      }
      const seeds = records.map(({ organization, sequence }) => [organization, sequence] as const)
      return Effect.andThen(
        control.isStoreAway ? Effect.never : Effect.void,
        Reactor.onCommit(() => {
          written.push(...lines)
          const at = Math.max(...seeds.map(([, sequence]) => sequence))
          for (const [organization] of seeds) heads.at(-1)!.seed(organization, 0, at)
        })
      )
    })
  const reactor = Reactor.make({ name: "mailer", parts: [{ handle, tasks: Effect.succeed([{ open }]) }] })
  const registerOf = (): TaskRegister<number, string> => heads.at(-1)!.register
  return { control, heads, late, offered, reactor, registerOf, written }
}

/** The answer comes just before the frame is shown. */
const add = (engine: EngineModule.Engine["Service"], amount: number, organization = "acme") =>
  Effect.andThen(engine.ask(Counter, { organization }, { _tag: "Add", amount }), Effect.yieldNow)

const settled = (engine: EngineModule.Engine["Service"]) =>
  Effect.raceFirst(
    Effect.provideService(Reactors.settled, EngineModule.Engine, engine),
    Effect.forever(elapse(0.01, 1))
  )

/** An engine that knows the organization. */
const known = Effect.gen(function* () {
  const mailer = makeMailer()
  const deployment = makeDeployment()
  const { engine } = yield* serving(deployment, { actors: [Counter], reactors: [mailer.reactor] })
  yield* add(engine, 1)
  yield* settled(engine)
  expect(mailer.written).toEqual(["1 unknown"])
  return { ...mailer, engine }
})

describe("a reactor with tasks", () => {
  it.effect("given a task that ends soon, then nothing is written before, and its outcome is written once", () =>
    Effect.gen(function* () {
      const { engine, offered, registerOf, written } = yield* known
      yield* add(engine, 2)
      expect(offered.map(({ payload }) => payload)).toEqual([2])
      yield* elapse(shortestAgeMillis / 2_000, 1)
      expect(written).toEqual(["1 unknown"])
      registerOf().end(offered[0]!, "sent")
      yield* elapse(0.002, 1)
      expect(written).toEqual(["1 unknown", "2 sent"])
    })
  )

  it.effect("given a task that hangs, then it is written as running, and its outcome goes to the queue", () =>
    Effect.gen(function* () {
      const { engine, late, offered, registerOf, written } = yield* known
      yield* add(engine, 2)
      yield* elapse((2 * shortestAgeMillis) / 1_000, 1)
      expect(written).toEqual(["1 unknown", "2 Running"])
      expect(registerOf().end(offered[0]!, "sent")).toBe(false)
      expect(late).toEqual([])
    })
  )

  it.effect("given somebody who waits for the reactors, then no task is waited for", () =>
    Effect.gen(function* () {
      const { engine, written } = yield* known
      yield* add(engine, 2)
      yield* Effect.raceFirst(
        Effect.provideService(Reactors.settled, EngineModule.Engine, engine),
        Effect.forever(Effect.yieldNow)
      )
      expect(written).toEqual(["1 unknown", "2 Running"])
    })
  )

  it.effect("given a store that hangs, then tasks are offered all the same, and their outcomes are written later", () =>
    Effect.gen(function* () {
      const { control, engine, offered, registerOf, written } = yield* known
      control.isStoreAway = true
      for (const amount of [2, 3, 4]) yield* add(engine, amount)
      yield* elapse(0.2, 10)
      for (const amount of [5, 6]) yield* add(engine, amount)
      expect(offered.map(({ payload }) => payload)).toEqual([2, 3, 4, 5, 6])
      for (const task of offered) registerOf().end(task, "sent")
      expect(written).toEqual(["1 unknown"])
      const resumed = control.resumed
      control.isStoreAway = false
      yield* elapse(120)
      // The transaction that was given up may have been committed.
      expect(control.resumed).toBeGreaterThan(resumed)
      expect(written).toEqual(["1 unknown", "2 sent", "3 sent", "4 sent", "5 sent", "6 sent"])
    })
  )

  it.effect("given a parked record of an organization, then its later ones are not offered, and others' are", () =>
    Effect.gen(function* () {
      const { control, engine, offered, registerOf, written } = yield* known
      yield* add(engine, 7, "other")
      yield* settled(engine)
      control.failsOn = 2
      yield* add(engine, 2)
      registerOf().end(offered[0]!, "sent")
      yield* elapse(120)
      offered.length = 0
      yield* add(engine, 3)
      yield* add(engine, 8, "other")
      expect(offered.map(({ payload }) => payload)).toEqual([8])
      registerOf().end(offered[0]!, "sent")
      yield* elapse(1, 10)
      expect(written).toEqual(["1 unknown", "7 unknown", "8 sent"])
    })
  )

  it.effect(
    "given a new life, then tasks of the old one are the queue's, and its frames are written without them",
    () =>
      Effect.gen(function* () {
        const { engine, heads, offered, written } = yield* known
        yield* add(engine, 2)
        const [task] = offered
        const before = heads.length
        partitionIn(engine).restart("a test")
        yield* elapse(30)
        expect(heads.length).toBeGreaterThan(before)
        // The next frame of the organization is unknown to the new life, until one of it is committed.
        yield* add(engine, 3)
        yield* settled(engine)
        expect(heads.at(-2)!.register.end(task!, "sent")).toBe(false)
        expect(written.slice(1)).toEqual(["2 unknown", "3 unknown"])
      })
  )

  it("given the time that tasks take, then frames wait for twice as long, and as long as they may where many are open", () => {
    const few = [0, 4, 5, 20.2, 50, 5_000].map((millis) => ageFor(millis, 3))
    expect(few).toEqual([shortestAgeMillis, shortestAgeMillis, 10, 41, longestAgeMillis, longestAgeMillis])
    expect(ageFor(0, 64)).toBe(longestAgeMillis)
  })
})

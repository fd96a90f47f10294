/** An operator sees parked records and acts on them: listed in pages and counted, tried again up to the broken one, dismissed by name. */
import { expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import {
  dismissParked,
  listParked,
  reactorNamed,
  retryParked,
  showParkedRecords
} from "../../src/engine/operator/parkedRecords.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"

/** Lets all fibers finish what they can within a minute: each step of time gives them turns. */
const settle = Effect.repeat(TestClock.adjust("3 seconds"), { times: 19 })

const amountOf = (record: unknown): number => (record as { readonly fact: { readonly amount: number } }).fact.amount

/** Three organizations with two to four records each, all parked behind their first; what works is done. */
const withParked = Effect.gen(function* () {
  const deployment = makeDeployment()
  const done: Array<string> = []
  const broken = new Set([10, 20, 30])
  const reactor: Reactor<never> = {
    name: "recorder",
    handle: (records) =>
      Effect.gen(function* () {
        const transaction = yield* ReactorTransaction
        for (const record of records) {
          if (broken.has(amountOf(record))) return yield* Effect.fail(new Error(`cannot work on ${amountOf(record)}`))
          transaction.onCommit(() => done.push(`${record.organization}:${amountOf(record)}`))
        }
      })
  }
  const { engine } = yield* serving(deployment, { reactors: [reactor] })
  for (const [organization, amounts] of [
    ["a", [10, 11]],
    ["b", [20, 21, 22, 23]],
    ["c", [30, 31]],
    ["d", [40]]
  ] as const) {
    for (const amount of amounts) yield* engine.ask(Counter, { organization }, { _tag: "Add", amount })
  }
  yield* settle
  expect(done).toEqual(["d:40"])
  return { engine, done, broken }
})

/** Of this reactor: other tests of the process have theirs. */
const gauge = Effect.map(Metric.snapshot, (metrics) => {
  const found = metrics.find(
    ({ attributes, id }) => id === "sluice_parked_records" && attributes?.reactor === "recorder"
  )
  return (found?.state as { readonly value: number } | undefined)?.value
})

it.effect("they are listed in pages with what they count, and the gauge tells how many wait", () =>
  Effect.gen(function* () {
    const { engine } = yield* withParked
    expect(yield* gauge).toBe(8)
    expect(yield* reactorNamed(engine)).toBe("recorder")
    const first = yield* listParked(engine, "recorder", { limit: 2 })
    expect(first).toEqual({
      reactor: "recorder",
      records: 8,
      organizations: [
        { partition: 0, reactor: "recorder", organization: "a", records: 2 },
        { partition: 0, reactor: "recorder", organization: "b", records: 4 }
      ],
      hasMore: true
    })
    const second = yield* listParked(engine, "recorder", { limit: 2, after: "b" })
    expect(second.organizations.map(({ organization }) => organization)).toEqual(["c"])
    expect(second.hasMore).toBe(false)
    const shown = yield* showParkedRecords(engine, "recorder", "b", 2)
    expect(shown.map(({ error }) => error)).toEqual([
      expect.stringContaining("cannot work on 20"),
      expect.stringContaining("behind")
    ])
    expect((yield* Effect.flip(reactorNamed(engine, "mailer"))).message).toContain("known: recorder")
  })
)

it.effect("a retry lets go what comes before the broken one, says why that failed, and takes no more than it may", () =>
  Effect.gen(function* () {
    const { broken, done, engine } = yield* withParked
    const failed = yield* retryParked(engine, 0, "recorder", "b")
    expect(failed).toEqual({ retried: 0, left: 4, error: expect.stringContaining("cannot work on 20") })
    broken.delete(20)
    broken.add(22)
    const some = yield* retryParked(engine, 0, "recorder", "b")
    expect(some).toEqual({ retried: 2, left: 2, error: expect.stringContaining("cannot work on 22") })
    expect(done).toEqual(["d:40", "b:20", "b:21"])
    broken.delete(22)
    expect(yield* retryParked(engine, 0, "recorder", "b", { limit: 1 })).toEqual({ retried: 1, left: 1 })
    expect(yield* retryParked(engine, 0, "recorder", "b")).toEqual({ retried: 1, left: 0 })
    expect(done).toEqual(["d:40", "b:20", "b:21", "b:22", "b:23"])
    expect(yield* gauge).toBe(4)
  })
)

it.effect("only the first record is dismissed, by its name, and not when the act cannot be recorded", () =>
  Effect.gen(function* () {
    const { done, engine } = yield* withParked
    const [first, second] = yield* showParkedRecords(engine, "recorder", "a", 2)
    expect(yield* dismissParked(engine, 0, "recorder", "a", { record: second! })).toBe(false)
    const unrecorded = { record: first!, alongside: () => Effect.fail(new Error("no acts today")) }
    expect((yield* Effect.flip(dismissParked(engine, 0, "recorder", "a", unrecorded))).message).toContain(
      "no acts today"
    )
    expect(yield* dismissParked(engine, 0, "recorder", "a", { record: first! })).toBe(true)
    expect(yield* dismissParked(engine, 0, "recorder", "a", { record: first! })).toBe(false)
    expect(yield* retryParked(engine, 0, "recorder", "a")).toEqual({ retried: 1, left: 0 })
    expect(done).toEqual(["d:40", "a:11"])
    // The reactor knows that the organization is free again.
    yield* engine.ask(Counter, { organization: "a" }, { _tag: "Add", amount: 12 })
    yield* settle
    expect(done).toEqual(["d:40", "a:11", "a:12"])
  })
)

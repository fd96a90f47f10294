/** The rules of workers (docs/workers.md): what follows an attempt, and whose jobs are taken next. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { roomOf } from "../../../src/common/Shares.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import type { DueOrganization } from "../../../src/engine/ports/WorkerJobs.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { type AttemptResult, claimsOf, mayTry, stepAfter } from "../../../src/engine/workers/workerRules.ts"
import { workersProblem } from "../../../src/engine/workers/workerTypes.ts"
import { Counter } from "../support/actors.ts"

const failed = (more: Partial<AttemptResult & { readonly _tag: "Failed" }> = {}): AttemptResult => ({
  _tag: "Failed",
  reason: "no",
  isFinal: false,
  ...more
})

const retry = { pausesMillis: [1_000, 60_000], jitter: 0.5 }
const at = { now: 10_000, random: 0 }

describe("an attempt", () => {
  it.each([
    ["that succeeds ends the job", 1, { _tag: "Succeeded" } as const, at, { _tag: "Finish" }],
    ["that fails is followed by another one", 1, failed(), at, { _tag: "Again", dueAt: 11_000, reason: "no" }],
    ["later pauses are longer", 2, failed(), at, { _tag: "Again", dueAt: 70_000, reason: "no" }],
    [
      "chance shortens the pause",
      2,
      failed(),
      { now: 10_000, random: 1 },
      { _tag: "Again", dueAt: 40_000, reason: "no" }
    ],
    ["the last one ends the job", 3, failed(), at, { _tag: "GiveUp", reason: "no" }],
    ["a final error ends it", 1, failed({ isFinal: true }), at, { _tag: "GiveUp", reason: "no" }],
    [
      "the outside may ask for a longer pause",
      1,
      failed({ afterMillis: 30_000 }),
      at,
      { _tag: "Again", dueAt: 40_000, reason: "no" }
    ],
    [
      "and not for a shorter one",
      2,
      failed({ afterMillis: 30_000 }),
      at,
      { _tag: "Again", dueAt: 70_000, reason: "no" }
    ]
  ])("%s", (_, attempt, result, time, step) => expect(stepAfter(attempt, result, retry, time)).toEqual(step))

  const Pauses = Schema.Array(Schema.Literals([0, 1, 10, 1_000, 86_400_000]))
  it.prop(
    "is tried as often as there are pauses and once more, and waits for each pause or the unshortened part of it",
    [Arbitrary.schema(Pauses), Arbitrary.schema(Schema.Literals([0, 0.2, 1])), Arbitrary.schema(Schema.Int)],
    ([pausesMillis, jitter, number]) => {
      const random = (Math.abs(number) % 100) / 100
      const waits: Array<number> = []
      for (let attempt = 1; ; attempt++) {
        expect(mayTry(attempt, { pausesMillis })).toBe(true)
        const step = stepAfter(attempt, failed(), { pausesMillis, jitter }, { now: 0, random })
        if (step._tag !== "Again") break
        waits.push(step.dueAt)
      }
      // The model: one line for each pause.
      expect(waits).toEqual(pausesMillis.map((pause) => Math.round(pause - pause * jitter * random)))
      expect(mayTry(pausesMillis.length + 2, { pausesMillis })).toBe(false)
    }
  )
})

const dueOf = (names: ReadonlyArray<string>, dueAt = 0): ReadonlyArray<DueOrganization> =>
  names.map((organization) => ({ partition: 0, organization, dueAt }))

const heldOf = (
  jobs: Readonly<Record<string, number>>,
  capacity: number,
  turns: Readonly<Record<string, number>> = {}
) => ({
  capacity,
  used: Object.values(jobs).reduce((sum, count) => sum + count, 0),
  of: (organization: string) => jobs[organization] ?? 0,
  turnOf: (organization: string) => turns[organization] ?? 0
})

const limitsOf = (...args: Parameters<typeof claimsOf>) =>
  Object.fromEntries(claimsOf(...args).map(({ limit, organization }) => [organization, limit]))

const now = 1_000
const anyOrder = { isOrdered: false, now }

describe("slots of a worker", () => {
  it("go to half to one organization alone, and in equal parts to several", () => {
    expect(limitsOf(dueOf(["acme"]), heldOf({}, 16), anyOrder)).toEqual({ acme: 8 })
    expect(limitsOf(dueOf(["acme", "bolt"]), heldOf({}, 15), anyOrder)).toEqual({ acme: 5, bolt: 5 })
    expect(limitsOf(dueOf(["acme"]), heldOf({}, 1), anyOrder)).toEqual({ acme: 1 })
  })

  it("go to an organization that holds none before one that holds many, and to none that is not due", () => {
    expect(limitsOf(dueOf(["acme", "bolt"]), heldOf({ acme: 8 }, 9), anyOrder)).toEqual({ bolt: 1 })
    expect(limitsOf(dueOf(["acme"], now + 1), heldOf({}, 9), anyOrder)).toEqual({})
  })

  it("go one to an organization if a worker is ordered, and none while it has a job", () => {
    const due = dueOf(["acme", "bolt"])
    expect(limitsOf(due, heldOf({ acme: 1 }, 16), { isOrdered: true, now })).toEqual({ bolt: 1 })
  })

  it("go round: a backlog without end keeps nobody waiting for more than a round", () => {
    const names = ["acme", "bolt", "cask", "dune", "echo"]
    const turns: Record<string, number> = {}
    const served: Array<string> = []
    for (let turn = 1; turn <= 20; turn++) {
      // The first has waited longest, and always will have.
      const due = names.map((organization, index) => ({ partition: 0, organization, dueAt: index }))
      const [claim] = claimsOf(due, heldOf({}, 1, turns), anyOrder)
      turns[claim!.organization] = turn
      served.push(claim!.organization)
    }
    for (const name of names) expect(served.filter((one) => one === name)).toHaveLength(4)
  })

  const Jobs = Schema.Array(
    Schema.Struct({ own: Schema.Literals([0, 0, 1, 3]), turn: Schema.Literals([0, 1, 2]), late: Schema.Boolean })
  )
  it.prop(
    "are given one by one to the organization that got the fewest and has room, as a naive model does",
    [Arbitrary.schema(Jobs), Arbitrary.schema(Schema.Literals([1, 2, 5, 16])), Arbitrary.schema(Schema.Boolean)],
    ([jobs, more, isOrdered]) => {
      const names = jobs.map((_, index) => `org_${index}`)
      const owned = Object.fromEntries(jobs.map(({ own }, index) => [names[index]!, own]))
      const turns = Object.fromEntries(jobs.map(({ turn }, index) => [names[index]!, turn]))
      const due = jobs.map(({ late }, index) => ({
        partition: 0,
        organization: names[index]!,
        dueAt: late ? now + 1 : index
      }))
      const capacity = heldOf(owned, 0).used + more
      const given: Record<string, number> = {}
      const rank = (name: string) => [given[name] ?? 0, owned[name]!, turns[name]!, names.indexOf(name)]
      const isBefore = (left: ReadonlyArray<number>, right: ReadonlyArray<number>) => {
        const at = left.findIndex((value, index) => value !== right[index])
        return at !== -1 && left[at]! < right[at]!
      }
      while (true) {
        const used = heldOf(owned, 0).used + heldOf(given, 0).used
        const able = names.filter((name, index) => {
          const own = owned[name]! + (given[name] ?? 0)
          if (jobs[index]!.late || used >= capacity || (isOrdered && own > 0)) return false
          return roomOf(own, { capacity, used }) > 0
        })
        if (able.length === 0) break
        const next = able.reduce((best, name) => (isBefore(rank(name), rank(best)) ? name : best))
        given[next] = (given[next] ?? 0) + 1
      }
      expect(limitsOf(due, heldOf(owned, capacity, turns), { isOrdered, now })).toEqual(given)
    }
  )
})

const workerOf = (more: Partial<Parameters<typeof Worker.make>[0]> = {}) =>
  Worker.make({
    name: "charge",
    from: Publish.events(["orders.*"]),
    job: Schema.Unknown,
    toJob: () => ({}),
    run: () => Effect.void,
    ...more
  })

describe("a worker", () => {
  it.each<[string, Parameters<typeof workerOf>[0]]>([
    ["without a name", { name: "" }],
    ["whose name has a dot, which separates the parts of keys", { name: "a.b" }],
    ["whose name is too long", { name: "a".repeat(33) }],
    ["without a slot", { concurrency: 0 }],
    ["with too many slots", { concurrency: 1_025 }],
    ["without time", { timeoutMillis: 0 }],
    ["with more time than a lease may last", { timeoutMillis: 15 * 60_000 + 1 }],
    ["with a pause before the present", { retry: { pausesMillis: [-1] } }],
    ["with too many pauses", { retry: { pausesMillis: Array.from({ length: 101 }, () => 1) } }],
    ["whose pauses chance prolongs", { retry: { pausesMillis: [1], jitter: 1.1 } }]
  ])("%s is refused", (_, more) => expect(workersProblem([workerOf(more)], [Counter])).toBeTypeOf("string"))

  it("that has the name of another one, or whose replies cannot be remembered, or reach no actor, is refused", () => {
    const replying = (actor: typeof Counter) =>
      Worker.make({
        name: "charge",
        from: Publish.events(["orders.*"]),
        job: Schema.Unknown,
        toJob: () => ({}),
        run: () => Effect.void,
        reply: { actor, toCommand: () => undefined }
      })
    const { reply: _, ...silent } = Counter.options
    expect(workersProblem([workerOf(), workerOf()], [])).toContain("two workers")
    expect(workersProblem([replying(Counter)], [Counter])).toBeUndefined()
    expect(workersProblem([replying(Counter)], [])).toContain("not among")
    expect(workersProblem([replying({ ...Counter, options: silent })], [Counter])).toContain("schema of its reply")
    expect(workersProblem([workerOf()], [])).toBeUndefined()
  })
})

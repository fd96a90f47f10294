/**
 * The pace of reactors: a budget of time, beside two other policies, in a model of a machine whose one CPU makes frames
 * and transactions; and the reactor that keeps to it.
 */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { maximumBatchRecords, type Reactor } from "../../src/engine/Reactor.ts"
import {
  adaptive,
  fullBudget,
  immediate,
  type Pace,
  paceProblem,
  spend,
  waitMillis
} from "../../src/engine/reactorPace.ts"
import { makeDeployment, partitionIn, type StartOptions, serving, start } from "./support/deployment.ts"
import { Burst } from "./support/loads.ts"

/** A policy of the model: told of a transaction, it says when the next one may begin. */
type Policy = () => {
  readonly ended: (begunAt: number, endedAt: number) => void
  readonly waitMillis: (now: number) => number
}

const budget =
  (pace: Pace): Policy =>
  () => {
    let left = fullBudget(pace, 0)
    return {
      ended: (begunAt, endedAt) => {
        left = spend(pace, left, begunAt, endedAt)
      },
      waitMillis: (now) => waitMillis(pace, left, now)
    }
  }

/** Waits after every transaction for some times as long as it took. */
const proportional =
  (factor: number): Policy =>
  () => {
    let due = 0
    return {
      ended: (begunAt, endedAt) => {
        due = endedAt + Math.min(200, (endedAt - begunAt) * factor)
      },
      waitMillis: (now) => Math.max(0, due - now)
    }
  }

/** Waits by how much longer a transaction took than the quickest one. */
const congestion =
  (factor: number): Policy =>
  () => {
    let least = Number.POSITIVE_INFINITY
    let due = 0
    return {
      ended: (begunAt, endedAt) => {
        least = Math.min(least * 1.01, endedAt - begunAt)
        due = endedAt + Math.min(200, (endedAt - begunAt - least) * factor)
      },
      waitMillis: (now) => Math.max(0, due - now)
    }
  }

/** What things cost in the model, milliseconds. */
interface Costs {
  readonly frame: number
  readonly transaction: number
  readonly record: number
  /** The part of a transaction in which the CPU is free: the database works, and syncs. */
  readonly elsewhere: number
}
const usual: Costs = { frame: 0.6, transaction: 3, record: 0.1, elsewhere: 1.5 }

const stepMillis = 0.1
const fullBatch = 256

/**
 * Plays a machine. Its CPU is shared by the frame and the transaction that are under way; a frame brings one record and
 * comes when the one before is done, and not before `interval` has passed.
 */
const play = (policy: Policy, costs: Costs, interval: number, seconds = 20) => {
  const pace = policy()
  const came: Array<number> = []
  let done = 0
  let frameLeft = 0
  let nextFrameAt = 0
  let transaction: { readonly begunAt: number; readonly through: number; cpu: number; elsewhere: number } | undefined
  let waited = 0
  let longestWait = 0
  let heldSince: number | undefined
  for (let now = 0; now < seconds * 1_000; now += stepMillis) {
    if (frameLeft <= 0 && now >= nextFrameAt && came.length - done < 1_024) {
      frameLeft = costs.frame
      nextFrameAt = Math.max(now, nextFrameAt + interval)
    }
    if (transaction === undefined && came.length > done) {
      if (pace.waitMillis(now) > 0 && came.length - done < fullBatch) heldSince ??= now
      else {
        const held = heldSince === undefined ? 0 : now - heldSince
        heldSince = undefined
        waited += held
        longestWait = Math.max(longestWait, held)
        const through = Math.min(came.length, done + fullBatch)
        const cpu = costs.transaction + costs.record * (through - done)
        transaction = { begunAt: now, through, cpu, elsewhere: costs.elsewhere }
      }
    }
    const isWorking = transaction !== undefined && transaction.cpu > 0
    const sharing = Number(frameLeft > 0) + Number(isWorking)
    if (frameLeft > 0) {
      frameLeft -= stepMillis / sharing
      if (frameLeft <= 0) came.push(now)
    }
    if (transaction === undefined) continue
    if (isWorking) transaction.cpu -= stepMillis / sharing
    else transaction.elsewhere -= stepMillis
    if (transaction.cpu > 0 || transaction.elsewhere > 0) continue
    done = transaction.through
    pace.ended(transaction.begunAt, now)
    transaction = undefined
  }
  return { perSecond: done / seconds, waited, longestWait }
}

const policies: ReadonlyArray<readonly [string, Policy]> = [
  ["a budget of time", budget(adaptive)],
  ["a wait as long as the transaction", proportional(1)],
  ["a wait by what it took more than usual", congestion(1)]
]

describe("policies on a machine with one CPU", () => {
  const best = play(() => ({ ended: () => {}, waitMillis: () => 1 }), usual, 0).perSecond

  it("no pace leaves much of the throughput, so that the model can tell policies apart", () => {
    expect(play(budget(immediate), usual, 0).perSecond).toBeLessThan(best * 0.75)
  })

  it.each(policies.slice(0, 2))("%s comes near the throughput of full batches", (_name, policy) => {
    expect(play(policy, usual, 0).perSecond).toBeGreaterThan(best * 0.85)
  })

  it("a wait by what a transaction took more than usual does not, where the database is what takes long", () => {
    const slow = { ...usual, elsewhere: 6 }
    const [reached, ours] = [congestion(1), budget(adaptive)].map((policy) => play(policy, slow, 0).perSecond)
    expect(ours!).toBeGreaterThan(reached!)
  })

  it("at low load the budget never waits", () => {
    for (const interval of [20, 40, 100, 400])
      expect(play(budget(adaptive), usual, interval).waited, `${interval}`).toBe(0)
  })

  it("a burst at low load does not wait behind its first frame, as it does behind a wait as long as the transaction", () => {
    const pair: Costs = { ...usual, frame: 0.3 }
    const burst = (policy: Policy) => {
      const pace = policy()
      const begunAt = 1_000
      pace.ended(begunAt, begunAt + pair.transaction + pair.elsewhere)
      return pace.waitMillis(begunAt + pair.transaction + pair.elsewhere)
    }
    expect(burst(budget(adaptive))).toBe(0)
    expect(burst(proportional(1))).toBeGreaterThan(0)
  })
})

const millis = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** Transactions by the pauses before them and what they took, milliseconds; and a share in percent. */
const Histories = Schema.Array(Schema.Struct({ pause: millis(2_000), took: millis(30_000) }))
const Shares = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

describe("the budget of a pace", () => {
  it.prop(
    "is never above the burst, and no wait is longer than the longest or than it has to be",
    [Arbitrary.schema(Histories), Arbitrary.schema(Shares)],
    ([history, percent]) => {
      const pace: Pace = { ...adaptive, share: percent / 100 }
      let now = 0
      let left = fullBudget(pace, now)
      for (const { pause, took } of history) {
        now += pause + waitMillis(pace, left, now + pause)
        const begunAt = now
        now += took
        left = spend(pace, left, begunAt, now)
        const wait = waitMillis(pace, left, now)
        expect(left.millis).toBeLessThanOrEqual(pace.burstMillis)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(pace.maximumWaitMillis)
        expect(waitMillis(pace, left, now + wait + 1e-6)).toBe(0)
        // Who paused for its share of the transaction has nothing left to wait.
        if (percent < 100) expect(waitMillis(pace, left, now + took / pace.share + 1e-6)).toBe(0)
      }
    }
  )

  it.prop(
    "a reactor whose transactions take less than the share, each after a pause, never waits",
    [Arbitrary.schema(Schema.Array(millis(200)))],
    ([durations]) => {
      let now = 0
      let left = fullBudget(adaptive, now)
      for (const took of durations) {
        expect(waitMillis(adaptive, left, now)).toBe(0)
        left = spend(adaptive, left, now, now + took)
        now += took + took / adaptive.share
      }
    }
  )

  it("is refused where it cannot work", () => {
    expect(paceProblem(adaptive)).toBeUndefined()
    expect(paceProblem(immediate)).toBeUndefined()
    for (const wrong of [{ share: 0 }, { share: 1.1 }, { share: Number.NaN }, { burstMillis: -1 }])
      expect(paceProblem({ ...adaptive, ...wrong }), JSON.stringify(wrong)).toBeDefined()
    for (const maximumWaitMillis of [-1, 1_001, Number.NaN])
      expect(paceProblem({ ...adaptive, maximumWaitMillis })).toContain("from 0 to 1000")
  })
})

/** Waits for as long as a pace may after each transaction, which takes 1 s. */
const slow: Pace = { share: 0.01, burstMillis: 0, maximumWaitMillis: 1_000 }

/** An engine whose reactor has just made a transaction and waits, and the numbers of records of its transactions. */
const waiting = (config: StartOptions["config"] = {}, deployment = makeDeployment()) =>
  Effect.gen(function* () {
    const batches: Array<number> = []
    const reactor: Reactor<never> = {
      name: "paced",
      pace: slow,
      handle: (records) =>
        Effect.gen(function* () {
          const { onCommit } = yield* ReactorTransaction
          yield* Effect.sleep("1 second")
          onCommit(() => void batches.push(records.length))
        })
    }
    const running = yield* serving(deployment, { actors: [Burst], reactors: [reactor], config })
    const burst = (facts: number) => running.engine.ask(Burst, { organization: "org_1" }, { facts })
    yield* burst(1)
    yield* TestClock.adjust("1 second")
    expect(batches).toEqual([1])
    return { ...running, batches, burst, partition: partitionIn(running.engine) }
  })

describe("a reactor that waits", () => {
  it.effect("takes in one transaction what came meanwhile, when the wait is over", () =>
    Effect.gen(function* () {
      const { batches, burst } = yield* waiting()
      for (let n = 0; n < 10; n++) yield* burst(1)
      yield* TestClock.adjust("999 millis")
      yield* TestClock.adjust("999 millis")
      expect(batches).toEqual([1])
      yield* TestClock.adjust("1 second")
      expect(batches).toEqual([1, 10])
    })
  )

  it.effect("goes on at once when what is unread fills a batch", () =>
    Effect.gen(function* () {
      const { batches, burst } = yield* waiting()
      yield* burst(maximumBatchRecords - 1)
      yield* TestClock.adjust(0)
      yield* burst(1)
      yield* TestClock.adjust(0)
      yield* TestClock.adjust("1 second")
      expect(batches).toEqual([1, maximumBatchRecords])
    })
  )

  it.effect("goes on at once before the feed overflows, in frames or in bytes", () =>
    Effect.gen(function* () {
      for (const config of [{ feedFrames: 4 }, { feedBytes: 1_000 }]) {
        const { batches, burst } = yield* waiting(config)
        for (let n = 0; n < 4; n++) yield* Effect.andThen(burst(1), TestClock.adjust(0))
        yield* TestClock.adjust("1 second")
        expect(batches.length, JSON.stringify(config)).toBe(2)
      }
    })
  )

  it.effect("goes on at once when a purge waits for its cursor", () =>
    Effect.gen(function* () {
      const { batches, burst, partition } = yield* waiting()
      yield* burst(1)
      yield* TestClock.adjust(0)
      partition.needsRoom(true)
      partition.feed.wake()
      yield* TestClock.adjust(0)
      yield* TestClock.adjust("1 second")
      expect(batches).toEqual([1, 1])
    })
  )

  it.effect("does what it held back before a shutdown ends", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { batches, burst, stop } = yield* waiting({}, deployment)
      yield* burst(3)
      yield* TestClock.adjust(0)
      const stopping = yield* Effect.forkChild(stop)
      yield* TestClock.adjust(0)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      expect(batches).toEqual([1, 3])
      expect(deployment.cursors.cursors.get("0/paced")?.sequence).toBe(3)
    })
  )

  it.effect("is refused with a pace that cannot work", () =>
    Effect.gen(function* () {
      const reactor: Reactor<never> = { name: "paced", pace: { ...slow, share: 2 }, handle: () => Effect.void }
      const error = yield* Effect.flip(start(makeDeployment(), { reactors: [reactor] }))
      expect(String(error)).toContain("the pace of reactor paced: its share")
    })
  )
})

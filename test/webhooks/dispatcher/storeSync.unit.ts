/** Waiting deliveries of the store are found and attempted at their time, in any number and under any failure, without a scan. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import { defaultSchedule } from "../../../src/webhooks/delivery/schedule.ts"
import { maximumHeld } from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import { noMoreScans, Stock } from "./dispatcherStock.ts"
import { answered, away, delivery, folded } from "./dispatcherSupport.ts"

const settings = { ...noMoreScans, drainMillis: 0 }
const quiet = Effect.provide(Logger.layer([]))

describe("what waits in the store", () => {
  it.effect("given more endpoints than one look takes, then all of them are served from the first one", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      for (let n = 0; n < 2_300; n++) {
        stock.endpoint(`we_${n}`)
        stock.put(`d${n}`, { endpointId: `we_${n}` })
      }
      const { sent } = yield* stock.start({ settings })
      yield* TestClock.adjust("2 seconds")
      expect(new Set(sent).size).toBe(2_300)
    })
  )

  it.effect("given more of one endpoint than it may hold, then all of it is attempted without a pause between", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      for (let n = 0; n < 1_000; n++) stock.put(`d${n}`, { dueAt: -1_000 + n })
      const { sent } = yield* stock.start({ settings })
      yield* TestClock.adjust(20)
      expect(sent).toEqual(Array.from({ length: 1_000 }, (_, n) => `d${n}`))
    })
  )

  it.effect(
    "given more than may be held in all, then no more is held, and what was left out comes when there is room",
    () =>
      Effect.gen(function* () {
        const stock = new Stock()
        const endpoints = 130
        for (let n = 0; n < endpoints; n++) {
          stock.endpoint(`we_${n}`)
          for (let m = 0; m < 128; m++) stock.put(`d${n}.${m}`, { endpointId: `we_${n}` })
        }
        let isHanging = true
        const { listener, load, sent } = yield* stock.start({
          settings,
          send: () => Effect.as(Effect.repeat(Effect.sleep("1 second"), { while: () => isHanging }), answered(200))
        })
        // So that what may be held is no multiple of what an endpoint may hold.
        listener.committed({
          taken: [delivery("first", { endpointId: "we_first" })],
          queued: new Map(),
          endpoints: [{ ...folded, endpointId: "we_first" }]
        })
        yield* TestClock.adjust("100 millis")
        const { held } = yield* load
        expect(held).toBeGreaterThan(maximumHeld / 4)
        expect(held).toBeLessThanOrEqual(maximumHeld / 2)
        isHanging = false
        yield* Effect.repeat(TestClock.adjust("2 minutes"), { times: 9 })
        expect(new Set(sent).size).toBe(endpoints * 128 + 1)
        expect((yield* load).held).toBe(0)
      })
  )

  it.effect("given one that is due a little later than what was taken, then it is attempted when it is due", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      stock.put("now")
      stock.put("later", { dueAt: 3_000 })
      const { sent } = yield* stock.start({ settings })
      yield* TestClock.adjust(2_999)
      expect(sent).toEqual(["now"])
      yield* TestClock.adjust(100)
      expect(sent).toEqual(["now", "later"])
    })
  )

  it.effect("given nothing that is due yet, then it is attempted when it is due", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      stock.put("later", { dueAt: 3_000, lane: jobLanes.retry })
      const { sent } = yield* stock.start({ settings })
      yield* TestClock.adjust(2_999)
      expect(sent).toEqual([])
      yield* TestClock.adjust(100)
      expect(sent).toEqual(["later"])
    })
  )

  it.effect("given a failure, then the retry comes at its time, and the next one at its own", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      stock.put("a")
      const { sent } = yield* stock.start({
        answer: () => answered(500),
        settings: { ...settings, schedule: { ...defaultSchedule, jitter: 0, delaysMillis: [5_000, 30_000] } }
      })
      const sentAfter = (millis: number) => Effect.map(TestClock.adjust(millis), () => sent.length)
      expect(yield* sentAfter(100)).toBe(1)
      expect(yield* sentAfter(4_800)).toBe(1)
      expect(yield* sentAfter(300)).toBe(2)
      expect(yield* sentAfter(29_500)).toBe(2)
      expect(yield* sentAfter(600)).toBe(3)
      expect(yield* sentAfter(100_000)).toBe(3)
      expect(stock.statusOf("a")).toBe("failed")
    })
  )

  it.effect(
    "given a store that is away when it is asked, then it is asked again soon, and nothing waits for a scan",
    () =>
      Effect.gen(function* () {
        const stock = new Stock()
        stock.endpoint("we_1")
        for (let n = 0; n < 3; n++) stock.put(`d${n}`)
        let failures = 4
        const { sent } = yield* stock.start({ settings }, (store) => ({
          take: (...of) => (failures-- > 0 ? Effect.fail(away) : store.take(...of))
        }))
        yield* TestClock.adjust("4 seconds")
        expect(sent).toEqual(["d0", "d1", "d2"])
      }).pipe(quiet)
  )

  it.effect("given an endpoint of which only its id is known, then it is asked for at once", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      const { listener, sent, wake } = yield* stock.start({ settings })
      yield* TestClock.adjust("1 second")
      stock.endpoint("we_1")
      stock.put("a")
      yield* wake(0, "we_1")
      yield* TestClock.adjust("100 millis")
      expect(sent).toEqual(["a"])
      stock.endpoint("we_2")
      stock.put("b", { endpointId: "we_2" })
      listener.committed({ taken: [], queued: new Map([["we_2", { partition: 0 }]]), endpoints: [] })
      yield* TestClock.adjust("100 millis")
      expect(sent).toEqual(["a", "b"])
    })
  )

  it.effect("given very many endpoints of which only the ids are known, then all of them are asked for", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      const { listener, sent } = yield* stock.start({ settings })
      yield* TestClock.adjust("1 second")
      const ids = Array.from({ length: 2_300 }, (_, n) => `we_${n}`)
      for (const endpointId of ids) {
        stock.endpoint(endpointId)
        stock.put(endpointId, { endpointId })
      }
      const queued = new Map(ids.map((endpointId) => [endpointId, { partition: 0 }]))
      listener.committed({ taken: [], queued, endpoints: [] })
      yield* TestClock.adjust("2 seconds")
      expect(new Set(sent).size).toBe(2_300)
    })
  )

  it.effect(
    "given a state that has changed in the store while another process served, then a look at it finds that",
    () =>
      Effect.gen(function* () {
        const stock = new Stock()
        stock.endpoint("we_1")
        stock.put("a")
        const { sent } = yield* stock.start({ settings: { ...settings, scanMillis: 1_000 } })
        yield* TestClock.adjust("500 millis")
        expect(sent).toEqual(["a"])
        stock.endpoint("we_1", { paused: { reason: "gone", at: 1 } }, { sequence: 2 })
        stock.put("b")
        yield* TestClock.adjust("10 seconds")
        expect(sent).toEqual(["a"])
        stock.endpoint("we_1", {}, { sequence: 3 })
        yield* TestClock.adjust("10 seconds")
        expect(sent).toEqual(["a", "b"])
      })
  )
})

describe("what is not to be attempted", () => {
  it.effect(
    "given a deleted endpoint, then all that waits is cancelled, also what is due much later, and it is forgotten",
    () =>
      Effect.gen(function* () {
        const stock = new Stock()
        stock.endpoint("we_1")
        stock.endpoint("we_2", null)
        for (let n = 0; n < 2_500; n++) stock.put(`d${n}`, { endpointId: "we_2", dueAt: 86_400_000 })
        stock.put("other", { dueAt: 86_400_000 })
        const { sent } = yield* stock.start({ settings })
        yield* TestClock.adjust("2 seconds")
        expect(stock.data.jobs.size).toBe(1)
        expect(stock.statusOf("d2499")).toBe("cancelled")
        expect(stock.statusOf("other")).toBe("pending")
        expect([...stock.data.endpoints.keys()]).toEqual(["we_1"])
        expect(sent).toEqual([])
      })
  )

  it.effect("given a paused endpoint, then what becomes too old meanwhile expires, each time it is looked for", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1", { paused: { reason: "gone", at: 1 } })
      for (const [name, expiresAt] of [
        ["at once", 0],
        ["soon", 15_000],
        ["later", 45_000]
      ] as const)
        stock.put(name, { expiresAt })
      const { sent } = yield* stock.start({ settings: { ...settings, scanMillis: 1_000 } })
      const statuses = () => ["at once", "soon", "later"].map((name) => stock.statusOf(name))
      yield* TestClock.adjust("5 seconds")
      expect(statuses()).toEqual(["expired", "pending", "pending"])
      yield* TestClock.adjust("25 seconds")
      expect(statuses()).toEqual(["expired", "expired", "pending"])
      yield* TestClock.adjust("60 seconds")
      expect(statuses()).toEqual(["expired", "expired", "expired"])
      expect(sent).toEqual([])
    })
  )

  it.effect(
    "given an event that is older than the event log when its turn comes, then it expires instead of being sent",
    () =>
      Effect.gen(function* () {
        const now = 40 * 86_400_000
        yield* TestClock.setTime(now)
        const stock = new Stock()
        stock.endpoint("we_1")
        // The queue would still give it for a minute.
        stock.put("old", { createdAt: now - 30 * 86_400_000 - 1, expiresAt: now + 60_000 })
        stock.put("young", { createdAt: now - 30 * 86_400_000 + 10_000, expiresAt: now + 60_000 })
        const { sent } = yield* stock.start({ settings })
        yield* TestClock.adjust("1 second")
        expect(sent).toEqual(["young"])
        expect(stock.statusOf("old")).toBe("expired")
        expect(stock.data.delivery("dlv_old")?.attemptCount).toBe(0)
      })
  )
})

describe("partitions that move", () => {
  it.effect(
    "given one that is served elsewhere, then what waits goes back at once, and nothing more of it is attempted here",
    () =>
      Effect.gen(function* () {
        const stock = new Stock()
        for (const partition of [0, 1]) {
          stock.endpoint(`we_${partition}`, {}, { partition })
          for (let n = 0; n < 10; n++) stock.put(`p${partition}.${n}`, { endpointId: `we_${partition}`, partition })
        }
        let partitions = [0, 1]
        let isHanging = true
        const { held, sent } = yield* stock.start({
          partitions: () => partitions,
          settings: { ...settings, scanMillis: 1_000 },
          send: () => Effect.as(Effect.repeat(Effect.sleep("100 millis"), { while: () => isHanging }), answered(200))
        })
        yield* TestClock.adjust("500 millis")
        expect(sent.toSorted()).toEqual([0, 1].flatMap((partition) => [0, 1, 2, 3].map((n) => `p${partition}.${n}`)))
        partitions = [0]
        yield* TestClock.adjust("2 seconds")
        const now = 2_500
        const due = [...stock.data.jobs.jobs.values()].filter(({ dueAt, partition }) => partition === 1 && dueAt <= now)
        expect(due.map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0, 0, 0])
        isHanging = false
        yield* TestClock.adjust("10 seconds")
        expect(sent.filter((name) => name.startsWith("p1"))).toHaveLength(4)
        expect(sent.filter((name) => name.startsWith("p0"))).toHaveLength(10)
        expect(yield* held).toBe(0)
        partitions = [0, 1]
        yield* TestClock.adjust("10 seconds")
        expect(sent.filter((name) => name.startsWith("p1"))).toHaveLength(10)
      })
  )

  it.effect("given one that is served elsewhere, then this process shows no backlog of it any more", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      for (const partition of [0, 1]) {
        stock.endpoint(`we_${partition}`, { paused: { reason: "gone", at: 1 } }, { partition })
        stock.put(`d${partition}`, { endpointId: `we_${partition}`, partition })
      }
      let partitions = [0, 1]
      yield* stock.start({ partitions: () => partitions, settings })
      const backlog = Effect.map(Metric.snapshot, (metrics) =>
        ["0", "1"].map((partition) =>
          ["sluice_webhook_backlog", "sluice_webhook_oldest_due_seconds", "sluice_webhook_paused_endpoints"].map(
            (id) => {
              const found = metrics.find((metric) => metric.id === id && metric.attributes?.partition === partition)
              return found?.type === "Gauge" ? Number(found.state.value) : undefined
            }
          )
        )
      )
      yield* TestClock.adjust("61 seconds")
      expect(yield* backlog).toEqual([
        [1, 60, 1],
        [1, 60, 1]
      ])
      partitions = [0]
      yield* TestClock.adjust("60 seconds")
      expect(yield* backlog).toEqual([
        [1, 120, 1],
        [0, 0, 0]
      ])
    })
  )

  it.effect("given an endpoint of a partition that is not served here, then a hint at it changes nothing", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1", {}, { partition: 1 })
      stock.put("a", { partition: 1 })
      const { sent, wake } = yield* stock.start({ settings })
      yield* TestClock.adjust("1 second")
      yield* wake(1, "we_1")
      yield* TestClock.adjust("1 second")
      expect(sent).toEqual([])
      expect([...stock.data.jobs.jobs.values()].map(({ attempts }) => attempts)).toEqual([0])
    })
  )

  it.effect("given one that leaves while an outcome cannot be recorded, then nobody tries that for ever", () =>
    Effect.gen(function* () {
      const stock = new Stock()
      stock.endpoint("we_1")
      stock.put("a")
      let partitions = [0]
      let tries = 0
      const { held, sent } = yield* stock.start(
        { partitions: () => partitions, settings: { ...settings, scanMillis: 1_000 } },
        () => ({
          record: () =>
            Effect.suspend(() => {
              tries++
              return Effect.fail(away)
            })
        })
      )
      yield* TestClock.adjust("10 seconds")
      expect(sent).toEqual(["a"])
      expect(tries).toBeGreaterThan(2)
      partitions = []
      yield* TestClock.adjust("20 seconds")
      expect(yield* held).toBe(0)
      const before = tries
      yield* TestClock.adjust("60 seconds")
      expect(tries).toBe(before)
    }).pipe(quiet)
  )
})

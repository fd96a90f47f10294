/** Rates of endpoints in the dispatcher and in its queue: when attempts begin, and what waits without a place. Time is the test's. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import { SecretsUnavailable, type TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import { rateWindowMillis } from "../../../src/webhooks/dispatcher/AttemptRate.ts"
import { DispatchQueue, EndpointQueue } from "../../../src/webhooks/dispatcher/DispatchQueue.ts"
import {
  answered,
  delivery,
  endpoint,
  type Faults,
  folded,
  resultsOf,
  type Started,
  start
} from "./dispatcherSupport.ts"

/** A dispatcher that notes when each body was sent. */
const timed = (faults: Faults = {}) =>
  Effect.gen(function* () {
    const times: Array<{ readonly at: number; readonly body: string }> = []
    const started = yield* start({
      ...faults,
      send: (body) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          times.push({ at, body })
          return answered(200)
        })
    })
    const of = (prefix: string) => times.filter(({ body }) => body.startsWith(prefix)).map(({ at }) => at)
    return { ...started, times, of }
  })

let sequence = 1

/** Hands deliveries over to an endpoint that has this rate from now on. */
const hand = (
  { listener }: Started,
  endpointId: string,
  rateLimit: number | null,
  deliveries: ReadonlyArray<TakenDelivery>
) =>
  Effect.sync(() =>
    listener.committed({
      taken: deliveries.map((one) => ({ ...one, endpointId })),
      queued: new Map(),
      endpoints: [{ ...folded, endpointId, sequence: ++sequence, endpoint: { ...endpoint, rateLimit } }]
    })
  )

const many = (name: string, count: number, more: Partial<TakenDelivery> = {}) =>
  Array.from({ length: count }, (_, at) => delivery(`${name}${at}`, more))

/** Goes on in steps, as a clock does. */
const pass = (millis: number, step = 50) =>
  Effect.forEach(Array.from({ length: Math.ceil(millis / step) }), () => TestClock.adjust(step), { discard: true })

/** The most that lie in one second. */
const mostInSecond = (times: ReadonlyArray<number>) =>
  Math.max(...times.map((time) => times.filter((other) => other >= time && other - time <= 1_000).length))

describe("an endpoint with a rate", () => {
  it.effect("is attempted so often in each second and no more, whatever the attempts are", () =>
    Effect.gen(function* () {
      const started = yield* timed()
      yield* hand(started, "we_1", 4, [
        ...many("first", 8),
        ...many("retry", 8, { lane: jobLanes.retry, attempt: 2 }),
        ...many("asked", 4, { lane: jobLanes.asked, origin: "retry" })
      ])
      yield* pass(4_500)
      const times = started.times.map(({ at }) => at)
      assert.lengthOf(times, 20)
      assert.strictEqual(mostInSecond(times), 4)
      assert.isAtMost(times.at(-1)!, 4 * (rateWindowMillis + 50))
      // Each lane has its turns.
      for (const lane of ["first", "retry", "asked"]) assert.isAtMost(started.of(lane)[0]!, rateWindowMillis + 50)
    })
  )

  it.effect("waits without a place: another of the same organization gets all of them at once", () =>
    Effect.gen(function* () {
      const started = yield* timed({ settings: { capacity: { main: 2, slow: 2 } } })
      yield* hand(started, "we_1", 1, many("rated", 2))
      yield* hand(started, "we_2", null, many("free", 30))
      yield* TestClock.adjust(0)
      assert.lengthOf(started.of("rated"), 1)
      assert.lengthOf(started.of("free"), 30)
      assert.deepStrictEqual((yield* started.load).inFlight, { main: 0, slow: 0, overdue: 0 })
      yield* pass(1_100)
      assert.lengthOf(started.of("rated"), 2)
    })
  )

  it.effect("keeps what waits pending: nothing of it fails, expires or is given up", () =>
    Effect.gen(function* () {
      const started = yield* timed()
      yield* hand(started, "we_1", 1, many("event", 3))
      yield* pass(500)
      assert.deepStrictEqual(
        started.recorded.map(({ result: { _tag } }) => _tag),
        ["Settled"]
      )
      yield* pass(2_500)
      assert.deepStrictEqual(resultsOf(started), [
        ["dlv_event0", "succeeded", ""],
        ["dlv_event1", "succeeded", ""],
        ["dlv_event2", "succeeded", ""]
      ])
    })
  )

  it.effect("goes on at once when its rate is raised or taken away, and less when it is lowered", () =>
    Effect.gen(function* () {
      const started = yield* timed()
      yield* hand(started, "we_1", 5, many("event", 8))
      yield* TestClock.adjust(0)
      assert.lengthOf(started.times, 5)
      yield* hand(started, "we_1", 7, [])
      yield* TestClock.adjust(0)
      assert.lengthOf(started.times, 7)
      yield* hand(started, "we_1", 2, many("later", 4))
      yield* pass(1_000)
      assert.lengthOf(started.times, 7)
      yield* pass(100)
      assert.lengthOf(started.times, 9)
      yield* hand(started, "we_1", null, [])
      yield* TestClock.adjust(0)
      assert.lengthOf(started.times, 12)
    })
  )

  it.effect("keeps its rate where the attempts of some seconds waited for their secrets", () =>
    Effect.gen(function* () {
      let isOpen = false
      const started = yield* timed({
        open: () => Effect.repeat(Effect.sleep(100), { until: () => isOpen }).pipe(Effect.asVoid)
      })
      yield* hand(started, "we_1", 2, many("event", 6))
      yield* pass(3_000)
      assert.deepStrictEqual(started.times, [])
      isOpen = true
      yield* pass(3_500)
      assert.lengthOf(started.times, 6)
      assert.strictEqual(mostInSecond(started.times.map(({ at }) => at)), 2)
    })
  )

  it.effect("loses nothing of its rate by attempts that were given up", () =>
    Effect.gen(function* () {
      let isAway = true
      const started = yield* timed({
        open: () => (isAway ? Effect.fail(new SecretsUnavailable({ message: "away" })) : Effect.void)
      })
      for (let round = 0; round < 3; round++) {
        yield* hand(started, "we_1", 1, many(`lost${round}`, 1))
        yield* pass(200)
      }
      assert.deepStrictEqual(
        started.recorded.map(({ result: { _tag } }) => _tag),
        ["Returned", "Returned", "Returned"]
      )
      isAway = false
      yield* hand(started, "we_1", 1, many("event", 1))
      yield* TestClock.adjust(0)
      assert.lengthOf(started.times, 1)
    })
  )

  it.effect("has what it needs for a short time in memory, and the rest is given back to the store", () =>
    Effect.gen(function* () {
      const started = yield* timed()
      yield* hand(started, "we_1", null, [])
      yield* hand(started, "we_1", 3, [])
      assert.strictEqual(started.listener.roomOf("we_1"), 6)
      assert.isAbove(started.listener.roomOf("we_2"), 6)
      yield* hand(started, "we_1", 100, many("event", 60))
      yield* TestClock.adjust(0)
      yield* hand(started, "we_1", 100, many("more", 60))
      yield* TestClock.adjust(0)
      assert.lengthOf(started.times, 100)
      yield* hand(started, "we_1", 3, [])
      yield* TestClock.adjust(20)
      assert.strictEqual(yield* started.held, 6)
      assert.lengthOf(
        started.recorded.filter(({ result }) => result._tag === "Returned"),
        14
      )
    })
  )

  it.effect("keeps its rate where its partition leaves and comes back within the second", () =>
    Effect.gen(function* () {
      let partitions: ReadonlyArray<number> = [0]
      const started = yield* timed({ partitions: () => partitions, settings: { scanMillis: 10 } })
      yield* hand(started, "we_1", 2, many("before", 2))
      yield* TestClock.adjust(20)
      assert.lengthOf(started.times, 2)
      partitions = []
      yield* pass(100, 10)
      partitions = [0]
      yield* pass(100, 10)
      yield* hand(started, "we_1", 2, many("after", 2))
      yield* pass(700)
      assert.lengthOf(started.times, 2)
      yield* pass(300)
      assert.lengthOf(started.times, 4)
    })
  )
})

describe("the queue", () => {
  /** Endpoints of organizations of their own, each with a delivery or more. */
  const queueOf = (rates: Readonly<Record<string, number | null>>, capacity = 4) => {
    let now = 0
    const queue = new DispatchQueue<string>({ main: capacity, slow: 1 }, () => now)
    const endpoints = new Map(
      Object.entries(rates).map(([name, rateLimit]) => {
        const one = new EndpointQueue<string>(name)
        one.organizationId = name
        queue.permit(one, "all")
        queue.limit(one, rateLimit)
        return [name, one]
      })
    )
    return {
      queue,
      of: (name: string) => endpoints.get(name)!,
      pass: (millis: number) => {
        now += millis
      },
      /** Begins and ends everything that may be. */
      run: () => {
        const done: Array<string> = []
        for (let slot = queue.next(); slot !== undefined; slot = queue.next()) {
          queue.begin(slot)
          done.push(slot.item)
          queue.end(slot, { end: "succeeded", durationMillis: 1 })
        }
        return done
      }
    }
  }

  it("says when an endpoint that waits for its rate may go on, and lets it go on then, not before", () => {
    const { of, pass, queue, run } = queueOf({ rated: 1, other: 1 })
    assert.strictEqual(queue.resumesAt, Number.POSITIVE_INFINITY)
    for (const item of ["a", "b", "c"]) queue.add(of("rated"), jobLanes.first, item)
    assert.deepStrictEqual(run(), ["a"])
    assert.strictEqual(queue.resumesAt, rateWindowMillis)
    pass(500)
    queue.add(of("other"), jobLanes.first, "x")
    queue.add(of("other"), jobLanes.first, "y")
    queue.resume()
    assert.deepStrictEqual(run(), ["x"])
    pass(rateWindowMillis - 500)
    queue.resume()
    assert.deepStrictEqual(run(), ["b"])
    assert.strictEqual(queue.resumesAt, 500 + rateWindowMillis)
    pass(rateWindowMillis)
    queue.resume()
    assert.deepStrictEqual(run(), ["y", "c"])
  })

  it("counts what has not begun, but not what was given up", () => {
    const { of, queue } = queueOf({ rated: 1 })
    for (const item of ["a", "b"]) queue.add(of("rated"), jobLanes.first, item)
    const slot = queue.next()!
    assert.isUndefined(queue.next())
    queue.end(slot, undefined)
    assert.strictEqual(queue.next()?.item, "b")
  })

  it("gives back the newest of what a lower rate is not worth holding", () => {
    const { of, queue } = queueOf({ rated: null })
    for (let at = 0; at < 10; at++) queue.add(of("rated"), jobLanes.first, `first ${at}`)
    for (let at = 0; at < 3; at++) queue.add(of("rated"), jobLanes.retry, `retry ${at}`)
    assert.deepStrictEqual(queue.limit(of("rated"), 4), ["first 8", "first 9"])
    assert.strictEqual(of("rated").roomIn(jobLanes.first), 0)
    assert.strictEqual(of("rated").roomIn(jobLanes.retry), 5)
    assert.deepStrictEqual(queue.limit(of("rated"), 4), [])
    assert.deepStrictEqual(queue.limit(of("rated"), null), [])
  })
})

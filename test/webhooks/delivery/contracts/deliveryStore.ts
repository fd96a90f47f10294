/** The contract of `DeliveryStore`, for every implementation. Each test takes a partition and endpoints that no other one uses. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { jobLanes, maximumShownAttempts } from "../../../../src/webhooks/delivery/model.ts"
import { statusOf } from "../../../../src/webhooks/endpoint/model.ts"
import { patienceMillis } from "../../../support/patience.ts"
import {
  again,
  endpointState,
  fresh,
  lease,
  made,
  now,
  returned,
  type StoreHarness,
  settled
} from "./deliveryStoreSupport.ts"

export const deliveryStoreContract = <E>(name: string, services: Layer.Layer<StoreHarness, E>): void => {
  layer(services, { excludeTestServices: true, timeout: patienceMillis })(`DeliveryStore: ${name}`, (it) => {
    taking(it)
    recording(it)
    ending(it)
    lining(it)
  })
}

const taking = (it: Vitest.MethodsNonLive<StoreHarness>): void => {
  it.effect("gives what is due with its event, once, until its time is over", () =>
    Effect.gen(function* () {
      const { endpointId, organizationId, partition, put, take } = yield* fresh
      const id = yield* put({ eventId: "evt_a", body: '{"näme":"ž"}' })
      yield* put({ dueAt: now + 1 })
      const [taken, ...more] = yield* take()
      assert.deepStrictEqual(more, [])
      assert.deepInclude(taken, {
        id,
        partition,
        organizationId,
        endpointId,
        lane: jobLanes.first,
        attempt: 1,
        leasedUntil: now + lease,
        origin: "event",
        eventId: "evt_a",
        eventCreatedAt: now,
        body: '{"näme":"ž"}'
      })
      assert.lengthOf(yield* take(), 0)
      const [second] = yield* take({ at: now + lease, limit: 10 }).pipe(
        Effect.map((all) => all.filter((one) => one.id === id))
      )
      assert.strictEqual(second!.attempt, 2)
    })
  )

  it.effect("gives those that have waited longest, as many as are wanted, of the lane that is wanted", () =>
    Effect.gen(function* () {
      const { put, take } = yield* fresh
      const late = yield* put({ dueAt: now - 1 })
      const early = yield* put({ dueAt: now - 3 })
      const middle = yield* put({ dueAt: now - 2 })
      const retry = yield* put({ dueAt: now - 9, lane: jobLanes.retry })
      assert.sameMembers(
        (yield* take({ limit: 2 })).map(({ id }) => id),
        [early, middle]
      )
      assert.sameMembers(
        (yield* take()).map(({ id }) => id),
        [late]
      )
      assert.sameMembers(
        (yield* take({ lane: jobLanes.retry })).map(({ id }) => id),
        [retry]
      )
    })
  )

  it.effect("gives as many bytes as fit, one event at least, and leaves the rest as it was", () =>
    Effect.gen(function* () {
      const { put, take } = yield* fresh
      const ids = [yield* put({ body: "ä".repeat(60) }), yield* put({ body: "ä".repeat(60) })]
      const [first, ...none] = yield* take({ bytes: 100 })
      assert.deepStrictEqual(none, [])
      const [second] = yield* take({ bytes: 0 })
      assert.sameMembers([first!.id, second!.id], ids)
      assert.strictEqual(second!.attempt, 1)
    })
  )

  it.effect("ends as expired what has lost its event", () =>
    Effect.gen(function* () {
      const { delivery, forgetEvent, put, store, partition, take } = yield* fresh
      const id = yield* put({ eventId: "evt_lost" })
      const kept = yield* put()
      yield* forgetEvent("evt_lost")
      assert.deepStrictEqual(
        (yield* take()).map((one) => one.id),
        [kept]
      )
      assert.deepInclude(yield* delivery(id), { status: "expired", nextAttemptAt: null, settledAt: now })
      assert.strictEqual((yield* store.backlog(partition)).pending, 1)
    })
  )

  it.effect("puts the same delivery in once", () =>
    Effect.gen(function* () {
      const { put, take } = yield* fresh
      const id = yield* put({ eventId: "evt_twice" })
      yield* put({ eventId: "evt_twice" })
      assert.deepStrictEqual(
        (yield* take()).map((one) => one.id),
        [id]
      )
    })
  )

  it.effect("gives what was given back again in the lane that it came from", () =>
    Effect.gen(function* () {
      const { put, store, take } = yield* fresh
      for (const lane of [jobLanes.first, jobLanes.retry, jobLanes.asked]) {
        const id = yield* put({ lane })
        const [taken] = yield* take({ lane })
        assert.deepStrictEqual([...(yield* store.record([returned(taken!, now)], now))], [id])
        assert.deepStrictEqual(
          (yield* take({ lane })).map((one) => [one.id, one.lane, one.attempt]),
          [[id, lane, 1]]
        )
      }
    })
  )

  it.effect("keeps what is taken for longer, unless somebody else has it", () =>
    Effect.gen(function* () {
      const { put, store, take } = yield* fresh
      yield* put()
      yield* put()
      const [first, second] = yield* take()
      // The second one's time ends and it is taken again.
      assert.deepStrictEqual([...(yield* store.keep([first!], now + 3 * lease))], [first!.id])
      const [other] = yield* take({ at: now + lease })
      assert.deepInclude(other, { id: second!.id, attempt: 2 })
      assert.deepStrictEqual([...(yield* store.keep([first!, second!], now + 4 * lease))], [first!.id])
    })
  )

  it.effect("names lanes with their earliest, page by page in order", () =>
    Effect.gen(function* () {
      const { partition, put, store } = yield* fresh
      const place = { organizationId: "org", eventCreatedAt: now }
      yield* put({ ...place, endpointId: "we_b", dueAt: now + 7 })
      yield* put({ ...place, endpointId: "we_b", dueAt: now + 5 })
      yield* put({ ...place, endpointId: "we_b", dueAt: now + 9, lane: jobLanes.retry })
      yield* put({ ...place, endpointId: "we_B", dueAt: now - 5, lane: jobLanes.asked })
      const all = [
        { endpointId: "we_B", lane: jobLanes.asked, dueAt: now - 5 },
        { endpointId: "we_b", lane: jobLanes.first, dueAt: now + 5 },
        { endpointId: "we_b", lane: jobLanes.retry, dueAt: now + 9 }
      ]
      assert.deepStrictEqual(yield* store.due(partition, { limit: 10 }), all)
      assert.deepStrictEqual(yield* store.due(partition, { limit: 1 }), all.slice(0, 1))
      assert.deepStrictEqual(yield* store.due(partition, { after: all[1], limit: 10 }), all.slice(2))
      assert.deepStrictEqual(yield* store.due(partition, { after: all[2], limit: 10 }), [])
    })
  )
}

const recording = (it: Vitest.MethodsNonLive<StoreHarness>): void => {
  it.effect("records a success: the job goes, the delivery and its endpoint show the attempt", () =>
    Effect.gen(function* () {
      const { delivery, lastDelivery, partition, put, save, store, take } = yield* fresh
      yield* save(endpointState)
      const id = yield* put()
      const [taken] = yield* take()
      assert.deepStrictEqual([...(yield* store.record([settled(taken!, "succeeded", 204)], now + 50))], [id])
      assert.deepStrictEqual(yield* delivery(id), {
        status: "succeeded",
        attemptCount: 1,
        attempts: [made(204)],
        nextAttemptAt: null,
        settledAt: now + 50
      })
      assert.deepStrictEqual(yield* lastDelivery, { at: now + 20, status: 204 })
      assert.deepStrictEqual(yield* store.backlog(partition), { pending: 0, oldestDueAt: null })
      assert.deepStrictEqual([...(yield* store.holding([partition]))], [])
    })
  )

  it.effect("lets another attempt wait in the lane of retries", () =>
    Effect.gen(function* () {
      const { delivery, put, store, take } = yield* fresh
      const id = yield* put()
      const [taken] = yield* take()
      yield* store.record([again(taken!, now + 5_000)], now)
      assert.deepInclude(yield* delivery(id), { status: "pending", attemptCount: 1, nextAttemptAt: now + 5_000 })
      assert.lengthOf(yield* take({ at: now + 4_999, lane: jobLanes.retry }), 0)
      assert.lengthOf(yield* take({ at: now + 5_000 }), 0)
      const [second] = yield* take({ at: now + 5_000, lane: jobLanes.retry })
      assert.deepInclude(second, { id, attempt: 2 })
    })
  )

  it.effect("counts an attempt once, although its outcome is told again because the answer was lost", () =>
    Effect.gen(function* () {
      const { delivery, put, store, take } = yield* fresh
      const id = yield* put()
      const [taken] = yield* take()
      for (const _ of [1, 2]) {
        yield* store.record([again(taken!, now + 5_000)], now)
        assert.deepInclude(yield* delivery(id), {
          status: "pending",
          attemptCount: 1,
          attempts: [made(500)],
          nextAttemptAt: now + 5_000
        })
      }
      const [second] = yield* take({ at: now + 5_000, lane: jobLanes.retry })
      assert.strictEqual(second!.attempt, 2)
    })
  )

  it.effect("does not count an attempt that was not made", () =>
    Effect.gen(function* () {
      const { delivery, put, store, take } = yield* fresh
      const id = yield* put()
      const [taken] = yield* take()
      assert.deepStrictEqual([...(yield* store.record([returned(taken!, now + 10)], now))], [id])
      assert.lengthOf(yield* take({ at: now + 9 }), 0)
      const [second] = yield* take({ at: now + 10 })
      assert.deepInclude(second, { id, attempt: 1, lane: jobLanes.first })
      assert.deepInclude(yield* delivery(id), { status: "pending", attemptCount: 0 })
    })
  )

  it.effect("counts an outcome for its own attempt only, and once", () =>
    Effect.gen(function* () {
      const { delivery, put, store, take } = yield* fresh
      const id = yield* put()
      const [first] = yield* take()
      const [second] = yield* take({ at: now + lease })
      assert.strictEqual((yield* store.record([settled(first!, "failed", 500)], now)).size, 0)
      assert.deepInclude(yield* delivery(id), { status: "pending", attemptCount: 0 })
      assert.strictEqual((yield* store.record([settled(second!, "succeeded")], now)).size, 1)
      assert.strictEqual((yield* store.record([settled(second!, "failed", 500)], now)).size, 0)
      assert.deepInclude(yield* delivery(id), { status: "succeeded", attemptCount: 1 })
      assert.strictEqual((yield* store.record([], now)).size, 0)
    })
  )

  it.effect(
    "shows the newest attempts and counts them all; an earlier one does not hide a later one at the endpoint",
    () =>
      Effect.gen(function* () {
        const { delivery, lastDelivery, put, save, store, take } = yield* fresh
        yield* save(endpointState)
        const id = yield* put({ lane: jobLanes.retry })
        const count = maximumShownAttempts + 2
        for (let number = 1; number <= count; number++) {
          const at = now + number
          const [taken] = yield* take({ at, lane: jobLanes.retry })
          yield* store.record([{ delivery: taken!, made: made(500, at), result: { _tag: "Again", dueAt: at } }], at)
        }
        const shown = yield* delivery(id)
        assert.strictEqual(shown.attemptCount, count)
        assert.deepStrictEqual(
          shown.attempts.map(({ at }) => at),
          Array.from({ length: maximumShownAttempts }, (_, index) => now + 3 + index)
        )
        yield* put({ eventId: "evt_older" })
        const [older] = yield* take()
        yield* store.record(
          [{ delivery: older!, made: made(200, now - 50), result: { _tag: "Again", dueAt: now } }],
          now
        )
        assert.deepStrictEqual(yield* lastDelivery, { at: now + count + 20, status: 500 })
      })
  )
}

const ending = (it: Vitest.MethodsNonLive<StoreHarness>): void => {
  it.effect("ends what is too old, at most as many as asked, but not what is taken", () =>
    Effect.gen(function* () {
      const { delivery, partition, put, store, take } = yield* fresh
      const held = yield* put({ expiresAt: now + 1 })
      yield* take()
      const later = yield* put({ expiresAt: now + 1, dueAt: now + 100 })
      const old = [yield* put({ expiresAt: now + 1 }), yield* put({ expiresAt: now + 2 })]
      assert.strictEqual(yield* store.expire(partition, { now, limit: 10 }), 0)
      assert.strictEqual(yield* store.expire(partition, { now: now + 2, limit: 1 }), 1)
      assert.strictEqual(yield* store.expire(partition, { now: now + 2, limit: 10 }), 1)
      for (const id of old) assert.deepInclude(yield* delivery(id), { status: "expired", settledAt: now + 2 })
      for (const id of [held, later]) assert.deepInclude(yield* delivery(id), { status: "pending" })
    })
  )

  it.effect("tells of endpoints that have changed, and of those that are not there", () =>
    Effect.gen(function* () {
      const { endpointId, organizationId, partition, save, store } = yield* fresh
      const known = (sequence: number) => store.endpoints([{ endpointId, sequence }])
      assert.deepStrictEqual(yield* known(0), [
        { endpointId, organizationId: "", partition: 0, sequence: 0, endpoint: null }
      ])
      yield* save(endpointState, 7)
      const folded = { endpointId, organizationId, partition, sequence: 7, endpoint: endpointState }
      assert.deepStrictEqual(yield* known(0), [folded])
      assert.deepStrictEqual(yield* known(7), [])
      const paused = { ...endpointState, paused: { reason: "failures", at: now } } as const
      yield* save(paused, 9)
      assert.strictEqual(statusOf((yield* known(7))[0]!.endpoint!), "paused")
      assert.strictEqual(yield* store.pausedEndpoints(partition), 1)
      // Earlier versions stored such texts, and texts that look like another field.
      const odd = { ...paused, description: 'a\0b\ud800 "paused":{"at":1}', url: "https://a.example/\0\udc00" }
      yield* save(odd, 9)
      assert.strictEqual(yield* store.pausedEndpoints(partition), 1)
      yield* save({ ...odd, paused: null }, 9)
      assert.strictEqual(yield* store.pausedEndpoints(partition), 0)
      yield* save(null, 10)
      assert.deepStrictEqual(yield* known(9), [{ ...folded, sequence: 10, endpoint: null }])
      assert.strictEqual(yield* store.pausedEndpoints(partition), 0)
    })
  )

  it.effect("cancels the deliveries of a deleted endpoint, whoever is at them, and forgets it with the last", () =>
    Effect.gen(function* () {
      const { delivery, endpointId, partition, put, save, store, take } = yield* fresh
      yield* save(endpointState)
      const ids = [
        yield* put(),
        yield* put({ dueAt: now + 50_000, lane: jobLanes.retry }),
        yield* put({ lane: jobLanes.asked })
      ]
      const [taken] = yield* take()
      assert.deepStrictEqual(yield* store.deleted([partition], 10), [])
      yield* save(null, 2)
      assert.deepStrictEqual(yield* store.deleted([partition, -1], 10), [{ partition, endpointId }])
      let cancelled = 0
      for (let round = 0; round < 5; round++)
        cancelled += yield* store.cancel(partition, endpointId, { now: now + 5, limit: 1 })
      assert.strictEqual(cancelled, 3)
      for (const id of ids)
        assert.deepInclude(yield* delivery(id), { status: "cancelled", nextAttemptAt: null, settledAt: now + 5 })
      assert.strictEqual((yield* store.record([settled(taken!, "succeeded")], now)).size, 0)
      assert.deepInclude(yield* delivery(ids[0]!), { status: "cancelled" })
      assert.deepStrictEqual(yield* store.deleted([partition], 10), [])
      assert.deepStrictEqual((yield* store.endpoints([{ endpointId, sequence: 2 }]))[0]!.organizationId, "")
    })
  )

  it.effect("counts what waits, from the longest waiting on", () =>
    Effect.gen(function* () {
      const { partition, put, store, take } = yield* fresh
      yield* put({ dueAt: now - 40 })
      yield* put({ dueAt: now + 40 })
      assert.deepStrictEqual(yield* store.backlog(partition), { pending: 2, oldestDueAt: now - 40 })
      assert.deepStrictEqual([...(yield* store.holding([-1, partition]))], [partition])
      yield* take()
      assert.deepStrictEqual(yield* store.backlog(partition), { pending: 2, oldestDueAt: now + 40 })
    })
  )
}

const lining = (it: Vitest.MethodsNonLive<StoreHarness>): void => {
  const lines = Effect.gen(function* () {
    const tenant = yield* fresh
    const { endpointId, partition, put, store } = tenant
    return {
      ...tenant,
      line: (name: string, place: number, more: object = {}) =>
        put({ lane: jobLanes.line, line: { name, place, index: 0 }, ...more }),
      takeLines: (claims: Readonly<Record<string, number>>, at = now, bytes = 1_000_000) =>
        store.takeLines(
          partition,
          Object.entries(claims).map(([line, limit]) => ({ endpointId, line, limit })),
          { now: at, leasedUntil: at + lease, maximumBytes: bytes }
        ),
      found: store.lines(partition, endpointId, { after: "", limit: 10 })
    }
  })

  it.effect("hands out a line in the order of its places, as many as are wanted", () =>
    Effect.gen(function* () {
      const { line, takeLines } = yield* lines
      const third = yield* line("a", 3)
      const first = yield* line("a", 1)
      const second = yield* line("a", 2)
      const other = yield* line("b", 1)
      const taken = yield* takeLines({ a: 2, b: 5 })
      assert.deepStrictEqual(
        taken.map(({ id, line }) => [line, id]),
        [
          ["a", first],
          ["a", second],
          ["b", other]
        ]
      )
      assert.deepStrictEqual(yield* takeLines({ a: 2, b: 5 }), [])
      const after = yield* takeLines({ a: 5 }, now + lease)
      assert.deepStrictEqual(
        after.map(({ attempt, id }) => [id, attempt]),
        [
          [first, 2],
          [second, 2],
          [third, 1]
        ]
      )
    })
  )

  it.effect("hands out nothing behind a delivery that is due later, until that is over", () =>
    Effect.gen(function* () {
      const { line, store, takeLines } = yield* lines
      yield* line("a", 1)
      const second = yield* line("a", 2)
      const [first] = yield* takeLines({ a: 1 })
      yield* store.record([again(first!, now + 5_000)], now)
      assert.deepStrictEqual(yield* takeLines({ a: 9 }), [])
      const [retried] = yield* takeLines({ a: 1 }, now + 5_000)
      assert.deepInclude(retried, { id: first!.id, attempt: 2, lane: jobLanes.line })
      assert.deepStrictEqual(yield* takeLines({ a: 9 }, now + 5_000), [])
      yield* store.record([settled(retried!, "failed", 500)], now)
      assert.deepStrictEqual(
        (yield* takeLines({ a: 9 }, now + 5_000)).map(({ id }) => id),
        [second]
      )
    })
  )

  it.effect("takes of a line what fits from its beginning", () =>
    Effect.gen(function* () {
      const { line, takeLines } = yield* lines
      const first = yield* line("a", 1, { body: "x".repeat(50) })
      yield* line("a", 2, { body: "x".repeat(60) })
      yield* line("a", 3, { body: "x" })
      const taken = yield* takeLines({ a: 9 }, now, 100)
      assert.deepStrictEqual(
        taken.map(({ id }) => id),
        [first]
      )
      assert.lengthOf(yield* takeLines({ a: 9 }, now + lease), 3)
    })
  )

  it.effect("lists the lines with the first delivery of each, and cancels them with their endpoint", () =>
    Effect.gen(function* () {
      const { endpointId, found, line, partition, save, store } = yield* lines
      const first = yield* line("b", 1, { dueAt: now + 7 })
      yield* line("b", 2)
      const alone = yield* line("a", 5)
      assert.deepStrictEqual(yield* found, {
        isReplaying: false,
        found: [
          { line: "a", headId: alone, dueAt: now, isAlone: true },
          { line: "b", headId: first, dueAt: now + 7, isAlone: false }
        ]
      })
      yield* save(null, 2)
      assert.strictEqual(yield* store.cancel(partition, endpointId, { now, limit: 10 }), 3)
      assert.deepStrictEqual((yield* found).found, [])
    })
  )
}

/** A NATS store that answers and refuses writes: when it counts, what is said, and that a server of our own is restarted. */
import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { PublishAnswer } from "../../src/engine/ports/Journal.ts"
import { DiskSpace, watchRefusals } from "../../src/platform/DiskSpace.ts"
import { RefusedWrites, refusedToStore } from "../../src/platform/refusedWrites.ts"

const refused = (message: string): PublishAnswer => ({ _tag: "Refused", message })
const broken = refused("critical write error: no space left on device (503, 10077)")

it("a failure of the storage counts, and no other answer", () => {
  expect(refusedToStore(broken)).toContain("no space left")
  expect(refusedToStore(refused("error opening msg block file (503, 10077)"))).toBeDefined()
  expect(refusedToStore(refused("read-only file system (500, 10052)"))).toBeDefined()
  expect(refusedToStore(refused("the server's answer is not JSON"))).toBeUndefined()
  expect(refusedToStore({ _tag: "Full" })).toBeUndefined()
  expect(refusedToStore({ _tag: "NoLeader" })).toBeUndefined()
})

it("is said once it lasts, and ends with a stored frame alone", () => {
  const writes = new RefusedWrites()
  writes.note("the log of partition 1", broken, 1_000)
  expect(writes.finding(5_999)).toBeUndefined()
  expect(writes.finding(6_000)).toContain(
    "NATS refuses writes for 5 s, of the log of partition 1 (critical write error"
  )
  writes.note("the log of partition 2", broken, 2_000)
  writes.note("the log of partition 1", { _tag: "NoAnswer", reason: "timeout" }, 3_000)
  expect(writes.finding(61_000)).toContain("for 60 s, of 2 logs")
  writes.note("the log of partition 1", { _tag: "Acked", sequence: 1, duplicate: false }, 61_000)
  writes.note("the log of partition 2", { _tag: "Acked", sequence: 1, duplicate: false }, 61_000)
  expect(writes.finding(70_000)).toBeUndefined()
})

it("a store that answers reads and no write counts too, unless its log grows", () => {
  const store = "the log of partition 1"
  const silent: PublishAnswer = { _tag: "NoAnswer", reason: "timeout" }
  const writes = new RefusedWrites()
  const attempt = (now: number, lastSequence: number) => {
    writes.note(store, silent, now)
    writes.read(store, lastSequence, now + 1)
  }
  attempt(0, 7)
  attempt(10_000, 7)
  expect(writes.finding(14_000)).toBeUndefined()
  attempt(20_000, 7)
  expect(writes.finding(20_001)).toBe(
    "NATS refuses writes for 20 s, of the log of partition 1 (it answers reads, and no write). Make room on its disk, then restart nats-server: it does not take writes again by itself"
  )
  // The frame was stored, and its answer lost.
  writes.read(store, 8, 20_002)
  expect(writes.finding(20_002)).toBeUndefined()
  attempt(30_000, 8)
  attempt(50_000, 8)
  expect(writes.finding(50_001)).toBeDefined()
  // Nobody writes there any more.
  expect(writes.finding(240_000)).toBeUndefined()
})

it("a server that answers nothing is away, and refuses nothing", () => {
  const writes = new RefusedWrites()
  for (let now = 0; now < 60_000; now += 1_000)
    writes.note("the log of partition 1", { _tag: "NoAnswer", reason: "timeout" }, now)
  expect(writes.finding(60_000)).toBeUndefined()
})

it.effect("a server of our own is restarted, once a minute while it goes on", () =>
  Effect.gen(function* () {
    const space = yield* DiskSpace
    let restarts = 0
    yield* watchRefusals(Effect.sync(() => restarts++))
    yield* TestClock.adjust("1 minute")
    expect(restarts).toBe(0)
    yield* space.answered("the log of partition 1", broken)
    yield* TestClock.adjust("10 seconds")
    expect(restarts).toBe(1)
    yield* TestClock.adjust("1 minute")
    expect(restarts).toBe(2)
    yield* space.answered("the log of partition 1", { _tag: "Acked", sequence: 1, duplicate: false })
    yield* TestClock.adjust("5 minutes")
    expect(restarts).toBe(2)
  }).pipe(Effect.scoped, Effect.provide(DiskSpace.layer), Effect.provide(Logger.layer([])))
)

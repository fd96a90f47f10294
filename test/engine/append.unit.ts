/** Rule 2: what each answer of the log means, on a scripted log. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { awayDeadlineMillis, maximumFrameBytes } from "../../src/engine/limits.ts"
import { type JournalStore, makeStore, publishTo } from "../../src/engine/memory/JournalMemory.ts"
import type { Log } from "../../src/engine/ports/Journal.ts"
import { type AppendRequest, append } from "../../src/engine/shell/partition/append.ts"
import { readClocks } from "../../src/engine/shell/readClocks.ts"
import { type FaultyLog, makeFaultyLog, type PublishFault } from "./support/faultyLog.ts"

const ours = new Uint8Array([1, 2, 3])
const theirs = new Uint8Array([9])
const fence = () => new Uint8Array([7])

const appendTo = (log: Log, request: AppendRequest) =>
  Effect.clockWith((clock) => append(log, request, () => readClocks(clock)))

/** Appends our frame after one earlier frame, with the given faults; time passes as needed. */
const appendWith = (
  faults: ReadonlyArray<PublishFault>,
  {
    fence,
    meanwhile
  }: {
    readonly fence?: () => Uint8Array
    readonly meanwhile?: (log: FaultyLog, store: JournalStore) => Effect.Effect<void>
  } = {}
) =>
  Effect.gen(function* () {
    const store = makeStore()
    publishTo(store.log(0), { bytes: theirs, identity: "0/1/1", expectedLast: 0, timeoutMillis: 0 }, maximumFrameBytes)
    const faulty = makeFaultyLog(store)
    faulty.publishes.push(...faults)
    const fiber = yield* Effect.forkChild(
      appendTo(faulty.log, {
        bytes: ours,
        identity: "0/1/2",
        expectedLast: 1,
        ...(fence === undefined ? {} : { fence })
      })
    )
    yield* TestClock.adjust(0)
    if (meanwhile !== undefined) yield* meanwhile(faulty, store)
    yield* TestClock.adjust("11 seconds")
    const outcome = yield* Fiber.join(fiber)
    const { frames } = store.log(0)
    return { outcome, faulty, store, copies: frames.filter((frame) => Buffer.compare(frame.bytes, ours) === 0).length }
  })

const foreign = { bytes: theirs, identity: "0/2/2", timeoutMillis: 1 }

describe("rule 2, an append", () => {
  it.effect("is stored by an ack at expected + 1", () =>
    Effect.gen(function* () {
      const { copies, faulty, outcome } = yield* appendWith([])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "acked" })
      expect(faulty.attempts[0]).toMatchObject({ expectedLast: 1, identity: "0/1/2" })
      expect(copies).toBe(1)
    })
  )

  it.effect("is stored when the ack was lost and our bytes are read back", () =>
    Effect.gen(function* () {
      const { copies, faulty, outcome } = yield* appendWith(["ack lost after commit"])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      expect(faulty.attempts.length).toBe(1)
      expect(copies).toBe(1)
    })
  )

  it.effect("sends the identical frame again when nothing of it is there", () =>
    Effect.gen(function* () {
      const { copies, faulty, outcome } = yield* appendWith(["request lost", "request lost"])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "acked-after-resend" })
      expect(faulty.attempts.map((attempt) => attempt.bytes)).toEqual([ours, ours, ours])
      expect(copies).toBe(1)
    })
  )

  it.effect("is stored once when a late first copy arrives before the second", () =>
    Effect.gen(function* () {
      const { copies, outcome } = yield* appendWith(["request late", "request lost"], {
        meanwhile: (faulty) =>
          Effect.gen(function* () {
            yield* TestClock.adjust("1500 millis")
            faulty.deliverLate()
          })
      })
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      expect(copies).toBe(1)
    })
  )

  it.effect.each([
    ["10071 with the real sequence", { _tag: "WrongSequence", last: 2 }],
    ["10164 without it", { _tag: "WrongSequence", last: undefined }],
    ["a duplicate of three replicas, with an old sequence", { _tag: "Acked", sequence: 1, duplicate: true }],
    ["a duplicate with the expected sequence", { _tag: "Acked", sequence: 2, duplicate: true }],
    ["an ack with a sequence that was not expected", { _tag: "Acked", sequence: 7, duplicate: false }],
    ["no leader", { _tag: "NoLeader" }],
    ["a disconnect", { _tag: "NoAnswer", reason: "disconnected" }],
    ["an unknown error", { _tag: "Refused", message: "out of luck" }]
  ] as const)("reads the log after %s, and finds its own committed frame", ([, answer]) =>
    Effect.gen(function* () {
      const { copies, outcome } = yield* appendWith([{ _tag: "stored, but", answer }])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      expect(copies).toBe(1)
    })
  )

  it.effect.each([
    ["10071 with the real sequence", { _tag: "WrongSequence", last: 2 }],
    ["10164 without it", { _tag: "WrongSequence", last: undefined }],
    ["a duplicate", { _tag: "Acked", sequence: 2, duplicate: true }],
    ["no answer", { _tag: "NoAnswer", reason: "timeout" }]
  ] as const)("is fenced after %s when another frame stands at expected + 1", ([, answer]) =>
    Effect.gen(function* () {
      const store = makeStore()
      const faulty = makeFaultyLog(store)
      publishTo(
        store.log(0),
        { bytes: theirs, identity: "0/1/1", expectedLast: 0, timeoutMillis: 0 },
        maximumFrameBytes
      )
      yield* faulty.log.publish({ ...foreign, expectedLast: 1 })
      faulty.publishes.push({ _tag: "answer", answer })
      const outcome = yield* appendTo(faulty.log, { bytes: ours, identity: "0/1/2", expectedLast: 1 })
      expect(outcome).toMatchObject({ _tag: "Fenced", certain: true, branch: "fenced-other-frame" })
      expect(store.log(0).frames.length).toBe(2)
    })
  )

  it.effect("takes the same bytes under another identity for another's frame", () =>
    Effect.gen(function* () {
      const store = makeStore()
      const faulty = makeFaultyLog(store)
      yield* faulty.log.publish({ bytes: ours, identity: "0/9/1", expectedLast: 0, timeoutMillis: 1 })
      const outcome = yield* appendTo(faulty.log, { bytes: ours, identity: "0/1/1", expectedLast: 0 })
      expect(outcome).toMatchObject({ _tag: "Fenced", certain: true })
    })
  )

  it.effect("is fenced, but not certainly, when the log has gone on and the place is purged", () =>
    Effect.gen(function* () {
      const store = makeStore()
      const faulty = makeFaultyLog(store)
      for (let last = 0; last < 5; last++)
        yield* faulty.log.publish({ bytes: theirs, identity: `0/2/${last}`, expectedLast: last, timeoutMillis: 1 })
      yield* faulty.log.purgeBelow(5)
      const outcome = yield* appendTo(faulty.log, { bytes: ours, identity: "0/1/2", expectedLast: 1 })
      expect(outcome).toMatchObject({ _tag: "Fenced", certain: false, branch: "fenced-absent" })
    })
  )

  it.effect("does not write into a log that is shorter than it was", () =>
    Effect.gen(function* () {
      const store = makeStore()
      const faulty = makeFaultyLog(store)
      const outcome = yield* appendTo(faulty.log, { bytes: ours, identity: "0/1/9", expectedLast: 8 })
      expect(outcome).toMatchObject({ _tag: "Fenced", branch: "log-behind" })
      expect(store.log(0).frames.length).toBe(0)
    })
  )

  describe("that the log refuses", () => {
    const full = { _tag: "answer", answer: { _tag: "Full" } } as const
    const large = { _tag: "answer", answer: { _tag: "TooLarge", maximumBytes: 1 } } as const

    it.effect.each([
      ["full", full],
      ["too-large", large]
    ] as const)("is fenced off (%s) by an empty frame that is stored in its place", ([branch, refusal]) =>
      Effect.gen(function* () {
        const { copies, faulty, outcome, store } = yield* appendWith([refusal], { fence })
        expect(outcome).toMatchObject({ _tag: "Fenced off", branch, fence: fence() })
        expect(store.log(0).frames.map(({ bytes }) => bytes)).toEqual([theirs, fence()])
        expect(faulty.attempts.map(({ identity }) => identity)).toEqual(["0/1/2", "0/1/2"])
        expect(copies).toBe(0)
      })
    )

    it.effect("is fenced off for good: a copy that arrives later is not stored", () =>
      Effect.gen(function* () {
        const { faulty, outcome, store } = yield* appendWith(["request late", full], { fence })
        expect(outcome).toMatchObject({ _tag: "Fenced off" })
        faulty.deliverLate()
        expect(store.log(0).frames.length).toBe(2)
      })
    )

    it.effect("is stored where a copy arrives before its fence", () =>
      Effect.gen(function* () {
        const { copies, outcome } = yield* appendWith(["request late", full, "request lost"], {
          fence,
          // After the second attempt was refused, before the fence is sent again.
          meanwhile: (faulty) =>
            Effect.gen(function* () {
              yield* TestClock.adjust("1500 millis")
              faulty.deliverLate()
            })
        })
        expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
        expect(copies).toBe(1)
      })
    )

    it.effect("is fenced off where the ack of the fence was lost, or its first copy", () =>
      Effect.gen(function* () {
        const lostAck = yield* appendWith([full, "ack lost after commit"], { fence })
        expect(lostAck.outcome).toMatchObject({ _tag: "Fenced off", fence: fence() })
        const lostFence = yield* appendWith([full, "request lost"], { fence })
        expect(lostFence.outcome).toMatchObject({ _tag: "Fenced off", fence: fence() })
      })
    )

    it.effect("is refused, not certainly, where the fence is refused too", () =>
      Effect.gen(function* () {
        const { copies, faulty, outcome } = yield* appendWith(["request late", full, full], { fence })
        expect(outcome).toEqual({ _tag: "Refused", branch: "full" })
        faulty.deliverLate()
        expect(copies).toBe(0)
      })
    )

    it.effect("is refused, not certainly, where there is no fence; stored where a copy of it is found", () =>
      Effect.gen(function* () {
        expect((yield* appendWith([full])).outcome).toEqual({ _tag: "Refused", branch: "full" })
        expect((yield* appendWith([large])).outcome).toEqual({ _tag: "Refused", branch: "too-large" })
        const second = yield* appendWith(["request late", full], {
          meanwhile: (faulty) =>
            Effect.gen(function* () {
              yield* TestClock.adjust("900 millis")
              faulty.deliverLate()
            })
        })
        expect(second.outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      })
    )

    it.effect("is fenced where another owner's frame is in its place by then", () =>
      Effect.gen(function* () {
        const { outcome } = yield* appendWith([full, "request lost"], {
          fence,
          meanwhile: (_, store) => Effect.sync(() => publishTo(store.log(0), { ...foreign, expectedLast: 1 }, 1e6))
        })
        expect(outcome).toMatchObject({ _tag: "Fenced", certain: true })
      })
    )

    it.effect("is unknown where neither the log nor the fence is answered", () =>
      Effect.gen(function* () {
        const { outcome } = yield* appendWith([full, ...Array.from({ length: 30 }, () => "request lost" as const)], {
          fence
        })
        expect(outcome).toMatchObject({ _tag: "Unknown" })
      })
    )
  })

  describe("proves the ownership", () => {
    it.effect("as of the beginning of the attempt that was acknowledged", () =>
      Effect.gen(function* () {
        const acked = yield* appendWith([{ _tag: "slow", waitMillis: 700 }])
        expect(acked.outcome).toMatchObject({ provenAt: { wall: 0 } })
      })
    )

    it.effect("as of the beginning of the second attempt, where that was acknowledged", () =>
      Effect.gen(function* () {
        const resent = yield* appendWith(["request lost"])
        expect(resent.outcome).toMatchObject({ branch: "acked-after-resend", provenAt: { wall: 1_000 } })
      })
    )

    it.effect("as of the look that found the frame as the log's last", () =>
      Effect.gen(function* () {
        const { outcome } = yield* appendWith(["ack lost after commit"])
        expect(outcome).toMatchObject({ branch: "read-back", provenAt: { wall: 1_000 } })
      })
    )

    it.effect("not at all where the log has gone on behind the frame", () =>
      Effect.gen(function* () {
        const { outcome } = yield* appendWith(["ack lost after commit"], {
          meanwhile: ({ log }) =>
            Effect.asVoid(log.publish({ bytes: theirs, identity: "0/2/3", expectedLast: 2, timeoutMillis: 1 }))
        })
        expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back", provenAt: undefined })
      })
    )
  })

  it.effect("is given up early where there was no connection and nothing was ever sent", () =>
    Effect.gen(function* () {
      const faulty = makeFaultyLog(makeStore())
      faulty.disconnected = true
      const fiber = yield* Effect.forkChild(appendTo(faulty.log, { bytes: ours, identity: "0/1/1", expectedLast: 0 }))
      yield* TestClock.adjust(awayDeadlineMillis - 1)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("500 millis")
      expect(fiber.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(fiber)).toEqual({ _tag: "Not sent", branch: "not-sent" })
    })
  )

  it.effect("is sent as a first attempt when the connection is back in time", () =>
    Effect.gen(function* () {
      const { copies, outcome } = yield* appendWith([{ _tag: "answer", answer: { _tag: "NotSent" } }])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "acked" })
      expect(copies).toBe(1)
    })
  )

  it.effect.each([
    ["a lost request", "request lost"],
    ["a late one", "request late"]
  ] as const)("is unknown after %s and then no connection: one attempt may have arrived", ([, fault]) =>
    Effect.gen(function* () {
      const faulty = makeFaultyLog(makeStore())
      faulty.publishes.push(fault)
      const fiber = yield* Effect.forkChild(appendTo(faulty.log, { bytes: ours, identity: "0/1/1", expectedLast: 0 }))
      yield* TestClock.adjust(0)
      faulty.disconnected = true
      yield* TestClock.adjust("9999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.effect("finds its frame although attempts after the first could not be sent", () =>
    Effect.gen(function* () {
      const unsent = { _tag: "answer", answer: { _tag: "NotSent" } } as const
      const { copies, outcome } = yield* appendWith(["ack lost after commit", unsent, unsent])
      expect(outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      expect(copies).toBe(1)
      const late = yield* appendWith(["request late", unsent, unsent, unsent], {
        meanwhile: (faulty) =>
          Effect.gen(function* () {
            yield* TestClock.adjust("1100 millis")
            faulty.deliverLate()
          })
      })
      expect(late.outcome).toMatchObject({ _tag: "Stored", branch: "read-back" })
      expect(late.copies).toBe(1)
    })
  )

  it.effect("is unknown after ten seconds, not earlier", () =>
    Effect.gen(function* () {
      const faulty = makeFaultyLog(makeStore())
      faulty.away = true
      const fiber = yield* Effect.forkChild(appendTo(faulty.log, { bytes: ours, identity: "0/1/1", expectedLast: 0 }))
      yield* TestClock.adjust("9999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Unknown", branch: "unknown" })
    })
  )
})

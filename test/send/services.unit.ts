import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  Admission,
  DomainTier,
  domainKey,
  domainOf,
  Holds,
  PauseTriggers,
  ProbationWindow,
  SendLimits,
  TrustStage
} from "../../src/send/index.ts"

const { dayMillis, hourMillis } = SendLimits
const start = Date.UTC(2026, 6, 1, 12, 0, 0)
const email = (id: string, more: object = {}) => ({ id, from: "ann@good.test", recipients: ["a@x.test"], ...more })

const services = Layer.mergeAll(
  ProbationWindow.layerMemory({ maxKeys: 2 }),
  PauseTriggers.layerMemory(),
  TrustStage.layerMemory(),
  DomainTier.layerMemory(),
  Holds.layerMemory(),
  Admission.layerMemory({ upgradeUrl: "https://up.test", maxKeys: 2 })
)

describe("the services of sending, by the Clock", () => {
  it.effect("[send 2.1] cap each account by itself, and a retry after the told seconds passes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const window = yield* ProbationWindow
      expect(yield* window.take("ann", 30, ["a@x.test"])).toEqual({ lastHour: 30 })
      yield* TestClock.adjust("10 minutes")
      expect(yield* window.take("ann", 20, ["a@y.test"])).toEqual({ lastHour: 50 })
      expect(yield* window.take("bob", 50, ["a@y.test"])).toEqual({ lastHour: 50 })
      const refused = yield* Effect.flip(window.take("ann", 1, ["a@x.test"]))
      expect(refused).toMatchObject({ _tag: "CapReached", limit: 50, resetsAt: start + hourMillis })
      yield* TestClock.setTime(start + hourMillis)
      expect(yield* window.take("ann", 30, ["a@x.test"])).toEqual({ lastHour: 50 })
      yield* window.restart("ann")
      expect(yield* window.take("ann", 50, ["a@x.test"])).toEqual({ lastHour: 50 })
    }).pipe(Effect.provide(services))
  )

  it.effect("keep so many keys at most, refuse bad arguments, and change nothing then", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const window = yield* ProbationWindow
      yield* window.take("ann", 1, ["a@x.test"])
      yield* window.take("bob", 1, ["a@x.test"])
      expect(yield* Effect.flip(window.take("eve", 1, ["a@x.test"]))).toMatchObject({ _tag: "MemoryFull", maxKeys: 2 })
      expect(yield* Effect.flip(window.take("ann", 0, ["a@x.test"]))).toMatchObject({ argument: "cost" })
      expect(yield* Effect.flip(window.take("ann", 1, []))).toMatchObject({ argument: "values" })
      expect(yield* Effect.flip(window.take("", 1, ["a@x.test"]))).toMatchObject({ argument: "key" })
      expect(yield* window.take("ann", 49, ["a@x.test"])).toEqual({ lastHour: 50 })
      const { accept } = yield* PauseTriggers
      expect(yield* Effect.flip(accept("ann", { emails: [], lastHour: 1 }))).toMatchObject({ argument: "emails" })
      const queue = yield* Holds
      expect(yield* Effect.flip(queue.accept("s.test", 1, 0))).toMatchObject({ argument: "cap" })
      const { handOver } = yield* DomainTier
      expect(yield* Effect.flip(handOver("s.test", 1))).toEqual({ _tag: "NotVerified" })
    }).pipe(Effect.provide(services))
  )

  it.effect.each([
    ["emailsPerDay", { emailsPerHour: 1, emailsPerDay: 5_001, domainsPerHour: 1 }],
    ["domainsPerHour", { emailsPerHour: 1, emailsPerDay: 1, domainsPerHour: 501 }]
  ] as const)("refuse custom caps that no state holds: %s", ([argument, caps]) =>
    Effect.gen(function* () {
      const window = yield* ProbationWindow
      expect(yield* Effect.flip(window.take("ann", 1, ["a@x.test"]))).toMatchObject({ argument })
      const { setLimits } = yield* Admission
      const limits = { emailsPerMonth: null, probation: caps }
      expect((yield* Effect.flip(setLimits("ann", limits))).message).toContain(argument)
    }).pipe(Effect.provide(Layer.merge(services, ProbationWindow.layerMemory({ caps: () => caps }))))
  )

  it.effect("grant nothing when the clock is set back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const window = yield* ProbationWindow
      yield* window.take("ann", 50, ["a@x.test"])
      yield* TestClock.setTime(start - 5 * hourMillis)
      expect(yield* Effect.flip(window.take("ann", 1, ["a@x.test"]))).toMatchObject({ resetsAt: start + hourMillis })
      const queue = yield* Holds
      yield* TestClock.setTime(start)
      yield* queue.accept("s.test", 3, 3)
      yield* TestClock.setTime(start - dayMillis)
      expect(yield* queue.accept("s.test", 1, 3)).toMatchObject({ released: 0 })
    }).pipe(Effect.provide(services))
  )

  it.effect(
    "[send 2.6] answer a rejection with its status, the documented fields alone, and a Retry-After where waiting helps",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const { cancel, dispatch, lift, report, send, setLimits, suppress, verify } = yield* Admission
        yield* verify("ann", "good.test")
        yield* suppress("ann", "no@x.test")
        expect(yield* send("ann", [email("a", { recipients: ["no@x.test", "b@x.test"] })])).toEqual([
          { id: "a", state: "queued", suppressed: ["no@x.test"] }
        ])
        const capped = yield* Effect.flip(
          send(
            "ann",
            Array.from({ length: 50 }, (_, index) => email(`b${index}`))
          )
        )
        expect(capped).toMatchObject({ _tag: "SendRejected", status: 429, retryAfterSeconds: 3600 })
        yield* setLimits("ann", { emailsPerMonth: 2, probation: null })
        yield* send("ann", [email("b")])
        const monthly = yield* Effect.flip(send("ann", [email("c")]))
        expect(monthly).toMatchObject({
          status: 429,
          error: { limit: 2, used: 2, resetsAt: "2026-08-01T00:00:00.000Z" }
        })
        expect(monthly).not.toHaveProperty("retryAfterSeconds")
        expect(yield* cancel("ann", "b")).toBe(true)
        expect(yield* cancel("ann", "b")).toBe(false)
        expect(yield* dispatch("ann", [email("a"), email("b")])).toMatchObject([
          { state: "sending" },
          { state: "canceled" }
        ])
        yield* report("ann", [{ id: "a", what: "handedOver" }])
        expect(yield* report("ann", [{ id: "a", what: "complained", recipient: "b@x.test" }])).toEqual({
          trustStage: "sending_paused",
          pausedAt: start,
          pauseReason: "complaint"
        })
        const paused = yield* Effect.flip(send("ann", [email("d")]))
        expect(paused).toMatchObject({ status: 403, error: { code: "sending_paused" } })
        expect(yield* lift("ann")).toEqual({ trustStage: "probation", probationEndsAt: start + 72 * hourMillis })
        expect(yield* Effect.flip(lift("ann"))).toEqual({ _tag: "NotPaused", trustStage: "probation" })
        expect(yield* Effect.flip(send("bob", [email("e")]))).toMatchObject({ error: { code: "sender_not_verified" } })
        expect(yield* Effect.flip(send("ann", [email("f"), email("f")]))).toMatchObject({ argument: "request" })
        expect(yield* Effect.flip(send("ann", []))).toMatchObject({ argument: "request" })
        yield* verify("bob", "good.test")
        expect(yield* Effect.flip(verify("eve", "good.test"))).toMatchObject({ _tag: "MemoryFull", maxKeys: 2 })
      }).pipe(Effect.provide(services))
  )

  it.effect("take transitions at their hour, whoever calls next", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const stage = yield* TrustStage
      yield* stage.begin("ann", "standard")
      expect(yield* stage.nextCheck("ann")).toBe(start + 3 * dayMillis)
      yield* TestClock.setTime(start + 5 * dayMillis)
      expect(yield* stage.handOver("ann", 1)).toEqual({ trustStage: "established" })
      expect(yield* stage.nextCheck("ann")).toBe(start + 17 * dayMillis)
      yield* TestClock.setTime(start + 17 * dayMillis)
      expect(yield* stage.check("ann")).toEqual({ trustStage: "trusted" })
      expect(yield* stage.nextCheck("ann")).toBeUndefined()
      const tiers = yield* DomainTier
      yield* tiers.verify("s.test")
      yield* tiers.handOver("s.test", 100)
      expect(yield* tiers.nextCheck("s.test")).toBe(start + 20 * dayMillis)
      yield* TestClock.setTime(start + 20 * dayMillis)
      expect(yield* tiers.check("s.test")).toEqual({ tier: "warming", dailyCap: 2_000 })
    }).pipe(Effect.provide(services))
  )

  it.effect("[send 2.5] hold, cancel and release places in order", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const queue = yield* Holds
      const { held, released } = yield* queue.accept("s.test", 7, 3)
      expect([released, held.map(({ place }) => place)]).toEqual([3, [0, 1, 2, 3]])
      yield* queue.cancel("s.test", 1)
      expect(yield* Effect.flip(queue.cancel("s.test", 1))).toEqual({ _tag: "NotHeld", place: 1 })
      expect(yield* queue.release("s.test", 3)).toEqual([])
      const midnight = (yield* queue.nextRelease("s.test", 3))!
      expect(midnight).toBe(Date.UTC(2026, 6, 2))
      yield* TestClock.setTime(midnight + 600_000)
      expect(yield* queue.release("s.test", 3)).toEqual([0, 2, 3])
      expect(yield* queue.nextRelease("s.test", 3)).toBeUndefined()
      expect((yield* queue.accept("s.test", 1, 3)).held).toMatchObject([{ place: 4 }])
      expect(yield* queue.raiseCap("s.test", 4)).toEqual([4])
      yield* queue.pause("s.test")
      expect((yield* queue.accept("s.test", 1, 9)).held).toEqual([{ place: 5, heldUntil: null }])
      expect([yield* queue.release("s.test", 9), yield* queue.raiseCap("s.test", 99)]).toEqual([[], []])
      expect(yield* queue.nextRelease("s.test", 9)).toBeUndefined()
      yield* queue.lift("s.test")
      expect(yield* queue.release("s.test", 9)).toEqual([5])
    }).pipe(Effect.provide(services))
  )
})

describe("a recipient's domain", () => {
  it.each([
    ["a@B.Test", "b.test"],
    ["Ann <a@b.test>", "b.test"],
    ["a@bücher.test", "xn--bcher-kva.test"]
  ])("of %s is %s", (address, domain) => {
    expect(domainOf(address)).toBe(domain)
  })

  it("is kept as it is while it is short, else as a digest of one length", () => {
    expect(domainKey("b.test")).toBe("b.test")
    const long = (letter: string) => domainKey(`${letter.repeat(60)}.test`)
    expect(long("a")).toMatch(/^#[\w-]{22}$/)
    expect(long("a")).not.toBe(long("b"))
  })
})

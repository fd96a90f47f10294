/** Rule 13: bounds and fairness of the mailbox, and what callers see of them. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { decodeFrame } from "../../src/engine/frame.ts"
import { maximumDrainBytes, maximumDrainCommands, maximumFrameBytes } from "../../src/engine/limits.ts"
import { Mailbox } from "../../src/engine/Mailbox.ts"
import { Entry, Memory, Registry } from "../../src/engine/memory.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const memory = () => new Memory(new Registry([Counter], []))

const entryOf = (of: Memory, organization: string, command: unknown) =>
  new Entry(of.organization(organization)!, Counter, 0, "", command, () => undefined)

/** Offers or takes; `n` chooses the organization. */
const Steps = Schema.Array(Schema.Struct({ take: Schema.Boolean, n: Schema.Int }))

describe("rule 13, the mailbox", () => {
  it.prop(
    "gives each organization's entries in order, round-robin, within its bounds",
    [Arbitrary.schema(Steps)],
    ([steps]) => {
      const of = memory()
      const mailbox = new Mailbox(16)
      const model = new Map<string, Array<number>>()
      let ring: Array<string> = []
      let serial = 0
      for (const { n, take } of steps) {
        const size = [...model.values()].reduce((sum, list) => sum + list.length, 0)
        expect(mailbox.size).toBe(size)
        if (take) {
          const entry = mailbox.take()
          const next = ring.shift()
          expect(entry?.organization.name).toBe(next)
          if (next === undefined) continue
          const list = model.get(next)!
          expect(entry?.command).toBe(list.shift())
          if (list.length > 0) ring = [...ring, next]
        } else {
          const organization = `org_${Math.abs(n) % 5}`
          const list = model.get(organization) ?? []
          const fits = size < 16 && list.length < 4
          expect(mailbox.offer(entryOf(of, organization, serial))).toBe(fits)
          if (fits) {
            if (list.length === 0) ring.push(organization)
            model.set(organization, [...list, serial])
          }
          serial++
        }
      }
    }
  )

  it("serves one entry of each organization before a second one of any", () => {
    const of = memory()
    const mailbox = new Mailbox(400)
    for (let n = 0; n < 90; n++) mailbox.offer(entryOf(of, "loud", n))
    for (const quiet of ["a", "b", "c"]) mailbox.offer(entryOf(of, quiet, 0))
    const first = Array.from({ length: 4 }, () => mailbox.take()?.organization.name)
    expect(first.sort()).toEqual(["a", "b", "c", "loud"])
  })

  it("passes over an organization that waits for loading, and keeps its order", () => {
    const of = memory()
    const mailbox = new Mailbox(100)
    const waiting = of.organization("waiting")!
    for (let n = 0; n < 3; n++) mailbox.offer(entryOf(of, "waiting", n))
    mailbox.offer(entryOf(of, "other", 0))
    const first = mailbox.take()!
    waiting.loading = 1
    mailbox.putBack(first)
    expect(mailbox.take()?.organization.name).toBe("other")
    expect(mailbox.take()).toBeUndefined()
    expect(mailbox.hasRunnable()).toBe(false)
    waiting.loading = 0
    mailbox.enlist(waiting)
    expect([mailbox.take(), mailbox.take(), mailbox.take()].map((entry) => entry?.command)).toEqual([0, 1, 2])
  })
})

describe("rule 13, a partition under pressure", () => {
  /** An engine whose log answers when `open` is done. */
  const blocked = (mailboxCapacity: number) =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { journalLayer: faulty.layer, config: { mailboxCapacity } })
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const ask = (organization: string, amount = 1) =>
        Effect.forkChild(Effect.result(engine.ask(Counter, { organization }, { _tag: "Add", amount })))
      // the first one is taken into a drain and blocks the log
      const first = yield* ask("first")
      yield* TestClock.adjust(0)
      return { ask, deployment, engine, first, open: Deferred.succeed(gate, undefined) }
    })

  it.effect("given a full share, then that organization is Overloaded at once, others are not", () =>
    Effect.gen(function* () {
      const { ask, open } = yield* blocked(40)
      const loud = yield* Effect.forEach(Array.from({ length: 15 }), () => ask("loud"))
      const quiet = yield* ask("quiet")
      yield* TestClock.adjust(0)
      const done = loud.filter((fiber) => fiber.pollUnsafe() !== undefined)
      expect(done.length).toBe(5)
      for (const fiber of done)
        expect(yield* Fiber.join(fiber)).toMatchObject({
          failure: { _tag: "Overloaded", retryable: true, retryAfterMillis: 1_000 }
        })
      expect(quiet.pollUnsafe()).toBeUndefined()
      yield* open
      expect((yield* Fiber.join(quiet))._tag).toBe("Success")
      expect((yield* Effect.forEach(loud, Fiber.join)).filter(({ _tag }) => _tag === "Success").length).toBe(10)
    })
  )

  it.effect("given a full mailbox, then every organization is Overloaded at once, and what was taken is done", () =>
    Effect.gen(function* () {
      const { ask, engine, open } = yield* blocked(40)
      const asks = yield* Effect.forEach(Array.from({ length: 60 }), (_, n) => ask(`org_${n % 20}`))
      yield* TestClock.adjust(0)
      expect(asks.filter((fiber) => fiber.pollUnsafe() !== undefined).length).toBe(20)
      expect(yield* engine.inspectPartition(0)).toMatchObject({ mailboxDepth: 40 })
      yield* open
      expect((yield* Effect.forEach(asks, Fiber.join)).filter(({ _tag }) => _tag === "Success").length).toBe(40)
    })
  )

  it.effect("given very many commands, then no frame holds more than a drain may", () =>
    Effect.gen(function* () {
      const { ask, deployment, open } = yield* blocked(8_000)
      const asks = yield* Effect.forEach(Array.from({ length: 1_500 }), (_, n) => ask(`org_${n % 30}`))
      yield* TestClock.adjust(0)
      yield* open
      yield* Effect.forEach(asks, Fiber.join)
      const sizes = deployment.journal.log(0).frames.map((frame) => decodeFrame(frame.bytes).records.length)
      expect(Math.max(...sizes)).toBe(maximumDrainCommands)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_501)
    })
  )

  it.effect("given large facts, then frames stay below their bounds", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment)
      const text = "ü".repeat(20_000)
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) => engine.ask(Counter, { organization: `org_${n}` }, { _tag: "Note", text }),
        { concurrency: "unbounded", discard: true }
      )
      const sizes = deployment.journal.log(0).frames.map((frame) => frame.bytes.length)
      expect(Math.max(...sizes)).toBeLessThan(maximumDrainBytes + 50_000)
      expect(Math.max(...sizes)).toBeLessThan(maximumFrameBytes)
      expect(sizes.length).toBeGreaterThan(5)
    })
  )

  it.effect("given a shutdown, then what was accepted is answered, and what comes later is told to come again", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine, stop } = yield* serving(deployment, { journalLayer: faulty.layer })
      const gate = yield* Deferred.make<void>()
      faulty.gate = Deferred.await(gate)
      const asks = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.forkChild(engine.ask(Counter, { organization: `org_${n}` }, { _tag: "Add", amount: n }))
      )
      yield* TestClock.adjust(0)
      const stopping = yield* Effect.forkChild(stop)
      yield* TestClock.adjust(0)
      const late = yield* Effect.flip(engine.ask(Counter, { organization: "org_9" }, { _tag: "Get" }))
      expect(late).toMatchObject({ _tag: "Unavailable", reason: "it is shutting down" })
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Effect.forEach(asks, Fiber.join)).toEqual([1, 2, 3])
      yield* Fiber.join(stopping)
      const newest = Math.max(...deployment.checkpoints.of(0).records.map(({ sequence }) => sequence))
      expect(newest).toBe(deployment.journal.log(0).frames.at(-1)?.sequence)
    })
  )
})

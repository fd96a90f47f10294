import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import {
  dismissParked,
  listParked,
  reactorNamed,
  retryParked,
  showParkedRecords
} from "../../src/engine/operator/parkedRecords.ts"
import { outboxName } from "../../src/engine/outbox.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import { messagesOf } from "../../src/engine/shell/outbox/readMessages.ts"
import { breakingAmount, Purse, rejectedAmount, returnedAmount } from "../simulation/bank/transfers.ts"
import { Counter } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving } from "./support/deployment.ts"
import { at, balances, cursorOf, fund, funded, measured, metricOf, purses, send } from "./support/purses.ts"

describe("a message to another organization", () => {
  it.effect("takes effect there, once its decision is stored", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* funded(deployment)
      expect(yield* engine.ask(Purse, at("org_1"), send(5, "org_2", "org_3"))).toBe(90)
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2", "org_3")).toEqual([90, 5, 5])
      expect(partitionIn(engine).outbox.count).toBe(0)
      const frames = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes).records)
      expect(frames.at(-1)?.map(({ actor }) => `${actor.organization} ${actor.kind} ${actor.key}`)).toEqual([
        "org_2 purse a",
        "org_2 sluice.inbox 0",
        "org_3 purse a",
        "org_3 sluice.inbox 0"
      ])
    })
  )

  it.effect("may go to its own organization", () =>
    Effect.gen(function* () {
      const { engine } = yield* funded(makeDeployment())
      expect(yield* engine.ask(Purse, at("org_1"), send(5, "org_1"))).toBe(95)
      yield* elapse(1)
      expect(yield* balances(engine, "org_1")).toEqual([100])
    })
  )

  it.effect("may be all that a decision does", () =>
    Effect.gen(function* () {
      const { engine } = yield* funded(makeDeployment())
      yield* engine.ask(Purse, at("org_1"), send(returnedAmount, "org_2"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2")).toEqual([100, 0])
    })
  )

  it.effect("is taken in when it is rejected too, and counted by its kind", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* funded(deployment)
      yield* engine.ask(Purse, at("org_1"), send(rejectedAmount, "org_2"))
      yield* engine.ask(Purse, at("org_1"), send(1, "org_2"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2")).toEqual([88, 1])
      expect(yield* metricOf("sluice_outbox_rejected_total")).toMatchObject([
        { attributes: { kind: "purse", partition: "0" }, value: 1 }
      ])
      expect(yield* metricOf("sluice_outbox_delivered_total")).toMatchObject([{ value: 1 }])
    }).pipe(measured)
  )

  it.effect("is the same from memory and from the log", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* funded(deployment)
      yield* engine.ask(Purse, at("org_1"), send(5, "org_2", "org_3"))
      const { bytes, sequence } = deployment.journal.log(0).frames[2]!
      const { head } = partitionIn(engine).core
      const messages = messagesOf(sequence, decodeFrame(bytes))
      expect(messages).toMatchObject([
        { origin: [head.epoch, 3, 1], sender: { organization: "org_1", kind: "purse", key: "a" } },
        { origin: [head.epoch, 3, 2], message: { organization: "org_3", kind: "purse", key: "a", version: 1 } }
      ])
    })
  )

  it.effect("that nobody has sent costs no transaction for each frame", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      let moves = 0
      const store = CursorsMemory.make(deployment.cursors)
      const counting = Cursors.of({
        ...store,
        transact: (move, effects) =>
          Effect.suspend(() => {
            moves++
            return store.transact(move, effects)
          })
      })
      const cursorsLayer = Layer.succeed(Cursors, counting)
      const { engine } = yield* serving(deployment, { cursorsLayer, config: { checkpointFrames: 50 } })
      for (let n = 1; n <= 200; n++) {
        yield* engine.ask(Counter, at("org_1"), { _tag: "Add", amount: 1 })
        // A checkpoint is written beside the asks, which need not wait for it.
        if (n % 50 === 0) yield* elapse(1)
      }
      yield* elapse(5)
      expect(moves).toBeLessThan(8)
      // And a checkpoint has moved it, so that the log was purged.
      expect(cursorOf(deployment)).toBeGreaterThan(100)
      expect(deployment.journal.log(0).firstSequence).toBeGreaterThan(50)
      const before = moves
      yield* elapse(300, 5_000)
      expect(moves).toBeLessThan(before + 2)
    })
  )
})

describe("a message whose receiver breaks", () => {
  const parked = Effect.gen(function* () {
    const deployment = makeDeployment()
    const { engine } = yield* funded(deployment)
    yield* engine.ask(Purse, at("org_1"), send(breakingAmount, "org_2"))
    yield* engine.ask(Purse, at("org_1"), send(2, "org_2", "org_3"))
    yield* elapse(2)
    yield* engine.ask(Purse, at("org_1"), send(3, "org_2"))
    yield* elapse(2)
    return { deployment, engine }
  })

  it.effect("is parked, and with it what goes there later; others are not held up", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* parked
      expect(yield* balances(engine, "org_1", "org_2", "org_3")).toEqual([76, 0, 2])
      expect(yield* reactorNamed(engine, outboxName)).toBe(outboxName)
      expect(yield* listParked(engine, outboxName, { limit: 5 })).toMatchObject({
        records: 3,
        organizations: [{ organization: "org_2", records: 3 }],
        hasMore: false
      })
      const [first, second] = yield* showParkedRecords(engine, outboxName, "org_2", 5)
      expect(first!.error).toContain("this amount breaks the rule")
      expect(JSON.parse(first!.record)).toMatchObject({
        _tag: "Message",
        organization: "org_1",
        message: { kind: "purse" }
      })
      expect(second!.error).toBe("behind a parked message to its receiver")
      expect(cursorOf(deployment)).toBe(partitionIn(engine).core.head.sequence)
      expect(yield* retryParked(engine, 0, outboxName, "org_2")).toMatchObject({ retried: 0, left: 3 })
      expect(yield* balances(engine, "org_2")).toEqual([0])
    })
  )

  it.effect("is given up by an operator, and those behind it go by themselves", () =>
    Effect.gen(function* () {
      const { engine } = yield* parked
      const [first, second] = yield* showParkedRecords(engine, outboxName, "org_2", 5)
      expect(yield* dismissParked(engine, 0, outboxName, "org_2", { record: second! })).toBe(false)
      expect(yield* dismissParked(engine, 0, outboxName, "org_2", { record: first! })).toBe(true)
      yield* elapse(11)
      expect(yield* balances(engine, "org_1", "org_2", "org_3")).toEqual([76, 5, 2])
      yield* engine.ask(Purse, at("org_1"), send(4, "org_2"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_2")).toEqual([9])
      expect(yield* listParked(engine, outboxName, { limit: 5 })).toMatchObject({ records: 0, organizations: [] })
    })
  )

  it.effect("waits for its operator over a restart", () =>
    Effect.gen(function* () {
      const { deployment } = yield* parked
      const { engine } = yield* serving(deployment, purses)
      yield* engine.ask(Purse, at("org_1"), send(1, "org_2", "org_3"))
      yield* elapse(15)
      expect(yield* balances(engine, "org_2", "org_3")).toEqual([0, 3])
      expect(yield* listParked(engine, outboxName, { limit: 5 })).toMatchObject({ records: 4 })
      const [first] = yield* showParkedRecords(engine, outboxName, "org_2", 1)
      yield* dismissParked(engine, 0, outboxName, "org_2", { record: first! })
      expect(yield* retryParked(engine, 0, outboxName, "org_2", { limit: 2 })).toEqual({ retried: 2, left: 1 })
      expect(yield* retryParked(engine, 0, outboxName, "org_2")).toEqual({ retried: 1, left: 0 })
      expect(yield* balances(engine, "org_2")).toEqual([6])
    })
  )
})

describe("a message and a change of owners", () => {
  it.effect("that was delivered before is not taken in again", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* funded(deployment)
      yield* engine.ask(Purse, at("org_1"), send(5, "org_2"))
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      expect(yield* balances(engine, "org_2")).toEqual([5])
      // Its cursor has not moved over it yet.
      expect(cursorOf(deployment)).toBeLessThan(3)
      const next = yield* serving(deployment, purses)
      yield* elapse(2)
      expect(yield* balances(next.engine, "org_1", "org_2")).toEqual([95, 5])
      expect(cursorOf(deployment)).toBeGreaterThan(2)
      expect((yield* metricOf("sluice_outbox_repeated_total")).map(({ value }) => value)).toContain(1)
    }).pipe(measured)
  )

  it.effect("given a log whose beginning an earlier program has purged, then the outbox begins with what is left", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine, stop } = yield* funded(deployment, { ...purses, config: { checkpointFrames: 5 } })
      for (let n = 0; n < 5; n++) {
        for (let m = 0; m < 10; m++) yield* engine.ask(Purse, at("org_1"), fund(1))
        yield* elapse(2)
      }
      yield* stop
      expect(deployment.journal.log(0).firstSequence).toBeGreaterThan(5)
      deployment.cursors.cursors.clear()
      for (let starts = 0; starts < 2; starts++) {
        const next = yield* serving(deployment, purses)
        yield* next.engine.ask(Purse, at("org_1"), send(5, "org_2"))
        yield* elapse(2)
        yield* next.stop
      }
      const last = yield* serving(deployment, purses)
      expect(yield* balances(last.engine, "org_2")).toEqual([10])
    })
  )
})

/** Signals that mean nothing to the rules: parked with the reason, seen by operators, decided later or given up (docs/architecture.md, "External signals"). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { maximumParkedSignals } from "../../src/engine/limits.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import * as Parked from "../../src/engine/Parked.ts"
import { Cursors, CursorsUnavailable } from "../../src/engine/ports/Cursors.ts"
import { signalsName } from "../../src/engine/ports/Signals.ts"
import type { SignalRules } from "../../src/engine/shell/signals/feedSignals.ts"
import { type Deployment, elapse, makeDeployment, type StartOptions, serving } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

/** Counts, and fails on what it was told to fail on. */
const broken = { on: new Set<number>() }
const refused = 13
const Sum = Actor.make({
  kind: "sum",
  command: Schema.Number,
  fact: Schema.Number,
  state: Schema.Number,
  initial: () => 0,
  evolve: (sum: number, amount: number) => sum + amount,
  decide: (_sum, amount) => {
    if (broken.on.has(amount)) throw new Error(`cannot count ${amount}`)
    if (amount === refused) return Actor.rejected({ _tag: "Refused" } as const)
    return Actor.decided({ facts: [amount] })
  }
})

const decoder = new TextDecoder()
const rules: SignalRules = {
  added: ({ data }) => {
    const amount = Number(decoder.decode(data))
    if (Number.isNaN(amount)) throw new Error(`"${decoder.decode(data)}" is no number`)
    return { actor: Sum, key: "", command: amount }
  }
}

const begun = (optionsFor: (deployment: Deployment) => StartOptions = () => ({})) =>
  Effect.gen(function* () {
    broken.on.clear()
    const deployment = makeDeployment()
    const { engine, stop } = yield* serving(deployment, { actors: [Sum], signals: rules, ...optionsFor(deployment) })
    const store = SignalsMemory.make(deployment.signals)
    const publish = (data: string, kind = "added", organization = "org_1") =>
      store.publish({ organization, kind, data: Buffer.from(data) })
    const asked = <A, E>(effect: Effect.Effect<A, E, Engine>) => Effect.provideService(effect, Engine, engine)
    const sum = (organization = "org_1") => engine.state(Sum, { organization, key: "" })
    const errors = (organization = "org_1") =>
      asked(Effect.map(Parked.show(signalsName, organization, 10), (found) => found.map(({ error }) => error)))
    return { deployment, engine, stop, publish, asked, sum, errors }
  })

describe("a signal that means nothing", () => {
  it.effect("is parked with the reason, and those behind it are decided", () =>
    Effect.gen(function* () {
      const { asked, errors, publish, sum } = yield* begun()
      yield* publish("many")
      yield* publish("1", "subtracted")
      yield* publish("2")
      yield* publish("x", "added", "org_2")
      yield* elapse(2)
      assert.strictEqual(yield* sum(), 2)
      assert.deepStrictEqual(yield* errors(), [
        'Error: "many" is no number',
        "there is no rule for signals of the kind subtracted"
      ])
      const list = yield* asked(Parked.list(signalsName, { limit: 10 }))
      assert.deepStrictEqual(
        [list.records, list.organizations.map(({ organization, records }) => [organization, records])],
        [
          3,
          [
            ["org_1", 2],
            ["org_2", 1]
          ]
        ]
      )
    })
  )

  it.effect("is decided when a rule understands it that did not, in order until one is still not understood", () =>
    Effect.gen(function* () {
      const { deployment, publish, stop } = yield* begun()
      yield* publish("3", "subtracted")
      yield* publish("many")
      yield* elapse(2)
      yield* stop
      const subtracted: SignalRules = {
        ...rules,
        subtracted: (signal) => ({ actor: Sum, key: "", command: -Number(decoder.decode(signal.data)) })
      }
      const { engine } = yield* serving(deployment, { actors: [Sum], signals: subtracted })
      const again = Effect.provideService(Parked.retry(signalsName, "org_1"), Engine, engine)
      const done = yield* again
      assert.deepStrictEqual([done.retried, done.left], [1, 1])
      assert.include(done.error, "it cannot be read")
      assert.strictEqual(yield* engine.state(Sum, { organization: "org_1", key: "" }), -3)
      const show = Effect.provideService(Parked.show(signalsName, "org_1", 10), Engine, engine)
      const [left] = yield* show
      const { index, sequence } = left!
      const dismiss = (record: { readonly sequence: number; readonly index: number }) =>
        Effect.provideService(Parked.dismiss(signalsName, "org_1", { record }), Engine, engine)
      assert.isFalse(yield* dismiss({ sequence: sequence + 1, index }))
      assert.isTrue(yield* dismiss({ sequence, index }))
      assert.deepStrictEqual(yield* show, [])
      assert.deepStrictEqual(yield* again, { retried: 0, left: 0 })
    })
  )

  it.effect("is one that its actor fails on, too, and goes on when the actor is repaired", () =>
    Effect.gen(function* () {
      const { asked, errors, publish, sum } = yield* begun()
      broken.on.add(5)
      yield* publish("5")
      yield* publish("1")
      yield* elapse(2)
      assert.strictEqual(yield* sum(), 1)
      assert.deepStrictEqual(yield* errors(), [
        "CommandFailed: the rule of sum failed on this command: Error: cannot count 5"
      ])
      const still = yield* asked(Parked.retry(signalsName, "org_1"))
      assert.deepStrictEqual([still.retried, still.left], [0, 1])
      broken.on.clear()
      assert.deepStrictEqual(yield* asked(Parked.retry(signalsName, "org_1")), { retried: 1, left: 0 })
      assert.strictEqual(yield* sum(), 6)
    })
  )

  it.effect("is none that its rule rejects", () =>
    Effect.gen(function* () {
      const { errors, publish, sum } = yield* begun()
      yield* publish(String(refused))
      yield* publish("1")
      yield* elapse(2)
      assert.strictEqual(yield* sum(), 1)
      assert.deepStrictEqual(yield* errors(), [])
    })
  )

  it.effect(
    "is not tried again or given up before its partition has come past it, so that no start decides it a second time",
    () =>
      Effect.gen(function* () {
        const slow = { publishes: [] as ReturnType<typeof makeFaultyLog>["publishes"] }
        const { asked, publish } = yield* begun((deployment) => {
          const faulty = makeFaultyLog(deployment.journal)
          slow.publishes = faulty.publishes
          return { journalLayer: faulty.layer }
        })
        slow.publishes.push({ _tag: "slow", waitMillis: 700 })
        yield* publish("many")
        yield* elapse(0.5, 100)
        const early = yield* asked(Parked.retry(signalsName, "org_1"))
        assert.deepStrictEqual([early.retried, early.left], [0, 1])
        assert.include(early.error, "has not come past it yet")
        assert.include(
          (yield* Effect.flip(asked(Parked.dismiss(signalsName, "org_1")))).message,
          "has not come past it yet"
        )
        yield* elapse(2)
        assert.isTrue(yield* asked(Parked.dismiss(signalsName, "org_1")))
      })
  )

  it.effect("waits, and the others with it, while it cannot be parked", () =>
    Effect.gen(function* () {
      const cursors = CursorsMemory.makeStore()
      const real = CursorsMemory.make(cursors)
      const store = { isAway: true }
      const away = Effect.fail(new CursorsUnavailable({ message: "away" }))
      const flaky = Cursors.of({
        ...real,
        unpark: (records, effects) => Effect.suspend(() => (store.isAway ? away : real.unpark(records, effects)))
      })
      const { errors, publish, sum } = yield* begun(() => ({ cursorsLayer: Layer.succeed(Cursors, flaky) }))
      yield* publish("many")
      yield* publish("2")
      yield* elapse(5)
      assert.strictEqual(yield* sum(), 0)
      store.isAway = false
      yield* elapse(2)
      assert.strictEqual(yield* sum(), 2)
      assert.lengthOf(yield* errors(), 1)
    })
  )

  it.effect("is dropped where as many are parked as may be", () =>
    Effect.gen(function* () {
      const { asked, publish, sum } = yield* begun()
      for (let signal = 0; signal < maximumParkedSignals + 3; signal++) yield* publish("many")
      yield* publish("1")
      yield* publish("x", "added", "org_2")
      yield* elapse(5)
      assert.strictEqual(yield* sum(), 1)
      const list = yield* asked(Parked.list(signalsName, { limit: 10 }))
      assert.deepStrictEqual(
        list.organizations.map(({ records }) => records),
        [maximumParkedSignals, 1]
      )
    })
  )
})

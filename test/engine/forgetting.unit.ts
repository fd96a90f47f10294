/** External signals go from their store behind the second-newest checkpoint, and no start misses one (docs/architecture.md, "External signals"). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import type { CheckpointRecord } from "../../src/engine/ports/Checkpoints.ts"
import { Signals, SignalsUnavailable } from "../../src/engine/ports/Signals.ts"
import type { SignalRules } from "../../src/engine/shell/signals/feedSignals.ts"
import { forgetSignals, forgettableThrough } from "../../src/engine/shell/stores/purge.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, makeDeployment, serving } from "./support/deployment.ts"

const checkpointAt = (sequence: number, signalSequence: number): CheckpointRecord => ({
  partition: 0,
  sequence,
  signalSequence,
  hash: "",
  number: sequence,
  epoch: 1,
  now: 0
})

describe("which signals may go", () => {
  it("are those that the second-newest checkpoint has decided, in whatever order checkpoints are listed", () => {
    expect(forgettableThrough([])).toBeUndefined()
    expect(forgettableThrough([checkpointAt(9, 5)])).toBeUndefined()
    expect(forgettableThrough([checkpointAt(9, 5), checkpointAt(4, 0)])).toBeUndefined()
    expect(forgettableThrough([checkpointAt(4, 3), checkpointAt(9, 5)])).toBe(3)
    expect(forgettableThrough([checkpointAt(9, 5), checkpointAt(4, 3), checkpointAt(2, 1)])).toBe(3)
  })

  it.effect("are never those of an impossible place, which a server takes for everything", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const signals = Signals.of({
        ...SignalsMemory.make(SignalsMemory.makeStore(1)),
        forget: (_partition, through) => Effect.sync(() => void asked.push(through))
      })
      for (const through of [0, -1, Number.NaN, 1.5, 8]) {
        expect(yield* forgetSignals(signals, 0, through, 7), String(through)).toBe(false)
      }
      for (const through of [1, 7]) expect(yield* forgetSignals(signals, 0, through, 7)).toBe(true)
      expect(asked).toEqual([1, 7])
    })
  )
})

const signals: SignalRules = {
  added: ({ data }) => ({
    actor: Counter,
    key: "",
    command: { _tag: "Add", amount: Number(Buffer.from(data).toString()) }
  })
}
const options = { signals, config: { checkpointMillis: 10_000 } }

const publish = (deployment: Deployment) =>
  SignalsMemory.make(deployment.signals).publish({ organization: "org_1", kind: "added", data: Buffer.from("1") })

const total = { organization: "org_1" }

describe("an engine with signals", () => {
  it.effect("removes them behind its checkpoints, and a start goes on with those that are left", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment, options)
      for (let n = 0; n < 10; n++) yield* Effect.andThen(publish(deployment), TestClock.adjust("6 seconds"))
      const forgotten = deployment.signals.forgotten[0]!
      expect(forgotten).toBeGreaterThan(0)
      const [, second] = yield* Effect.sync(() =>
        [...deployment.checkpoints.of(0).records].sort((left, right) => right.sequence - left.sequence)
      )
      expect(forgotten).toBeLessThanOrEqual(second!.signalSequence)
      yield* first.stop
      yield* publish(deployment)
      const again = yield* serving(deployment, options)
      yield* TestClock.adjust("10 seconds")
      expect(yield* again.engine.state(Counter, total)).toMatchObject({ total: 11 })
    })
  )

  it.effect("keeps them while their store is away, and its checkpoints go on", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      let isAway = true
      const store = SignalsMemory.make(deployment.signals)
      const flaky = Signals.of({
        ...store,
        forget: (partition, through) =>
          isAway ? Effect.fail(new SignalsUnavailable({ message: "away" })) : store.forget(partition, through)
      })
      yield* serving(deployment, { ...options, signalsLayer: Layer.succeed(Signals, flaky) })
      for (let n = 0; n < 10; n++) yield* Effect.andThen(publish(deployment), TestClock.adjust("6 seconds"))
      expect(deployment.signals.forgotten[0]).toBe(0)
      expect(deployment.checkpoints.of(0).records.length).toBeLessThanOrEqual(3)
      isAway = false
      for (let n = 0; n < 4; n++) yield* Effect.andThen(publish(deployment), TestClock.adjust("6 seconds"))
      expect(deployment.signals.forgotten[0]).toBeGreaterThan(0)
    })
  )
})

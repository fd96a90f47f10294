/** Streams of an actor's facts and states: what they give, in which order, to slow takers, over restarts and between processes. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Queue, Stream } from "effect"
import type { Engine } from "../../src/engine/Engine.ts"
import { beginning, type FactPosition } from "../../src/engine/followTypes.ts"
import { maximumFollowedRecords } from "../../src/engine/limits.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import { Account, Counter } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const amountsOf = (facts: Iterable<{ readonly fact: { readonly _tag: string } }>) =>
  [...facts].map(({ fact }) => (fact as unknown as { readonly amount: number }).amount)

/** Takes a stream in a fiber of its own; what it gave is in the array. */
const taking = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const taken: Array<A> = []
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(stream, (one) => Effect.sync(() => void taken.push(one))),
      {
        startImmediately: true
      }
    )
    yield* elapse(0.1, 100)
    return { taken, fiber }
  })

const addAll = (engine: Engine["Service"], amounts: ReadonlyArray<number>, of = target) =>
  Effect.forEach(amounts, (amount) => engine.ask(Counter, of, add(amount)), { discard: true })

describe("the facts of an actor", () => {
  it.effect("come in order as they are stored, those of this actor alone", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      yield* addAll(engine, [1])
      const { taken } = yield* taking(engine.facts(Counter, target))
      const every = yield* taking(engine.facts(Counter, target, { allKeys: true }))
      yield* addAll(engine, [2, 3])
      yield* addAll(engine, [4], { ...target, key: "other" } as never)
      yield* addAll(engine, [5], { organization: "org_2" })
      yield* engine.ask(Account, target, { _tag: "Deposit", amount: 6 })
      yield* addAll(engine, [7])
      yield* elapse(0.1, 100)
      expect(amountsOf(taken)).toEqual([2, 3, 7])
      expect(amountsOf(every.taken)).toEqual([2, 3, 4, 7])
      expect(taken[0]).toMatchObject({ _tag: "Fact", organization: "org_1", kind: "counter", key: "" })
    })
  )

  it.effect("come once to somebody who reads the log while more are stored", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const before = Array.from({ length: 150 }, (_, index) => index + 1)
      const meanwhile = [1_001, 1_002, 1_003]
      yield* addAll(engine, before)
      const given: Array<number> = []
      const facts = Stream.take(
        engine.facts(Counter, target, { after: beginning }),
        before.length + meanwhile.length + 1
      )
      const follower = yield* Effect.forkChild(
        Stream.runForEach(facts, (fact) =>
          Effect.suspend(() => {
            given.push(...amountsOf([fact]))
            return given.length === 1 ? addAll(engine, meanwhile) : Effect.void
          })
        )
      )
      yield* elapse(2, 100)
      yield* addAll(engine, [2_000])
      yield* elapse(2, 100)
      yield* Fiber.join(follower)
      expect(given).toEqual([...before, ...meanwhile, 2_000])
    })
  )

  it.effect("go on behind the last one that was worked on, within a frame too", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      yield* Effect.all(
        [1, 2, 3, 4].map((amount) => engine.ask(Counter, target, add(amount))),
        {
          concurrency: "unbounded"
        }
      )
      const all = yield* Stream.runCollect(Stream.take(engine.facts(Counter, target, { after: beginning }), 4))
      expect(amountsOf(all)).toEqual([1, 2, 3, 4])
      // One drain decided them, so that one frame has them.
      expect(new Set(all.map(({ sequence }) => sequence)).size).toBe(1)
      const behind = (after: FactPosition, count: number) =>
        Effect.map(Stream.runCollect(Stream.take(engine.facts(Counter, target, { after }), count)), amountsOf)
      expect(yield* behind(all[1]!, 2)).toEqual([3, 4])
      const { taken } = yield* taking(engine.facts(Counter, target, { after: all[3]! }))
      yield* addAll(engine, [5])
      yield* elapse(0.1, 100)
      expect(amountsOf(taken)).toEqual([5])
    })
  )

  it.effect("wait in the log for a taker that is slow, and hold nobody up", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const gate = yield* Queue.unbounded<void>()
      const taken: Array<number> = []
      const slow = Stream.runForEach(engine.facts(Counter, target), ({ fact }) =>
        Effect.andThen(
          Queue.take(gate),
          Effect.sync(() => void taken.push((fact as { amount: number }).amount))
        )
      )
      yield* Effect.forkChild(slow, { startImmediately: true })
      yield* elapse(0.1, 100)
      const count = maximumFollowedRecords + 200
      const amounts = Array.from({ length: count }, (_, index) => index)
      yield* Effect.forEach(amounts, (amount) => engine.ask(Counter, target, add(amount)), {
        concurrency: 64,
        discard: true
      })
      yield* Queue.offerAll(
        gate,
        amounts.map(() => undefined)
      )
      yield* elapse(1, 100)
      expect(taken.length).toBe(count)
      expect(new Set(taken).size).toBe(count)
    })
  )

  it.effect("that were purged are refused with where the log begins", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { config: { checkpointFrames: 2 } })
      for (let round = 0; round < 6; round++) {
        yield* addAll(engine, [1, 2, 3])
        yield* elapse(2)
      }
      const state = yield* partitionIn(engine).log!.state
      expect(state.firstSequence).toBeGreaterThan(2)
      const error = yield* Effect.flip(Stream.runHead(engine.facts(Counter, target, { after: beginning })))
      expect(error).toMatchObject({ _tag: "FactsPurged", sequence: 1, firstSequence: state.firstSequence })
      const first = { sequence: state.firstSequence, index: -1 }
      const kept = yield* Stream.runHead(engine.facts(Counter, target, { after: first }))
      expect(Option.getOrThrow(kept).sequence).toBeGreaterThanOrEqual(state.firstSequence)
    })
  )

  it.effect("outlive a fenced partition: none is missing, none comes twice", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const first = yield* serving(deployment)
      const { fiber, taken } = yield* taking(first.engine.facts(Counter, target))
      yield* addAll(first.engine, [1, 2])
      partitionIn(first.engine).restart("the test wants it")
      yield* elapse(5)
      yield* addAll(first.engine, [3])
      yield* elapse(0.2, 100)
      expect(amountsOf(taken)).toEqual([1, 2, 3])
      yield* first.stop
      yield* elapse(0.2, 100)
      // It ends with the engine, without an error.
      expect(yield* Fiber.join(fiber)).toBeUndefined()
    })
  )
})

describe("the state of an actor", () => {
  it.effect("comes now and after each change; a slow taker gets the latest", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment())
      const deposit = (amount: number) => engine.ask(Account, target, { _tag: "Deposit", amount })
      yield* deposit(1)
      const { fiber, taken } = yield* taking(Stream.map(engine.watch(Account, target), ({ balance }) => balance))
      expect(taken).toEqual([1])
      yield* deposit(2)
      yield* elapse(0.1, 100)
      yield* engine.ask(Account, { ...target, key: "other" }, { _tag: "Deposit", amount: 9 })
      yield* elapse(0.1, 100)
      expect(taken).toEqual([1, 3])
      const gate = yield* Queue.unbounded<void>()
      const seen: Array<number> = []
      yield* Effect.forkChild(
        Stream.runForEach(engine.watch(Account, target), ({ balance }) =>
          Effect.andThen(
            Effect.sync(() => void seen.push(balance)),
            Queue.take(gate)
          )
        ),
        { startImmediately: true }
      )
      yield* elapse(0.1, 100)
      for (let count = 0; count < 50; count++) yield* deposit(1)
      yield* elapse(0.1, 100)
      yield* Queue.offer(gate, undefined)
      yield* elapse(0.1, 100)
      expect(seen).toEqual([3, 53])
      yield* Fiber.interrupt(fiber)
      expect(taken.at(-1)).toBe(53)
    })
  )

  it.effect("of a kind that the engine does not have is refused", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors: [Account] })
      expect(yield* Effect.flip(Stream.runHead(engine.watch(Counter, target)))).toMatchObject({
        _tag: "CommandInvalid"
      })
    })
  )
})

describe("followers in another process", () => {
  const none = Layer.succeed(Placement, Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) }))

  it.effect("read the owner's log, ask it for states, and go on with its successor", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const remoteLayer = RemoteMemory.layerOf(RemoteMemory.makeStore())
      const { engine: far } = yield* start(deployment, { placementLayer: none, remoteLayer })
      const owner = yield* serving(deployment, { remoteLayer })
      yield* elapse(0.5, 100)
      const facts = yield* taking(far.facts(Counter, target))
      const states = yield* taking(Stream.map(far.watch(Counter, target), ({ total }) => total))
      yield* addAll(owner.engine, [1, 2])
      yield* elapse(2, 100)
      expect(amountsOf(facts.taken)).toEqual([1, 2])
      expect(states.taken.at(0)).toBe(0)
      expect(states.taken.at(-1)).toBe(3)
      yield* owner.stop
      const next = yield* serving(deployment, { remoteLayer })
      yield* elapse(0.5, 100)
      yield* addAll(next.engine, [3])
      yield* elapse(3, 100)
      expect(amountsOf(facts.taken)).toEqual([1, 2, 3])
      expect(states.taken.at(-1)).toBe(6)
    })
  )

  it.effect("are shown a state that changed in frames that were purged before they looked", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const remoteLayer = RemoteMemory.layerOf(RemoteMemory.makeStore())
      const { engine: far } = yield* start(deployment, { placementLayer: none, remoteLayer })
      const owner = yield* serving(deployment, { remoteLayer, config: { checkpointFrames: 1 } })
      yield* elapse(0.5, 100)
      const { taken } = yield* taking(Stream.map(far.watch(Counter, target), ({ total }) => total))
      yield* addAll(owner.engine, [1])
      yield* elapse(2, 100)
      expect(taken.at(-1)).toBe(1)
      const { head } = partitionIn(owner.engine).core
      yield* addAll(owner.engine, [5])
      const other = { organization: "org_1", key: "other" }
      while ((yield* partitionIn(owner.engine).log!.state).firstSequence <= head.sequence + 1) {
        yield* addAll(owner.engine, [1], other)
        yield* elapse(0.01, 100)
      }
      expect(taken.at(-1)).toBe(1)
      yield* elapse(3, 100)
      expect(taken.at(-1)).toBe(6)
    })
  )

  it.effect("without a way to the owner are told so", () =>
    Effect.gen(function* () {
      const { engine } = yield* start(makeDeployment(), { placementLayer: none })
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runHead(engine.watch(Counter, target))))
      yield* elapse(40, 1_000)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "PartitionUnavailable" })
    })
  )
})

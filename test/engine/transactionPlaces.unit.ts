/** Rule 11: a process makes few transactions of reactors at once, and one that takes long holds up no other partition. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Engine } from "../../src/engine/Engine.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import { placeMillis, TransactionPlaces } from "../../src/engine/shell/reactors/TransactionPlaces.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"

/** Work that waits until it is told to end, and what of it has begun and ended. */
const makeWork = () => {
  const began: Array<string> = []
  const ended: Array<string> = []
  const gates = new Map<string, Deferred.Deferred<void, string>>()
  const work = (name: string) =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void, string>()
      gates.set(name, gate)
      began.push(name)
      yield* Deferred.await(gate)
      ended.push(name)
    })
  const end = (name: string) => Effect.andThen(Deferred.succeed(gates.get(name)!, undefined), turns)
  const fail = (name: string) => Effect.andThen(Deferred.fail(gates.get(name)!, "no"), turns)
  return { began, ended, work, end, fail }
}

/** Lets every fiber do what it can without any time. */
const turns = TestClock.adjust(0)

const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.tap(Effect.forkChild(effect), () => turns)

describe("places of transactions", () => {
  it.effect("are taken in order, and given to the next one when one ends or fails", () =>
    Effect.gen(function* () {
      const { began, end, fail, work } = makeWork()
      const places = new TransactionPlaces(2)
      for (const name of ["a", "b", "c", "d", "e"]) yield* fork(Effect.ignore(places.within(work(name))))
      expect(began).toEqual(["a", "b"])
      yield* fail("b")
      expect(began).toEqual(["a", "b", "c"])
      yield* end("a")
      expect(began).toEqual(["a", "b", "c", "d"])
      yield* end("c")
      yield* end("d")
      yield* end("e")
      // None was lost, and none came twice.
      for (const name of ["f", "g", "h"]) yield* fork(places.within(work(name)))
      expect(began).toEqual(["a", "b", "c", "d", "e", "f", "g"])
    })
  )

  it.effect("are given back by one that takes long, which goes on and gives back no second one", () =>
    Effect.gen(function* () {
      const { began, end, ended, work } = makeWork()
      const places = new TransactionPlaces(1)
      for (const name of ["slow", "b", "c", "d"]) yield* fork(places.within(work(name)))
      yield* TestClock.adjust(placeMillis - 1)
      expect(began).toEqual(["slow"])
      yield* TestClock.adjust(1)
      expect(began).toEqual(["slow", "b"])
      yield* end("slow")
      expect(ended).toEqual(["slow"])
      expect(began).toEqual(["slow", "b"])
      yield* end("b")
      expect(began).toEqual(["slow", "b", "c"])
    })
  )

  it.effect("are given back by one that is interrupted, while it waits or works", () =>
    Effect.gen(function* () {
      const { began, work } = makeWork()
      const places = new TransactionPlaces(1)
      const first = yield* fork(places.within(work("first")))
      const waiting = yield* fork(places.within(work("waiting")))
      yield* fork(places.within(work("last")))
      yield* Fiber.interrupt(waiting)
      expect(began).toEqual(["first"])
      yield* Fiber.interrupt(first)
      yield* turns
      expect(began).toEqual(["first", "last"])
    })
  )
})

/** A reactor whose transactions wait for their gates, by organization and first amount. */
const makeGated = () => {
  const work = makeWork()
  const batches: Array<string> = []
  const reactor = Reactor.make({
    name: "gated",
    pace: Reactor.immediate,
    parts: [
      Reactor.facts(Counter, (records) => {
        const amounts = records.flatMap(({ fact }) => (fact._tag === "Added" ? [fact.amount] : []))
        const name = `${records[0]!.organization} ${amounts.join("+")}`
        return Effect.andThen(
          work.work(name),
          Reactor.onCommit(() => void batches.push(name))
        )
      })
    ]
  })
  return { ...work, batches, reactor }
}

/** An organization of each partition. */
const organizationsOf = (engine: Engine["Service"], partitions: number): ReadonlyArray<string> => {
  const found = new Map<number, string>()
  for (let index = 0; found.size < partitions; index++) {
    const partition = engine.partitionOf(`org_${index}`)
    if (!found.has(partition)) found.set(partition, `org_${index}`)
  }
  return [...found].sort(([a], [b]) => a - b).map(([, organization]) => organization)
}

describe("reactors of several partitions", () => {
  const running = (partitions: number, concurrentTransactions: number) =>
    Effect.gen(function* () {
      const gated = makeGated()
      const { engine } = yield* serving(makeDeployment({ partitions }), {
        actors: [Counter],
        reactors: [gated.reactor],
        config: { partitions, concurrentTransactions }
      })
      const add = (organization: string, amount: number) =>
        Effect.tap(engine.ask(Counter, { organization }, { _tag: "Add", amount }), () => turns)
      return { ...gated, add, organizations: organizationsOf(engine, partitions) }
    })

  it.effect("have what is committed while they wait for a place in their next transaction", () =>
    Effect.gen(function* () {
      const { add, batches, began, end, organizations } = yield* running(2, 1)
      const [a, b] = organizations as [string, string]
      yield* add(a, 1)
      for (const amount of [2, 3, 4]) yield* add(b, amount)
      yield* add(a, 5)
      expect(began).toEqual([`${a} 1`])
      yield* end(`${a} 1`)
      yield* end(`${b} 2+3+4`)
      yield* end(`${a} 5`)
      expect(batches).toEqual([`${a} 1`, `${b} 2+3+4`, `${a} 5`])
    })
  )

  it.effect("go on while transactions of others hang", () =>
    Effect.gen(function* () {
      const { add, batches, began, end, organizations } = yield* running(8, 2)
      for (const organization of organizations) yield* add(organization, 1)
      expect(began).toHaveLength(2)
      yield* TestClock.adjust(placeMillis)
      expect(began).toHaveLength(4)
      yield* TestClock.adjust(placeMillis)
      yield* TestClock.adjust(placeMillis)
      expect(began).toHaveLength(8)
      const [first] = began as [string]
      for (const name of began.filter((one) => one !== first)) yield* end(name)
      expect(batches).toHaveLength(7)
      // The one that still hangs has no place.
      for (const organization of organizations.slice(1)) yield* add(organization, 2)
      expect(began).toHaveLength(10)
    })
  )
})

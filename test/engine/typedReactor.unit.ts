/** Reactors of parts, as a user of the library writes them: typed records, events by type, and parked records let go (docs/reactors.md). */
import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import * as EngineModule from "../../src/engine/Engine.ts"
import * as Parked from "../../src/engine/Parked.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import type { EventRecord } from "../../src/engine/records.ts"

const Order = Schema.Struct({ item: Schema.String, cents: Schema.Int })

const Shop = Actor.make({
  kind: "shop",
  command: Order,
  fact: Order,
  state: Schema.Int,
  initial: () => 0,
  evolve: (sold, fact) => sold + fact.cents,
  decide: (sold, order) =>
    Actor.decided({
      facts: [order],
      events: ["orders.created", "ordersold", "other"].map((type) => ({
        type,
        service: "shop",
        livemode: true,
        data: 1
      })),
      reply: sold + order.cents
    })
})

const Visits = Actor.make({
  kind: "visits",
  command: Schema.Struct({}),
  fact: Schema.Struct({ page: Schema.String }),
  state: Schema.Int,
  initial: () => 0,
  evolve: (count) => count + 1,
  decide: () => Actor.decided({ facts: [{ page: "start" }], reply: undefined })
})

class Till extends Context.Service<Till, { readonly put: (cents: number) => void }>()("test/Till") {}

const settle = Effect.repeat(TestClock.adjust("1 second"), { times: 9 })
const acme = { organization: "acme" }

describe("a reactor of parts", () => {
  it("types each part's records, and asks for the services of all parts", () => {
    const reactor = Reactor.make({
      name: "typed",
      parts: [
        Reactor.facts(Shop, (records) => {
          expectTypeOf(records[0]!.fact).toEqualTypeOf<{ readonly item: string; readonly cents: number }>()
          return Effect.map(Till, ({ put }) => put(records[0]!.fact.cents))
        }),
        Reactor.facts(Visits, (records) => {
          expectTypeOf(records[0]!.fact).toEqualTypeOf<{ readonly page: string }>()
          // @ts-expect-error because a visit has no item: the test is that this does not compile
          records[0]?.fact.item
          return Reactor.onCommit(() => {})
        }),
        Reactor.events(["orders.*"], (records) => {
          expectTypeOf(records).toEqualTypeOf<ReadonlyArray<EventRecord>>()
          return Effect.void
        })
      ]
    })
    expectTypeOf(reactor).toEqualTypeOf<Reactor.Reactor<Till>>()
    const plain = Reactor.make({ name: "plain", parts: [Reactor.facts(Shop, () => Reactor.onCommit(() => {}))] })
    expectTypeOf(plain).toEqualTypeOf<Reactor.Reactor<never>>()
    expect([reactor.name, plain.pace]).toEqual(["typed", undefined])
  })

  it.effect("gets the facts of its actors and the events of its types, in memory, and nothing else", () => {
    const seen: Array<string> = []
    let taken = 0
    const reactor = Reactor.make({
      name: "board",
      parts: [
        Reactor.facts(Shop, (records) =>
          Effect.map(Till, ({ put }) => {
            for (const { fact } of records) put(fact.cents)
          })
        ),
        Reactor.events(["orders.*"], (records) =>
          Reactor.onCommit(() => void seen.push(...records.map(({ event }) => `all ${event.type}`)))
        ),
        Reactor.events(["other"], (records) =>
          Reactor.onCommit(() => void seen.push(...records.map(({ event }) => `one ${event.type}`)))
        )
      ]
    })
    return Effect.gen(function* () {
      const engine = yield* EngineModule.Engine
      yield* engine.ask(Shop, acme, { item: "tea", cents: 300 })
      yield* engine.ask(Visits, acme, {})
      yield* engine.ask(Shop, acme, { item: "cup", cents: 500 })
      yield* settle
      expect(taken).toBe(800)
      expect([...seen].sort()).toEqual(["all orders.created", "all orders.created", "one other", "one other"])
    }).pipe(
      Effect.provide(EngineModule.layerMemory({ actors: [Shop, Visits], reactors: [reactor] })),
      Effect.provideService(Till, {
        put: (cents) => {
          taken += cents
        }
      })
    )
  })

  it.effect("parks what its handler cannot do, and does it when an operator lets it go", () => {
    const done: Array<string> = []
    let isBroken = true
    const reactor = Reactor.make({
      name: "board",
      parts: [
        Reactor.facts(Shop, (records) =>
          isBroken && records.some(({ organization }) => organization === "acme")
            ? Effect.fail(new Error("no shelf for tea"))
            : Reactor.onCommit(() => void done.push(...records.map(({ organization }) => organization)))
        )
      ]
    })
    return Effect.gen(function* () {
      const engine = yield* EngineModule.Engine
      for (const organization of ["acme", "other", "acme"]) {
        yield* engine.ask(Shop, { organization }, { item: "tea", cents: 1 })
        yield* settle
      }
      expect(done).toEqual(["other"])
      expect((yield* Parked.list("board", { limit: 10 })).organizations).toMatchObject([
        { organization: "acme", records: 2 }
      ])
      expect((yield* Parked.show("board", "acme", 10)).map(({ error }) => error)).toEqual([
        expect.stringContaining("no shelf for tea"),
        expect.stringContaining("behind a parked record")
      ])
      expect(yield* Parked.retry("board", "acme")).toMatchObject({ retried: 0, left: 2 })
      expect(yield* Parked.dismiss("board", "acme")).toBe(true)
      isBroken = false
      expect(yield* Parked.retry("board", "acme")).toMatchObject({ retried: 1, left: 0 })
      expect(done).toEqual(["other", "acme"])
    }).pipe(Effect.provide(EngineModule.layerMemory({ actors: [Shop], reactors: [reactor] })))
  })
})

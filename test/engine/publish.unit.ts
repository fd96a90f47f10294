/** Publishers over an engine in memory (docs/streams.md): each record is stored once and in order, and none is left out silently. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as ProgramStreamsMemory from "../../src/engine/memory/ProgramStreamsMemory.ts"
import * as Parked from "../../src/engine/Parked.ts"
import * as Publish from "../../src/engine/Publish.ts"
import { ProgramStreams, type PublishedMessage, StreamUnavailable } from "../../src/engine/ports/ProgramStreams.ts"
import * as Reactors from "../../src/engine/Reactors.ts"
import { elapse } from "./support/deployment.ts"

const Shop = Actor.make({
  kind: "shop",
  command: Schema.Int,
  fact: Schema.Struct({ cents: Schema.Int }),
  state: Schema.Int,
  initial: () => 0,
  evolve: (sold, { cents }) => sold + cents,
  decide: (_, cents) =>
    Actor.decided({
      facts: [{ cents }],
      events: cents > 100 ? [{ type: "shop.large", service: "shop", livemode: true, data: { cents } }] : []
    })
})

const organizations = ["org_1", "org_2", "org_3", "org_4"]

const sold = (more: { readonly encode?: (cents: number) => string } = {}) =>
  Publish.jetStream({
    name: "sold",
    from: Publish.facts(Shop),
    stream: "sold",
    subject: ({ organization }) => `sold.${organization}`,
    encode: ({ fact }) => more.encode?.(fact.cents) ?? JSON.stringify(fact)
  })

/** An engine whose streams can be made to fail, and what they hold. */
const begun = (publishers: ReadonlyArray<ReturnType<typeof sold>>) =>
  Effect.gen(function* () {
    const store = ProgramStreamsMemory.makeStore({ sold: ["sold.>"], large: ["large"] })
    const real = ProgramStreamsMemory.make(store)
    const state = {
      isAway: false,
      /** What the stream does with the next messages, one each. */
      faults: [] as Array<"lost" | "answer lost" | "none">,
      attempts: [] as Array<PublishedMessage>
    }
    const away = new StreamUnavailable({ message: "away" })
    const streams = ProgramStreams.of({
      ...real,
      publish: Effect.fnUntraced(function* (message) {
        state.attempts.push(message)
        // One takes longer than the next, which could overtake it.
        yield* Effect.sleep(state.attempts.length % 3 === 1 ? "5 millis" : "1 millis")
        const fault = state.faults.shift()
        if (state.isAway || fault === "lost") return yield* away
        yield* real.publish(message)
        if (fault === "answer lost") return yield* away
      })
    })
    const layer = Engine.layerMemory({ actors: [Shop], reactors: publishers, config: { partitions: 2 } })
    const context = yield* Layer.build(layer.pipe(Layer.provide(Layer.succeed(ProgramStreams, streams))))
    const engine = yield* Effect.provideContext(Effect.service(Engine.Engine), context)
    const ask = (organization: string, cents: number) => engine.ask(Shop, { organization }, cents)
    const stored = (stream: string, organization?: string) =>
      store.streams
        .get(stream)!
        .messages.filter(({ subject }) => organization === undefined || subject === `${stream}.${organization}`)
        .map(({ data }) => Buffer.from(data).toString())
    return { ask, stored, state, store, asked: Effect.provideContext(context) }
  })

const cents = (texts: ReadonlyArray<string>) => texts.map((text) => (JSON.parse(text) as { cents: number }).cents)

describe("a publisher", () => {
  it.effect("stores each fact once, in the order of its organization, whatever the stream answers", () =>
    Effect.gen(function* () {
      const { ask, state, stored } = yield* begun([sold()])
      const expected = new Map<string, Array<number>>()
      for (let round = 0; round < 10; round++) {
        for (const fault of ["none", "answer lost", "lost", "none", "lost"] as const) state.faults.push(fault)
        for (const burst of [0, 1, 2])
          for (const [at, organization] of organizations.entries()) {
            const amount = round * 12 + burst * 4 + at
            yield* ask(organization, amount)
            expected.set(organization, [...(expected.get(organization) ?? []), amount])
          }
        yield* elapse(0.2, 10)
      }
      yield* elapse(60)
      for (const [organization, all] of expected) assert.deepStrictEqual(cents(stored("sold", organization)), all)
      const ids = state.attempts.map(({ id }) => id)
      assert.isTrue(ids.every((id) => id?.startsWith("sold.") === true))
      assert.strictEqual(new Set(ids).size, 120)
    })
  )

  it.effect("stores events of its types alone, where it is told", () =>
    Effect.gen(function* () {
      const large = Publish.jetStream({ name: "large", from: Publish.events(["shop.*"]), subject: "large" })
      const { ask, stored } = yield* begun([sold(), large])
      yield* ask("org_1", 50)
      yield* ask("org_1", 500)
      yield* elapse(2)
      assert.deepStrictEqual(stored("large"), ['{"cents":500}'])
      assert.deepStrictEqual(cents(stored("sold")), [50, 500])
    })
  )

  it.effect("parks nothing while its stream is away, and does not repeat what was acknowledged before", () =>
    Effect.gen(function* () {
      const { ask, asked, state, stored } = yield* begun([sold()])
      for (let one = 0; one < 5; one++) yield* ask("org_1", one)
      // The first of them is stored; then the stream goes away for longer than its duplicate window.
      state.faults.push("none", "lost")
      yield* elapse(0.1, 1)
      state.isAway = true
      yield* elapse(300)
      state.isAway = false
      yield* elapse(10)
      assert.deepStrictEqual(cents(stored("sold", "org_1")), [0, 1, 2, 3, 4])
      const [first] = state.attempts
      assert.lengthOf(
        state.attempts.filter(({ id }) => id === first!.id),
        1
      )
      assert.strictEqual((yield* asked(Parked.list("sold", { limit: 10 }))).records, 0)
    })
  )

  it.effect("parks a record that cannot be encoded, with the later ones of its organization, and no other", () =>
    Effect.gen(function* () {
      const wrong = { at: 2 as number | undefined }
      const encode = (one: number) => {
        if (one === wrong.at) throw new Error("it has no shape")
        return JSON.stringify({ cents: one })
      }
      const { ask, asked, stored } = yield* begun([sold({ encode })])
      for (const one of [1, 2, 3]) for (const organization of ["org_1", "org_2"]) yield* ask(organization, one)
      wrong.at = 2
      yield* elapse(30)
      const show = yield* asked(Parked.show("sold", "org_1", 10))
      assert.deepStrictEqual(cents(stored("sold", "org_1")), [1])
      assert.include(show[0]!.error, "it has no shape")
      assert.lengthOf(show, 2)
      yield* ask("org_3", 4)
      yield* elapse(5)
      assert.deepStrictEqual(cents(stored("sold", "org_3")), [4])
      wrong.at = undefined
      const retry = yield* Effect.forkChild(asked(Parked.retry("sold", "org_1")))
      yield* elapse(1)
      assert.deepStrictEqual(yield* Fiber.join(retry), { retried: 2, left: 0 })
      yield* ask("org_1", 5)
      yield* elapse(2)
      assert.deepStrictEqual(cents(stored("sold", "org_1")), [1, 2, 3, 5])
    })
  )

  it.effect("publishes everything again that the log has, once it is rebuilt", () =>
    Effect.gen(function* () {
      const { ask, asked, state } = yield* begun([sold()])
      for (const one of [1, 2, 3]) yield* ask("org_1", one)
      yield* elapse(2)
      assert.lengthOf(state.attempts, 3)
      yield* asked(Reactors.rebuild({ reactor: "sold", clear: Effect.void }))
      yield* elapse(2)
      assert.deepStrictEqual(
        state.attempts.slice(3).map(({ id }) => id),
        state.attempts.slice(0, 3).map(({ id }) => id)
      )
    })
  )

  it.effect("parks a record whose message is too large, or whose subject is none", () =>
    Effect.gen(function* () {
      const encode = (one: number) => "x".repeat(one === 1 ? 2 * 1024 * 1024 : 1)
      const loose = Publish.jetStream({ name: "loose", from: Publish.facts(Shop), subject: "sold.*" })
      const { ask, asked } = yield* begun([sold({ encode }), loose])
      yield* ask("org_1", 1)
      yield* elapse(30)
      const [large] = yield* asked(Parked.show("sold", "org_1", 1))
      assert.include(large!.error, "PublishRefused")
      const [wild] = yield* asked(Parked.show("loose", "org_1", 1))
      assert.include(wild!.error, "is not a subject without wildcards")
    })
  )
})

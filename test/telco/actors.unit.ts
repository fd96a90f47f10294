/** The actors that only emit: each command is one event of the catalogue, and nothing of it is kept. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Deferred, Effect, Schema } from "effect"
import { Engine, layerMemory } from "../../src/engine/Engine.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { catalogue, type Event, eventOf } from "../../src/events/index.ts"
import { exampleTypes, TestEventsActor } from "../../src/events/TestEvents.ts"
import { TelcoActor } from "../../src/telco/TelcoActor.ts"

const organization = "org_1"

/** Runs asks on an engine in memory, and answers the events that a follower of the log was given. */
const emitted = <E>(asks: (engine: Engine["Service"]) => Effect.Effect<unknown, E>, count: number) => {
  const events: Array<Event> = []
  const enough = Deferred.makeUnsafe<void>()
  const follower: Reactor = {
    name: "follower",
    handle: (records: ReadonlyArray<LogRecord>) =>
      Effect.sync(() => {
        for (const record of records) if (record._tag === "Event") events.push(eventOf(record))
        if (events.length >= count) Deferred.doneUnsafe(enough, Effect.void)
      })
  }
  return Effect.gen(function* () {
    const engine = yield* Engine
    yield* asks(engine)
    yield* Deferred.await(enough)
    expect(yield* engine.state(TelcoActor, { organization })).toBeNull()
    expect(yield* engine.state(TestEventsActor, { organization })).toBeNull()
    return events
  }).pipe(Effect.provide(layerMemory({ actors: [TelcoActor, TestEventsActor], reactors: [follower] })))
}

const Lookup = catalogue["telco.lookup.completed"].data
const Lookups = catalogue["telco.lookups.completed"].data
const Updated = catalogue["telco.directory.updated"].data
const Search = catalogue["telco.search.completed"].data

describe("telco", () => {
  it.effect.prop(
    "given anything, when something is looked up or searched or updated, then its event with that payload and mode",
    {
      lookup: Arbitrary.schema(Lookup),
      lookups: Arbitrary.schema(Lookups),
      updated: Arbitrary.schema(Updated),
      search: Arbitrary.schema(Search),
      livemode: Arbitrary.schema(Schema.Boolean)
    },
    ({ livemode, lookup, lookups, search, updated }) =>
      Effect.gen(function* () {
        const events = yield* emitted(
          (engine) =>
            Effect.all([
              engine.ask(TelcoActor, { organization }, { _tag: "LookupCompleted", data: lookup, livemode }),
              engine.ask(TelcoActor, { organization }, { _tag: "LookupsCompleted", data: lookups, livemode }),
              engine.ask(TelcoActor, { organization }, { _tag: "DirectoryUpdated", data: updated, livemode }),
              engine.ask(TelcoActor, { organization }, { _tag: "SearchCompleted", data: search, livemode })
            ]),
          4
        )
        expect(events).toMatchObject([
          { type: "telco.lookup.completed", service: "telco", data: lookup, livemode },
          { type: "telco.lookups.completed", service: "telco", data: lookups, livemode },
          { type: "telco.directory.updated", service: "telco", data: updated, livemode },
          { type: "telco.search.completed", service: "telco", data: search, livemode }
        ])
      }),
    { arbitrary: { runs: 30 } }
  )

  it.effect("a payload that is not the catalogue's is no event", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const data = { ...catalogue["telco.lookup.completed"].example, tn: "212555012" }
      const error = yield* Effect.flip(
        engine.ask(TelcoActor, { organization }, { _tag: "LookupCompleted", data, livemode: true })
      )
      expect(error).toMatchObject({ _tag: "CommandInvalid" })
    }).pipe(Effect.provide(layerMemory({ actors: [TelcoActor] })))
  )
})

describe("test events", () => {
  it.effect("given anything, when a type is triggered, then its example, not live", () =>
    Effect.gen(function* () {
      const events = yield* emitted(
        (engine) => Effect.forEach(exampleTypes, (type) => engine.ask(TestEventsActor, { organization }, { type })),
        exampleTypes.length
      )
      expect(events).toMatchObject(
        exampleTypes.map((type) => ({ type, data: catalogue[type].example, livemode: false }))
      )
    })
  )
})

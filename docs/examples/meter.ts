/** Readings of a meter per hour of their own time; the clock closes an hour when the meter rests. `node meter.ts` */
import { Effect, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Actor, Engine } from "sluice"
import * as Windows from "sluice/windows"

const minute = 60_000
const Sum = Schema.Struct({ readings: Schema.Int, watts: Schema.Int })
const perHour = Windows.tumbling({
  sizeMillis: 60 * minute,
  outOfOrderMillis: minute,
  idleMillis: 10 * minute,
  aggregate: Sum,
  initial: { readings: 0, watts: 0 },
  add: (sum, watts: number) => ({ readings: sum.readings + 1, watts: sum.watts + watts })
})
const Reading = Schema.Struct({ at: Schema.Int, watts: Schema.Int })
const Closed = Schema.TaggedStruct("Closed", { start: Schema.Int, end: Schema.Int, aggregate: Sum })
const Fact = Schema.Union([
  Schema.TaggedStruct("Read", { ...Reading.fields, now: Schema.Int }),
  Schema.TaggedStruct("Rested", { now: Schema.Int }),
  Closed
])
const State = Schema.Struct({ windows: perHour.state, hours: Schema.Array(Closed) })
const factsOf = (closed: ReadonlyArray<Omit<typeof Closed.Type, "_tag">>) => closed.map((one) => Closed.make(one))

export const Meter = Actor.make<typeof Reading.Type, typeof Fact.Type, typeof State.Type, number, string>({
  kind: "meter",
  command: Reading,
  fact: Fact,
  state: State,
  initial: () => ({ windows: perHour.initial, hours: [] }),
  decide: ({ windows }, { at, watts }, { now }) => {
    const added = perHour.add(windows, { at, event: watts }, now)
    if (Result.isFailure(added)) return Actor.rejected(added.failure.message)
    const { closed, late } = added.success
    if (late.length > 0) return Actor.rejected("it is late")
    return Actor.decided({ facts: [{ _tag: "Read", at, watts, now }, ...factsOf(closed)], reply: closed.length })
  },
  evolve: ({ hours, windows }, fact) => {
    if (fact._tag === "Closed") return { windows, hours: [...hours, fact].slice(-24) }
    if (fact._tag === "Rested") return { windows: perHour.wake(windows, fact.now).state, hours }
    return { windows: perHour.record(windows, { at: fact.at, event: fact.watts }, fact.now), hours }
  },
  wakeAt: ({ windows }) => perHour.wakeAt(windows),
  wake: ({ windows }, { now }) =>
    Actor.decided({ facts: [{ _tag: "Rested", now }, ...factsOf(perHour.wake(windows, now).closed)] })
})
const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const read = (at: number, watts: number) => engine.ask(Meter, { organization: "acme" }, { at: at * minute, watts })
  yield* TestClock.adjust("65 minutes")
  const replies = [yield* read(50, 400), yield* Effect.flip(read(10, 300)), yield* read(65, 50)]
  yield* TestClock.adjust("2 hours")
  const { hours } = yield* engine.state(Meter, { organization: "acme" })
  return [...replies, hours.map(({ aggregate }) => aggregate.watts)]
})
const layer = Engine.layerMemory({ actors: [Meter] })
console.log(await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))))
// [ 0, 'it is late', 1, [ 400, 50 ] ]

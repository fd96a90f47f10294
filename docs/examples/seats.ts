/** Seats that are held for ten minutes, then paid for or free again. `node seats.ts` */
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Actor, Engine } from "sluice"
import { given } from "sluice/simulation"

const holdMillis = 600_000

const Command = Schema.Union([
  Schema.TaggedStruct("Hold", { guest: Schema.String }),
  Schema.TaggedStruct("Pay", { guest: Schema.String })
])
const Fact = Schema.Union([
  Schema.TaggedStruct("Held", { guest: Schema.String, until: Schema.Int }),
  Schema.TaggedStruct("Sold", { guest: Schema.String }),
  Schema.TaggedStruct("Released", {})
])
const State = Schema.Union([
  Schema.TaggedStruct("Free", {}),
  Schema.TaggedStruct("Held", { guest: Schema.String, until: Schema.Int }),
  Schema.TaggedStruct("Sold", { guest: Schema.String })
])

export const Seat = Actor.make<typeof Command.Type, typeof Fact.Type, typeof State.Type, string, string>({
  kind: "seat",
  command: Command,
  fact: Fact,
  state: State,
  initial: () => ({ _tag: "Free" }),
  evolve: (_, fact) => (fact._tag === "Released" ? { _tag: "Free" } : fact),
  decide: (state, { _tag, guest }, { now }) => {
    if (_tag === "Pay") {
      if (state._tag === "Sold" && state.guest === guest) return Actor.decided({ reply: "sold" }) // a repeat
      if (state._tag !== "Held" || state.guest !== guest) return Actor.rejected("it is not held for you")
      return Actor.decided({ facts: [{ _tag: "Sold", guest }], reply: "sold" })
    }
    if (state._tag !== "Free") return Actor.rejected("it is taken")
    return Actor.decided({ facts: [{ _tag: "Held", guest, until: now + holdMillis }], reply: "held" })
  },
  wakeAt: (state) => (state._tag === "Held" ? state.until : undefined),
  wake: () => Actor.decided({ facts: [{ _tag: "Released" }] }),
  // a free seat is what `initial` says: nothing of it is kept
  isOver: (state) => state._tag === "Free"
})

given(Seat, [{ _tag: "Held", guest: "ann", until: Number.MAX_SAFE_INTEGER }])
  .when({ _tag: "Hold", guest: "ben" })
  .then({ rejection: "it is taken" })

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const ask = (_tag: "Hold" | "Pay", guest: string) =>
    engine.ask(Seat, { organization: "hall", key: "A1" }, { _tag, guest })
  const held = yield* ask("Hold", "ann")
  yield* TestClock.adjust("10 minutes")
  return [held, yield* Effect.flip(ask("Pay", "ann")), yield* ask("Hold", "ben"), yield* ask("Pay", "ben")]
})
const layer = Engine.layerMemory({ actors: [Seat] })
console.log(await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))))
// [ 'held', 'it is not held for you', 'held', 'sold' ]

import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const Guest = Schema.Literals(["anna", "ben"])
const Command = Schema.Union([
  Schema.TaggedStruct("Reserve", {
    guest: Guest,
    seats: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))
  }),
  Schema.TaggedStruct("Cancel", { guest: Guest })
])
const Fact = Schema.Union([
  Schema.TaggedStruct("Reserved", { guest: Guest, seats: Schema.Int }),
  Schema.TaggedStruct("Cancelled", { guest: Guest })
])
const State = Schema.Struct({ free: Schema.Int, held: Schema.Record(Schema.String, Schema.Int) })

/** A table of four seats. */
export const Table = Actor.make<typeof Command.Type, typeof Fact.Type, typeof State.Type, number, string>({
  kind: "table",
  command: Command,
  fact: Fact,
  state: State,
  initial: () => ({ free: 4, held: {} }),
  decide: (state, command) => {
    const held = state.held[command.guest] ?? 0
    if (command._tag === "Cancel") {
      if (held === 0) return Actor.rejected("nothing reserved")
      return Actor.decided({ facts: [{ _tag: "Cancelled", guest: command.guest }], reply: state.free + held })
    }
    if (command.seats > state.free) return Actor.rejected("not enough seats")
    return Actor.decided({
      facts: [{ _tag: "Reserved", guest: command.guest, seats: command.seats }],
      reply: state.free - command.seats
    })
  },
  evolve: (state, fact) =>
    fact._tag === "Reserved"
      ? { free: state.free - fact.seats, held: { ...state.held, [fact.guest]: fact.seats } }
      : { free: state.free + (state.held[fact.guest] ?? 0), held: { ...state.held, [fact.guest]: 0 } }
})

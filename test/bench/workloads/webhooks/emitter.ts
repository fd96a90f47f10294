/** Emits the events: an actor whose every command is one event of the catalogue, with a small fact as rules have them. */
import { Schema } from "effect"
import * as Actor from "../../../../src/engine/Actor.ts"
import { publicEvent } from "../../../../src/events/catalogue.ts"
import { dataOf, eventType } from "./events.ts"

const Command = Schema.Struct({ number: Schema.Int })

/** One an organization. Replies with the events that it has emitted. */
export const Emitter = Actor.make({
  kind: "emitter",
  command: Command,
  fact: Command,
  state: Schema.Int,
  reply: Schema.Int,
  initial: () => 0,
  evolve: (emitted: number) => emitted + 1,
  decide: (emitted, command) =>
    Actor.decided({
      facts: [command],
      events: [publicEvent(eventType, dataOf(command.number), true)],
      reply: emitted + 1
    })
})

import { Effect, Schema } from "effect"
import { Actor, Engine } from "../../../src/index.ts"

const Command = Schema.Union([
  Schema.TaggedStruct("Pay", { organization: Schema.String, cents: Schema.Int }),
  Schema.TaggedStruct("Take", { cents: Schema.Int })
])

const Fact = Schema.Struct({ change: Schema.Int })

// It sends commands to actors of its own kind, so its type stands beside it.
export const Till: Actor.Actor<typeof Command.Type, typeof Fact.Type, number, void, string> = Actor.make({
  kind: "till",
  command: Command,
  fact: Fact,
  state: Schema.Int,
  rejection: Schema.String,
  initial: () => 100,
  evolve: (cents, fact: typeof Fact.Type) => cents + fact.change,
  decide: (cents, command: typeof Command.Type) => {
    if (command._tag === "Take") return Actor.decided({ facts: [{ change: command.cents }] })
    if (command.cents > cents) return Actor.rejected(`it holds ${cents}`)
    return Actor.decided({
      facts: [{ change: -command.cents }],
      messages: [Actor.message(Till, command.organization, "main", { _tag: "Take", cents: command.cents })]
    })
  }
})

const tillOf = (organization: string) => ({ organization, key: "main" })

/** Pays, and waits until the other organization has the money: it is a moment behind the answer. */
export const pay = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  yield* engine.ask(Till, tillOf("acme"), { _tag: "Pay", organization: "bolt", cents: 30 })
  const arrived = engine.state(Till, tillOf("bolt"))
  const bolt = yield* Effect.repeat(Effect.andThen(Effect.sleep("5 millis"), arrived), {
    until: (cents) => cents > 100
  })
  return [yield* engine.state(Till, tillOf("acme")), bolt] // [ 70, 130 ]
})

export const shown = pay.pipe(Effect.provide(Engine.layerMemory({ actors: [Till] })))

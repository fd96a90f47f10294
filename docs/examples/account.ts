/** Bank accounts: what is paid from one to another is taken and given in one stored decision, or not at all. `node account.ts` */
import { Effect, Schema } from "effect"
import { Actor, Engine } from "sluice"

class Refused extends Schema.TaggedError<Refused>()("Refused", { reason: Schema.String }) {}

const Cents = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))
const Command = Schema.Union([
  Schema.TaggedStruct("Deposit", { cents: Cents }),
  Schema.TaggedStruct("Transfer", { cents: Cents, to: Schema.NonEmptyString })
])
const Fact = Schema.Union([
  Schema.TaggedStruct("Credited", { cents: Cents }),
  Schema.TaggedStruct("Debited", { cents: Cents })
])
type Command = typeof Command.Type
type Fact = typeof Fact.Type

/** An organization's account; its state is the balance in cents. */
export const Account: Actor.Actor<Command, Fact, number, number, Refused> = Actor.make({
  kind: "account",
  command: Command,
  fact: Fact,
  state: Schema.Int,
  initial: () => 0,
  evolve: (balance, { _tag, cents }: Fact) => (_tag === "Credited" ? balance + cents : balance - cents),
  decide: (balance, command: Command, { self }) => {
    const { cents } = command
    if (command._tag === "Deposit")
      return Actor.decided({ facts: [{ _tag: "Credited", cents }], reply: balance + cents })
    if (command.to === self.key) return Actor.rejected(new Refused({ reason: "it is the same account" }))
    if (balance < cents) return Actor.rejected(new Refused({ reason: `only ${balance} left` }))
    return Actor.decided({
      facts: [{ _tag: "Debited", cents }],
      others: [Account.facts(command.to, [{ _tag: "Credited", cents }])],
      reply: balance - cents
    })
  },
  // the other accounts that a command reads or gives facts to
  touches: (command) => (command._tag === "Transfer" ? [Account.at(command.to)] : [])
})

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const [ann, ben] = [
    { organization: "bank", key: "ann" },
    { organization: "bank", key: "ben" }
  ]
  yield* engine.ask(Account, ann, { _tag: "Deposit", cents: 500 })
  const left = yield* engine.ask(Account, ann, { _tag: "Transfer", cents: 300, to: "ben" })
  const refused = engine.ask(Account, ann, { _tag: "Transfer", cents: 300, to: "ben" })
  const why = yield* Effect.catchTag(refused, "Refused", ({ reason }) => Effect.succeed(reason))
  return [left, yield* engine.state(Account, ben), why]
})

const inMemory = Engine.layerMemory({ actors: [Account] })
console.log(await Effect.runPromise(Effect.provide(program, inMemory))) // [ 200, 300, 'only 200 left' ]

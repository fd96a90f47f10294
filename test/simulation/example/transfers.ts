import { Schema } from "effect"
import { Actor } from "../../../src/index.ts"
import { plan } from "../../../src/simulation/index.ts"

const Amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }))
const Command = Schema.Union([
  Schema.TaggedStruct("Open", {}),
  Schema.TaggedStruct("Transfer", { to: Schema.Literals(["ann", "ben"]), amount: Amount })
])
const Booked = Schema.Struct({ amount: Schema.Int })
const State = Schema.Struct({ balance: Schema.NullOr(Schema.Int) })
type Command = typeof Command.Type
type Booked = typeof Booked.Type
type State = typeof State.Type

/** An account with 100 to begin with, that pays to another one. */
export const Account: Actor.Actor<Command, Booked, State, number, string> = Actor.make<
  Command,
  Booked,
  State,
  number,
  string
>({
  kind: "account",
  command: Command,
  fact: Booked,
  state: State,
  initial: () => ({ balance: null }),
  decide: ({ balance }, command, { read, self }) => {
    if (command._tag === "Open")
      return balance === null ? Actor.decided({ facts: [{ amount: 100 }], reply: 100 }) : Actor.rejected("it is open")
    const { amount, to } = command
    if (balance === null || balance < amount || to === self.key) return Actor.rejected("it cannot pay that")
    if (read(Account, to).balance === null) return Actor.rejected("the other one is not open")
    return Actor.decided({
      facts: [{ amount: -amount }],
      others: [Account.facts(to, [{ amount }])],
      reply: balance - amount
    })
  },
  evolve: ({ balance }, { amount }) => ({ balance: (balance ?? 0) + amount }),
  touches: (command) => (command._tag === "Transfer" ? [Account.at(command.to)] : [])
})

export const transfers = plan(Account, {
  keys: ["ann", "ben"],
  weights: { Transfer: 5 },
  invariants: { "nobody owes anything": ({ balance }) => balance === null || balance >= 0 },
  together: {
    "what was opened with is still there": (states) => {
      const balances = states.of(Account).flatMap(({ state }) => state.balance ?? [])
      return balances.reduce((sum, balance) => sum + balance, 0) === 100 * balances.length
    }
  }
})

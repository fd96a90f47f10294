/**
 * Purses between which money is sent to other organizations (docs/outbox.md). Their rules recognize no repeat: what is sent arrives once because of the
 * engine. Some amounts are sent back, rejected, or break the receiver's rule.
 */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

/** Amounts that a purse does not simply take. */
export const returnedAmount = 7
export const rejectedAmount = 11
export const breakingAmount = 17

const Place = Schema.Struct({
  organization: Schema.Literals(["org_1", "org_2", "org_3"]),
  key: Schema.Literals(["a", "b"])
})
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))

export const PurseCommand = Schema.Union([
  /** Names differ in every command, so that decisions can be told apart. No keys: a repeat does it again. */
  Schema.TaggedStruct("Fund", {
    name: Schema.String,
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))
  }),
  /** Sends the amount to each. */
  Schema.TaggedStruct("Send", { name: Schema.String, amount: Amount, to: Schema.Array(Place) }),
  /** Money that was sent; the id is that of the sending decision with its number there. */
  Schema.TaggedStruct("Take", {
    id: Schema.String,
    amount: Schema.Int,
    from: Schema.Struct({ organization: Schema.String, key: Schema.String })
  }),
  /** Money that came back. */
  Schema.TaggedStruct("TakeBack", { id: Schema.String, amount: Schema.Int })
])
export type PurseCommand = typeof PurseCommand.Type

const PurseFact = Schema.Struct({ id: Schema.String, change: Schema.Number })
export type PurseFact = typeof PurseFact.Type

/** Receivers of one command, at most. */
const maximumReceivers = 4

export const Purse: Actor.Actor<PurseCommand, PurseFact, number, number, string> = Actor.make<
  PurseCommand,
  PurseFact,
  number,
  number,
  string
>({
  kind: "purse",
  command: PurseCommand,
  fact: PurseFact,
  state: Schema.Number,
  reply: Schema.Number,
  rejection: Schema.String,
  initial: () => 0,
  decide: (balance, command, context) => {
    switch (command._tag) {
      case "Fund":
        return Actor.decided({ facts: [{ id: command.name, change: command.amount }], reply: balance + command.amount })
      case "Send": {
        const { amount, name } = command
        const to = command.to.slice(0, maximumReceivers)
        const sum = amount * to.length
        if (to.length === 0 || balance < sum) return Actor.rejected(`balance is ${balance}`)
        const { key, organization } = context.self
        const letter = (index: number) => ({
          _tag: "Take" as const,
          id: `${context.id(0)}/${index}`,
          amount,
          from: { organization, key }
        })
        return Actor.decided({
          facts: [{ id: name, change: -sum }],
          messages: to.map((place, index) => Actor.message(Purse, place.organization, place.key, letter(index))),
          reply: balance - sum
        })
      }
      case "Take": {
        const { amount, from, id } = command
        if (amount === rejectedAmount) return Actor.rejected("this amount is not taken")
        if (amount === breakingAmount) throw new Error("this amount breaks the rule")
        if (amount === returnedAmount)
          return Actor.decided({
            messages: [
              Actor.message(Purse, from.organization, from.key, { _tag: "TakeBack", id: `${id}/back`, amount })
            ],
            reply: balance
          })
        return Actor.decided({ facts: [{ id, change: amount }], reply: balance + amount })
      }
      case "TakeBack":
        return Actor.decided({ facts: [{ id: command.id, change: command.amount }], reply: balance + command.amount })
    }
  },
  evolve: (balance, { change }) => balance + change
})

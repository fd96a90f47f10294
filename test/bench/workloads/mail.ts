/**
 * Defines the decisions of the engine's workloads: the admission of a mail, one fact of about a hundred bytes on a small flat state, and
 * a look at that state, which needs no fact. The peer publishes the same facts.
 */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const Admitted = Schema.Struct({ message: Schema.String, recipient: Schema.String, bytes: Schema.Int })
export type Admitted = typeof Admitted.Type

const State = Schema.Struct({ mails: Schema.Int, bytes: Schema.Int })
type State = typeof State.Type

const Command = Schema.Union([Schema.TaggedStruct("Admit", { mail: Admitted }), Schema.TaggedStruct("Look", {})])
type Command = typeof Command.Type

/** One sender an organization. Replies with the mails it has been admitted. */
export const Sender = Actor.make<Command, Admitted, State, number>({
  kind: "sender",
  command: Command,
  fact: Admitted,
  state: State,
  reply: Schema.Int,
  initial: () => ({ mails: 0, bytes: 0 }),
  decide: (state, command) =>
    command._tag === "Look"
      ? Actor.decided({ reply: state.mails })
      : Actor.decided({ facts: [command.mail], reply: state.mails + 1 }),
  evolve: (state, fact) => ({ mails: state.mails + 1, bytes: (state.bytes + fact.bytes) % 1_000_000_000 })
})

/** A mail like any other, with a number of its own. */
export const mailOf = (number: number): Admitted => ({
  message: `msg_${String(number).padStart(22, "0")}`,
  recipient: "somebody.else@mail.example.com",
  bytes: 4321 + (number & 1023)
})

export const admit = (number: number): Command => ({ _tag: "Admit", mail: mailOf(number) })
export const look: Command = { _tag: "Look" }

export const organizationOf = (index: number): string => `org_${String(index).padStart(22, "0")}`

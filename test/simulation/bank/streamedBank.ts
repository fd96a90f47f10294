/**
 * The bank with streams of the program: an ingest whose messages a shelf decides, a second one of the subjects of each partition, a publisher of
 * facts and one of events (docs/streams.md). Its own workload, so that saved scenarios of the bank play as they did.
 */
import { Arbitrary, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Ingest from "../../../src/engine/Ingest.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import type { Workload } from "../../../src/simulation/engine/Workload.ts"
import { Account, bank } from "./bank.ts"

const Put = Schema.Struct({ message: Schema.Int, amount: Schema.Int })

/** An amount for which the shelf has no room, and one that says nothing. */
const refused = 7
const silent = 8

/** Keeps what it was told. It recognizes no repeat: each message must come once. */
export const Shelf = Actor.make<
  typeof Put.Type,
  typeof Put.Type,
  { readonly count: number; readonly last: number },
  number,
  string
>({
  kind: "shelf",
  command: Put,
  fact: Put,
  state: Schema.Struct({ count: Schema.Int, last: Schema.Int }),
  reply: Schema.Number,
  rejection: Schema.String,
  initial: () => ({ count: 0, last: 0 }),
  decide: ({ count }, put) => {
    if (put.amount === refused) return Actor.rejected("no room")
    if (put.amount === silent) return Actor.decided({ reply: count })
    return Actor.decided({
      facts: [put],
      events:
        put.amount > 80 ? [{ type: "shelf.large", service: "bank", livemode: true, data: { amount: put.amount } }] : [],
      reply: count + 1
    })
  },
  evolve: ({ count }, { message }) => ({ count: count + 1, last: message })
})

const deliveries = Ingest.jetStream({
  name: "deliveries",
  stream: "DELIVERIES",
  subject: "deliveries.*",
  organization: ({ subject }) => subject.split(".")[1],
  toCommand: (message) => {
    const { amount, key } = Ingest.json(message) as { readonly amount: number; readonly key: string }
    return amount === 0 ? undefined : Ingest.command(Shelf, key, { message: message.sequence, amount })
  }
})

/** Reads a second stream, of other organizations than the messages' subjects may name. */
const returns = Ingest.jetStream({
  name: "returns",
  stream: "RETURNS",
  organization: ({ subject }) => (subject.endsWith(".none") ? undefined : subject.split(".")[1]),
  toCommand: (message) => Ingest.command(Shelf, "returns", { message: message.sequence, amount: 1 })
})

const shelved = Publish.jetStream({
  name: "shelved",
  from: Publish.facts(Shelf),
  stream: "SHELVED",
  subject: ({ organization }) => `shelved.${organization}`,
  encode: ({ fact }) => JSON.stringify(fact)
})

const moved = Publish.jetStream({
  name: "moved",
  from: Publish.facts(Account),
  subject: "moved.all",
  encode: ({ fact }) => {
    if (fact.change === 17) throw new Error("this amount cannot be published")
    return JSON.stringify(fact)
  }
})

const large = Publish.jetStream({ name: "large", from: Publish.events(["shelf.*", "bank.*"]), subject: "large.all" })

const Message = Schema.Union([
  Schema.Struct({
    subject: Schema.Literals(["deliveries.org_1", "deliveries.org_2", "deliveries.org_3"]),
    data: Schema.Struct({
      key: Schema.Literals(["a", "b"]),
      amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))
    })
  }),
  Schema.Struct({ subject: Schema.Literals(["deliveries.org_1", "deliveries. "]), data: Schema.Literal("no JSON") }),
  Schema.Struct({
    subject: Schema.Literals(["returns.org_1", "returns.org_2", "returns.none"]),
    data: Schema.Literal("back")
  })
])

export const streamedBank: Workload = {
  ...bank,
  name: "bank with streams",
  actors: [...bank.actors, Shelf],
  streams: {
    DELIVERIES: ["deliveries.>"],
    RETURNS: ["returns.>"],
    SHELVED: ["shelved.>"],
    MOVED: ["moved.>", "large.>"]
  },
  ingests: [deliveries, returns],
  publishers: [shelved, moved, large],
  messages: Arbitrary.schema(Message)
}

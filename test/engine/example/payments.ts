import { Effect, Schema } from "effect"
import { Actor, Engine } from "../../../src/index.ts"

export const Wallet = Actor.make({
  kind: "wallet",
  command: Schema.Struct({ pay: Schema.Int }),
  fact: Schema.Struct({ paid: Schema.Int }),
  state: Schema.Int,
  reply: Schema.Int,
  initial: () => 0,
  evolve: (total, fact) => total + fact.paid,
  decide: (total, { pay }) => Actor.decided({ facts: [{ paid: pay }], reply: total + pay })
})

/** Two requests with one key: the second one changes nothing and has the answer of the first. */
export const payTwice = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const once = { key: "order 4711", digest: "pay 30", windowMillis: 3_600_000 }
  const first = yield* engine.askOnce(Wallet, { organization: "acme" }, { pay: 30 }, once)
  const second = yield* engine.askOnce(Wallet, { organization: "acme" }, { pay: 30 }, once)
  return [first, second] // { reply: 30, isReplay: false } and { reply: 30, isReplay: true }
})

/** A saga: an order is charged, then shipped; if it cannot be shipped, the charge is paid back. `node saga.ts` */
import { Effect, Schema } from "effect"
import { Actor, Engine, Publish, Worker } from "sluice"

const Step = Schema.Literals(["new", "placed", "charged", "declined", "shipped", "unshippable", "refunded", "owed"])
type Step = typeof Step.Type
const State = Schema.Struct({ step: Step, item: Schema.String, cents: Schema.Int })

/** The steps that may follow each one; any other command is rejected. */
const next: Partial<Record<Step, readonly [done: Step, failed: Step]>> = {
  new: ["placed", "placed"],
  placed: ["charged", "declined"],
  charged: ["shipped", "unshippable"],
  unshippable: ["refunded", "owed"]
}

const Order = Actor.make({
  kind: "order",
  command: State,
  fact: State,
  state: State,
  reply: Schema.Void,
  initial: (): typeof State.Type => ({ step: "new", item: "", cents: 0 }),
  evolve: (_, fact) => fact,
  decide: ({ step }, order) =>
    next[step]?.includes(order.step) === true ? Actor.decided({ facts: [order] }) : Actor.rejected(`it is ${step}`)
})

/** A worker for a step of orders, whose outcome is one of those that may follow. */
const worker = (step: Step, run: (order: typeof State.Type, key: string) => Effect.Effect<void, Worker.GiveUp>) =>
  Worker.make({
    name: `after-${step}`,
    from: Publish.facts(Order),
    job: Schema.Struct({ id: Schema.String, order: State }),
    toJob: ({ fact, key }) => (fact.step === step ? { id: key, order: fact } : undefined),
    run: ({ order }, { key }) => run(order, key),
    reply: {
      actor: Order,
      toCommand: ({ _tag }, { job: { id, order } }) => ({
        key: id,
        command: { ...order, step: next[step]![_tag === "Done" ? 0 : 1] }
      })
    }
  })
const bank = new Map<string, number>() // outside: it knows a repeat by its idempotency key
const workers = [
  worker("placed", ({ cents }, key) => Effect.sync(() => void bank.set(key, cents))),
  worker("charged", ({ item }) => (item === "piano" ? Worker.giveUp("too heavy") : Effect.void)),
  worker("unshippable", ({ cents }, key) => Effect.sync(() => void bank.set(key, -cents)))
]

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  for (const [key, cents] of Object.entries({ tea: 300, piano: 9_000 }))
    yield* engine.ask(Order, { organization: "acme", key }, { step: "placed" as const, item: key, cents })
  yield* Worker.settled
  const stepOf = (key: string) => Effect.map(engine.state(Order, { organization: "acme", key }), ({ step }) => step)
  return [yield* stepOf("tea"), yield* stepOf("piano"), ...bank.values()]
}).pipe(Effect.provide(Engine.layerMemory({ actors: [Order], workers })))
console.log(await Effect.runPromise(program)) // [ 'shipped', 'refunded', 300, 9000, -9000 ]

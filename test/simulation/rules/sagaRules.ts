/** A saga of three workers: an order is paid, shipped, and paid back if it cannot be shipped. */
import { Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { plan } from "../../../src/simulation/index.ts"

const Place = Schema.TaggedStruct("Place", {})
const effects = ["pay", "ship", "refund"] as const
const Outcome = Schema.TaggedStruct("Outcome", {
  order: Schema.Int,
  effect: Schema.Literals(effects),
  isDone: Schema.Boolean
})
const Step = Schema.TaggedStruct("Step", { order: Schema.Int, step: Schema.String })
const State = Schema.Struct({ order: Schema.Int, step: Schema.String })
type Outcome = typeof Outcome.Type

/** The step behind the outcome of an effect. The name of a step with work to do is the one of its effect. */
const next: Readonly<Record<Outcome["effect"], (isDone: boolean) => string>> = {
  pay: (isDone) => (isDone ? "ship" : "cancelled"),
  ship: (isDone) => (isDone ? "shipped" : "refund"),
  refund: (isDone) => (isDone ? "refunded" : "seen by a person")
}

const isBusy = (step: string) => effects.some((effect) => effect === step)

const Order = Actor.make({
  kind: "order",
  command: Schema.Union([Place, Outcome]),
  fact: Step,
  state: State,
  reply: Schema.Void,
  rejection: Schema.String,
  initial: () => ({ order: 0, step: "new" }),
  evolve: (_, { order, step }) => ({ order, step }),
  decide: ({ order, step }, command) => {
    if (command._tag === "Place")
      return isBusy(step)
        ? Actor.rejected("the last one is open")
        : Actor.decided({ facts: [{ _tag: "Step", order: order + 1, step: "pay" }] })
    return command.order === order && command.effect === step
      ? Actor.decided({ facts: [{ _tag: "Step", order, step: next[command.effect](command.isDone) }] })
      : Actor.rejected(`it is ${step}`)
  }
})

/** Whether the outcome of an effect is replied. */
export type IsReplied = (effect: Outcome["effect"], isDone: boolean) => boolean

/** Nobody hears that a shipment has failed, so nothing is paid back. */
export const lostOnFailure: IsReplied = (effect, isDone) => effect !== "ship" || isDone

const workerOf = (effect: Outcome["effect"], isReplied: IsReplied) =>
  Worker.make({
    name: effect,
    from: Publish.facts(Order),
    job: Schema.Struct({ key: Schema.String, order: Schema.Int }),
    toJob: ({ fact, key }) => (fact.step === effect ? { key, order: fact.order } : undefined),
    run: () => Effect.die("a simulation calls nothing outside"),
    retry: { pausesMillis: [1_000, 60_000] },
    reply: {
      actor: Order,
      toCommand: ({ _tag }, { job: { key, order } }) =>
        isReplied(effect, _tag === "Done")
          ? { key, command: { _tag: "Outcome" as const, order, effect, isDone: _tag === "Done" } }
          : undefined
    }
  })

export const saga = (isReplied: IsReplied = () => true) =>
  plan(Order, {
    keys: ["1", "2"],
    weights: { Outcome: 0 },
    workers: effects.map((effect) => ({ worker: workerOf(effect, isReplied) })),
    eventually: {
      "each order ends": {
        within: 10 * 60_000,
        from: ({ step }) => isBusy(step),
        until: ({ step }) => !isBusy(step)
      }
    }
  })

/** A shop whose orders are charged by a worker, and a payment service that a test scripts. */
import { Clock, Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { type Deployment, type StartOptions, serving } from "./deployment.ts"

const Command = Schema.Union([
  Schema.TaggedStruct("Place", { cents: Schema.Int }),
  Schema.TaggedStruct("Paid", { receipt: Schema.String }),
  Schema.TaggedStruct("NotPaid", { reason: Schema.String })
])

/**
 * Every command becomes a fact, so a reply that counts twice is seen twice. A receipt "refused" is rejected, and "once
 * placed" where nothing is placed.
 */
export const Order = Actor.make({
  kind: "order",
  command: Command,
  fact: Command,
  state: Schema.Array(Schema.String),
  reply: Schema.Void,
  rejection: Schema.String,
  initial: (): ReadonlyArray<string> => [],
  evolve: (seen, fact) => [
    ...seen,
    fact._tag === "Place" ? `placed ${fact.cents}` : fact._tag === "Paid" ? fact.receipt : `not paid: ${fact.reason}`
  ],
  decide: (seen, command) => {
    const isUnknown = command._tag === "Paid" && command.receipt === "once placed" && seen.length === 0
    if (isUnknown || (command._tag === "Paid" && command.receipt === "refused")) return Actor.rejected("no such order")
    if (command._tag === "Paid" && command.receipt === "broken") throw new Error("the rule is broken")
    return Actor.decided({ facts: [command] })
  }
})

/** A call of the payment service. */
export interface Call {
  readonly key: string
  readonly cents: number
  readonly attempt: number
  readonly organization: string
  readonly at: number
}

/** The service, and what it has been asked. */
export class Payments {
  readonly calls: Array<Call> = []
  /** Calls under way now, and most of them at any time, of one key. */
  readonly open = new Map<string, number>()
  mostOpen = 0
  /** Calls that were interrupted. */
  interrupted = 0
  answer: (call: Call) => Effect.Effect<string, unknown> = ({ cents }) => Effect.succeed(`receipt ${cents}`)

  readonly pay = Effect.fnUntraced(function* (
    this: Payments,
    { cents }: { readonly cents: number },
    { attempt, key, organization }: Worker.WorkerAttempt
  ) {
    const call = { key, cents, attempt, organization, at: yield* Clock.currentTimeMillis }
    this.calls.push(call)
    const open = (this.open.get(key) ?? 0) + 1
    this.open.set(key, open)
    this.mostOpen = Math.max(this.mostOpen, open)
    const over = Effect.sync(() => void this.open.set(key, this.open.get(key)! - 1))
    return yield* this.answer(call).pipe(
      Effect.ensuring(over),
      Effect.onInterrupt(() => Effect.sync(() => void this.interrupted++))
    )
  })
}

const Job = Schema.Struct({ order: Schema.String, cents: Schema.Int })

export interface ChargeOptions
  extends Partial<Pick<Worker.Worker, "retry" | "timeoutMillis" | "concurrency" | "isOrdered">> {
  readonly isFinal?: (error: unknown) => boolean
  readonly wrongCents?: () => number | undefined
}

export const chargeWith = (payments: Payments, { isFinal, wrongCents, ...more }: ChargeOptions = {}) =>
  Worker.make({
    name: "charge",
    from: Publish.facts(Order),
    job: Job,
    toJob: ({ fact, key }) => {
      if (fact._tag !== "Place" || fact.cents === 0) return undefined
      if (fact.cents === wrongCents?.()) throw new Error("this order has no price")
      return { order: key, cents: fact.cents }
    },
    run: (job, attempt) => payments.pay(job, attempt),
    reply: {
      actor: Order,
      toCommand: (outcome, { job }) => ({
        key: job.order,
        command:
          outcome._tag === "Done"
            ? ({ _tag: "Paid", receipt: outcome.value } as const)
            : ({ _tag: "NotPaid", reason: `${outcome.reason} (${outcome.attempts})` } as const)
      })
    },
    ...(isFinal === undefined ? {} : { isFinal }),
    ...more
  })

/** An engine over the shop, which serves. */
export const shop = (deployment: Deployment, payments: Payments, charge: ChargeOptions = {}, more: StartOptions = {}) =>
  Effect.map(
    serving(deployment, { actors: [Order], workers: [chargeWith(payments, charge)], ...more }),
    ({ engine, stop }) => ({
      engine,
      stop,
      place: (organization: string, key: string, cents: number) =>
        engine.ask(Order, { organization, key }, { _tag: "Place", cents }),
      seen: (organization: string, key: string) => engine.state(Order, { organization, key })
    })
  )

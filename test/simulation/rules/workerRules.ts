/** Programs with workers that are wrong on purpose, and the same as they should be, of which nothing must be said. */
import { Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Worker from "../../../src/engine/Worker.ts"
import { plan, type SimulatedWorker, type SimulateOptions } from "../../../src/simulation/index.ts"
import { lostOnFailure, saga } from "./sagaRules.ts"
import type { WrongRule } from "./wrongRules.ts"

const Place = Schema.TaggedStruct("Place", {})
const Close = Schema.TaggedStruct("Close", { order: Schema.Int, isPaid: Schema.Boolean })
const State = Schema.Struct({ orders: Schema.Int, isOpen: Schema.Boolean, paid: Schema.Int })
type State = typeof State.Type
const Placed = Schema.TaggedStruct("Placed", { order: Schema.Int })
const Fact = Schema.Union([Placed, Close])
type Fact = typeof Fact.Type
type Command = typeof Place.Type | typeof Close.Type

interface Choices {
  /** Whether a customer may order again while the last order is open. */
  readonly isOpenLeftAlone?: boolean
  /** Whether an outcome counts whatever the state is. */
  readonly isOutcomeTrusted?: boolean
  readonly windowMillis?: number
  readonly toJob?: (fact: Fact) => number | undefined
  readonly toCommand?: (order: number, isPaid: boolean) => typeof Close.Type | undefined
  readonly isOrdered?: boolean
  readonly keyOf?: SimulatedWorker["keyOf"]
}

const hour = 3_600_000

/** A customer whose orders are charged one after the other. */
const customer = ({ isOpenLeftAlone = true, isOutcomeTrusted = false }: Choices) =>
  Actor.make<Command, Fact, State, number, string>({
    kind: "customer",
    command: Schema.Union([Place, Close]),
    fact: Fact,
    state: State,
    reply: Schema.Number,
    rejection: Schema.String,
    initial: () => ({ orders: 0, isOpen: false, paid: 0 }),
    decide: ({ isOpen, orders }, command) => {
      if (command._tag === "Place")
        return isOpen && isOpenLeftAlone
          ? Actor.rejected("the last one is open")
          : Actor.decided({ facts: [{ _tag: "Placed", order: orders + 1 }], reply: orders + 1 })
      return (isOpen && command.order === orders) || isOutcomeTrusted
        ? Actor.decided({ facts: [command], reply: orders })
        : Actor.rejected("it is closed")
    },
    evolve: (state, fact) =>
      fact._tag === "Placed"
        ? { ...state, orders: fact.order, isOpen: true }
        : { ...state, isOpen: false, paid: state.paid + (fact.isPaid ? 1 : 0) }
  })

const shop = (choices: Choices = {}, options: SimulateOptions<Command, State, number, string> = {}) => {
  const Customer = customer(choices)
  const { isOrdered = false, keyOf, toCommand, toJob, windowMillis } = choices
  const charge = Worker.make({
    name: "charge",
    from: Publish.facts(Customer),
    job: Schema.Struct({ customer: Schema.String, order: Schema.Int }),
    toJob: ({ fact, key }) => {
      const order = toJob === undefined ? (fact._tag === "Placed" ? fact.order : undefined) : toJob(fact)
      return order === undefined ? undefined : { customer: key, order }
    },
    run: () => Effect.die("a simulation calls nothing outside"),
    retry: { pausesMillis: [1_000, 60_000, hour] },
    isOrdered,
    reply: {
      actor: Customer,
      ...(windowMillis === undefined ? {} : { windowMillis }),
      toCommand: (outcome, { job }) => {
        const isPaid = outcome._tag === "Done"
        const command =
          toCommand === undefined ? { _tag: "Close" as const, order: job.order, isPaid } : toCommand(job.order, isPaid)
        return command && { key: job.customer, command }
      }
    }
  })
  return plan(Customer, {
    keys: ["ann", "ben"],
    weights: { Close: 0 },
    workers: [
      { worker: charge, outside: (_, { key }) => `receipt of ${key}`, ...(keyOf === undefined ? {} : { keyOf }) }
    ],
    ...options
  })
}

const counts = {
  invariants: { "no order is paid twice": ({ orders, paid }: State) => paid <= orders }
}

const ends = {
  eventually: {
    "each order is closed": {
      within: 10 * 60_000,
      from: ({ isOpen }: State) => isOpen,
      until: ({ isOpen }: State) => !isOpen
    }
  }
}

/** What a checker says of each. */
export const wrongPrograms: ReadonlyArray<WrongRule & { readonly checker: string }> = [
  {
    name: "a rule that counts a reply again, behind a window of a second",
    plan: () => shop({ isOutcomeTrusted: true, windowMillis: 1_000 }, counts),
    checker: "invariant",
    says: "no order is paid twice"
  },
  {
    name: "a rule that charges again for a repeated command",
    plan: () =>
      shop(
        { isOpenLeftAlone: false, isOutcomeTrusted: true },
        { invariants: { "a customer has one order": ({ orders }) => orders <= 1 }, keys: ["ann"] }
      ),
    checker: "invariant",
    says: "a customer has one order"
  },
  {
    name: "a worker that says nothing of a failure",
    plan: () => shop({ toCommand: (order, isPaid) => (isPaid ? { _tag: "Close", order, isPaid } : undefined) }, ends),
    checker: "eventually",
    says: "each order is closed"
  },
  {
    name: "a worker whose reply fails on a failure",
    plan: () =>
      shop({
        toCommand: (order, isPaid) => {
          if (!isPaid) throw new Error("no receipt")
          return { _tag: "Close", order, isPaid }
        }
      }),
    checker: "each job is done",
    says: "no receipt"
  },
  {
    name: "a call outside with a key of its attempt",
    plan: () => shop({ keyOf: (_, { attempt, key }) => `${key}.${attempt}` }),
    checker: "each job is done",
    says: "has happened twice"
  },
  {
    name: "a call outside with a key of its customer",
    plan: () => shop({ keyOf: (_, { organization }) => organization }),
    checker: "each job is done",
    says: "its effect never happened"
  },
  {
    name: "a saga that loses its compensation",
    plan: () => saga(lostOnFailure),
    checker: "eventually",
    says: "each order ends"
  },
  {
    name: "a worker that counts its jobs beside the log",
    plan: () => {
      let jobs = 0
      return shop({ toJob: (fact) => (fact._tag === "Placed" ? ++jobs : undefined) })
    },
    checker: "each job is done",
    says: "toJob of charge gives"
  },
  {
    name: "a worker that has no job for some facts",
    plan: () =>
      shop({
        toJob: (fact) => {
          if (fact._tag === "Close") throw new Error("it is over")
          return fact.order
        }
      }),
    checker: "each job is done",
    says: "charge has parked record"
  }
]

export const rightPrograms: ReadonlyArray<Pick<WrongRule, "name" | "plan">> = [
  { name: "orders that are closed by their charges", plan: () => shop({}, { ...counts, ...ends }) },
  { name: "outcomes that count because their replies do", plan: () => shop({ isOutcomeTrusted: true }, counts) },
  { name: "charges in the order of the log", plan: () => shop({ isOrdered: true }, { ...counts, ...ends }) },
  { name: "a saga that pays back what it cannot ship", plan: () => saga() }
]

/**
 * A scenario of webhook deliveries is data, as those of the engine are: the settings, the fault plan and the steps. It
 * is drawn from a seed, plays the same each time, and can be shrunk piece by piece. Needs no service.
 */
import { Schema } from "effect"
import { Count, faultOf, Seed, textOf } from "../../../src/simulation/engine/scenarioText.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

/** The operations of the dispatcher's ports at which something can go wrong, counted over all processes, from 0. */
export const operations = {
  send: [
    "request lost",
    "answer lost",
    "timed out",
    "slow",
    "500",
    "302",
    "429 with seconds",
    "503 with a date",
    "410",
    "refused",
    "defect",
    "crash before the request",
    "crash after the request"
  ],
  record: ["unavailable", "answer lost", "slow", "crash before", "crash after"],
  take: ["unavailable", "answer lost", "slow", "crash after"],
  keep: ["unavailable", "answer lost"],
  due: ["unavailable", "slow"],
  endpoints: ["unavailable", "slow"],
  cancel: ["answer lost", "crash after"],
  deleted: ["unavailable"],
  expire: ["unavailable"],
  secrets: ["unavailable"],
  tell: ["unavailable", "outcome unknown", "late", "crash after"],
  commit: ["late", "rolled back", "answer lost", "crash before", "crash after", "no room", "new life"]
} as const
export type Operation = keyof typeof operations

/** One planned fault: the `nth` operation of its kind goes wrong like this. */
export const Fault = faultOf<Operation>(operations)
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

/** How an endpoint's receiver behaves until told otherwise. */
export const modes = ["well", "failing", "hanging", "slow", "refusing", "flaky", "gone", "limiting"] as const
export type Mode = (typeof modes)[number]

export const Step = Schema.Union([
  Schema.TaggedStruct("Emit", { type: Schema.Literals(["telco.a", "send.b"]), count: Count }),
  Schema.TaggedStruct("Owner", {
    endpoint: Count,
    does: Schema.Literals(["disable", "enable", "delete", "create", "unpause", "unpause with replay", "rotate", "test"])
  }),
  Schema.TaggedStruct("Rate", { endpoint: Count, rate: Schema.NullOr(Schema.Number) }),
  Schema.TaggedStruct("Replay", { endpoint: Count }),
  Schema.TaggedStruct("Retry", { nth: Count }),
  Schema.TaggedStruct("Behave", { endpoint: Count, mode: Schema.Literals(modes) }),
  Schema.TaggedStruct("Advance", { millis: Count }),
  Schema.TaggedStruct("Crash", {}),
  Schema.TaggedStruct("Restart", {}),
  Schema.TaggedStruct("Outage", { millis: Count }),
  Schema.TaggedStruct("ClockStops", { millis: Count })
])
export type Step = typeof Step.Type

export const Topology = Schema.Struct({
  endpoints: Count,
  /** Organizations that the endpoints belong to in turn; 1 where it is left out. */
  organizations: Schema.optional(Count),
  /** Attempts per second at the endpoint of each place, null for any number; no rates where it is left out. */
  rates: Schema.optional(Schema.Array(Schema.NullOr(Schema.Number))),
  /** The key of the order at the endpoint of each place, null for none; no orders where it is left out. */
  orders: Schema.optional(Schema.Array(Schema.NullOr(Schema.String))),
  delaysMillis: Schema.Array(Count),
  timeoutMillis: Count,
  capacity: Count,
  disorder: Schema.Number,
  sliceOperations: Count,
  latencyMicros: Count,
  /** How far the reactor may lag behind the log, milliseconds. */
  lagMillis: Count
})
export interface Topology extends Schema.Schema.Type<typeof Topology> {}

export const Scenario = Schema.Struct({
  seed: Seed,
  topology: Topology,
  faults: Schema.Array(Fault),
  steps: Schema.Array(Step)
})
export interface Scenario extends Schema.Schema.Type<typeof Scenario> {}

export const { fromJson, toJson } = textOf(Scenario)

const stepWeights = {
  Emit: 30,
  Owner: 16,
  Replay: 2,
  Retry: 3,
  Behave: 12,
  Advance: 30,
  Crash: 2,
  Restart: 2,
  Outage: 2,
  ClockStops: 1
} as const

const drawStep = (draw: Prng, endpoints: number): Step => {
  const endpoint = draw.int(0, endpoints - 1)
  const _tag = draw.weighted(stepWeights)
  switch (_tag) {
    case "Emit":
      return { _tag, type: draw.chance(0.8) ? "telco.a" : "send.b", count: draw.chance(0.2) ? draw.int(5, 30) : 1 }
    case "Owner": {
      const does = draw.weighted({
        disable: 2,
        enable: 4,
        delete: 2,
        create: 3,
        unpause: 5,
        "unpause with replay": 2,
        rotate: 2,
        test: 3
      })
      return { _tag, endpoint, does }
    }
    case "Replay":
      return { _tag, endpoint }
    case "Retry":
      return { _tag, nth: draw.int(0, 50) }
    case "Behave":
      return { _tag, endpoint, mode: draw.pick(modes) }
    case "Advance":
      return { _tag, millis: draw.pick([1, 20, 300, 2_000, 8_000]) }
    case "Outage":
    case "ClockStops":
      return { _tag, millis: draw.pick([100, 1_500, 6_000]) }
    default:
      return { _tag }
  }
}

/** Roughly how many operations of a kind a scenario has; faults beyond that would not happen. */
const reach: Partial<Record<Operation, number>> = {
  send: 250,
  record: 150,
  take: 120,
  tell: 40,
  commit: 60,
  secrets: 20
}

/** Operations that a scenario has few of. */
const rare: ReadonlySet<Operation> = new Set(["keep", "cancel", "deleted", "expire", "secrets"])

/** Rates that receivers reach with the events of a scenario, and none. */
const rates = [null, null, 2, 5, 30] as const

/** Most changes of rates in a scenario. */
const maximumRateChanges = 3

/** Half of the scenarios have rates. They are draws of their own, so that the others stay what they were. */
const drawRates = (seed: number, endpoints: number) => {
  const draw = new Prng(seed, "webhook rates")
  if (draw.chance(0.5)) return { rates: undefined, withChanges: (steps: ReadonlyArray<Step>) => steps }
  return {
    rates: Array.from({ length: endpoints }, () => draw.pick(rates)),
    withChanges: (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => {
      const changed = [...steps]
      for (let count = draw.int(0, maximumRateChanges); count > 0; count--) {
        const change = { _tag: "Rate", endpoint: draw.int(0, endpoints - 1), rate: draw.pick(rates) } as const
        changed.splice(draw.int(0, changed.length), 0, change)
      }
      return changed
    }
  }
}

/** Keys of orders: a value of events, all events of the organization, and none. */
const orders = [null, "k", "k", "organization"] as const

/** Half of the scenarios have orders, by draws of their own too. */
const drawOrders = (seed: number, endpoints: number) => {
  const draw = new Prng(seed, "webhook orders")
  return draw.chance(0.5) ? undefined : Array.from({ length: endpoints }, () => draw.pick(orders))
}

/** Draws the scenario of a seed. */
export const generate = (seed: number, count = 40): Scenario => {
  const draw = new Prng(seed, "webhook scenario")
  const endpoints = draw.int(2, 5)
  const rated = drawRates(seed, endpoints)
  const faults: Array<Fault> = []
  const chance = draw.pick([0, 0.02, 0.08])
  for (const [operation, kinds] of Object.entries(operations) as ReadonlyArray<[Operation, ReadonlyArray<string>]>)
    for (let nth = 0; nth < (reach[operation] ?? 40); nth++)
      if (draw.chance(rare.has(operation) ? 4 * chance : chance))
        faults.push({ operation, nth, kind: draw.pick(kinds) })
  return {
    seed,
    topology: {
      endpoints,
      organizations: new Prng(seed, "webhook organizations").pick([1, 2, endpoints]),
      rates: rated.rates,
      orders: drawOrders(seed, endpoints),
      delaysMillis: draw.pick([[], [300], [200, 900, 2_000], [1_000, 4_000]]),
      timeoutMillis: draw.pick([500, 2_000]),
      capacity: draw.pick([8, 64]),
      disorder: draw.pick([0, 0.1, 0.5]),
      sliceOperations: draw.pick([16, 256, 2_048]),
      latencyMicros: draw.pick([200, 3_000, 20_000]),
      lagMillis: draw.pick([0, 5, 400])
    },
    faults,
    steps: rated.withChanges(Array.from({ length: count }, () => drawStep(draw, endpoints)))
  }
}

/**
 * A scenario of the hand-off of mail is data: the settings, the fault plan and the steps. It is drawn from a seed, plays
 * the same each time, and can be shrunk piece by piece. Needs no service.
 */
import { Schema } from "effect"
import { Count, faultOf, Seed, textOf } from "../../../src/simulation/engine/scenarioText.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

/** The operations of the workers' ports at which something can go wrong, counted over all processes, from 0. */
export const operations = {
  deliver: ["crash before", "crash after", "lost", "hangs", "defect"],
  dispatch: ["unavailable", "outcome unknown", "late", "crash after"],
  report: ["unavailable", "outcome unknown", "late", "crash after"],
  contents: ["unavailable", "late"],
  take: ["unavailable", "answer lost", "crash after"],
  settle: ["unavailable", "answer lost", "crash before", "crash after"],
  due: ["unavailable"],
  commit: ["rolled back", "answer lost", "late", "crash before", "crash after", "new life"]
} as const
export type Operation = keyof typeof operations

/** One planned fault: the `nth` operation of its kind goes wrong like this. */
export const Fault = faultOf<Operation>(operations)
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

/** The relay's behaviour until a step changes it. */
export const relayModes = ["takes", "is slow", "hangs", "puts off", "refuses", "parts", "blames", "waits"] as const
export type RelayMode = (typeof relayModes)[number]

export const Step = Schema.Union([
  Schema.TaggedStruct("Accept", { organization: Count, emails: Count }),
  Schema.TaggedStruct("Relay", { mode: Schema.Literals(relayModes) }),
  Schema.TaggedStruct("Cancel", { nth: Count }),
  Schema.TaggedStruct("Pause", { organization: Count }),
  Schema.TaggedStruct("Lift", { organization: Count }),
  Schema.TaggedStruct("Advance", { millis: Count }),
  Schema.TaggedStruct("Crash", {}),
  Schema.TaggedStruct("Restart", {}),
  /** The partition begins a new life in the same process. */
  Schema.TaggedStruct("NewLife", {}),
  Schema.TaggedStruct("Outage", { millis: Count })
])
export type Step = typeof Step.Type

const Topology = Schema.Struct({
  organizations: Count,
  disorder: Schema.Finite,
  sliceOperations: Count,
  latencyMicros: Count,
  /** How long an acknowledged frame takes to the reactor. */
  lagMillis: Count
})

export const Scenario = Schema.Struct({
  seed: Seed,
  topology: Topology,
  faults: Schema.Array(Fault),
  steps: Schema.Array(Step)
})
export interface Scenario extends Schema.Schema.Type<typeof Scenario> {}

export const { fromJson, toJson } = textOf(Scenario)

const drawStep = (draw: Prng, organizations: number): Step => {
  const organization = draw.int(0, organizations - 1)
  const kind = draw.int(0, 99)
  if (kind < 40) return { _tag: "Accept", organization, emails: draw.pick([1, 1, 2, 5, 40]) }
  if (kind < 65) return { _tag: "Advance", millis: draw.pick([5, 20, 60, 150, 400, 1_500]) }
  if (kind < 77) return { _tag: "Relay", mode: draw.pick(["takes", "takes", ...relayModes] as const) }
  if (kind < 83) return { _tag: "Cancel", nth: draw.int(0, 200) }
  if (kind < 87) return { _tag: "Pause", organization }
  if (kind < 91) return { _tag: "Lift", organization }
  if (kind < 93) return { _tag: "NewLife" }
  if (kind < 95) return { _tag: "Outage", millis: draw.pick([100, 1_000, 5_000]) }
  return { _tag: kind < 98 ? "Restart" : "Crash" }
}

/** Draws the scenario of a seed. */
export const generate = (seed: number, count = 30): Scenario => {
  const draw = new Prng(seed, "hand-off scenario")
  const organizations = draw.int(1, 3)
  const chance = draw.pick([0, 0.02, 0.1])
  const faults: Array<Fault> = []
  for (const [operation, kinds] of Object.entries(operations) as ReadonlyArray<[Operation, ReadonlyArray<string>]>)
    for (let nth = 0; nth < 40; nth++) if (draw.chance(chance)) faults.push({ operation, nth, kind: draw.pick(kinds) })
  return {
    seed,
    topology: {
      organizations,
      disorder: draw.pick([0, 0.1, 0.5]),
      sliceOperations: draw.pick([16, 256, 2_048]),
      latencyMicros: draw.pick([200, 2_000, 10_000]),
      lagMillis: draw.pick([0, 5, 100])
    },
    faults,
    steps: Array.from({ length: count }, () => drawStep(draw, organizations))
  }
}

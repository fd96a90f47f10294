/** A campaign reports a finding: also of one that comes once, of clients that wait for an operator, and of scenarios that are read again. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import {
  campaign,
  describeFailure,
  fromJson,
  generate,
  play,
  type Scenario,
  simulate,
  toJson,
  workloadOf
} from "../../../src/simulation/index.ts"

/** Remembers in the module what it has seen, and says so once for each key of an organization. */
const forgetful = () => {
  const seen = new Set<string>()
  return Actor.make({
    kind: "payment",
    command: Schema.Struct({ id: Schema.Literals(["a", "b"]) }),
    fact: Schema.Struct({ id: Schema.String }),
    state: Schema.Int,
    initial: () => 0,
    evolve: (count) => count + 1,
    decide: (_, { id }, { self }) => {
      const key = `${self.organization} ${id}`
      if (seen.has(key)) return Actor.decided({})
      seen.add(key)
      return Actor.decided({ facts: [{ id }] })
    }
  })
}

const Counter = Actor.make({
  kind: "counter",
  command: Schema.Struct({ add: Schema.Literals([1, 2]) }),
  fact: Schema.Struct({ added: Schema.Int }),
  state: Schema.Int,
  initial: () => 0,
  evolve: (total, { added }) => total + added,
  decide: (_, { add }) => Actor.decided({ facts: [{ added: add }] })
})

describe("a campaign", () => {
  it("given a finding that no second play shows, then it fails with what the first play found", () => {
    const { failure, played } = campaign(workloadOf(forgetful(), { floods: false }), { seed: 1, seeds: 60, steps: 20 })
    expect(failure).toMatchObject({ comesAgain: false, violation: { checker: "rules hold" } })
    expect(played).toBeLessThan(60)
    const told = describeFailure(failure!)
    expect(told).toContain("payment.decide is not pure: asked twice")
    expect(told).toContain("a rule keeps something beside its state")
    // The drawn scenario stands there whole.
    expect(failure!.scenario.steps.length).toBe(failure!.drawnSteps)
  })

  it.effect("given such a rule, then `simulate` fails with it too", () =>
    Effect.map(Effect.flip(simulate(forgetful(), { floods: false, seeds: 60, steps: 20 })), ({ failure, message }) => {
      expect(failure.comesAgain).toBe(false)
      expect(message).toContain("payment.decide is not pure")
    })
  )

  it("given a flood at a partition that has stopped, then its clients wait for an operator, and it comes to rest", () => {
    const workload = workloadOf(Counter, {})
    const drawn = generate(workload, 5, 0)
    const target = { organization: "org_1", actor: "counter", key: "" }
    const secondOwner = { _tag: "SecondOwner", handover: false } as const
    const scenario: Scenario = {
      ...drawn,
      seed: 7,
      topology: { ...drawn.topology, partitions: 1, replicas: 1, logBytes: 1_000_000, mailboxCapacity: 4 },
      faults: [],
      steps: [
        { _tag: "Command", ...target, command: { add: 1 }, to: "newest" },
        { _tag: "Advance", millis: 2_000 },
        { _tag: "Flood", ...target, draw: 1, count: 2_000 },
        secondOwner,
        secondOwner,
        secondOwner,
        { _tag: "Advance", millis: 4_000_000 }
      ]
    }
    const { marks, violation } = play(scenario, workload)
    expect(violation).toBeUndefined()
    expect(marks.counts.get("answer, PartitionStopped")).toBeGreaterThan(0)
  })

  it("writes scenarios that it can read again, whatever times its rule knows", () => {
    const yearMillis = 365 * 86_400_000
    const workload = workloadOf(Counter, { after: [yearMillis] })
    for (let seed = 0; seed < 20; seed++) {
      const scenario = generate(workload, seed)
      expect(fromJson(toJson(scenario))).toEqual(scenario)
    }
  })
})

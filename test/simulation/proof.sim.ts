/** The worked example of docs/simulation.md, "A bug that nobody has thought of", as written: a specification passes, the simulator finds the bug and shrinks it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { fromJson, play, workloadOf } from "../../src/simulation/index.ts"
import { cancelling, finding, proof } from "./example/prove.ts"
import { Table } from "./example/seats.ts"

describe("the worked example", () => {
  it("has a specification that passes", () => {
    cancelling()
  })

  it.effect("given a rule that forgets a reservation, when it is simulated, then two steps that show it are left", () =>
    Effect.gen(function* () {
      const { failure, message, scenario } = yield* Effect.flip(proof)
      expect(failure.violation.message).toContain("every seat is free or held")
      expect(failure.scenario.faults).toEqual([])
      const commands = failure.scenario.steps.map((step) => (step._tag === "Command" ? step.command : step))
      expect(commands).toHaveLength(2)
      expect(commands).toMatchObject([
        { _tag: "Reserve", seats: 1 },
        { _tag: "Reserve", seats: 1 }
      ])
      expect(message).toContain("shrunk from")
      expect(yield* finding).toBe(message)

      // What was saved fails in the same way.
      const invariants = { "every seat is free or held": () => false }
      const saved = play(fromJson(scenario), workloadOf(Table, { invariants }))
      expect(saved.violation?.checker).toBe("invariant")
    })
  )
})

/**
 * Compares actors with their model oracles: every stored decision and every answer from the state is as the model
 * predicts.
 */
import { unboxed } from "../boxedCommands.ts"
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"
import type { Expected } from "../Workload.ts"

const show = (value: unknown): string => JSON.stringify(value) ?? "nothing"

export const modelOracle: Checker = {
  name: "model oracle",
  make: (simulation, violate) => {
    const expectedOf = (decided: Decided, model: unknown): Expected<unknown, unknown, unknown> =>
      simulation.workload.oracles[decided.kind]!.step(model, unboxed(decided.command), decided.now)
    const complaint = (decided: Decided, expected: Expected<unknown, unknown, unknown>): string | undefined => {
      const given = decided.accepted ? `replied ${show(decided.reply)}` : `rejected with ${show(decided.rejection)}`
      const wanted =
        "rejection" in expected ? `rejected with ${show(expected.rejection)}` : `replied ${show(expected.reply)}`
      return given === wanted ? undefined : `${show(unboxed(decided.command))} was ${given}, the oracle says ${wanted}`
    }
    return {
      committed: ({ decisions, sequence }) => {
        for (const decided of decisions) {
          if (decided.command === undefined || simulation.workload.oracles[decided.kind] === undefined) continue
          const { moments } = simulation.truth.history(decided)
          // The moment before this decision, since decisions of one frame follow each other.
          const own = decisions.filter(
            (other) =>
              other.kind === decided.kind && other.key === decided.key && other.organization === decided.organization
          )
          const before = moments[moments.length - 1 - (own.length - own.indexOf(decided))]
          if (before === undefined) continue
          const problem = complaint(decided, expectedOf(decided, before.model))
          if (problem !== undefined)
            return violate(`${decided.kind} ${decided.key} of ${decided.organization}, frame ${sequence}: ${problem}`)
        }
      },
      answered: ({ answer, decided, isReplay }) => {
        if (
          isReplay ||
          answer === undefined ||
          answer._tag === "Failed" ||
          decided === undefined ||
          decided.records.length > 0
        )
          return
        if (simulation.workload.oracles[decided.kind] === undefined) return
        const { moments } = simulation.truth.history(decided)
        // A state may have occurred more than once with different models; one of them must fit.
        let problem: string | undefined
        for (const moment of moments) {
          if (moment.json !== decided.restsOn) continue
          problem = complaint(decided, expectedOf(decided, moment.model))
          if (problem === undefined) return
        }
        if (problem !== undefined) violate(`${decided.kind} ${decided.key} of ${decided.organization}: ${problem}`)
      }
    }
  }
}

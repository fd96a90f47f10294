/**
 * Checks that a frame holds the facts decided for it, whole decisions in their order, each decision once
 * (docs/architecture.md, rules 2, 5, 8).
 */
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"

export const committedAsDecided: Checker = {
  name: "frames hold what was decided",
  make: (_simulation, violate) => {
    const stored = new Map<Decided, number>()
    return {
      committed: ({ at: _at, decisions, partition, problem, process, sequence }) => {
        if (process !== undefined && problem !== undefined)
          violate(`frame ${sequence} of partition ${partition}: ${problem}`)
        for (const decision of decisions) {
          const before = stored.get(decision)
          if (before !== undefined) {
            violate(
              `a decision upon ${decision.kind} ${decision.key} of ${decision.organization} is in frame ${before} and again in frame ${sequence}`
            )
          }
          stored.set(decision, sequence)
        }
      }
    }
  }
}

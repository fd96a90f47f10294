/** Checks that the invariants of the workload hold in every state that was ever stored. */
import type { Checker } from "../Checker.ts"
import { nameOf } from "../Truth.ts"

export const invariantsHold: Checker = {
  name: "invariant",
  make: (simulation, violate) => ({
    committed: ({ frame, sequence }) => {
      const seen = new Set<string>()
      for (const { actor, event } of frame.records) {
        if (event !== undefined) continue
        const name = nameOf(actor)
        if (seen.has(name)) continue
        seen.add(name)
        const invariants = simulation.workload.invariants[actor.kind]
        if (invariants === undefined) continue
        for (const moment of simulation.truth.history(actor).moments) {
          if (moment.sequence !== sequence) continue
          const { key, organization } = actor
          for (const [sentence, holds] of Object.entries(invariants)) {
            if (!holds(moment.state as never, { now: moment.now, organization, key })) {
              return violate(`"${sentence}" does not hold for ${actor.kind} ${key} of ${organization}: ${moment.json}`)
            }
          }
        }
      }
    }
  })
}

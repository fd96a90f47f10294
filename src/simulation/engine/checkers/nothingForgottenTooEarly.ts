/**
 * Checks that no signal is removed from its store while a start from the second-newest checkpoint still has to read it
 * (docs/architecture.md, rule 9).
 */
import type { Checker } from "../Checker.ts"

export const nothingForgottenTooEarly: Checker = {
  name: "nothing forgotten too early",
  make: (simulation, violate) => ({
    forgetting: (partition, through, by) => {
      const { records } = simulation.stores.checkpoints.of(partition)
      const [, second] = [...records].sort((left, right) => right.sequence - left.sequence)
      if (through < 1 || second === undefined || through > second.signalSequence) {
        violate(
          `${by} removed signals of partition ${partition} up to ${through}, the second-newest checkpoint has decided those up to ${second?.signalSequence ?? "none"}`
        )
      }
    }
  })
}

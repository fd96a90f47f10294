/**
 * Checks liveness: after healing every command is answered, every partition serves, and no ask of a living process is
 * left without an answer.
 */
import type { Checker } from "../Checker.ts"

export const everythingAnswered: Checker = {
  name: "everything is answered",
  make: (simulation, violate) => ({
    healed: () => {
      for (const partition of simulation.newest()?.partitions() ?? []) {
        if (partition.status._tag !== "Serving") {
          const reason = "reason" in partition.status ? `: ${partition.status.reason}` : ""
          return violate(
            `partition ${partition.id} does not serve after healing, it is ${partition.status._tag}${reason}`
          )
        }
      }
      for (const operation of simulation.operations) {
        if (operation.answer === undefined) {
          return violate(`#${operation.number} was not answered after healing (${operation.attempts.length} attempts)`)
        }
        for (const attempt of operation.attempts) {
          if (attempt.answer === undefined && !attempt.isLost && attempt.engine.process.alive) {
            return violate(`an ask of #${operation.number} was never answered by ${attempt.engine.name}`)
          }
        }
      }
      for (const partition of simulation.stores.signals.lists.keys()) {
        const last = simulation.truth.last(partition)?.frame.signalSequence ?? 0
        const wanted = simulation.lastSignal(partition)
        if (last < wanted) return violate(`partition ${partition} has taken ${last} of ${wanted} signals`)
      }
    }
  })
}

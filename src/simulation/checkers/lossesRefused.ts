/**
 * A log that has lost what a checkpoint or a cursor has seen, or whose frames have changed, is not written to and not
 * served from (docs/architecture.md, rule 9).
 */
import type { Checker } from "../Checker.ts"

export const lossesRefused: Checker = {
  name: "losses are refused",
  make: (simulation, violate) => ({
    committed: ({ partition, process, sequence }) => {
      if (process === undefined) return
      const damage = simulation.damaged.get(partition)
      if (damage !== undefined) {
        violate(
          `frame ${sequence} was written to partition ${partition} although ${damage.isLost ? `frames from ${damage.from} on were lost` : `frame ${damage.from} had changed`}`
        )
      }
    },
    rested: () => {
      for (const engine of simulation.living()) {
        for (const partition of engine.partitions()) {
          if (partition.status._tag === "Serving" && simulation.damaged.has(partition.id)) {
            violate(`${engine.name} serves partition ${partition.id} from a damaged log`)
          }
        }
      }
    }
  })
}

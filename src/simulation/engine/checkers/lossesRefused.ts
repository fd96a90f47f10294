/**
 * Checks that a log that has lost frames seen by a checkpoint or a cursor, or whose frames have changed, is neither
 * written nor served from (docs/architecture.md, rule 9).
 */
import type { Checker } from "../Checker.ts"
import type { Simulation } from "../Simulation.ts"

export const lossesRefused: Checker = {
  name: "losses are refused",
  make: (simulation, violate) => {
    type Damage = NonNullable<ReturnType<Simulation["damaged"]["get"]>>
    const covered = new Set<Damage>()
    const damageOf = (partition: number): Damage | undefined => {
      const damage = simulation.damaged.get(partition)
      return damage === undefined || covered.has(damage) ? undefined : damage
    }
    return {
      checkpointed: ({ partition, sequence }) => {
        // Written late by an owner that had the changed frame in memory: no state needs the frame any more.
        const damage = simulation.damaged.get(partition)
        if (damage?.isLost === false && sequence >= damage.from) covered.add(damage)
      },
      committed: ({ partition, process, sequence }) => {
        if (process === undefined) return
        const damage = damageOf(partition)
        if (damage !== undefined) {
          violate(
            `frame ${sequence} was written to partition ${partition} although ${damage.isLost ? `frames from ${damage.from} on were lost` : `frame ${damage.from} had changed`}`
          )
        }
      },
      rested: () => {
        for (const engine of simulation.living()) {
          for (const partition of engine.partitions()) {
            if (partition.status._tag === "Serving" && damageOf(partition.id) !== undefined) {
              violate(`${engine.name} serves partition ${partition.id} from a damaged log`)
            }
          }
        }
      }
    }
  }
}

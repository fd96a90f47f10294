/** Everything is bounded: mailbox and an organization's share of it, actors, lanes, the log, frames, checkpoints (rules 10, 13). */
import { maximumFrameBytes } from "../../engine/limits.ts"
import type { Checker } from "../Checker.ts"

export const boundedEverything: Checker = {
  name: "everything is bounded",
  make: (simulation, violate) => {
    const { topology } = simulation.scenario
    return {
      committed: ({ bytes, partition, sequence }) => {
        if (bytes > maximumFrameBytes) violate(`frame ${sequence} of partition ${partition} has ${bytes} bytes`)
      },
      rested: () => {
        for (const engine of simulation.living()) {
          for (const partition of engine.engine?.local.values() ?? []) {
            const { mailbox, memory, parts } = partition
            if (mailbox.size > parts.config.mailboxCapacity)
              violate(`${engine.name} has ${mailbox.size} commands waiting`)
            for (const organization of memory.organizations.values()) {
              if (organization.waiting > mailbox.share)
                violate(`${organization.name} has ${organization.waiting} commands waiting`)
            }
            if (memory.laneCount > topology.maximumLaneActors)
              violate(`${engine.name} has ${memory.laneCount} lane actors`)
          }
        }
      },
      // what a crash has left behind may be more, until the next checkpoint
      healed: () => {
        for (let partition = 0; partition < topology.partitions; partition++) {
          const { records } = simulation.stores.checkpoints.of(partition)
          if (records.length > 3) violate(`partition ${partition} has ${records.length} checkpoints`)
        }
      }
    }
  }
}

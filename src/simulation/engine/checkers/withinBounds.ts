/**
 * Checks that everything is bounded: mailbox and an organization's share of it, actors and their states, lanes, the
 * log, frames, checkpoints (docs/architecture.md, rules 10, 13).
 */

import { unreadableVersion } from "../../../engine/core/actors/actorRows.ts"
import { maximumColdTimers } from "../../../engine/core/timers/Timers.ts"
import { maximumFrameBytes, maximumQueuedSignals, maximumStateBytes, stateSlackBytes } from "../../../engine/limits.ts"
import type { Checker } from "../Checker.ts"

export const withinBounds: Checker = {
  name: "everything is bounded",
  make: (simulation, violate) => {
    const { topology } = simulation.scenario
    return {
      committed: ({ bytes, partition, sequence }) => {
        if (bytes > maximumFrameBytes) violate(`frame ${sequence} of partition ${partition} has ${bytes} bytes`)
      },
      rested: () => {
        for (const engine of simulation.living()) {
          let actors = 0
          let changed = 0
          let lanes = 0
          for (const partition of engine.partitions()) {
            const { counts, largestShare } = partition.core.probe
            if (counts.commands > topology.mailboxCapacity)
              violate(`${engine.name} has ${counts.commands} commands waiting`)
            if (counts.stalledCommands > Math.max(1, topology.mailboxCapacity / 2))
              violate(`${engine.name} has ${counts.stalledCommands} commands that wait for actors`)
            if (largestShare > counts.maximumShare)
              violate(`${engine.name} has ${largestShare} commands of one organization waiting`)
            if (counts.signals > maximumQueuedSignals) violate(`${engine.name} has ${counts.signals} signals waiting`)
            if (counts.timers > counts.actors + maximumColdTimers)
              violate(`${engine.name} has ${counts.timers} timers for ${counts.actors} actors`)
            actors += counts.actors
            changed += counts.changedActors
            lanes += counts.laneActors
          }
          // The actors of a replayed log must all be in memory until a checkpoint has them.
          if (actors > topology.maximumActors + changed) violate(`${engine.name} has ${actors} actors`)
          if (lanes > topology.maximumLaneActors) violate(`${engine.name} has ${lanes} lane actors`)
        }
      },
      // A crash may leave more behind, until the next checkpoint.
      healed: () => {
        for (let partition = 0; partition < topology.partitions; partition++) {
          const { records, rows } = simulation.stores.checkpoints.of(partition)
          if (records.length > 3) violate(`partition ${partition} has ${records.length} checkpoints`)
          for (const [name, list] of rows) {
            for (const { state, version } of list) {
              // Unreadable rows are kept with their facts, whatever their size.
              const bytes = version === unreadableVersion ? 0 : Buffer.byteLength(state ?? "")
              if (bytes > maximumStateBytes + stateSlackBytes) violate(`${name} has a state of ${bytes} bytes`)
            }
          }
        }
      }
    }
  }
}

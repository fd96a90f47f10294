/**
 * Checks projections: whatever failed, was repeated or was built anew, a table is what its reactor makes of the log's
 * records one by one, in any order of the partitions, and what the sentence about it expects (docs/simulation.md,
 * "Reactors and streams").
 */
import { differenceOf } from "../../rules/RuleWatch.ts"
import type { Checker } from "../Checker.ts"
import { projectionsName, wantedRecords, workAlone } from "../programReactors.ts"
import type { Projection } from "../Workload.ts"

/** A table's value that later changes leave alone. */
const kept = ({ read }: Projection): unknown => structuredClone(read())

export const projectionsAgree: Checker = {
  name: projectionsName,
  make: (simulation, violate) => {
    for (const { clear } of simulation.workload.projections ?? []) clear()
    return {
      healed: () => {
        const engine = simulation.newest()
        if (engine === undefined || simulation.violations.length > 0) return
        for (const projection of simulation.workload.projections ?? []) {
          const { expected, reactor } = projection
          const parked = simulation.stores.cursors.parked.find((record) => record.reactor === reactor.name)
          if (parked !== undefined)
            return violate(`${reactor.name} has parked record ${parked.sequence}/${parked.index}: ${parked.error}`)
          const found = kept(projection)
          const logs = wantedRecords(simulation, engine, reactor)
          if (expected !== undefined) {
            const difference = differenceOf(expected(logs.flat()), found)
            if (difference !== undefined) return violate(`${reactor.name} was to have, and has, ${difference}`)
          }
          for (const [how, records] of [
            ["one by one", logs.flat()],
            ["partition by partition, the last one first", [...logs].reverse().flat()]
          ] as const) {
            const problem = workAlone(projection, records)
            if (problem !== undefined) return violate(`${reactor.name} fails on records ${how}: ${problem}`)
            const difference = differenceOf(kept(projection), found)
            if (difference !== undefined)
              return violate(`${reactor.name} makes of the same records, ${how} and as it has, ${difference}`)
          }
        }
      }
    }
  }
}

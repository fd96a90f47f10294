/** State from replay equals state from checkpoint plus tail equals live state (rules 5, 9, 10). */
import type { Cell } from "../../engine/memory.ts"
import type { Checker } from "../Checker.ts"
import { jsonOf, nameOf } from "../Truth.ts"

/** Live states are looked at after every so many steps, and at the end. */
const restsBetween = 4

export const statesAgree: Checker = {
  name: "states agree",
  make: (simulation, violate) => {
    const { truth } = simulation
    /** States that were looked at before; a state that is in the log never changes, and at the end all are looked at again. */
    const seen = new WeakMap<Cell, unknown>()
    let rests = 0
    const compareLive = (all: boolean) => {
      for (const engine of simulation.living()) {
        for (const partition of engine.engine?.local.values() ?? []) {
          if (partition.status._tag !== "Serving") continue
          const { head } = partition
          for (const organization of partition.memory.organizations.values()) {
            for (const cells of organization.cells) {
              if (cells === undefined) continue
              for (const cell of cells.values()) {
                if (!cell.loaded || (!all && seen.get(cell) === cell.state)) continue
                seen.set(cell, cell.state)
                const address = { organization: organization.name, kind: cell.actor.kind, key: cell.key }
                const json = jsonOf(cell.actor, cell.state)
                const wanted = truth.at(address, head.sequence)
                if (json !== wanted.json) {
                  return violate(
                    `${engine.name} holds ${nameOf(address)} as ${json} at frame ${head.sequence}, the log says ${wanted.json}`
                  )
                }
                const wakeAt = cell.actor.options.wakeAt?.(wanted.state) ?? Number.POSITIVE_INFINITY
                if (cell.wakeAt !== wakeAt) {
                  return violate(`${engine.name} wakes ${nameOf(address)} at ${cell.wakeAt}, the log says ${wakeAt}`)
                }
              }
            }
          }
        }
      }
    }
    return {
      checkpointed: (record, rows) => {
        const frame = truth.commits[record.partition]![record.sequence - 1]
        if (frame?.hash !== record.hash)
          return violate(`a checkpoint at frame ${record.sequence} has another hash than that frame`)
        for (const row of rows) {
          const wanted = truth.at(row, record.sequence)
          const isOver = truth.history(row).actor.options.isOver?.(wanted.state) === true
          if (row.state === null ? !isOver : row.state !== wanted.json) {
            return violate(
              `the checkpoint at frame ${record.sequence} has ${nameOf(row)} as ${row.state}, the log says ${wanted.json}`
            )
          }
        }
      },
      rested: () => {
        if (++rests % restsBetween === 0) compareLive(false)
      },
      healed: () => compareLive(true)
    }
  }
}

/**
 * Checks that the state from replay equals the state from checkpoint plus tail and the live state
 * (docs/architecture.md, rules 5, 9, 10).
 */
import type { Checker } from "../Checker.ts"
import { jsonOf, nameOf } from "../Truth.ts"

/** Live states are checked after this many steps, and at the end. */
const restsBetween = 4

export const statesAgree: Checker = {
  name: "states agree",
  make: (simulation, violate) => {
    const { truth } = simulation
    /** States that were checked before. A logged state never changes; at the end all are checked again. */
    const seen = new WeakMap<object, unknown>()
    let rests = 0
    const compareLive = (all: boolean) => {
      for (const engine of simulation.living()) {
        for (const partition of engine.partitions()) {
          if (partition.status._tag !== "Serving") continue
          const { head, probe } = partition.core
          for (const actor of probe.actors()) {
            const { actor: definition } = truth.history(actor)
            if (!actor.isLoaded || (!all && seen.get(actor.token) === actor.state)) continue
            seen.set(actor.token, actor.state)
            const json = jsonOf(definition, actor.state)
            const wanted = truth.at(actor, head.sequence)
            // The row of a state that is over by the log's time may have been removed, and then the actor starts from
            // its initial state.
            const overAt = definition.internal?.expiresAt?.(wanted.state) ?? Number.POSITIVE_INFINITY
            const isNew =
              overAt <= (truth.last(partition.id)?.frame.now ?? 0) &&
              json === jsonOf(definition, definition.options.initial(actor.key))
            if (json !== wanted.json && !isNew) {
              return violate(
                `${engine.name} holds ${nameOf(actor)} as ${json} at frame ${head.sequence}, the log says ${wanted.json}`
              )
            }
            const wakeAt = definition.options.wakeAt?.(wanted.state) ?? Number.POSITIVE_INFINITY
            if (actor.wakeAt !== wakeAt)
              return violate(`${engine.name} wakes ${nameOf(actor)} at ${actor.wakeAt}, the log says ${wakeAt}`)
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

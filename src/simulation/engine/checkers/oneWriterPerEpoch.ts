/**
 * Checks that each epoch has one writer, epochs rise, frames are chained and numbered without a gap, and time does not
 * go back (docs/architecture.md, rules 2, 4, 7, 8).
 */
import { emptyLogHash } from "../../../engine/ports/Checkpoints.ts"
import type { SimulatedProcess } from "../../kernel/World.ts"
import type { Checker } from "../Checker.ts"
import type { Commit } from "../Truth.ts"

export const oneWriterPerEpoch: Checker = {
  name: "one writer per epoch",
  make: (_simulation, violate) => {
    const last = new Map<number, Commit>()
    const writers = new Map<string, SimulatedProcess | undefined>()
    return {
      committed: (commit) => {
        const { frame, partition, process, sequence } = commit
        const before = last.get(partition)
        last.set(partition, commit)
        const where = `frame ${sequence} of partition ${partition}`
        if (frame.previousHash !== (before?.hash ?? emptyLogHash))
          return violate(`${where} does not follow the one before it`)
        if (frame.number !== (before?.frame.number ?? 0) + 1)
          return violate(`${where} has number ${frame.number} after ${before?.frame.number ?? 0}`)
        if (sequence !== (before?.sequence ?? 0) + 1) return violate(`${where} comes after ${before?.sequence ?? 0}`)
        if (frame.epoch < (before?.frame.epoch ?? 0))
          return violate(`${where} is of epoch ${frame.epoch}, after ${before?.frame.epoch}`)
        if (before !== undefined && frame.now < before.frame.now)
          return violate(`${where} is ${before.frame.now - frame.now} ms before the one before it`)
        const epoch = `${partition}/${frame.epoch}`
        if (!writers.has(epoch)) {
          writers.set(epoch, process)
          if (frame.claim === undefined) violate(`${where} begins epoch ${frame.epoch} and is no claim`)
        } else if (writers.get(epoch) !== process) {
          violate(`${where} is of epoch ${frame.epoch}, which another process has begun`)
        } else if (frame.claim !== undefined) {
          violate(`${where} claims epoch ${frame.epoch} a second time`)
        }
      }
    }
  }
}

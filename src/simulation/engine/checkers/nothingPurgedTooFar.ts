/**
 * Checks that no purge removes frames that a start from the second-newest checkpoint or a cursor needs, and that none
 * is requested with a sequence that a server takes for "everything" (docs/architecture.md, rule 9).
 */
import { minimumLogReserveBytes } from "../../../engine/limits.ts"
import { lastSequenceOf } from "../../../engine/memory/JournalMemory.ts"
import type { Checker } from "../Checker.ts"

export const nothingPurgedTooFar: Checker = {
  name: "nothing purged too far",
  make: (simulation, violate) => ({
    purging: (partition, below, by) => {
      const { checkpoints, cursors } = simulation.stores
      const last = lastSequenceOf(simulation.server.of(partition).log)
      if (below < 2 || below > last)
        return violate(`${by} purged partition ${partition} below ${below}, the log ends at ${last}`)
      const { bytes } = simulation.server.of(partition).log
      const records = [...checkpoints.of(partition).records].sort((left, right) => right.sequence - left.sequence)
      // If not even a claim fits, the newest one has to be enough.
      const [newest, second] = records
      const isStuck = bytes + minimumLogReserveBytes > simulation.logBytes
      const covered = isStuck ? newest : second
      if (covered === undefined || below > covered.sequence) {
        return violate(
          `${by} purged partition ${partition} below ${below}, the second-newest checkpoint is at ${second?.sequence ?? "none"}`
        )
      }
      for (const cursor of cursors.cursors.values()) {
        if (cursor.partition === partition && cursor.sequence < below) {
          return violate(
            `${by} purged partition ${partition} below ${below}, past the cursor of ${cursor.reactor} at ${cursor.sequence}`
          )
        }
      }
    }
  })
}

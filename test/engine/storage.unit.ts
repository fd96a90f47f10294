/** The contract suites of the stored ports, run against the implementations in memory. */
import { Effect, Layer } from "effect"
import * as CheckpointsMemory from "../../src/engine/CheckpointsMemory.ts"
import { ReactorTransaction } from "../../src/engine/Cursors.ts"
import * as CursorsMemory from "../../src/engine/CursorsMemory.ts"
import { checkpointsContract } from "./contracts/checkpoints.ts"
import { cursorsContract, EffectsHarness } from "./contracts/cursors.ts"

checkpointsContract("memory", CheckpointsMemory.layer)

cursorsContract(
  "memory",
  Layer.merge(
    CursorsMemory.layer,
    Layer.sync(EffectsHarness, () => {
      const lists = new Map<number, Array<string>>()
      return EffectsHarness.of({
        write: (partition, text) =>
          Effect.map(Effect.service(ReactorTransaction), (transaction) =>
            transaction.onCommit(() => lists.set(partition, [...(lists.get(partition) ?? []), text]))
          ),
        written: (partition) => Effect.sync(() => lists.get(partition) ?? [])
      })
    })
  )
)

/** The contract suites of the ports, run against the implementations in memory. */
import { Effect, Layer } from "effect"
import { Journal } from "../../src/engine/Journal.ts"
import * as JournalMemory from "../../src/engine/JournalMemory.ts"
import { JournalHarness, journalContract } from "./contracts/journal.ts"

journalContract(
  "memory",
  Layer.sync(JournalHarness, () => {
    const store = JournalMemory.makeStore()
    return JournalHarness.of({
      connect: (options) =>
        Effect.map(
          Effect.provide(
            Effect.service(Journal),
            JournalMemory.layerOf(options?.maximumBytes === undefined ? store : JournalMemory.makeStore(options))
          ),
          (journal) => journal
        )
    })
  })
)

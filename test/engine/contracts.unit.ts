/** The contract suites of the ports, run against the implementations in memory. */
import { Effect, Layer } from "effect"
import { Journal } from "../../src/engine/Journal.ts"
import * as JournalMemory from "../../src/engine/JournalMemory.ts"
import * as SignalsMemory from "../../src/engine/SignalsMemory.ts"
import { JournalHarness, journalContract } from "./contracts/journal.ts"
import { SignalsHarness, signalsContract } from "./contracts/signals.ts"

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

signalsContract(
  "memory",
  Layer.sync(SignalsHarness, () => {
    const store = SignalsMemory.makeStore(8)
    return SignalsHarness.of({ partitions: 8, connect: Effect.sync(() => SignalsMemory.make(store)) })
  })
)

/** The contract suites of the ports, run against the implementations in memory. */
import { Effect, Layer } from "effect"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import * as ProgramStreamsMemory from "../../src/engine/memory/ProgramStreamsMemory.ts"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import * as WorkerJobsMemory from "../../src/engine/memory/WorkerJobsMemory.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { checkpointsContract } from "./contracts/checkpoints.ts"
import { cursorsContract, EffectsHarness } from "./contracts/cursors.ts"
import { journalContract } from "./contracts/journal.ts"
import { JournalHarness } from "./contracts/journalHarness.ts"
import { ProgramStreamsHarness, programStreamsContract } from "./contracts/programStreams.ts"
import { SignalsHarness, signalsContract } from "./contracts/signals.ts"
import { WorkerJobsHarness, workerJobsContract } from "./contracts/workerJobs.ts"

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

programStreamsContract(
  "memory",
  Layer.sync(ProgramStreamsHarness, () => {
    const store = ProgramStreamsMemory.makeStore({})
    return ProgramStreamsHarness.of({
      streams: ProgramStreamsMemory.make(store),
      create: (name) =>
        Effect.sync(() => {
          for (const [key, made] of ProgramStreamsMemory.makeStore({ [name]: [`${name}.>`] }).streams)
            store.streams.set(key, made)
        }),
      purge: (name, below) => Effect.sync(() => ProgramStreamsMemory.purge(store, name, below))
    })
  })
)

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

workerJobsContract(
  "memory",
  Layer.sync(WorkerJobsHarness, () => {
    const jobs = WorkerJobsMemory.make(WorkerJobsMemory.makeStore())
    return WorkerJobsHarness.of({
      jobs,
      put: (worker, rows, end = "commit") =>
        Effect.suspend(() => {
          const staged: Array<() => void> = []
          return Effect.map(
            Effect.provideService(jobs.put(worker, rows), ReactorTransaction, {
              onCommit: (action) => void staged.push(action)
            }),
            () => {
              if (end === "commit") for (const action of staged) action()
            }
          )
        })
    })
  })
)

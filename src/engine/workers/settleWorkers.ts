/** Waits until the workers of this process have nothing to do (docs/workers.md, "Tests"). */
import { Effect } from "effect"
import type { WorkerJobsUnavailable } from "../ports/WorkerJobs.ts"
import type { Internals } from "../shell/partition/internals.ts"
import { awaitReactors } from "../shell/reactors/awaitReactors.ts"

/** Another process may take a job of these partitions, and this one does not hear of its end. */
const lookMillis = 1_000

/** A reply may cause records, and those jobs: it is over when nothing happens between two looks. */
export const settleWorkers = Effect.fnUntraced(function* ({
  partitions,
  workers
}: Internals): Effect.fn.Return<void, WorkerJobsUnavailable> {
  while (true) {
    const changes = workers?.changes ?? 0
    yield* Effect.forEach(partitions.values(), awaitReactors, { discard: true })
    if (workers === undefined) return
    const figures = yield* Effect.forEach(workers.loops, ({ name }) =>
      workers.jobs.figures(name, [...partitions.keys()])
    )
    if (workers.changes !== changes) continue
    if (figures.every(({ open }) => open === 0)) return
    yield* Effect.raceFirst(workers.changedSince(changes), Effect.sleep(lookMillis))
  }
})

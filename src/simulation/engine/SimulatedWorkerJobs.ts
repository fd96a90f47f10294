/**
 * Simulates the table of workers' jobs: the store itself is the engine's in memory and outlives processes; each process
 * has one of these ports, with the faults of its statements. Jobs are put in by the reactors' transactions, which have
 * faults of their own.
 */
import { Effect } from "effect"
import * as WorkerJobsMemory from "../../engine/memory/WorkerJobsMemory.ts"
import { type WorkerJobOutcome, WorkerJobs, WorkerJobsUnavailable } from "../../engine/ports/WorkerJobs.ts"
import type { Operation } from "./Scenario.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import { crash, statement } from "./SimulatedStores.ts"
import type { Simulation } from "./Simulation.ts"

const unavailable = (message: string) => new WorkerJobsUnavailable({ message })

export const makeWorkerJobs = (simulation: Simulation, engine: SimulatedEngine): WorkerJobs["Service"] => {
  const inner = WorkerJobsMemory.make(simulation.stores.workerJobs)
  const ask = <A>(
    operation: Operation,
    effect: Effect.Effect<A, WorkerJobsUnavailable>
  ): Effect.Effect<A, WorkerJobsUnavailable> =>
    statement(simulation, engine, operation, unavailable, (fault): Effect.Effect<A, WorkerJobsUnavailable> => {
      switch (fault) {
        case "crash before":
          return crash(simulation, engine, "before a job's outcome was stored")
        case "crash after":
          return Effect.andThen(effect, crash(simulation, engine, "after a statement about a job"))
        case "answer lost":
          return Effect.andThen(effect, Effect.fail(unavailable("simulated: the answer was lost")))
        default:
          return effect
      }
    })
  const settled = (worker: string, outcome: WorkerJobOutcome) =>
    Effect.tap(inner.settle(worker, outcome), (counts) =>
      Effect.sync(() => {
        if (!counts) return simulation.marks.reach("worker, an outcome did not count")
        simulation.trace(() => `  ${engine.name}: job ${outcome.id}, attempt ${outcome.attempt}: ${outcome._tag}`)
        simulation.outside.settled(worker, outcome)
      })
    )
  return WorkerJobs.of({
    ...inner,
    due: (worker, partitions, options) => ask("dueJobs", inner.due(worker, partitions, options)),
    take: (worker, claims, lease) => ask("takeJobs", inner.take(worker, claims, lease)),
    settle: (worker, outcome) => ask("settleJob", settled(worker, outcome))
  })
}

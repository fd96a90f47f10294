/** Tells how far the workers of a scenario have come with the jobs of the log. Needs no service. */
import { reactorNameOf } from "../../engine/workers/jobsReactor.ts"
import type { Simulation } from "./Simulation.ts"

/** Whether the workers have made the jobs of the log, and all of them have ended. */
export const workersAreThrough = (simulation: Simulation): boolean => {
  const { stores, truth, workload } = simulation
  if (workload.workers === undefined) return true
  for (const { open } of stores.workerJobs.values()) if (open > 0) return false
  const partitions = simulation.newest()?.partitions() ?? []
  if (partitions.length === 0) return false
  // By the log: the newest process may not know yet that another one has stored more.
  return workload.workers.every(({ worker }) =>
    partitions.every(
      ({ feed, id, status }) =>
        status._tag === "Serving" && feed.readBy(reactorNameOf(worker.name)) >= truth.commits[id]!.length
    )
  )
}

/**
 * Whether the engine owes the end of a job: its record was stored before this time, by `World.now`. A younger job
 * excuses nothing, or a rule would never be judged whose replies cause one job after the other. A job that is owed for
 * ever is a violation of its own at the end of a scenario (`jobsEnd.ts`).
 */
export const workersOwe = (simulation: Simulation, before: number): boolean => {
  const { stores, truth, workload } = simulation
  if (workload.workers === undefined) return false
  const isOwed = (partition: number, sequence: number): boolean => {
    const commit = truth.commits[partition]?.[sequence - 1]
    return commit !== undefined && commit.at < before
  }
  for (const { jobs } of stores.workerJobs.values())
    for (const { isFailed, partition, sequence } of jobs.values())
      if (!isFailed && isOwed(partition, sequence)) return true
  const partitions = simulation.newest()?.partitions() ?? []
  if (partitions.length === 0) return true
  return workload.workers.some(({ worker }) =>
    partitions.some(
      ({ feed, id, status }) => status._tag !== "Serving" || isOwed(id, feed.readBy(reactorNameOf(worker.name)) + 1)
    )
  )
}

/** Checks the workers of an engine before it starts, and gives their effects the services that they need. */
import { Context, Effect, Option } from "effect"
import type { AnyActor } from "../Actor.ts"
import { EngineRefused } from "../errors.ts"
import { WorkerJobs } from "../ports/WorkerJobs.ts"
import { Workers } from "./Workers.ts"
import { type Worker, workersProblem } from "./workerTypes.ts"

const noJobs = "workers need a store of their jobs: provide WorkerJobs, as Durable.layer and Engine.layerMemory do"

/** The workers; undefined if there are none. The engine's type demands the services. */
export const prepareWorkers = <W>(
  { actors, workers = [] }: { readonly actors: ReadonlyArray<AnyActor>; readonly workers?: ReadonlyArray<Worker<W>> },
  services: Context.Context<never>
): Effect.Effect<Workers | undefined, EngineRefused> => {
  const jobs = Option.getOrUndefined(Context.getOption(services, WorkerJobs))
  const problem = workersProblem(workers, actors)
  if (problem !== undefined) return Effect.fail(new EngineRefused({ message: problem }))
  if (workers.length === 0) return Effect.succeed(undefined)
  return jobs === undefined
    ? Effect.fail(new EngineRefused({ message: noJobs }))
    : Effect.succeed(new Workers(workers, jobs, services))
}

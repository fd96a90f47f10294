/**
 * Runs the workers of an engine (docs/workers.md): a reactor for each, which puts jobs in, and a loop for each, which
 * works on those of the partitions that this process serves. Ends before the partitions do, so that replies are asked.
 */
import { Context, Effect, Fiber, type Scope } from "effect"
import { Engine } from "../EngineService.ts"
import type { WorkerJobs } from "../ports/WorkerJobs.ts"
import type { Reactor } from "../Reactor.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { jobsReactor } from "./jobsReactor.ts"
import { WorkerLoop } from "./WorkerLoop.ts"
import { WorkerMetrics } from "./WorkerMetrics.ts"
import type { Worker } from "./workerTypes.ts"

/** The engine that the workers belong to. */
export interface WorkersOptions {
  readonly engine: Engine["Service"]
  readonly partitions: ReadonlyMap<number, Partition>
  /** How long a shutdown waits for attempts. */
  readonly shutdownMillis: number
}

/** Gives the effect of a worker the services that the engine's type demands, and the engine. */
const provided = (worker: Worker<unknown>, services: Context.Context<never>): Worker<never> => ({
  ...worker,
  run: (job, attempt) =>
    Effect.provideContext(worker.run(job, attempt), services as Context.Context<unknown>) as Effect.Effect<
      unknown,
      unknown
    >
})

export class Workers {
  readonly jobs: WorkerJobs["Service"]
  /** Of all workers, in the order of their definitions. */
  readonly reactors: ReadonlyArray<Reactor<never>>
  /** Empty until they are started. */
  loops: ReadonlyArray<WorkerLoop> = []
  /** Rises when jobs were put in, or when an attempt has ended. */
  changes = 0
  private readonly workers: ReadonlyArray<Worker<unknown>>
  private readonly services: Context.Context<never>
  private readonly listeners = new Set<() => void>()

  constructor(workers: ReadonlyArray<Worker<unknown>>, jobs: WorkerJobs["Service"], services: Context.Context<never>) {
    this.workers = workers
    this.jobs = jobs
    this.services = services
    this.reactors = workers.map((worker, index) =>
      jobsReactor(worker, jobs, () => {
        this.changed()
        this.loops[index]?.notify()
      })
    )
  }

  /** Starts them until the scope ends. */
  start({ engine, partitions, shutdownMillis }: WorkersOptions): Effect.Effect<void, never, Scope.Scope> {
    const services = Context.add(this.services, Engine, engine)
    const served = () => [...partitions.values()].filter(({ status }) => status._tag === "Serving").map(({ id }) => id)
    const readThrough = (id: number) => {
      const partition = partitions.get(id)
      return partition?.status._tag === "Serving" ? partition.core.head.sequence : undefined
    }
    this.loops = this.workers.map((one) => {
      const worker = provided(one, services)
      const metrics = new WorkerMetrics(worker.name, services)
      const changed = () => this.changed()
      return new WorkerLoop({ worker, jobs: this.jobs, engine, metrics, served, readThrough, changed })
    })
    const begun = Effect.forEach(
      this.loops.flatMap(({ show, work }) => [show, work]),
      (loop) => Effect.forkDetach(loop)
    )
    return Effect.asVoid(
      Effect.acquireRelease(begun, (fibers) =>
        Effect.andThen(
          Fiber.interruptAll(fibers),
          Effect.forEach(this.loops, (loop) => loop.close(shutdownMillis), { discard: true, concurrency: "unbounded" })
        )
      )
    )
  }

  /** Completes when `changes` is no longer the given number. */
  changedSince(changes: number): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (this.changes !== changes) return resume(Effect.void)
      const listener = () => resume(Effect.void)
      this.listeners.add(listener)
      return Effect.sync(() => this.listeners.delete(listener))
    })
  }

  private changed(): void {
    this.changes++
    const listeners = [...this.listeners]
    this.listeners.clear()
    for (const listener of listeners) listener()
  }
}

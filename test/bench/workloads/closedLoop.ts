/** Callers in the workload's own process, each of which asks again when it has its answer: what an ask takes, in time and in CPU of the whole process. */
import { Effect, Fiber, type Scope } from "effect"
import { Latencies, type LoopSample, sampleOf } from "./latencies.ts"

export interface ClosedLoad {
  readonly callers: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

export interface ClosedSample extends LoopSample {
  /** User and system time of the process for each decision, microseconds. */
  readonly microsPerDecision: number
}

/** Starts the callers, warms up, and answers what measures them. `ask` is given the number of its caller. */
export const closedLoop = (
  load: ClosedLoad,
  ask: (caller: number) => Effect.Effect<unknown>
): Effect.Effect<() => Promise<ClosedSample>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const latencies = new Latencies()
    const loop = Effect.forEach(
      Array.from({ length: load.callers }, (_, caller) => caller),
      (caller) => {
        let sent = 0
        return Effect.whileLoop({
          while: () => true,
          body: () => {
            sent = performance.now()
            return ask(caller)
          },
          step: () => latencies.record(performance.now() - sent)
        })
      },
      { concurrency: "unbounded", discard: true }
    )
    const looping = yield* Effect.forkScoped(loop)
    yield* Effect.sleep(load.warmUpSeconds * 1000)
    return async () => {
      const before = process.cpuUsage()
      // A failed ask ends the loop, and with it the measurement.
      const ended = Effect.runPromise(Fiber.join(looping)) as Promise<never>
      const sample = await Promise.race([sampleOf(latencies, load.seconds), ended])
      ended.catch(() => {})
      const { system, user } = process.cpuUsage(before)
      return { ...sample, microsPerDecision: (user + system) / (sample.perSecond * load.seconds) }
    }
  })

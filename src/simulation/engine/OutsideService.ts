/**
 * Simulates the service outside that workers call (docs/workers.md): it remembers the idempotency key of each call and
 * answers a repeat as it did before, refuses, hangs, is late, and loses answers, and processes die around a call. It
 * outlives all processes.
 */
import { Effect } from "effect"
import { describe } from "../../engine/describe.ts"
import type { WorkerJobOutcome } from "../../engine/ports/WorkerJobs.ts"
import { GiveUp, readStored, type Worker, type WorkerAttempt } from "../../engine/workers/workerTypes.ts"
import { epochMillis } from "../kernel/World.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"
import type { SimulatedWorker } from "./Workload.ts"

/** The name of the checker of workers. */
export const jobsName = "each job is done"

/** The time after which a late call arrives, milliseconds: the deadline of an attempt may be over by then. */
const lateMillis = [500, 40_000] as const

/** The longest pause between attempts, and the longest deadline of one, milliseconds: scenarios last minutes. */
const maximumPauseMillis = 5_000
const maximumTimeoutMillis = 30_000

/** By how much the clocks of processes may differ, milliseconds, with time for what is under way. */
const clocksMillis = 3 * 3_600_000

/** A call of a worker outside. See {@link engineCheckers}. */
export interface OutsideCall extends WorkerAttempt {
  readonly worker: Worker<unknown>
  /** The job as its schema writes it, as JSON. */
  readonly job: string
}

/** An answer that the service repeats under the same key. */
interface Answer {
  readonly value: unknown
}

/** The service outside. See {@link engineCheckers}. */
export class OutsideService {
  private readonly simulation: Simulation
  /** By key. A refusal is an answer too. */
  private readonly answers = new Map<string, Answer>()
  /** The keys under which the effect of each job was made, by the job's key. */
  private readonly effects = new Map<string, Set<string>>()
  /** Until when each stored reply that is not asked yet counts once, on the simulation's time, by job. */
  private readonly countsUntil = new Map<string, number>()

  constructor(simulation: Simulation) {
    this.simulation = simulation
  }

  /** How often the effect of a job was made. */
  effectsOf(job: string): number {
    return this.effects.get(job)?.size ?? 0
  }

  /**
   * Whether so much time may be leapt over: a reply counts once only within its window. A process whose clock is stopped
   * remembers a reply by that clock, and one with the right time would find it forgotten.
   */
  mayLeap(millis: number): boolean {
    const { leapt, now } = this.simulation.world
    const after = now + leapt + millis
    return (
      [...this.countsUntil.values()].every((until) => after < until - clocksMillis) &&
      this.simulation
        .living()
        .every(
          ({ process: { clockStoppedAt: stopped } }) =>
            stopped === undefined || epochMillis + after - stopped < this.shortestWindow - clocksMillis
        )
    )
  }

  /** The shortest time for which a reply of a worker is remembered, milliseconds. */
  private get shortestWindow(): number {
    const windows = this.simulation.workload.workers?.flatMap(({ worker }) => worker.reply?.windowMillis ?? []) ?? []
    return Math.min(Number.POSITIVE_INFINITY, ...windows)
  }

  /** A worker whose effects are calls of this service. */
  worker(engine: SimulatedEngine, one: SimulatedWorker): Worker<never> {
    const { worker } = one
    const { pausesMillis, ...retry } = worker.retry
    return {
      ...worker,
      run: (job, attempt) => this.call(engine, { ...attempt, worker, job: JSON.stringify(job) }, one, job),
      isFinal: (error) => error instanceof GiveUp,
      retry: { ...retry, pausesMillis: pausesMillis.map((pause) => Math.min(pause, maximumPauseMillis)) },
      timeoutMillis: Math.min(worker.timeoutMillis, maximumTimeoutMillis),
      reply: worker.reply === undefined ? undefined : engine.replies.watched(worker.reply)
    }
  }

  /** Notes an outcome that the store has taken. */
  settled(name: string, outcome: WorkerJobOutcome): void {
    const { simulation } = this
    const worker = simulation.workload.workers?.find((one) => one.worker.name === name)?.worker
    const { leapt, now } = simulation.world
    if (outcome._tag === "Done" || outcome._tag === "Failed") this.countsUntil.delete(outcome.id)
    if (outcome._tag === "Kept" && readStored(outcome.payload)?.answer?.reply !== undefined)
      this.countsUntil.set(outcome.id, now + leapt + (worker?.reply?.windowMillis ?? 0))
    for (const observer of simulation.observers) observer.jobSettled?.(name, outcome)
  }

  private call(
    engine: SimulatedEngine,
    call: OutsideCall,
    { keyOf, outside }: SimulatedWorker,
    job: unknown
  ): Effect.Effect<unknown, unknown> {
    const { simulation } = this
    const { draw, faults, world } = simulation
    return Effect.callback<unknown, unknown>((resume) => {
      const fail = (message: string) =>
        world.after(simulation.latency(), engine.process, () => resume(Effect.fail(new Error(`simulated: ${message}`))))
      simulation.trace(() => `  ${engine.name} calls outside under ${call.key}, attempt ${call.attempt}`)
      for (const observer of simulation.observers) observer.called?.(call)
      const fault = faults.take("outside")
      if (fault === "crash before") return simulation.crash(engine, "before a call outside")
      if (fault === "hangs") return
      if (fault === "unavailable") return void fail("the service does not answer")
      // It arrives though the process may be dead by then, or may have given up.
      world.after(fault === "late" ? draw.int(...lateMillis) : simulation.latency(), undefined, () => {
        const key = keyOf === undefined ? call.key : this.made(call, () => keyOf(job, call))
        const { value } = this.answer(call, String(key), fault === "declined", () => outside?.(job, call))
        if (fault === "crash after") return simulation.crash(engine, "after its effect outside")
        if (fault === "answer lost") return
        if (fault === "fails after the effect") return void fail("the service failed")
        const exit = value instanceof GiveUp ? Effect.fail(value) : Effect.succeed(value)
        world.after(simulation.latency(), engine.process, () => resume(exit))
      })
    })
  }

  /** The answer to a key: what it was the first time. */
  private answer(call: OutsideCall, key: string, isDeclined: boolean, make: () => unknown): Answer {
    const { name } = call.worker
    const { simulation } = this
    const known = this.answers.get(key)
    if (known !== undefined) simulation.marks.reach(`worker, called again: ${name}`)
    const answer = known ?? {
      value: isDeclined ? new GiveUp({ reason: "simulated: declined" }) : this.made(call, make)
    }
    this.answers.set(key, answer)
    if (known === undefined && !(answer.value instanceof GiveUp)) this.effected(call, key)
    return answer
  }

  /** Notes an effect. Under a second key the service takes a repeat for something new. */
  private effected({ key: job, worker }: OutsideCall, key: string): void {
    const keys = this.effects.get(job) ?? new Set()
    this.effects.set(job, keys.add(key))
    if (keys.size > 1)
      this.simulation.violate(
        jobsName,
        `the effect of job ${job} of ${worker.name} has happened twice, under the keys ${[...keys].join(" and ")}`
      )
  }

  private made({ worker: { name } }: OutsideCall, make: () => unknown): unknown {
    try {
      return make()
    } catch (cause) {
      this.simulation.violate(jobsName, `the outside of ${name} throws: ${describe(cause)}`)
      return undefined
    }
  }
}

/**
 * Plays a scenario: the safety phase with its faults, then everything is healed and must come to rest (liveness). The
 * same scenario plays the same each time; nothing of it touches the real clock or a real event loop.
 */

import { encodeClaim, FrameBuilder, hashOf, identityOf } from "../../engine/frame.ts"
import { emptyLogHash } from "../../engine/ports/Checkpoints.ts"
import { Prng } from "../kernel/Prng.ts"
import { epochMillis, RunawaySimulation } from "../kernel/World.ts"
import type { Checker } from "./Checker.ts"
import { engineCheckers } from "./checkers/index.ts"
import { comeToRest, hasNothingLeft, heal, restMillis } from "./heal.ts"
import { type Marks, messageMarks } from "./Marks.ts"
import { awaitDeadlines } from "./passUntil.ts"
import type { Scenario } from "./Scenario.ts"
import { Simulation, type Violation } from "./Simulation.ts"
import { describeStep, perform } from "./steps.ts"
import type { Workload } from "./Workload.ts"
import { workersAreThrough } from "./workersAreThrough.ts"

/** How a scenario is played. See {@link play}. */
export interface PlayOptions {
  /** Whether the readable trace is kept; costs time. */
  readonly isTraced?: boolean
  /** Replaces the engine's checkers. */
  readonly checkers?: ReadonlyArray<Checker>
}

/** How a scenario went. See {@link play}. */
export interface Outcome {
  /** The first thing that a checker found. */
  readonly violation: Violation | undefined
  readonly marks: Marks
  /** Equal for equal courses of events. */
  readonly fingerprint: string
  /** Empty unless it was requested. */
  readonly trace: ReadonlyArray<string>
  /** Tasks that were run: the cost of the play. */
  readonly tasks: number
  /** The commands that were drawn when they were sent, by their numbers. */
  readonly drawn: ReadonlyMap<number, unknown>
  /** Index of the step after which it was found; undefined for none or after healing. */
  readonly failedStep: number | undefined
}

/**
 * How long a healed deployment with timers runs on before its end is judged. A timer notices a clock that was set
 * within a minute; where the log is full, it also waits for a statement that hung when it was healed, up to a minute,
 * and for the pause behind that, up to half of one.
 */
const settlingMillis = 160_000

/**
 * Plays one scenario from beginning to end.
 *
 * @example
 * ```ts
 * import { generate, play, type Workload } from "sluice/simulation"
 *
 * export const holds = (workload: Workload, seed: number) => play(generate(workload, seed), workload).violation === undefined
 * ```
 */
export const play = (scenario: Scenario, workload: Workload, options: PlayOptions = {}): Outcome => {
  const simulation = new Simulation(scenario, workload, {
    checkers: options.checkers ?? engineCheckers,
    isTraced: options.isTraced ?? false
  })
  let failedStep: number | undefined
  // Nobody reads the stacks of errors that faults cause, and capturing them takes much of the time.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    seedOldFrames(simulation)
    simulation.start()
    simulation.world.advance(200)
    const pace = new Prng(scenario.seed, "pace")
    for (const [index, step] of scenario.steps.entries()) {
      simulation.trace(() => `step ${index}: ${describeStep(step)}`)
      perform(simulation, step)
      passTime(simulation, pace)
      simulation.rested()
      if (simulation.violations.length > 0) {
        failedStep = index
        break
      }
    }
    if (simulation.violations.length === 0) {
      heal(simulation)
      comeToRest(simulation)
      simulation.world.advance(restMillis)
      simulation.world.advanceUntil(simulation.world.now + settlingMillis, () => hasNothingLeft(simulation))
      simulation.world.advance(restMillis)
      awaitDeadlines(simulation)
      if (!workersAreThrough(simulation))
        simulation.world.advanceUntil(simulation.world.now + settlingMillis, () => workersAreThrough(simulation))
      simulation.rested()
      simulation.healed()
    }
  } catch (error) {
    if (!(error instanceof RunawaySimulation)) throw error
    simulation.violate("comes to rest", error.message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  for (const mark of marksOfMetrics(simulation)) simulation.marks.reach(mark)
  const heads = simulation.truth.commits.map((commits) => commits[commits.length - 1]?.hash ?? "").join(" ")
  return {
    violation: simulation.violations[0],
    marks: simulation.marks,
    fingerprint: `${simulation.world.tasksRun} ${simulation.world.now} ${heads}`,
    trace: simulation.lines,
    tasks: simulation.world.tasksRun,
    drawn: simulation.drawn,
    failedStep
  }
}

/** Steps follow each other immediately, after some tasks, or after some time. */
const passTime = ({ world }: Simulation, pace: Prng): void => {
  const kind = pace.next()
  if (kind < 0.3) world.run(pace.int(0, 12))
  else if (kind < 0.8) world.advance(pace.next() * 2)
  else world.advance(pace.next() * 30)
}

/** Frames of an older version of the program. */
const seedOldFrames = (simulation: Simulation): void => {
  const { scenario, stores, workload } = simulation
  const { oldFacts } = workload
  if (scenario.topology.oldFrames === 0 || oldFacts === undefined) return
  for (let partition = 0; partition < scenario.topology.partitions; partition++) {
    const log = stores.journal.log(partition)
    let previousHash = emptyLogHash
    const add = (encode: (header: Parameters<typeof encodeClaim>[0]) => Uint8Array) => {
      const number = log.frames.length + 1
      const bytes = encode({ epoch: 1, number, now: epochMillis - 1_000 + number, previousHash, signalSequence: 0 })
      previousHash = hashOf(bytes)
      log.frames.push({ sequence: number, identity: identityOf(partition, 1, number), bytes })
      log.bytes += bytes.length
      simulation.committed(partition, log.frames[log.frames.length - 1]!, undefined, [])
    }
    add((header) => encodeClaim(header, "an older program"))
    for (let index = 0; index < scenario.topology.oldFrames; index++) {
      const old = oldFacts(index)
      if (simulation.partitionOf(old.organization) !== partition) continue
      add((header) => {
        const builder = new FrameBuilder()
        const text = JSON.stringify(old.fact)
        builder.addFact(builder.addActor(old.kind, old.version, old.organization, old.key), text, text.length)
        return builder.encode(header)
      })
    }
    simulation.marks.reach("fault, log: frames of an older version")
  }
}

/**
 * The branches of docs/architecture.md, rule 2 that were taken, and the results of messages, from the engine's own
 * metrics.
 */
const marksOfMetrics = function* (simulation: Simulation): Generator<string> {
  for (const metric of simulation.world.metrics.values()) {
    const mark = messageMarks[metric.id]
    if (mark !== undefined) yield mark
    if (metric.id !== "sluice_append_outcomes_total") continue
    const branch = (metric.attributes as Readonly<Record<string, string>> | undefined)?.branch
    if (branch !== undefined) yield `append, ${branch}`
  }
}

/**
 * Plays many scenarios, one seed after the other, until one fails or the campaign is over; then shrinks the failing
 * one. Sums up the marks. `sluice simulate` and the tests run it. Needs no service.
 */

import { withDrawn } from "./drawnCommands.ts"
import { generate } from "./generate.ts"
import { Marks } from "./Marks.ts"
import { type Outcome, type PlayOptions, play } from "./play.ts"
import { type Scenario, toJson } from "./Scenario.ts"
import type { Violation } from "./Simulation.ts"
import { shrink } from "./shrink.ts"
import type { Workload } from "./Workload.ts"

/** One in this many scenarios is played twice: the same seed must give the same course of events. */
const repeatEvery = 50

/**
 * Tasks of all plays that make one scenario small, beside a bound on their number: some scenarios take a second to
 * play.
 */
const shrinkingTasks = 6_000_000

/** The seeds to play, and how. See {@link campaign}. */
export interface CampaignOptions extends Omit<PlayOptions, "isTraced"> {
  /** The first seed; further ones follow it. */
  readonly seed: number
  readonly seeds: number
  /** Steps of each scenario; default 100. */
  readonly steps?: number
  /** Whether a finding is made small; default true. `makeSmall` does it later. */
  readonly isShrunk?: boolean
  /** Asked after each scenario; true ends the campaign early. */
  readonly isOver?: (played: number) => boolean
}

/** A failing scenario, made small. See {@link campaign}. */
export interface Failure {
  readonly seed: number
  readonly violation: Violation
  readonly scenario: Scenario
  /** Steps and faults that the scenario had before it was shrunk. */
  readonly drawnSteps: number
  readonly drawnFaults: number
  /** Whether it stands as it was found, before it was shrunk. */
  readonly isDrawn: boolean
  /** Whether shrinking ended because nothing more could be left out, rather than at its budget. */
  readonly isSmall: boolean
  /**
   * Whether the scenario failed again when it was replayed. If not, the rule keeps something beside its state, and the
   * scenario is the drawn one, without a trace.
   */
  readonly comesAgain: boolean
  /** The course of the shrunk scenario, for people. */
  readonly trace: ReadonlyArray<string>
}

/** The number of played scenarios, their marks, and the first that failed. See {@link campaign}. */
export interface CampaignReport {
  readonly played: number
  readonly marks: Marks
  readonly failure: Failure | undefined
}

/**
 * Plays seeds from `seed` on.
 *
 * @example
 * ```ts
 * import { campaign, describeFailure, type Workload } from "sluice/simulation"
 *
 * export const prove = (workload: Workload) => {
 *   const { failure, played } = campaign(workload, { seed: 1, seeds: 200 })
 *   return failure === undefined ? `${played} played` : describeFailure(failure)
 * }
 * ```
 */
export const campaign = (workload: Workload, options: CampaignOptions): CampaignReport =>
  campaignOf(() => workload, options)

/** Plays seeds from `seed` on, each of the workload that it stands for. */
export const campaignOf = (workloadOf: (seed: number) => Workload, options: CampaignOptions): CampaignReport => {
  const marks = new Marks()
  let played = 0
  for (let seed = options.seed; played < options.seeds; seed++) {
    const workload = workloadOf(seed)
    const scenario = generate(workload, seed, options.steps)
    const outcome = play(scenario, workload, options)
    played++
    marks.add(outcome.marks)
    if (outcome.violation !== undefined) {
      const failure =
        options.isShrunk === false
          ? drawnFailure(scenario, outcome.violation)
          : failureOf(workload, scenario, outcome.violation, options)
      return { played, marks, failure }
    }
    if (played % repeatEvery === 1) {
      const failure = repeats(workload, scenario, outcome, options)
      if (failure !== undefined) return { played, marks, failure }
    }
    if (options.isOver?.(played) === true) break
  }
  return { played, marks, failure: undefined }
}

/**
 * Shrinks a scenario that fails and plays the rest with a trace. Undefined when it does not fail.
 *
 * @example
 * ```ts
 * import { explain, generate, type Workload } from "sluice/simulation"
 *
 * export const failureOf = (workload: Workload, seed: number) => explain(workload, generate(workload, seed))
 * ```
 */
export const explain = (workload: Workload, scenario: Scenario, options: PlayOptions = {}): Failure | undefined => {
  const { violation } = play(scenario, workload, options)
  return violation === undefined ? undefined : failureOf(workload, scenario, violation, options)
}

/** A failure as it was found. */
const drawnFailure = (scenario: Scenario, violation: Violation): Failure => ({
  ...sizeOf(scenario),
  violation,
  scenario,
  isDrawn: true,
  isSmall: false,
  comesAgain: true,
  trace: []
})

/**
 * Makes a failure small that a campaign has left as it was found.
 *
 * @example
 * ```ts
 * import { campaign, describeFailure, makeSmall, type Workload } from "sluice/simulation"
 *
 * // the finding is printed immediately, and some seconds later what shrinking has left of it
 * export const tell = (workload: Workload) => {
 *   const { failure } = campaign(workload, { seed: 1, seeds: 200, isShrunk: false })
 *   if (failure === undefined) return
 *   console.log(failure.violation.message)
 *   console.log(describeFailure(makeSmall(workload, failure)))
 * }
 * ```
 */
export const makeSmall = (workload: Workload, failure: Failure, options: PlayOptions = {}): Failure =>
  failure.isDrawn ? failureOf(workload, failure.scenario, failure.violation, options) : failure

/** The failure of a scenario in which a play has found a violation. It also notes if no further play finds it. */
const failureOf = (workload: Workload, drawn: Scenario, violation: Violation, options: PlayOptions): Failure => {
  const once: Failure = {
    ...sizeOf(drawn),
    violation,
    scenario: drawn,
    isDrawn: false,
    isSmall: false,
    comesAgain: false,
    trace: []
  }
  if (play(drawn, workload, options).violation === undefined) return once
  let tasksLeft = shrinkingTasks
  let commands: Outcome["drawn"] = new Map()
  const fails = (candidate: Scenario) => {
    if (tasksLeft <= 0) return false
    const outcome = play(candidate, workload, options)
    tasksLeft -= outcome.tasks
    if (outcome.violation?.checker !== violation.checker) return false
    commands = outcome.drawn
    return true
  }
  let shrunk = shrink(drawn, workload, fails)
  // Commands that are drawn when they are sent fit whatever is left before them. Then they become what they were.
  if (fails(shrunk.scenario)) {
    const fixed = withDrawn(shrunk.scenario, commands)
    if (fixed !== shrunk.scenario && fails(fixed)) shrunk = shrink(fixed, workload, fails)
  }
  const isSmall = tasksLeft > 0 && !shrunk.isCutShort
  // A rule with a memory of its own may fail in one play and not in the next, also while it is shrunk.
  for (const scenario of shrunk.scenario === drawn ? [drawn] : [shrunk.scenario, drawn]) {
    const again = play(scenario, workload, { ...options, isTraced: true })
    if (again.violation === undefined) continue
    const { trace, violation: found } = again
    return { ...sizeOf(drawn), violation: found, scenario, isDrawn: false, isSmall, comesAgain: true, trace }
  }
  return once
}

const sizeOf = ({ faults, seed, steps }: Scenario) => ({ seed, drawnSteps: steps.length, drawnFaults: faults.length })

/** The check that needs two runs: the same seed gives the same course of events. */
const repeats = (workload: Workload, scenario: Scenario, first: Outcome, options: PlayOptions): Failure | undefined => {
  const second = play(scenario, workload, options)
  if (second.fingerprint === first.fingerprint) return undefined
  // The second play may say what the fault is, where the first found none.
  const { checker, message } = second.violation ?? {
    checker: "the same seed gives the same trace",
    message: `it came out as ${first.fingerprint} and as ${second.fingerprint}`
  }
  const violation = { checker, message, at: second.violation?.at ?? 0 }
  return { ...sizeOf(scenario), violation, scenario, isDrawn: false, isSmall: false, comesAgain: false, trace: [] }
}

const notAgain =
  "It does not come in each play of this seed: a rule keeps something beside its state, such as a variable of its module. The scenario is not shrunk."

/** Lines of a trace that are shown at most. */
const shownLines = 200

/**
 * A failure as a person reads it: what was found, the trace, the scenario.
 *
 * @example
 * ```ts
 * import { campaign, describeFailure, type Workload } from "sluice/simulation"
 *
 * export const report = (workload: Workload) => {
 *   const { failure } = campaign(workload, { seed: 1, seeds: 200 })
 *   return failure === undefined ? "nothing found" : describeFailure(failure)
 * }
 * ```
 */
export const describeFailure = (failure: Failure): string => {
  const { comesAgain, drawnFaults, drawnSteps, isDrawn, isSmall, scenario, seed, trace, violation } = failure
  const left = trace.length - shownLines
  const found = [`seed ${seed}: ${violation.checker}`, `  ${violation.message}`]
  if (isDrawn)
    return [...found, `found with ${drawnSteps} steps and ${drawnFaults} faults, and not made small yet`].join("\n")
  if (!comesAgain) return [...found, notAgain, "", toJson(scenario).trimEnd()].join("\n")
  return [
    ...found,
    `shrunk from ${drawnSteps} steps and ${drawnFaults} faults to ${scenario.steps.length} and ${scenario.faults.length}${isSmall ? "" : ", and not further for want of time"}:`,
    "",
    ...(left > 0 ? [`  … ${left} earlier lines`] : []),
    ...trace.slice(-shownLines),
    "",
    toJson(scenario).trimEnd()
  ].join("\n")
}

/**
 * Loads the rules of `sluice simulate --file rules.ts`: the simulations that a file exports, made by `plan` of
 * `sluice/simulation`.
 */
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import { describe } from "../engine/describe.ts"
import {
  campaign,
  describeFailure,
  explain,
  type Failure,
  fromJson,
  type Marks,
  makeSmall,
  play,
  type Reach,
  type SimulationPlan,
  type Workload
} from "../simulation/index.ts"
import type { Finding, PlayableSimulation } from "./PlayableSimulation.ts"

/** A simulation of a file, under the name that it is exported by. */
export interface OwnRules extends PlayableSimulation {
  readonly name: string
  /** The parts of the rules that were reached. */
  readonly reachOf: (marks: Marks) => Reach
}

/** A finding that is told as it was found, and once more when it is small. */
export const findingOf = (workload: Workload, failure: Failure): Finding => ({
  seed: failure.seed,
  text: describeFailure(failure),
  ...(failure.isDrawn ? { small: () => describeFailure(makeSmall(workload, failure)) } : {})
})

const isPlan = (value: unknown): value is SimulationPlan =>
  typeof value === "object" && value !== null && "_tag" in value && value._tag === "SimulationPlan"

const simulated = (name: string, { problem, reachOf, steps, workload }: SimulationPlan): OwnRules => ({
  name,
  reachOf,
  requiredMarks: [],
  play: (first, seeds) => {
    const options = steps === undefined ? {} : { steps }
    const { failure, marks, played } = campaign(workload, { seed: first, seeds, isShrunk: false, ...options })
    const finding =
      problem === undefined
        ? failure && findingOf(workload, failure)
        : { seed: problem.seed, text: describeFailure(problem) }
    return { played, marks, finding }
  },
  replay: (text) => {
    try {
      const scenario = fromJson(text)
      if (scenario.workload !== workload.name) return undefined
      const { trace, violation } = play(scenario, workload, { isTraced: true })
      const failure = violation && explain(workload, scenario)
      return { trace, finding: failure && describeFailure(failure) }
    } catch {
      return undefined
    }
  }
})

/** The simulations of a file. Fails with a sentence when it cannot be loaded or exports none. */
export const ownRulesOf = (file: string): Effect.Effect<ReadonlyArray<OwnRules>, string> =>
  Effect.gen(function* () {
    const path = resolve(file)
    const module = yield* Effect.tryPromise({
      try: () => import(pathToFileURL(path).href) as Promise<Readonly<Record<string, unknown>>>,
      catch: (cause) => `${file} cannot be loaded: ${describe(cause)}`
    })
    const plans = Object.entries(module).filter((entry): entry is [string, SimulationPlan] => isPlan(entry[1]))
    if (plans.length === 0)
      return yield* Effect.fail(`${file} exports no simulation: export what \`plan\` of "sluice/simulation" makes`)
    return plans.map(([name, plan]) => simulated(name, plan))
  })

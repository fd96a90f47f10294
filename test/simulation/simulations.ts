/** The simulations of Sluice's own programs, for `npm run simulate -- --of NAME` (docs/simulation.md). */
import { findingOf } from "../../src/cli/ownRules.ts"
import type { PlayableSimulation } from "../../src/cli/PlayableSimulation.ts"
import { campaignOf } from "../../src/simulation/engine/campaign.ts"
import {
  describeFailure,
  explain,
  fromJson,
  Marks,
  play,
  requiredMarks,
  requiredStreamMarks,
  type Workload
} from "../../src/simulation/index.ts"
import { bank } from "./bank/bank.ts"
import { streamedBank } from "./bank/streamedBank.ts"
import { followed, requiredFollowerMarks } from "./followers/followed.ts"
import * as Handoff from "./handoff/index.ts"
import * as Owners from "./owners/index.ts"
import { requiredSendMarks, sendAccounts } from "./send/sendAccounts.ts"
import * as Webhooks from "./webhooks/index.ts"

/** The scenario in a text; undefined when it holds none. */
const parsed = <Scenario>(parse: (text: string) => Scenario, text: string): Scenario | undefined => {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Seeds of workloads of the engine, in turns. */
const onEngine = (
  workloads: readonly [Workload, ...ReadonlyArray<Workload>],
  marks: ReadonlyArray<string>,
  steps?: number
): PlayableSimulation => ({
  requiredMarks: marks,
  play: (first, seeds) => {
    const options = steps === undefined ? {} : { steps }
    const workloadOf = (seed: number) => workloads[seed % workloads.length]!
    const {
      failure,
      marks: reached,
      played
    } = campaignOf(workloadOf, {
      seed: first,
      seeds,
      isShrunk: false,
      ...options
    })
    return { played, marks: reached, finding: failure && findingOf(workloadOf(failure.seed), failure) }
  },
  replay: (text) => {
    const scenario = parsed(fromJson, text)
    const workload = workloads.find(({ name }) => name === scenario?.workload)
    if (scenario === undefined || workload === undefined) return undefined
    const { trace, violation } = play(scenario, workload, { isTraced: true })
    const failure = violation === undefined ? undefined : explain(workload, scenario)
    return { trace, finding: failure && describeFailure(failure) }
  }
})

/** A kind of simulation with scenarios of its own. */
interface Kind<Scenario extends { readonly seed: number }> {
  readonly requiredMarks: ReadonlyArray<string>
  readonly generate: (seed: number) => Scenario
  readonly fromJson: (text: string) => Scenario
  readonly describe: (scenario: Scenario) => string
  readonly play: (
    scenario: Scenario,
    options?: { readonly isTraced?: boolean }
  ) => { readonly violation: unknown; readonly marks: Marks; readonly trace: ReadonlyArray<string> }
}

const ofKind = <Scenario extends { readonly seed: number }>(kind: Kind<Scenario>): PlayableSimulation => ({
  requiredMarks: kind.requiredMarks,
  play: (first, seeds) => {
    const marks = new Marks()
    for (let played = 0; played < seeds; played++) {
      const scenario = kind.generate(first + played)
      const outcome = kind.play(scenario)
      marks.add(outcome.marks)
      if (outcome.violation !== undefined)
        return { played: played + 1, marks, finding: { seed: scenario.seed, text: kind.describe(scenario) } }
    }
    return { played: seeds, marks, finding: undefined }
  },
  replay: (text) => {
    const scenario = parsed(kind.fromJson, text)
    if (scenario === undefined) return undefined
    const { trace, violation } = kind.play(scenario, { isTraced: true })
    return { trace, finding: violation === undefined ? undefined : kind.describe(scenario) }
  }
})

/** Steps of an account's scenario: days go by in one. */
const sendSteps = 60

export const simulations = {
  engine: onEngine([bank, streamedBank], [...requiredMarks, ...requiredStreamMarks]),
  send: onEngine([sendAccounts], requiredSendMarks, sendSteps),
  webhooks: ofKind(Webhooks),
  handoff: ofKind(Handoff),
  followers: onEngine([followed], requiredFollowerMarks),
  owners: ofKind(Owners)
} as const satisfies Readonly<Record<string, PlayableSimulation>>

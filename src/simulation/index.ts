/**
 * `sluice/simulation`: property-based proof of actors. `given(facts).when(command).then(…)` specifies a rule alone; `simulate` runs it in the real
 * engine under seeded faults; `campaign`, `play` and `shrink` are the parts, for who wants workloads of their own.
 */
import "../common/checkedPeers.ts"

export { bank } from "./bank.ts"
export type { Checker, Observer } from "./Checker.ts"
export {
  type CampaignOptions,
  type CampaignReport,
  campaign,
  describeFailure,
  explain,
  type Failure
} from "./campaign.ts"
export { engineCheckers } from "./checkers/index.ts"
export { followed, requiredFollowerMarks } from "./followers/followed.ts"
export { defaultSteps, generate, scenarios } from "./generate.ts"
export { appendMarks, Marks, requiredMarks } from "./Marks.ts"
export { type Outcome, type PlayOptions, play } from "./play.ts"
export type { Reach } from "./rules/reach.ts"
export type { ActorState, States } from "./rules/States.ts"
export { Fault, fromJson, operations, Scenario, Step, Topology, toJson } from "./Scenario.ts"
export type { Violation } from "./Simulation.ts"
export { requiredSendMarks, sendAccounts } from "./send/workload.ts"
export { type Shrunk, shrink } from "./shrink.ts"
export {
  describeReport,
  plan,
  type SimulateOptions,
  SimulationFailed,
  type SimulationPlan,
  type SimulationReport,
  simulate,
  workloadOf
} from "./simulate.ts"
export {
  type Decided,
  type ExpectedDecision,
  given,
  SpecificationFailed,
  type SpecificationOptions
} from "./specification.ts"
export type { CommandSource, Expected, Invariants, Oracle, Sentences, Workload } from "./Workload.ts"

/**
 * Exports `sluice/simulation`: property-based tests of actors. `given(facts).when(command).then(…)` specifies a rule
 * alone; `simulate` runs it in the real engine under seeded faults; `campaign`, `play` and `shrink` are the parts, for
 * workloads of your own.
 */
import "../common/checkedPeers.ts"

export type { Checker, Observer } from "./engine/Checker.ts"
export {
  type CampaignOptions,
  type CampaignReport,
  campaign,
  describeFailure,
  explain,
  type Failure
} from "./engine/campaign.ts"
export { engineCheckers } from "./engine/checkers/index.ts"
export { defaultSteps, generate, scenarios } from "./engine/generate.ts"
export { appendMarks, Marks, requiredMarks } from "./engine/Marks.ts"
export { type Outcome, type PlayOptions, play } from "./engine/play.ts"
export { Fault, fromJson, operations, Scenario, Step, Topology, toJson } from "./engine/Scenario.ts"
export type { Violation } from "./engine/Simulation.ts"
export { type Shrunk, shrink } from "./engine/shrink.ts"
export type { CommandSource, Expected, Invariants, Oracle, Sentences, Workload } from "./engine/Workload.ts"
export type { Reach } from "./rules/reach.ts"
export type { ActorState, States } from "./rules/States.ts"
export {
  describeReport,
  plan,
  type SimulateOptions,
  SimulationFailed,
  type SimulationPlan,
  type SimulationReport,
  simulate,
  workloadOf
} from "./rules/simulate.ts"
export {
  type Decided,
  type ExpectedDecision,
  given,
  SpecificationFailed,
  type SpecificationOptions
} from "./rules/specification.ts"

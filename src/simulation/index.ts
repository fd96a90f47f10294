/**
 * Exports `sluice/simulation`: property-based tests of actors. `given(facts).when(command).then(…)` specifies a rule
 * alone; `simulate` runs it in the real engine under seeded faults; `campaign`, `play` and `shrink` are the parts, for
 * workloads of your own.
 */
import "../common/checkedPeers.ts"

export type { CheckpointsStore, PartitionRows } from "../engine/memory/CheckpointsMemory.ts"
export type { CursorsStore } from "../engine/memory/CursorsMemory.ts"
export type { JournalStore, MemoryLog } from "../engine/memory/JournalMemory.ts"
export type { MemoryStream, ProgramStreamsStore } from "../engine/memory/ProgramStreamsMemory.ts"
export type { SignalsStore } from "../engine/memory/SignalsMemory.ts"
export type { MemoryJob, WorkerJobsStore, WorkerQueue } from "../engine/memory/WorkerJobsMemory.ts"
export type { Checker, Observer } from "./engine/Checker.ts"
export {
  type CampaignOptions,
  type CampaignReport,
  campaign,
  describeFailure,
  explain,
  type Failure,
  makeSmall
} from "./engine/campaign.ts"
export { engineCheckers } from "./engine/checkers/index.ts"
export type { Decided as DraftedDecision, Decisions, FramePlace, Woken } from "./engine/Decisions.ts"
export type { Follower, FollowStep } from "./engine/Follower.ts"
export { defaultSteps, generate, scenarios } from "./engine/generate.ts"
export { appendMarks, Marks, requiredMarks, requiredStreamMarks } from "./engine/Marks.ts"
export type {
  Answer,
  Attempt,
  BeginOptions,
  LaneAnswer,
  ListAnswer,
  LookAnswer,
  Operation
} from "./engine/Operations.ts"
export type { OutsideCall, OutsideService } from "./engine/OutsideService.ts"
export { type Outcome, type PlayOptions, play } from "./engine/play.ts"
export {
  Fault,
  fromJson,
  type Operation as FailingOperation,
  operations,
  Scenario,
  Step,
  Topology,
  toJson
} from "./engine/Scenario.ts"
export type { SimulatedEngine } from "./engine/SimulatedEngine.ts"
export type { Drafted, LogServer, ServerLog } from "./engine/SimulatedJournal.ts"
export type { Simulation, SimulationOptions, Violation } from "./engine/Simulation.ts"
export type { BooksStore, JobWorker } from "./engine/SqlEffects.ts"
export { type Shrunk, shrink } from "./engine/shrink.ts"
export type { ActorHistory, Commit, Moment, Truth } from "./engine/Truth.ts"
export type {
  AnyOracle,
  CommandMoment,
  CommandSource,
  DrawnMessage,
  DrawnSignal,
  Eventually,
  Expected,
  Invariants,
  Meetings,
  Oracle,
  Projection,
  SentenceContext,
  Sentences,
  SimulatedWorker,
  StateContext,
  UntilContext,
  Workload
} from "./engine/Workload.ts"
export type { Faults } from "./kernel/Faults.ts"
export type { Host, HostedProcess } from "./kernel/Host.ts"
export type { Outage, Outages } from "./kernel/Outages.ts"
export type { Prng } from "./kernel/Prng.ts"
export type { SimulatedProcess, World, WorldOptions } from "./kernel/World.ts"
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

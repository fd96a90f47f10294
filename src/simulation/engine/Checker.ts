/**
 * Defines the interface of a checker, which observes a simulation and reports violations. One per file under
 * `checkers`; each scenario gets new ones.
 */

import type { FactsPurged } from "../../engine/followTypes.ts"
import type { ActorRow, CheckpointRecord } from "../../engine/ports/Checkpoints.ts"
import type { WorkerJobOutcome } from "../../engine/ports/WorkerJobs.ts"
import type { FactRecord, LogRecord } from "../../engine/records.ts"
import type { Decided, Woken } from "./Decisions.ts"
import type { Follower } from "./Follower.ts"
import type { Attempt, LaneAnswer, ListAnswer, LookAnswer, Operation } from "./Operations.ts"
import type { OutsideCall } from "./OutsideService.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"
import type { Commit } from "./Truth.ts"

/** The events that a checker observes while a scenario is played. See {@link engineCheckers}. */
export interface Observer {
  /** A frame was stored. */
  readonly committed?: (commit: Commit) => void
  /** A process decided something that is not stored yet. */
  readonly decided?: (decided: Decided, engine: SimulatedEngine) => void
  /** A process has woken an actor. */
  readonly woken?: (woken: Woken, engine: SimulatedEngine) => void
  /** A command was asked of a process. */
  readonly asked?: (attempt: Attempt) => void
  /** An ask was answered. */
  readonly answered?: (attempt: Attempt) => void
  /** A command has its final answer. */
  readonly settled?: (operation: Operation) => void
  readonly looked?: (look: LookAnswer) => void
  readonly laneAnswered?: (answer: LaneAnswer) => void
  readonly checkpointed?: (record: CheckpointRecord, rows: ReadonlyArray<ActorRow>, engine: SimulatedEngine) => void
  /** Frames below a sequence are about to be purged. */
  readonly purging?: (partition: number, below: number, by: string) => void
  /** Signals up to a sequence are about to be removed. */
  readonly forgetting?: (partition: number, through: number, by: string) => void
  /** A reactor's transaction with this record was committed. */
  readonly effected?: (record: LogRecord) => void
  /** A follower gets a fact, behind its position. */
  readonly given?: (follower: Follower, record: FactRecord, json: string) => void
  readonly shown?: (follower: Follower, json: string) => void
  /** A follower learns that facts behind its position are purged. */
  readonly purgedPast?: (follower: Follower, error: FactsPurged) => void
  /** A worker calls the service outside. */
  readonly called?: (call: OutsideCall) => void
  /** The store has taken an outcome of a worker's job. */
  readonly jobSettled?: (worker: string, outcome: WorkerJobOutcome) => void
  readonly listed?: (list: ListAnswer) => void
  /** Called between two steps. */
  readonly rested?: () => void
  /** Called after healing, when everything has come to rest or its time is over. */
  readonly healed?: () => void
}

/** A checker watches a scenario and reports violations. See {@link engineCheckers}. */
export interface Checker {
  readonly name: string
  /** `violate` reports a finding; the scenario ends there. */
  readonly make: (simulation: Simulation, violate: (message: string) => void) => Observer
}

/** Defines the state that an engine's partitions share, and the statuses of a partition. */
import type { Clock, Semaphore } from "effect"
import type { EngineConfig } from "../../config.ts"
import type { Registry } from "../../core/actors/Organization.ts"
import type { ProcessBounds } from "../../core/actors/ProcessBounds.ts"
import type { Ingest } from "../../ingestRules.ts"
import type { Checkpoints, Deployment } from "../../ports/Checkpoints.ts"
import type { ClockGuardShape } from "../../ports/ClockGuard.ts"
import type { Cursors } from "../../ports/Cursors.ts"
import type { Journal } from "../../ports/Journal.ts"
import type { Placement } from "../../ports/Placement.ts"
import type { ProgramStreams } from "../../ports/ProgramStreams.ts"
import type { Remote } from "../../ports/Remote.ts"
import type { Signals } from "../../ports/Signals.ts"
import type { Reactor } from "../../Reactor.ts"
import type { TaskSource } from "../../tasks/TaskSource.ts"
import type { OpenStreams } from "../followers/OpenStreams.ts"
import type { OperatorAct } from "../operatorActs.ts"
import type { TransactionPlaces } from "../reactors/TransactionPlaces.ts"
import type { RemoteTraffic } from "../remote/ownerCalls.ts"
import type { SignalRules } from "../signals/feedSignals.ts"
import type { Partition } from "./Partition.ts"

/** The state that all partitions of an engine share. */
export interface EngineContext {
  readonly config: EngineConfig
  /** The deployment of the logs and rows. */
  readonly deployment: Deployment
  readonly registry: Registry
  readonly reactors: ReadonlyArray<Reactor<never>>
  /** The tasks of reactors, by the reactor's name. */
  readonly taskSources: ReadonlyMap<string, ReadonlyArray<TaskSource>>
  readonly signalRules: SignalRules
  readonly ingests: ReadonlyArray<Ingest>
  readonly journal: Journal["Service"]
  readonly checkpoints: Checkpoints["Service"]
  readonly cursors: Cursors["Service"]
  readonly placement: Placement["Service"]
  readonly signals: Signals["Service"] | undefined
  /** There if the program has ingests. */
  readonly programStreams: ProgramStreams["Service"] | undefined
  readonly remote: Remote["Service"] | undefined
  /** The partitions placed in this process. */
  readonly local: ReadonlyMap<number, Partition>
  /** Requests to other processes, and the known owners there. */
  readonly traffic: RemoteTraffic
  /** Streams of facts and states that are open. */
  readonly subscriptions: OpenStreams
  /** Acts that operators can request, by name; programs add their own. */
  readonly acts: Map<string, OperatorAct>
  readonly clock: Clock.Clock
  readonly clockGuard: ClockGuardShape
  /** The memory that all partitions use together. */
  readonly bounds: ProcessBounds
  /** Permits of concurrent checkpoints, over all partitions. */
  readonly checkpointTurns: Semaphore.Semaphore
  /** Permits of reactors' transactions, over all partitions. */
  readonly transactionPlaces: TransactionPlaces
  /** Whether asks, drains and reactors have spans. A span that is not collected costs as much as a small frame. */
  readonly isTraced: boolean
  /** Different for every engine ever started. */
  readonly instance: string
}

/** The status of a partition. `reason` is for people. See {@link Engine.Engine}. */
export type Status =
  | { readonly _tag: "Starting"; readonly reason: string }
  | { readonly _tag: "Serving" }
  | { readonly _tag: "ClockBehind"; readonly reason: string }
  | { readonly _tag: "NotOwned"; readonly reason: string }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Closed" }

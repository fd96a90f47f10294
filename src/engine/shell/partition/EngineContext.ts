/** What an engine's partitions share, and what each of them can be doing. */
import type { Clock, Semaphore } from "effect"
import type { EngineConfig } from "../../config.ts"
import type { Registry } from "../../core/actors/Organization.ts"
import type { ProcessBounds } from "../../core/actors/ProcessBounds.ts"
import type { Checkpoints, Deployment } from "../../ports/Checkpoints.ts"
import type { ClockGuardShape } from "../../ports/ClockGuard.ts"
import type { Cursors } from "../../ports/Cursors.ts"
import type { Journal } from "../../ports/Journal.ts"
import type { Placement } from "../../ports/Placement.ts"
import type { Remote } from "../../ports/Remote.ts"
import type { Signals } from "../../ports/Signals.ts"
import type { Reactor } from "../../Reactor.ts"
import type { OpenStreams } from "../followers/OpenStreams.ts"
import type { OperatorAct } from "../operatorActs.ts"
import type { TransactionPlaces } from "../reactors/TransactionPlaces.ts"
import type { RemoteTraffic } from "../remote/ownerCalls.ts"
import type { SignalRules } from "../signals/feedSignals.ts"
import type { Partition } from "./Partition.ts"

/** What all partitions of an engine share. */
export interface EngineContext {
  readonly config: EngineConfig
  /** Whose logs and rows these are. */
  readonly deployment: Deployment
  readonly registry: Registry
  readonly reactors: ReadonlyArray<Reactor<never>>
  readonly signalRules: SignalRules
  readonly journal: Journal["Service"]
  readonly checkpoints: Checkpoints["Service"]
  readonly cursors: Cursors["Service"]
  readonly placement: Placement["Service"]
  readonly signals: Signals["Service"] | undefined
  readonly remote: Remote["Service"] | undefined
  /** The partitions placed in this process. */
  readonly local: ReadonlyMap<number, Partition>
  /** Requests to other processes, and what is known of their owners. */
  readonly traffic: RemoteTraffic
  /** Streams of facts and states that are open. */
  readonly subscriptions: OpenStreams
  /** What operators can have done, by name; programs add their own. */
  readonly acts: Map<string, OperatorAct>
  readonly clock: Clock.Clock
  readonly clockGuard: ClockGuardShape
  /** What all partitions hold together. */
  readonly bounds: ProcessBounds
  /** Checkpoints that are written at once, over all partitions. */
  readonly checkpointTurns: Semaphore.Semaphore
  /** Of reactors' transactions, over all partitions. */
  readonly transactionPlaces: TransactionPlaces
  /** Whether asks, drains and reactors have spans. A span that nobody sees costs as much as a small frame. */
  readonly isTraced: boolean
  /** Different for every engine ever started. */
  readonly instance: string
}

/** What a partition is doing. `reason` is for people. */
export type Status =
  | { readonly _tag: "Starting"; readonly reason: string }
  | { readonly _tag: "Serving" }
  | { readonly _tag: "ClockBehind"; readonly reason: string }
  | { readonly _tag: "NotOwned"; readonly reason: string }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Closed" }

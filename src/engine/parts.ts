/** What an engine's partitions share, and what each of them can be doing. */
import type { Clock, Semaphore } from "effect"
import type { Checkpoints, Deployment } from "./Checkpoints.ts"
import type { ClockGuardShape } from "./ClockGuard.ts"
import type { Cursors } from "./Cursors.ts"
import type { EngineConfig } from "./config.ts"
import type { Registry } from "./core/actors.ts"
import type { ProcessBounds } from "./core/bounds.ts"
import type { Journal } from "./Journal.ts"
import type { Placement } from "./Placement.ts"
import type { Reactor } from "./Reactor.ts"
import type { Remote } from "./Remote.ts"
import type { Signals } from "./Signals.ts"
import type { OperatorAct } from "./shell/acting.ts"
import type { Partition } from "./shell/Partition.ts"
import type { RemoteTraffic } from "./shell/remoteAnswers.ts"
import type { Subscriptions } from "./shell/Subscriptions.ts"
import type { SignalRules } from "./shell/signalFeed.ts"
import type { TransactionPlaces } from "./shell/TransactionPlaces.ts"

/** What all partitions of an engine share. */
export interface EngineParts {
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
  readonly subscriptions: Subscriptions
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

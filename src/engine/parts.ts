/** What an engine's partitions share, and what each of them can be doing. */
import type { Clock } from "effect"
import type { Checkpoints } from "./Checkpoints.ts"
import type { Cursors } from "./Cursors.ts"
import type { EngineConfig } from "./config.ts"
import type { Journal } from "./Journal.ts"
import type { Registry } from "./memory.ts"
import type { Placement } from "./Placement.ts"
import type { Reactor } from "./Reactor.ts"
import type { Signals } from "./Signals.ts"
import type { Sabotage } from "./sabotage.ts"
import type { SignalRules } from "./signalFeed.ts"

/** What all partitions of an engine share. */
export interface EngineParts {
  readonly config: EngineConfig
  readonly registry: Registry
  readonly reactors: ReadonlyArray<Reactor<never>>
  readonly signalRules: SignalRules
  readonly journal: Journal["Service"]
  readonly checkpoints: Checkpoints["Service"]
  readonly cursors: Cursors["Service"]
  readonly placement: Placement["Service"]
  readonly signals: Signals["Service"] | undefined
  readonly clock: Clock.Clock
  readonly sabotage: ReadonlySet<Sabotage>
  /** Whether drains have spans: making one that nobody sees costs as much as a small frame. */
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

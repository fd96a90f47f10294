/** Defines the parts of a simulation, and of the process that uses them, that the simulated log and stores need. */

import type { CheckpointsStore } from "../../engine/memory/CheckpointsMemory.ts"
import type { CursorsStore } from "../../engine/memory/CursorsMemory.ts"
import type { JournalStore } from "../../engine/memory/JournalMemory.ts"
import type { ActorRow, CheckpointRecord } from "../../engine/ports/Checkpoints.ts"
import type { StoredFrame } from "../../engine/ports/Journal.ts"
import type { Decided } from "../engine/Decisions.ts"
import type { Marks } from "../engine/Marks.ts"
import type { Operation } from "../engine/Scenario.ts"
import type { LogServer } from "../engine/SimulatedJournal.ts"
import type { Outages } from "./Outages.ts"
import type { Prng } from "./Prng.ts"
import type { SimulatedProcess, World } from "./World.ts"

/** A process that uses the stores. See {@link engineCheckers}. */
export interface HostedProcess {
  readonly name: string
  readonly process: SimulatedProcess
  readonly decisions: {
    draftedFor(partition: number, epoch: number, number: number): ReadonlyArray<Decided>
  }
  /** Set by a fault: after this many more replies the process dies. */
  repliesUntilCrash: number | undefined
}

/** A simulation. Its own kind of process is `P`. See {@link engineCheckers}. */
// biome-ignore lint/suspicious/noExplicitAny: the log and the stores hand a simulation its own processes back, whatever they are
export interface Host<P extends HostedProcess = any> {
  readonly scenario: { readonly topology: { readonly replicas: 1 | 3 } }
  readonly world: World
  readonly marks: Marks
  readonly faults: { take(operation: Operation): string | undefined }
  readonly outages: Outages
  readonly stores: {
    readonly journal: JournalStore
    readonly checkpoints: CheckpointsStore
    readonly cursors: CursorsStore
  }
  readonly server: LogServer
  /** The random source of faults. */
  readonly draw: Prng
  readonly logBytes: number
  readonly isHealed: boolean
  /** How often the whole machine went down. */
  readonly machineOutages: number
  /** Logs that have lost frames. */
  readonly damaged: ReadonlyMap<number, { readonly isLost: boolean }>
  /** The time that a message takes, milliseconds. */
  readonly latency: () => number
  trace(line: () => string): void
  crash(process: P, where: string): void
  pause(process: P): void
  committed(partition: number, stored: StoredFrame, process: P | undefined, drafted: ReadonlyArray<Decided>): void
  saved(record: CheckpointRecord, rows: ReadonlyArray<ActorRow>, process: P): void
  purge(partition: number, below: number, by: string): void
}

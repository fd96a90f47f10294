/** Defines the inputs and outputs of a partition's core, as plain values. */
import type { ActorAddress } from "../address.ts"
import type { FrameHeader, Head } from "../frame.ts"
import type { MessageRecord } from "../outbox.ts"
import type { ActorRow, CheckpointRecord } from "../ports/Checkpoints.ts"
import type { LogRecord } from "../records.ts"
import type { LoadBatch } from "./actors/Loads.ts"
import type { Caller, Registry } from "./actors/Organization.ts"
import type { ProcessBounds } from "./actors/ProcessBounds.ts"
import type { KeyPageRequest } from "./keys/StoredKeys.ts"
import type { PaceOptions } from "./log/CheckpointPace.ts"
import type { Instant } from "./PartitionTime.ts"
import type { PageRequest } from "./timers/TimerPages.ts"

/** The next task of the shell. */
export type Demand =
  | { readonly _tag: "Append"; readonly frame: DraftedFrame }
  /** Ask the leader where the log ends. */
  | { readonly _tag: "Confirm" }
  | { readonly _tag: "Wait"; readonly millis: number }
  | { readonly _tag: "Yield" }
  /** How far the clock is behind the last frame, milliseconds. */
  | { readonly _tag: "ClockBehind"; readonly millis: number }
  | { readonly _tag: "Restart"; readonly reason: string }

/** A frame to be appended after the head. */
export interface DraftedFrame {
  readonly header: FrameHeader
  readonly bytes: Uint8Array
  /**
   * An empty frame for the same place, in case the log refuses this one. Once it is stored, no copy of the refused
   * frame can be stored.
   */
  readonly fence: () => Uint8Array
  readonly expectedLast: number
  readonly decided: number
  readonly records: number
  /** Callers that wait for it. */
  readonly callers: () => ReadonlyArray<Caller>
}

/** A stored frame, for followers that read the log from memory. */
export interface StoredDraft {
  readonly head: Head
  readonly bytes: number
  readonly records: ReadonlyArray<LogRecord>
  readonly messages: ReadonlyArray<MessageRecord>
}

/** Why a frame was not stored. */
export type NotStored =
  /** The fence is at its place, so it will never be stored. */
  | { readonly _tag: "Fenced off"; readonly fence: Uint8Array; readonly provenAt: Instant | undefined }
  /** The log refused it, but a copy may still arrive. */
  | { readonly _tag: "Refused" }
  /** It was never sent. */
  | { readonly _tag: "Not sent" }

/** A read from the checkpoints, beside the loop. */
export type ReadRequest =
  | { readonly _tag: "Actors"; readonly batch: LoadBatch }
  | { readonly _tag: "Timers"; readonly page: PageRequest }
  | { readonly _tag: "Keys"; readonly page: KeyPageRequest }

/** The actors' states at a frame boundary. */
export interface Snapshot {
  readonly record: CheckpointRecord
  /** Encoded while they are read, so that a large checkpoint is never in memory as text. */
  readonly rows: Iterable<ActorRow>
  readonly count: number
  /** Bytes of frames that it covers and the previous checkpoint did not. */
  readonly bytes: number
}

/** A signal's command that was not decided, and why. */
export interface FailedSignal extends ActorAddress {
  readonly sequence: number
  /** The ingest whose message it is; undefined for a signal. */
  readonly ingest: string | undefined
  readonly command: unknown
  readonly reason: string
}

/** The callbacks from the core to the shell between its demands. Called synchronously; must not throw. */
export interface CoreHost {
  /** Answers a caller. */
  readonly reply: (caller: Caller, accepted: boolean, value: unknown) => void
  /** Asks the shell to request the next demand. */
  readonly wake: () => void
  /** Notifies the shell of actors or a page of timers to read. */
  readonly readsWanted: () => void
  readonly checkpointWanted: () => void
  /** Reports a rule that threw, or whose answer cannot be stored. */
  readonly poisoned: (kind: string, reason: string) => void
  /**
   * Reports a signal that could not be decided, for a fault of its rule or because its organization is out of service.
   */
  readonly signalFailed: (signal: FailedSignal) => void
  /** Reports an actor that is paused because it is woken too often. */
  readonly braked: (address: ActorAddress) => void
  /** Reports an organization that was taken out of service because some of its data cannot be read. */
  readonly quarantined: (organization: string, reason: string) => void
}

export interface CoreOptions extends PaceOptions {
  readonly partition: number
  readonly registry: Registry
  readonly mailboxCapacity: number
  readonly bounds: ProcessBounds
  /** Whether followers read the log from memory. */
  readonly wantsRecords: boolean
  /** The level of formats in force; every one where it is left out. */
  readonly level?: (() => number) | undefined
  readonly host: CoreHost
}

/** One turn of the core: its start, and the elapsed part of its time. */
export interface CoreTurn extends Instant {
  /** The elapsed part of its time, from 0. */
  readonly spent: () => number
  /** Both clocks now. */
  readonly read: () => Instant
}

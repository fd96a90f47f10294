/**
 * The messages between the driver and a process that runs the engine: one JSON text a line, requests on its stdin, reports
 * on its stdout. A stopped process reads what was sent to it when it goes on. Pure.
 */
import type { AccountCommand } from "./model.ts"

/** How a process is started, in its environment variable `workerVariable`. */
export interface WorkerSettings {
  readonly natsUrl: string
  readonly databaseUrl: string
  readonly partitions: number
  readonly checkpointMillis: number
  /** Rules of the engine that are switched off, to see that the test notices. */
}

export const workerVariable = "SLUICE_CHAOS_WORKER"

/** An ask. `number` comes back with its answer. */
export interface Request {
  readonly number: number
  readonly organization: string
  readonly account: string
  readonly command: AccountCommand
}

/** What became of an ask: the rule's reply, or the error's tag. */
export type Answer =
  | { readonly _tag: "Booked" }
  | { readonly _tag: "Repeated" }
  | { readonly _tag: "Seen"; readonly count: number; readonly balance: number; readonly digest: number }
  | { readonly _tag: "Failed"; readonly error: string; readonly message: string }

/** Figures of a process since its start, summed over its partitions. */
export interface Figures {
  /** Appends by how they were resolved (docs/architecture.md, rule 2). */
  readonly branches: Readonly<Record<string, number>>
  readonly fences: number
  readonly restarts: number
  readonly replayedFrames: number
}

export type Report =
  | { readonly _tag: "Answer"; readonly number: number; readonly answer: Answer }
  /** The engine takes asks; its partitions may still be recovering. */
  | { readonly _tag: "Started" }
  /** What each partition is doing, whenever it changes. */
  | { readonly _tag: "Status"; readonly partitions: ReadonlyArray<string> }
  | { readonly _tag: "Figures"; readonly figures: Figures }

/** Calls `line` with each whole line of a text that comes in pieces. */
export const lines = (line: (text: string) => void): ((piece: string) => void) => {
  let rest = ""
  return (piece) => {
    const parts = (rest + piece).split("\n")
    rest = parts.pop()!
    for (const part of parts) if (part !== "") line(part)
  }
}

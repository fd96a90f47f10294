/**
 * Counts "sometimes" marks: places that a campaign must have reached for its silence to mean something. Each fault and
 * each branch of the engine's recovery is one. The engine itself has no marks; they are derived from its log messages,
 * metrics and states. Needs no service.
 */
import { appendBranches } from "../../engine/shell/partition/append.ts"
import { type Operation, operations, streamOperations, workerOperations } from "./Scenario.ts"

/**
 * Counts of the branches and faults that scenarios have reached.
 *
 * @example
 * ```ts
 * import { Marks } from "sluice/simulation"
 *
 * const marks = new Marks()
 * marks.reach("a branch of your own")
 * console.log(marks.counts) // Map(1) { 'a branch of your own' => 1 }
 * ```
 */
export class Marks {
  readonly counts = new Map<string, number>()

  reach(mark: string): void {
    this.counts.set(mark, (this.counts.get(mark) ?? 0) + 1)
  }

  /** Adds the marks of another scenario. */
  add(other: Marks): void {
    for (const [mark, count] of other.counts) this.counts.set(mark, (this.counts.get(mark) ?? 0) + count)
  }
}

/** Fragments of the engine's log messages, and the marks that they show. */
const sentences: ReadonlyArray<readonly [fragment: string, mark: string]> = [
  ["was fenced", "engine, fenced"],
  ["restarts: the outcome of an append", "engine, restarted after an unknown outcome"],
  ["could not go on and recovers", "engine, recovery tried again"],
  ["two processes own it", "engine, stopped at the third fence"],
  ["a checkpoint was not written", "engine, checkpoint failed"],
  ["a checkpoint at frame", "engine, restarted after somebody else's checkpoint"],
  ["does not serve: the clock is", "engine, clock behind"],
  ["does not serve: there is no connection", "engine, waited for its log"],
  ["does not serve: its log is full", "engine, started with a full log"],
  ["are lost (", "engine, refused a log with a lost tail"],
  ["has seen another frame", "engine, refused a log with another frame"],
  ["its chain is broken", "engine, refused a broken chain"],
  ["cannot be read:", "engine, refused an unreadable frame"],
  ["failed on a batch", "engine, reactor's batch failed"],
  ["starts over", "engine, reactor started over"],
  [" parked ", "engine, parked a record"],
  ["is held for a second", "engine, held an actor up"],
  ["Error: this amount breaks", "message, parked as it broke a rule"],
  ["on: waits for its receiver", "message, parked while it waits"],
  ["the cursor of the outbox", "engine, outbox's cursor not moved"],
  ["the outbox of partition", "engine, outbox started over"]
]

/** Those about a program's streams. */
const streamSentences: ReadonlyArray<readonly [fragment: string, mark: string]> = [
  ["gets no messages and subscribes again", "ingest, away"],
  ["sluice.ingest.", "ingest, parked what cannot be read"]
]

/** Notes the mark that a log message of the engine shows. */
export const noteMessage = (marks: Marks, message: string): void => {
  for (const [fragment, mark] of [...sentences, ...streamSentences]) if (message.includes(fragment)) marks.reach(mark)
}

/** Every branch of docs/architecture.md, rule 2. See {@link campaign}. */
export const appendMarks = appendBranches.map((branch) => `append, ${branch}`)

/** The marks of messages' results, by the counter that counts them. */
export const messageMarks: Readonly<Record<string, string>> = {
  sluice_outbox_repeated_total: "message, repeated",
  sluice_outbox_rejected_total: "message, rejected"
}

/** The marks of the faults of some operations. */
const faultMarks = (isWanted: (operation: Operation) => boolean): ReadonlyArray<string> =>
  (Object.keys(operations) as ReadonlyArray<Operation>)
    .filter(isWanted)
    .flatMap((operation) => operations[operation].map((kind) => `fault, ${operation}: ${kind}`))

/** The marks that a campaign over a workload with streams must reach, beside those of the engine's. See {@link campaign}. */
export const requiredStreamMarks: ReadonlyArray<string> = [
  ...faultMarks((operation) => streamOperations.has(operation)),
  ...streamSentences.map(([, mark]) => mark),
  "a reactor was built anew"
]

/** The marks that a campaign over the engine's own workload must reach. See {@link campaign}. */
export const requiredMarks: ReadonlyArray<string> = [
  ...faultMarks((operation) => !streamOperations.has(operation) && !workerOperations.has(operation)),
  ...appendMarks,
  ...sentences.map(([, mark]) => mark),
  ...Object.values(messageMarks),
  "once, replay",
  "once, conflict",
  "wake, again"
]

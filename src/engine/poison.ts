/** What a rule that throws leaves behind: its error as text, the entry that is refused, and by which name it is known (architecture, rule 12). */
import type { Entry } from "./memory.ts"

/** The text of whatever was thrown, bounded. */
export const describe = (cause: unknown): string =>
  (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, 500)

/** Names a signal or timer that a partition refuses after its `evolve` threw; commands are refused by their entry. */
export const poisonName = (entry: Entry): string | undefined =>
  entry.signalSequence > 0
    ? `signal ${entry.signalSequence}`
    : entry.wakeAt !== undefined
      ? `timer ${entry.actor.kind} ${entry.organization.name} ${entry.key} ${entry.wakeAt}`
      : undefined

/** An `evolve` or `wakeAt` threw: the partition restarts with that entry refused; everything else of the drain was put back. */
export class EvolveFailed extends Error {
  readonly entry: Entry
  constructor(entry: Entry, cause: unknown) {
    super(`${entry.actor.kind} could not apply its own fact: ${describe(cause)}`)
    this.entry = entry
  }
}

/** What a rule that throws leaves behind: its error as text, the entry that is refused, and by which name it is known (architecture, rule 12). */
import type { Entry } from "./memory.ts"

/** The text of whatever was thrown, bounded. */
export const describe = (cause: unknown): string =>
  (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, 500)

/** Names a signal or timer that a partition refuses after its `evolve` threw; commands are refused by their entry. */
const poisonName = (entry: Entry): string | undefined =>
  entry.signalSequence > 0
    ? `signal ${entry.signalSequence}`
    : entry.wakeAt !== undefined
      ? `timer ${entry.actor.kind} ${entry.organization.name} ${entry.key} ${entry.wakeAt}`
      : undefined

/** Names that are remembered; beyond them all get another try. */
const maximumPoisoned = 1_024

/** Signals and timers that are refused since their `evolve` threw. */
export class Poisoned {
  private readonly names = new Set<string>()

  has(entry: Entry): boolean {
    const name = poisonName(entry)
    return name !== undefined && this.names.has(name)
  }

  add(entry: Entry): void {
    const name = poisonName(entry)
    if (name === undefined) return
    if (this.names.size >= maximumPoisoned) this.names.clear()
    this.names.add(name)
  }
}

/** An `evolve` or `wakeAt` threw: the partition restarts with that entry refused; everything else of the drain was put back. */
export class EvolveFailed extends Error {
  readonly entry: Entry
  constructor(entry: Entry, cause: unknown) {
    super(`${entry.actor.kind} could not apply its own fact: ${describe(cause)}`)
    this.entry = entry
  }
}

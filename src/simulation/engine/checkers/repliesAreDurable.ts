/**
 * Checks that every reply is backed by a durable frame: a reply with facts by its own frame, an answer from the state
 * by a state that the log has. An error that says "not stored" must stay true, also later (docs/architecture.md, rules
 * 2, 3, 5).
 */
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"
import type { Attempt } from "../Operations.ts"

/** Errors that say that nothing was stored. */
const saysNotStored = new Set([
  "Overloaded",
  "PartitionMoved",
  "PartitionUnavailable",
  "CommandFailed",
  "StateTooLarge",
  "DecisionTooLarge",
  "IdempotencyConflict"
])

export const repliesAreDurable: Checker = {
  name: "replies are durable",
  make: (simulation, violate) => {
    /** Commands that were answered "not stored". */
    const denied = new Map<unknown, Attempt>()
    const nameOf = ({ operation }: Attempt) =>
      `#${operation.number} for ${operation.kind} ${operation.key} of ${operation.organization}`
    const isKnown = (decided: Decided) =>
      simulation.truth.history(decided).moments.some((moment) => moment.json === decided.restsOn)
    return {
      committed: ({ decisions, sequence }) => {
        for (const { command } of decisions) {
          const attempt = command === undefined ? undefined : denied.get(command)
          if (attempt?.answer?._tag === "Failed") {
            violate(`${nameOf(attempt)} was answered ${attempt.answer.error} and is in frame ${sequence} all the same`)
          }
        }
      },
      answered: (attempt) => {
        const { answer, decided } = attempt
        if (answer?._tag === "Failed") {
          if (!saysNotStored.has(answer.error)) return
          if (decided?.storedAt !== undefined) {
            return violate(`${nameOf(attempt)} was answered ${answer.error}, but it is in frame ${decided.storedAt}`)
          }
          denied.set(attempt.command, attempt)
          return
        }
        if (attempt.isReplay) return
        if (decided === undefined) return violate(`${nameOf(attempt)} was answered without having been decided`)
        if (decided.records.length > 0) {
          if (decided.storedAt === undefined) violate(`${nameOf(attempt)} was answered before its facts were stored`)
          return
        }
        if (!isKnown(decided)) {
          violate(`${nameOf(attempt)} was answered from the state ${decided.restsOn}, which was never stored`)
        }
      },
      looked: (look) => {
        if (simulation.truth.history(look).moments.some((moment) => moment.json === look.json)) return
        violate(`${look.kind} ${look.key} of ${look.organization} was shown as ${look.json}, which was never stored`)
      }
    }
  }
}

/**
 * Checks that the same command under the same idempotency key has the same reply and one effect, however often it was
 * asked.
 */
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"
import type { Operation } from "../Operations.ts"

export const sameKeySameReply: Checker = {
  name: "same key, same reply, one effect",
  make: (simulation, violate) => {
    const replies = new Map<Operation, string>()
    const effects = new Map<string, Decided>()
    const keyOf = (command: unknown): string | undefined =>
      simulation.workload.isRepeatable && typeof command === "object" && command !== null && "id" in command
        ? String(command.id)
        : undefined
    return {
      committed: ({ decisions, sequence }) => {
        for (const decided of decisions) {
          const key = keyOf(decided.command)
          // An alarm that has rung has forgotten its key.
          if (key === undefined || decided.actor.options.isOver !== undefined) continue
          const name = `${decided.organization}/${decided.kind}/${decided.key}/${key}`
          const before = effects.get(name)
          if (before !== undefined)
            return violate(`${key} has an effect in frame ${before.storedAt} and again in frame ${sequence}`)
          effects.set(name, decided)
        }
      },
      settled: (operation) => {
        const { answer } = operation
        if (answer?._tag !== "Replied" || keyOf(operation.command) === undefined) return
        const actor = simulation.workload.actors.find(({ kind }) => kind === operation.kind)!
        if (actor.options.isOver !== undefined) return
        const first = operation.repeats ?? operation
        const reply = JSON.stringify(answer.reply)
        const before = replies.get(first)
        if (before !== undefined && before !== reply) {
          violate(`#${operation.number} repeats #${first.number} and was answered ${reply} instead of ${before}`)
        }
        replies.set(first, reply)
      }
    }
  }
}

/**
 * Checks the engine's idempotency keys (docs/architecture.md, "Idempotency keys"): within a key's window one request is
 * decided, every repeat has its reply, and another request gets the conflict.
 */
import type { FrameRecord } from "../../../engine/frame.ts"
import { Once, onceGuard } from "../../../engine/once.ts"
import type { Checker } from "../Checker.ts"
import type { Attempt, Operation } from "../Operations.ts"

/** The logged form of an answer: digest, kind, when it was decided, until when it counts, reply. */
type Remembered = readonly [digest: string, kind: string, from: number, until: number, reply: unknown]

const show = (value: unknown): string => JSON.stringify(value) ?? "nothing"

const nameOf = (organization: string, key: string): string => `${organization}/${key}`

/** The expected record when an attempt is decided at a time with a reply, and its name. */
const expected = ({ engine, operation }: Attempt, reply: unknown, now: number) => {
  const guard = onceGuard(engine.actors.get(operation.kind)!, operation.key, operation.once!)
  if (!("remember" in guard)) throw guard
  return {
    name: nameOf(operation.organization, guard.key),
    fact: JSON.parse(guard.remember(reply, now).text) as Remembered
  }
}

/** Whether two commands were asked under one key and are not the same request. */
const isInConflict = (left: Operation, right: Operation): boolean =>
  left.organization === right.organization &&
  left.once?.key === right.once?.key &&
  (left.kind !== right.kind || left.key !== right.key || left.once?.digest !== right.once?.digest)

export const onceKept: Checker = {
  name: "idempotency keys are kept",
  make: (simulation, violate) => {
    const remembered = new Map<string, Array<Remembered>>()
    const attempts = new Map<unknown, Attempt>()
    const remember = ({ actor, fact }: FrameRecord, now: number, sequence: number) => {
      const name = nameOf(actor.organization, actor.key)
      const list = remembered.get(name) ?? []
      remembered.set(name, list)
      const before = list.at(-1)
      if (before !== undefined && now < before[3])
        return violate(`frame ${sequence}: ${name} was decided again, ${before[3] - now} ms before its window was over`)
      list.push(fact as Remembered)
    }
    return {
      asked: (attempt) => {
        if (attempt.operation.once !== undefined) attempts.set(attempt.command, attempt)
      },
      committed: ({ decisions, frame, sequence }) => {
        const facts = frame.records.filter(({ actor }) => actor.kind === Once.kind)
        for (const record of facts) remember(record, frame.now, sequence)
        const stored = new Set(facts.map(({ actor, fact }) => `${nameOf(actor.organization, actor.key)} ${show(fact)}`))
        for (const decided of decisions) {
          const attempt = decided.command === undefined ? undefined : attempts.get(decided.command)
          if (attempt === undefined) continue
          const { fact, name } = expected(attempt, decided.reply, frame.now)
          if (!stored.has(`${name} ${show(fact)}`))
            return violate(`frame ${sequence} has a decision upon #${attempt.operation.number}, and not its reply`)
        }
      },
      answered: (attempt) => {
        const { answer, decided, isReplay, operation } = attempt
        if (operation.once === undefined || answer === undefined || answer._tag === "Rejected") return
        const number = `#${operation.number}`
        if (answer._tag === "Failed") {
          if (answer.error !== "IdempotencyConflict") return
          simulation.marks.reach("once, conflict")
          if (![...attempts.values()].some((other) => isInConflict(operation, other.operation)))
            violate(`${number} was told of a conflict, but its key was used for nothing else`)
          return
        }
        const { fact, name } = expected(attempt, answer.reply, decided?.now ?? 0)
        const same = (remembered.get(name) ?? []).filter(
          ([digest, , , , reply]) => digest === fact[0] && show(reply) === show(fact[4])
        )
        if (same.length === 0) violate(`${number} was answered ${show(answer.reply)}, which is remembered nowhere`)
        if (!isReplay) return
        simulation.marks.reach("once, replay")
        if (decided?.storedAt !== undefined)
          violate(`${number} is said to be a repeat, and was decided in frame ${decided.storedAt}`)
      }
    }
  }
}

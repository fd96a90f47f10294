/**
 * What stands beside a command while it is decided: one of the engine's own actors of the same organization, which may know the answer
 * already, and which gets a fact in the same frame as the decision. Pure.
 */
import { type AnyActor, Decision } from "../Actor.ts"

/** An answer that needs no decision. */
export interface KnownAnswer {
  readonly accepted: boolean
  readonly value: unknown
}

export interface Guard {
  /** The engine's own actor, and which one of the organization. */
  readonly actor: AnyActor
  readonly key: string
  /** The answer that its state knows at a time, so that nothing is decided; undefined when the rule has to decide. May throw. */
  readonly recall: (state: unknown, now: number) => KnownAnswer | undefined
  /** What to keep of an accepted decision's reply, as the guard's own fact. Throws what the caller is told instead. */
  readonly factOf: (reply: unknown, now: number) => unknown
  /** The answer to the caller after an accepted decision. */
  readonly answerOf: (reply: unknown) => unknown
  /** The answer to the caller after a rejection, for a guard that keeps its fact then too. Left out, a rejection leaves nothing behind. */
  readonly answerOfRejection?: () => unknown
}

/** A decision together with the fact of its guard: both are stored, or neither is. */
export const guarded = (
  guard: Guard,
  decision: Decision<unknown, unknown, unknown>,
  now: number
): Decision<unknown, unknown, unknown> => {
  const { accepted, events, facts, messages, others, reply } = decision
  if (!accepted && guard.answerOfRejection === undefined) return decision
  const own = { actor: guard.actor, key: guard.key, facts: [guard.factOf(reply, now)] }
  if (!accepted) return new Decision(true, [], guard.answerOfRejection?.(), undefined, [own], [], [])
  return new Decision(true, facts, guard.answerOf(reply), undefined, [...others, own], events, messages)
}

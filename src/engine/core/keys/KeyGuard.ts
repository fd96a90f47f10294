/**
 * A guard accompanies a command while it is decided: it is one of the engine's own actors of the same organization,
 * which may know the answer already, and which gets a fact in the same frame as the decision. Pure.
 */
import { type AnyActor, Decision } from "../../Actor.ts"

/** An answer that needs no decision. */
export interface KnownAnswer {
  readonly accepted: boolean
  readonly value: unknown
}

export interface Guard {
  /** The engine's own actor, and which one of the organization. */
  readonly actor: AnyActor
  readonly key: string
  /**
   * The answer that its state knows at a time, so that nothing is decided; undefined when the rule has to decide. May
   * throw.
   */
  readonly recall: (state: unknown, now: number) => KnownAnswer | undefined
  /** The guard's own fact for an accepted decision's reply. Throws the error for the caller instead. */
  readonly factOf: (reply: unknown, now: number) => unknown
  /** The answer to the caller after an accepted decision. */
  readonly answerOf: (reply: unknown) => unknown
  /**
   * The answer to the caller after a rejection, for a guard that keeps its fact then too. Left out, a rejection leaves
   * nothing behind.
   */
  readonly answerOfRejection?: () => unknown
}

/** The remembered part of a decision under an idempotency key. */
export interface Remembrance {
  /** The fact of the key's actor as JSON; it is the whole state. */
  readonly text: string
  /** Its length in UTF-8. */
  readonly bytes: number
  /** When it stops counting, milliseconds since the Unix epoch. */
  readonly until: number
}

/** The idempotency key of a command. */
export interface KeyGuard {
  /** The key of the key's actor. */
  readonly key: string
  /**
   * The answer that the fact of its actor knows at a time (null for none), so that nothing is decided; undefined when
   * the rule has to decide.
   */
  readonly recall: (fact: unknown, now: number) => KnownAnswer | undefined
  /** The remembered part of an accepted decision's reply. Throws the error for the caller instead. */
  readonly remember: (reply: unknown, now: number) => Remembrance
  /** The answer to the caller after an accepted decision. */
  readonly answerOf: (reply: unknown) => unknown
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

/**
 * Decides over several limits as one decision of the engine (docs/limits.md, "All of these limits or none"). An actor
 * without a state reads the limits' own actors, which live in the same partition as everything of their organization,
 * and gives facts to all of them or to none. A single actor with several limits in its state was the other choice. It
 * could not be counted under different keys (a caller's rate, an organization's month), two long rolling windows would
 * not fit its 64 KiB, and each request would check and store the states of all limits whole. Here each limit is bounded
 * by itself, leaves memory by itself, and has the actor, facts and state of its own service.
 */
import { Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import { type CombinedDecision, NamedAsk, namedLimit, peekAll, takenAll } from "./allOrNoneRules.ts"
import { decisionFields } from "./windowActor.ts"
import { BucketDecisionSchema, DistinctDecisionSchema, WindowDecisionSchema } from "./windowActors.ts"

export interface AllOrNoneCommand {
  readonly _tag: "Take" | "Peek"
  readonly asks: ReadonlyArray<NamedAsk>
}

const { allowed, outcome, resetsAt, retryAfterSeconds } = decisionFields

/** Stored in no log: the facts are those of the limits. */
export const AllOrNoneActor: Actor.Actor<AllOrNoneCommand, null, null, CombinedDecision, never> = Actor.makeStateless<
  AllOrNoneCommand,
  null,
  CombinedDecision,
  never
>({
  kind: "allOrNone",
  command: Schema.Struct({ _tag: Schema.Literals(["Take", "Peek"]), asks: Schema.Array(NamedAsk) }),
  reply: Schema.Struct({
    allowed,
    outcome,
    refused: Schema.Array(Schema.String),
    resetsAt,
    retryAfterSeconds,
    // The last one takes every answer, and would leave out fields of the others.
    decisions: Schema.Array(Schema.Union([DistinctDecisionSchema, BucketDecisionSchema, WindowDecisionSchema]))
  }),
  touches: ({ asks }) =>
    asks.map((ask) => {
      const { actor, key } = namedLimit(ask)
      return actor.at(key)
    }),
  decide: ({ _tag, asks }, { now, read }) => {
    const limits = asks.map(namedLimit)
    const states = new Map(limits.map((limit) => [limit, read(limit.actor, limit.key)] as const))
    const stateOf = (limit: (typeof limits)[number]) => states.get(limit)
    const would = peekAll(limits, stateOf, now)
    if (_tag === "Peek" || !would.allowed) return Actor.decided({ reply: would })
    return Actor.decided({
      others: limits.map(({ actor, key, request }) => actor.facts(key, [{ at: now, request }])),
      reply: takenAll(limits, stateOf, would, now)
    })
  }
})

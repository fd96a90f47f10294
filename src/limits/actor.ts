/**
 * The request rate as an actor of the engine's limiter lane (architecture, rule 15): one per organization, decided on arrival,
 * without facts of its own. Its state lives in memory only; what an organization is entitled to reaches it as facts, and the
 * count survives them. A restart or a move starts the window anew, as decisions say. Pure; needs no engine.
 */
import { Schema } from "effect"
import { type PlatformPlan, platformPlans, requestsPerMinute } from "./plans.ts"
import * as Rules from "./rules.ts"

/** Units that a request costs. */
export const Cost = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Rules.maximumLimit }))

/** Requests per window, or `"unlimited"`. */
export const Limit = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Rules.maximumLimit })),
  Schema.Literal("unlimited")
])

const Receipt = Schema.Struct({ allowed: Schema.Boolean, cost: Cost, reset: Schema.Int })

/** What can be asked. `limit` stands for one call in place of the organization's own. */
export const LimiterCommand = Schema.Union([
  Schema.TaggedStruct("Take", { cost: Cost, limit: Schema.optionalKey(Limit) }),
  Schema.TaggedStruct("Peek", { cost: Cost, limit: Schema.optionalKey(Limit) }),
  Schema.TaggedStruct("Refund", { receipt: Receipt })
])
export type LimiterCommand = typeof LimiterCommand.Type

/** What the log tells: the organization's plan, and its custom limit (null: none, the plan's holds again). */
export const LimiterFact = Schema.Union([
  Schema.TaggedStruct("PlanSet", { plan: Schema.Literals(platformPlans) }),
  Schema.TaggedStruct("CustomLimitSet", { requestsPerMinute: Schema.NullOr(Limit) })
])
export type LimiterFact = typeof LimiterFact.Type

const decisionFields = { cost: Cost, reset: Schema.Int, retryAfterSeconds: Schema.Int }

/** The answer to `Take` and `Peek` as it travels to another machine. */
export const Decision = Schema.Union([
  Schema.Struct({
    allowed: Schema.Boolean,
    outcome: Schema.Literals(["allowed", "limited", "cost_above_limit", "full"]),
    limit: Schema.Int,
    remaining: Schema.Int,
    ...decisionFields
  }),
  Schema.Struct({
    allowed: Schema.Literal(true),
    outcome: Schema.Literal("allowed"),
    limit: Schema.Literal("unlimited"),
    remaining: Schema.Literal("unlimited"),
    ...decisionFields
  })
])

/** Every answer: a decision, or the units that a refund gave back. */
export const LimiterReply = Schema.Union([
  Schema.TaggedStruct("Decided", { decision: Decision }),
  Schema.TaggedStruct("Refunded", { refunded: Schema.Int })
])
export type LimiterReply = typeof LimiterReply.Type

export interface LimiterState {
  readonly plan: PlatformPlan
  readonly customLimit: Rules.Limit | null
  readonly window: Rules.WindowState
}

/** An organization of which nothing is known yet: the free plan, nothing used. */
export const initial = (): LimiterState => ({ plan: "free", customLimit: null, window: Rules.initial })

/** The limit in force. */
export const limitOf = (state: LimiterState): Rules.Limit => requestsPerMinute(state.plan, state.customLimit)

/**
 * Answers `command` at `now` (Unix milliseconds). The state that comes back is the actor's next one; nothing is logged.
 * @throws InvalidArgument for a command that its schema would have refused.
 */
export const decide = (
  state: LimiterState,
  command: LimiterCommand,
  now: number
): { readonly state: LimiterState; readonly reply: LimiterReply } => {
  switch (command._tag) {
    case "Take": {
      const taken = Rules.take(state.window, command.limit ?? limitOf(state), command.cost, now)
      return { state: withWindow(state, taken.state), reply: { _tag: "Decided", decision: taken.decision } }
    }
    case "Peek": {
      const decision = Rules.peek(state.window, command.limit ?? limitOf(state), command.cost, now)
      return { state, reply: { _tag: "Decided", decision } }
    }
    case "Refund": {
      const given = Rules.refund(state.window, command.receipt, now)
      return { state: withWindow(state, given.state), reply: { _tag: "Refunded", refunded: given.refunded } }
    }
  }
}

/** Applies what the log tells. The count stays, the new limit holds from the next decision. */
export const evolve = (state: LimiterState, fact: LimiterFact): LimiterState => {
  switch (fact._tag) {
    case "PlanSet":
      return { ...state, plan: fact.plan }
    case "CustomLimitSet":
      return { ...state, customLimit: fact.requestsPerMinute }
  }
}

/** Unix milliseconds before which the actor may not be evicted: the end of a window in which something was counted, else 0. */
export const heldUntilMillis = (state: LimiterState): number => (state.window.used === 0 ? 0 : state.window.endMillis)

const withWindow = (state: LimiterState, window: Rules.WindowState): LimiterState =>
  window === state.window ? state : { plan: state.plan, customLimit: state.customLimit, window }

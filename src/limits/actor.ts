/**
 * Implements the request rate as an actor of the engine's limiter lane (docs/architecture.md, rule 15): decided on
 * arrival, without facts, its state in memory only. Plan and custom limit are facts of the organization, which the lane
 * reads and hands in with each command. A restart or a move starts a new window (docs/platform.md, 3.1). `initial`,
 * `decide` and `keepUntil` are the functions that a lane needs. Needs no engine.
 */
import { Schema } from "effect"
import { InvalidArgument } from "./errors.ts"
import * as Rules from "./rules.ts"

/** Units that a request costs. See {@link LimiterActor.decide}. */
export const Cost = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Rules.maximumLimit }))

/** Requests per window, or `"unlimited"`. See {@link LimiterActor.decide}. */
export const Limit = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Rules.maximumLimit })),
  Schema.Literal("unlimited")
])

const Receipt = Schema.Struct({ allowed: Schema.Boolean, cost: Cost, reset: Schema.Int })

/**
 * A command to the limiter. `limit` replaces the organization's own limit for one call. See
 * {@link LimiterActor.decide}.
 */
export const LimiterCommand = Schema.Union([
  Schema.TaggedStruct("Take", { cost: Cost, limit: Schema.optionalKey(Limit) }),
  Schema.TaggedStruct("Peek", { cost: Cost, limit: Schema.optionalKey(Limit) }),
  Schema.TaggedStruct("Refund", { receipt: Receipt })
])
export type LimiterCommand = typeof LimiterCommand.Type

const decisionFields = { cost: Cost, reset: Schema.Int, retryAfterSeconds: Schema.Int }

/** The answer to `Take` and `Peek` between machines. See {@link LimiterActor.decide}. */
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

/**
 * Every answer: a decision, the units that a refund returned, or the fault of the command. See
 * {@link LimiterActor.decide}.
 */
export const LimiterReply = Schema.Union([
  Schema.TaggedStruct("Decided", { decision: Decision }),
  Schema.TaggedStruct("Refunded", { refunded: Schema.Int }),
  InvalidArgument
])
export type LimiterReply = typeof LimiterReply.Type

/** One actor's memory, which `decide` replaces. See {@link LimiterActor.initial}. */
export interface LimiterState {
  window: Rules.WindowState
}

/**
 * The state of a new actor: nothing is used.
 *
 * @example
 * ```ts
 * import { LimiterActor } from "sluice/limits"
 *
 * const state = LimiterActor.initial()
 * console.log(LimiterActor.decide(state, { _tag: "Take", cost: 1 }, 1, 0)._tag, state.window.used) // Decided 1
 * ```
 */
export const initial = (): LimiterState => ({ window: Rules.initial })

/**
 * Answers `command` at `now` (Unix milliseconds) and counts in `state`. `limit` is the one in force now, from the
 * organization's facts (`requestsPerMinute`): the count survives a change of it. Never throws; a command that its
 * schema would have refused is answered with `InvalidArgument` and counts nothing.
 *
 * @example
 * ```ts
 * import { LimiterActor } from "sluice/limits"
 *
 * const state = LimiterActor.initial()
 * const take = () => LimiterActor.decide(state, { _tag: "Take", cost: 1 }, 2, 1_000)
 * const answers = [take(), take(), take()]
 * console.log(answers.map((reply) => reply._tag === "Decided" && reply.decision.allowed)) // [ true, true, false ]
 * ```
 */
export const decide = (state: LimiterState, command: LimiterCommand, limit: Rules.Limit, now: number): LimiterReply => {
  try {
    switch (command._tag) {
      case "Take": {
        const taken = Rules.take(state.window, command.limit ?? limit, command.cost, now)
        state.window = taken.state
        return { _tag: "Decided", decision: taken.decision }
      }
      case "Peek":
        return { _tag: "Decided", decision: Rules.peek(state.window, command.limit ?? limit, command.cost, now) }
      case "Refund": {
        const given = Rules.refund(state.window, command.receipt, now)
        state.window = given.state
        return { _tag: "Refunded", refunded: given.refunded }
      }
    }
  } catch (error) {
    if (error instanceof InvalidArgument) return error
    throw error
  }
}

/**
 * Unix milliseconds before which the actor may not be dropped: the end of a window in which something is counted, else
 * 0.
 *
 * @example
 * ```ts
 * import { LimiterActor } from "sluice/limits"
 *
 * const state = LimiterActor.initial()
 * console.log(LimiterActor.keepUntil(state)) // 0
 * LimiterActor.decide(state, { _tag: "Take", cost: 1 }, 2, 1_000)
 * console.log(LimiterActor.keepUntil(state)) // 60000
 * ```
 */
export const keepUntil = (state: LimiterState): number => (state.window.used === 0 ? 0 : state.window.endMillis)

/**
 * Implements the shape that the services of the rolling, distinct and monthly rules share: `take` counts a request that
 * passes, `peek` counts nothing, both for a key, by the Clock. Needs only the Clock.
 */

import { Clock, type Effect } from "effect"
import { attempt } from "./attempt.ts"
import { InvalidArgument, type LimiterUnreachable } from "./errors.ts"
import { KeyedStates } from "./KeyedStates.ts"
import { maximumKeyLength } from "./memory.ts"
import { maximumLimit } from "./rules.ts"
import type { WindowDecision } from "./windowDecision.ts"

/** The rule of a window: each request comes with the cap of its time. */
export interface WindowRule<State, Request, Decision> {
  readonly initial: State
  readonly peek: (state: State, request: Request, now: number) => Decision
  readonly record: (state: State, request: Request, at: number) => State
  /** Unix milliseconds from which on a state equals a new one, under the cap of the request. */
  readonly endOf: (state: State, request: Request) => number
  /** The answer to a request that passes and is counted, if it is more than `counted` makes of the answer of `peek`. */
  readonly taken?: (would: Decision, after: State, request: Request) => Decision
}

/** The answer to a request that was counted. The count stops above every limit, as that of `MonthlyQuotaRule` does. */
const counted = <Decision extends WindowDecision>(decision: Decision): Decision => ({
  ...decision,
  used: Math.min(decision.used + decision.cost, maximumLimit + 1)
})

/** The answer of `take`, for a request that `peek` lets pass as `would` says, and that leads to the state `after`. */
export const takenOf = <State, Request, Decision extends WindowDecision>(
  { taken }: Pick<WindowRule<State, Request, Decision>, "taken">,
  would: Decision,
  request: Request,
  after: () => State
): Decision => (taken === undefined ? counted(would) : taken(would, after(), request))

/** The refusal for a key without room, instead of a decision that would pass. It never says that something is left. */
export const fullOf = <Decision extends WindowDecision>(decision: Decision, until: number, now: number): Decision => ({
  ...decision,
  allowed: false,
  outcome: "full",
  ...("remaining" in decision ? { remaining: 0 } : {}),
  resetsAt: until,
  retryAfterSeconds: Math.ceil((until - now) / 1000)
})

export interface KeyedWindow<Asked, Decision> {
  readonly take: (key: string, asked: Asked) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
  readonly peek: (key: string, asked: Asked) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
}

/** Options of every window in this process. See {@link RollingWindow}. */
export interface KeyedWindowOptions {
  /** Most keys tracked concurrently. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
}

/** @throws InvalidArgument unless the key has 1 to `maximumKeyLength` characters. */
const assertKeyLength = (key: string): void => {
  if (key.length === 0 || key.length > maximumKeyLength) {
    throw new InvalidArgument({
      argument: "key",
      message: `key must have 1 to ${maximumKeyLength} characters, got ${key.length}`
    })
  }
}

/**
 * @param requestOf completes a request with the cap of its key
 * @throws InvalidArgument if `maxKeys` is outside its range.
 */
export const makeKeyedWindow = <State, Asked, Request, Decision extends WindowDecision>(
  { maxKeys }: KeyedWindowOptions,
  rule: WindowRule<State, Request, Decision>,
  requestOf: (key: string, asked: Asked) => Request
): KeyedWindow<Asked, Decision> => {
  const states = new KeyedStates<State>(maxKeys)
  const decide = (key: string, asked: Asked, clock: Clock.Clock, counts: boolean): Decision => {
    const now = states.time(clock.currentTimeMillisUnsafe())
    assertKeyLength(key)
    const known = states.get(key)
    const state = known ?? rule.initial
    const request = requestOf(key, asked)
    const would = rule.peek(state, request, now)
    if (!would.allowed) return would
    const until = known === undefined ? states.fullUntil(now) : undefined
    if (until !== undefined && would.limit !== "unlimited") return fullOf(would, until, now)
    if (!counts || until !== undefined) return would
    const after = rule.record(state, request, now)
    states.set(key, after, rule.endOf(after, request))
    return takenOf(rule, would, request, () => after)
  }
  return {
    take: (key, asked) => Clock.clockWith((clock) => attempt(() => decide(key, asked, clock, true))),
    peek: (key, asked) => Clock.clockWith((clock) => attempt(() => decide(key, asked, clock, false)))
  }
}

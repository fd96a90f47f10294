/**
 * The services of the rolling, distinct and monthly rules have one shape: `take` counts what passes, `peek` counts nothing, both for a key, by the
 * Clock. Needs the Clock alone.
 */
import { Clock, type Effect } from "effect"
import { attempt } from "./attempt.ts"
import type { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import { KeyedStates } from "./KeyedStates.ts"
import type { WindowDecision } from "./windowDecision.ts"

interface KeyedRule<State, Request, Decision> {
  readonly initial: State
  readonly take: (
    state: State,
    key: string,
    request: Request,
    now: number
  ) => { readonly state: State; readonly decision: Decision }
  readonly peek: (state: State, key: string, request: Request, now: number) => Decision
  /** Unix milliseconds from which on a state equals a new one. */
  readonly endOf: (state: State) => number
}

export interface KeyedWindow<Request, Decision> {
  readonly take: (key: string, request: Request) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
  readonly peek: (key: string, request: Request) => Effect.Effect<Decision, InvalidArgument | LimiterUnreachable>
}

/** @throws InvalidArgument if `maxKeys` is outside its range. */
export const makeKeyedWindow = <State, Request, Decision extends WindowDecision>(
  maxKeys: number | undefined,
  rule: KeyedRule<State, Request, Decision>
): KeyedWindow<Request, Decision> => {
  const states = new KeyedStates<State>(maxKeys, rule.endOf)
  /** What would pass, for a key that there is no room for. */
  const full = (decision: Decision, until: number, now: number): Decision => ({
    ...decision,
    allowed: false,
    outcome: "full",
    resetsAt: until,
    retryAfterSeconds: Math.ceil((until - now) / 1000)
  })
  const decide = (key: string, request: Request, clock: Clock.Clock, counts: boolean): Decision => {
    const now = states.time(clock.currentTimeMillisUnsafe())
    const known = states.get(key)
    const state = known ?? rule.initial
    const would = rule.peek(state, key, request, now)
    if (!would.allowed) return would
    const until = known === undefined ? states.fullUntil(now) : undefined
    if (until !== undefined && would.limit !== "unlimited") return full(would, until, now)
    if (!counts || until !== undefined) return would
    const taken = rule.take(state, key, request, now)
    states.set(key, taken.state)
    return taken.decision
  }
  return {
    take: (key, request) => Clock.clockWith((clock) => attempt(() => decide(key, request, clock, true))),
    peek: (key, request) => Clock.clockWith((clock) => attempt(() => decide(key, request, clock, false)))
  }
}

/**
 * Implements the shape that the services of the rolling, distinct and monthly rules share: `take` counts a request that
 * passes, `peek` counts nothing, both for a key, by the Clock. Needs only the Clock.
 */

import { Clock, type Effect } from "effect"
import { attempt } from "./attempt.ts"
import { InvalidArgument, type LimiterUnreachable } from "./errors.ts"
import { defaultMaxKeys, maximumKeyLength, maximumMaxKeys } from "./memory.ts"
import { assertInteger, type WindowDecision } from "./windowDecision.ts"

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
  /** The refusal for a key without room, instead of a decision that would pass. */
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

export class KeyedStates<State> {
  private readonly maxKeys: number
  private readonly endOf: (state: State) => number
  private readonly states = new Map<string, State>()
  private latest = Number.NEGATIVE_INFINITY

  /**
   * @param endOf Unix milliseconds from which on a state equals a new one; it must grow with each `set`, for every key alike
   * @throws InvalidArgument if `maxKeys` is outside its range.
   */
  constructor(maxKeys: number | undefined, endOf: (state: State) => number) {
    this.maxKeys = maxKeys ?? defaultMaxKeys
    assertInteger("maxKeys", this.maxKeys, 1, maximumMaxKeys)
    this.endOf = endOf
  }

  get size(): number {
    return this.states.size
  }

  /** The clock's time, but never earlier than one that was seen: the entries of a dropped key must not count again. */
  time(now: number): number {
    if (now > this.latest) this.latest = now
    return this.latest
  }

  /** @throws InvalidArgument unless the key has 1 to `maximumKeyLength` characters. */
  get(key: string): State | undefined {
    if (key.length === 0 || key.length > maximumKeyLength) {
      throw new InvalidArgument({
        argument: "key",
        message: `key must have 1 to ${maximumKeyLength} characters, got ${key.length}`
      })
    }
    return this.states.get(key)
  }

  /** Undefined if there is room for a new key, else Unix milliseconds at which the next key is dropped. */
  fullUntil(now: number): number | undefined {
    for (const [key, state] of this.states) {
      if (this.endOf(state) > now) return this.states.size < this.maxKeys ? undefined : this.endOf(state)
      this.states.delete(key)
    }
    return undefined
  }

  /** Keeps a state. The keys are in the order of their latest `set`, so that those that end first are in front. */
  set(key: string, state: State): void {
    this.states.delete(key)
    this.states.set(key, state)
  }
}

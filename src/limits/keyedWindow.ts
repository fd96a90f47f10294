/**
 * Implements the shape that the services of the rolling, distinct and monthly rules share: `take` counts a request that
 * passes, `peek` counts nothing, both for a key, by the Clock. Needs only the Clock.
 */

import { Clock, type Effect } from "effect"
import { attempt } from "./attempt.ts"
import { InvalidArgument, type LimiterUnreachable } from "./errors.ts"
import { defaultMaxKeys, maximumKeyLength, maximumMaxKeys } from "./memory.ts"
import { maximumLimit } from "./rules.ts"
import { assertInteger, type WindowDecision } from "./windowDecision.ts"

/** The rule of a window: each request comes with the cap of its time. */
export interface WindowRule<State, Request, Decision> {
  readonly initial: State
  readonly peek: (state: State, request: Request, now: number) => Decision
  readonly record: (state: State, request: Request, at: number) => State
}

/** The answer to a request that was counted. The count stops above every limit, as that of `MonthlyQuotaRule` does. */
export const counted = <Decision extends WindowDecision>(decision: Decision): Decision => ({
  ...decision,
  used: Math.min(decision.used + decision.cost, maximumLimit + 1)
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

/**
 * @param requestOf completes a request with the cap of its key
 * @param endOf Unix milliseconds from which on a state equals a new one
 * @throws InvalidArgument if `maxKeys` is outside its range.
 */
export const makeKeyedWindow = <State, Asked, Request, Decision extends WindowDecision>(
  { maxKeys }: KeyedWindowOptions,
  rule: WindowRule<State, Request, Decision>,
  requestOf: (key: string, asked: Asked) => Request,
  endOf: (state: State) => number
): KeyedWindow<Asked, Decision> => {
  const states = new KeyedStates<State>(maxKeys, endOf)
  /** The refusal for a key without room, instead of a decision that would pass. */
  const full = (decision: Decision, until: number, now: number): Decision => ({
    ...decision,
    allowed: false,
    outcome: "full",
    resetsAt: until,
    retryAfterSeconds: Math.ceil((until - now) / 1000)
  })
  const decide = (key: string, asked: Asked, clock: Clock.Clock, counts: boolean): Decision => {
    const now = states.time(clock.currentTimeMillisUnsafe())
    const known = states.get(key)
    const state = known ?? rule.initial
    const request = requestOf(key, asked)
    const would = rule.peek(state, request, now)
    if (!would.allowed) return would
    const until = known === undefined ? states.fullUntil(now) : undefined
    if (until !== undefined && would.limit !== "unlimited") return full(would, until, now)
    if (!counts || until !== undefined) return would
    states.set(key, rule.record(state, request, now))
    return counted(would)
  }
  return {
    take: (key, asked) => Clock.clockWith((clock) => attempt(() => decide(key, asked, clock, true))),
    peek: (key, asked) => Clock.clockWith((clock) => attempt(() => decide(key, asked, clock, false)))
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

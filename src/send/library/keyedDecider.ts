/**
 * Runs a decider for many keys in memory: decides by the Clock, applies the facts, and answers. Time never goes back,
 * and no key gives way to another one, because what was refused to a key must stay refused. Needs only the Clock.
 */
import { Clock, Effect } from "effect"
import { attempt } from "../../limits/attempt.ts"
import { InvalidArgument } from "../../limits/errors.ts"
import { defaultMaxKeys, maximumKeyLength, maximumMaxKeys } from "../../limits/memory.ts"
import { assertInteger } from "../../limits/windowDecision.ts"
import { MemoryFull, type Unanswered } from "../errors.ts"
import type { Decider } from "../rules/decider.ts"

/** The bound of accounts or senders in memory. See {@link Holds}. */
export interface MemoryOptions {
  /** Accounts or senders that are kept, at most `maximumMaxKeys`. Default `defaultMaxKeys`. */
  readonly maxKeys?: number | undefined
}

export interface Answered<Fact, State, Reply> {
  readonly facts: ReadonlyArray<Fact>
  readonly state: State
  readonly reply: Reply
}

export interface KeyedDecider<Command, Fact, State, Reply, Rejection> {
  /** Fails with what the rule rejects with. */
  readonly ask: (key: string, command: Command) => Effect.Effect<Answered<Fact, State, Reply>, Rejection | Unanswered>
  readonly state: (key: string) => Effect.Effect<State, Unanswered>
}

/** @throws InvalidArgument if `maxKeys` is outside its range. */
export const makeKeyedDecider = <Command, Fact, State, Reply, Rejection>(
  decider: Decider<Command, Fact, State, Reply, Rejection>,
  options: MemoryOptions = {}
): KeyedDecider<Command, Fact, State, Reply, Rejection> => {
  const maxKeys = options.maxKeys ?? defaultMaxKeys
  assertInteger("maxKeys", maxKeys, 1, maximumMaxKeys)
  const states = new Map<string, State>()
  let latest = Number.NEGATIVE_INFINITY
  const state = (key: string): State => states.get(key) ?? decider.initialState
  const decide = (key: string, command: Command, clockNow: number) => {
    if (key.length === 0 || key.length > maximumKeyLength) {
      throw new InvalidArgument({
        argument: "key",
        message: `key must have 1 to ${maximumKeyLength} characters, got ${key.length}`
      })
    }
    latest = Math.max(latest, clockNow)
    return decider.decide(state(key), command, latest)
  }
  return {
    state: (key) => Effect.sync(() => state(key)),
    ask: (key, command) =>
      Clock.clockWith((clock) =>
        Effect.flatMap(
          attempt(() => decide(key, command, clock.currentTimeMillisUnsafe())),
          (decision): Effect.Effect<Answered<Fact, State, Reply>, Rejection | MemoryFull> => {
            // A decision that is not accepted has a rejection, an accepted one has the reply that its type says.
            if (!decision.accepted) return Effect.fail(decision.rejection as Rejection)
            if (decision.facts.length > 0 && !states.has(key) && states.size >= maxKeys)
              return Effect.fail(new MemoryFull({ maxKeys }))
            const after = decision.facts.reduce(decider.evolve, state(key))
            if (decision.facts.length > 0) states.set(key, after)
            return Effect.succeed({ facts: decision.facts, state: after, reply: decision.reply as Reply })
          }
        )
      )
  }
}

/** @throws InvalidArgument unless `value` is an integer from 1 on. */
export const assertCount = (argument: string, value: number): void =>
  assertInteger(argument, value, 1, Number.MAX_SAFE_INTEGER)

/** Asks, once the argument is good. */
export const checked = <A, E>(check: () => void, ask: Effect.Effect<A, E>): Effect.Effect<A, E | InvalidArgument> =>
  Effect.andThen(
    Effect.suspend(() => attempt(check)),
    ask
  )

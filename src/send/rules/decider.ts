/**
 * Defines the form of a rule: an initial state, `decide` from a command to facts, and `evolve` from a fact to the next
 * state. Pure: the time is an argument. With schemas it becomes an actor of the engine.
 */
import type { Decision } from "../../engine/Actor.ts"

export { decided, rejected } from "../../engine/Actor.ts"

/** A rule alone: pure functions over a plain state, for callers with a store of their own. See {@link holds}. */
export interface Decider<Command, Fact, State, Reply, Rejection> {
  readonly initialState: State
  /** Decides a command at `now` (Unix milliseconds); a rejection has no facts. */
  readonly decide: (state: State, command: Command, now: number) => Decision<Fact, Reply, Rejection>
  readonly evolve: (state: State, fact: Fact) => State
}

/**
 * A transition that comes with time alone, at a whole UTC hour unless something happens before. See
 * {@link nextTransition}.
 */
export interface Transition<Fact> {
  readonly at: number
  /** Its fact, which takes longer to compute than its time. */
  readonly fact: () => Fact
}

/**
 * The facts of the transitions that are due at `now`, in order, and the state after them. Every command takes them
 * first, so that a check that comes late still stands before what happened after its hour.
 */
export const takeDue = <State, Fact>(
  state: State,
  now: number,
  next: (state: State) => Transition<Fact> | undefined,
  evolve: (state: State, fact: Fact) => State
): { readonly state: State; readonly facts: ReadonlyArray<Fact> } => {
  const facts: Array<Fact> = []
  let current = state
  for (let due = next(current); due !== undefined && due.at <= now; due = next(current)) {
    const fact = due.fact()
    facts.push(fact)
    current = evolve(current, fact)
  }
  return { state: current, facts }
}

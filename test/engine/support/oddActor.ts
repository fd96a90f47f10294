/** An actor whose rules a test lets break, one at a time. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

export interface State {
  readonly value: number
  readonly at: number | null
}

export type Options = Actor.ActorOptions<string, State, State, number, never>

export const State = Schema.Struct({ value: Schema.Number.check(Schema.isFinite()), at: Schema.NullOr(Schema.Number) })

/** A well-behaved actor, except for what is given: `value` counts, `later` sets a timer. */
export const odd = (options: Partial<Options>) =>
  Actor.make<string, State, State, number>({
    kind: "odd",
    command: Schema.String,
    fact: State,
    state: State,
    initial: () => ({ value: 0, at: null }),
    decide: (state, command, context) =>
      Actor.decided({
        facts: [{ value: state.value + 1, at: command === "later" ? context.now + 1_000 : null }],
        reply: state.value + 1
      }),
    evolve: (_, fact) => ({ ...fact }),
    ...options
  })

/** Behaves badly on this command, or on the fact that it leads to. */
export const bad = "bad"
export const badValue = 13

export const boom: () => never = () => {
  throw new Error("boom")
}

export const inExile = { organization: "odd" }

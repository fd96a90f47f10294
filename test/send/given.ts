/** Specifications of deciders: `given(rule, facts).when(command, now).then(…)`. Facts and states go through JSON, as through a log and a checkpoint. */
import { expect } from "@effect/vitest"
import type { Decider } from "../../src/send/index.ts"

const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

export const given = <Command, Fact, State, Reply, Rejection>(
  rule: Decider<Command, Fact, State, Reply, Rejection>,
  facts: ReadonlyArray<Fact> = []
) => {
  const state = facts.reduce<State>((before, fact) => stored(rule.evolve(before, stored(fact))), rule.initialState)
  return {
    state,
    when: (command: Command, now: number) => {
      const before = JSON.stringify(state)
      const decision = rule.decide(state, command, now)
      expect(JSON.stringify(state)).toBe(before)
      return {
        decision,
        state: decision.facts.reduce<State>((past, fact) => stored(rule.evolve(past, stored(fact))), state),
        // biome-ignore lint/suspicious/noThenProperty: the word of the specification; nobody awaits it
        then: (wanted: { facts?: ReadonlyArray<Fact>; reply?: unknown; rejection?: unknown }) => {
          expect(decision.accepted).toBe(!("rejection" in wanted))
          if ("rejection" in wanted) expect(decision.facts).toEqual([])
          if (wanted.facts !== undefined) expect(decision.facts).toEqual(wanted.facts)
          if ("reply" in wanted) expect(decision.reply).toEqual(wanted.reply)
          if ("rejection" in wanted) expect(decision.rejection).toEqual(wanted.rejection)
        }
      }
    }
  }
}

/** A rule that goes on living: asks, applies the facts, and answers. */
export const living = <Command, Fact, State, Reply, Rejection>(
  rule: Decider<Command, Fact, State, Reply, Rejection>
) => {
  let state = rule.initialState
  return {
    state: () => state,
    ask: (command: Command, now: number) => {
      const decision = rule.decide(state, command, now)
      state = decision.facts.reduce<State>((before, fact) => stored(rule.evolve(before, stored(fact))), state)
      return decision
    }
  }
}

/**
 * Defines the engine's own actors, which remember data of an organization beside the facts of its rules, in the same
 * frames and rows. Their kinds have a dot, which a user's kind cannot have. Reactors do not see their facts. Needs no
 * service.
 */
import { Schema } from "effect"
import * as Actor from "./Actor.ts"

/** Traits that only the engine's own actors have. See {@link Actor.make}. */
export interface InternalTraits {
  /** When the state stops counting, milliseconds since the Unix epoch; its row is removed then. */
  readonly expiresAt?: (state: unknown) => number | undefined
  /** For the actors of idempotency keys: whether a fact can be remembered as it is (`KeyMemory.ts`). */
  readonly isRemembered?: (key: string, fact: unknown) => boolean
}

export interface InternalOptions<Fact, State> {
  /** The part of the kind after `sluice.`. Stored in the log: never rename it. */
  readonly name: string
  readonly fact: Actor.JsonCodec<Fact>
  readonly state: Actor.JsonCodec<State>
  readonly initial: State
  readonly evolve: (state: State, fact: Fact) => State
  readonly leavesMemory?: "after its checkpoint"
  readonly traits: InternalTraits
}

/** Whether a kind is the engine's own. */
export const isInternalKind = (kind: string): boolean => kind.includes(".")

/**
 * Defines one. Facts and states must be their own JSON form; they are made by the engine, so they are not checked
 * before they are written.
 */
export const makeInternal = <Fact, State>(options: InternalOptions<Fact, State>): Actor.AnyActor => {
  const { evolve, fact, initial, leavesMemory = "when idle", name, state, traits } = options
  const kind = `sluice.${name}`
  const made = Actor.make<null, Fact, State>({
    kind: name,
    command: Schema.Null,
    fact,
    state,
    initial: () => initial,
    decide: () => {
      throw new Error(`${kind} takes no commands`)
    },
    evolve,
    leavesMemory
  })
  const form: Actor.WrittenForm<Fact, State> = {
    version: made.version,
    encodeFact: (value) => value,
    encodeState: (value) => value
  }
  return {
    ...made,
    ...form,
    kind,
    options: { ...made.options, kind },
    written: () => form,
    commandProblem: () => undefined,
    stateProblem: () => undefined,
    internal: traits
  }
}

/**
 * Runs a decider as an actor of the engine, with the interface that it has in memory, so that its decisions survive the
 * process. Needs `Engine`, made with the actor.
 */
import { Effect, Schema } from "effect"
import * as Actor from "../../engine/Actor.ts"
import { Engine } from "../../engine/Engine.ts"
import { AskError } from "../../engine/errors.ts"
import { attempt } from "../../limits/attempt.ts"
import { type KeyedLayers, keyedLayers } from "../../limits/keyedLayers.ts"
import { assertKey, ownOrganization, type WindowEngineOptions } from "../../limits/windowActor.ts"
import { DecisionUnavailable } from "../errors.ts"
import type { Decider } from "../rules/decider.ts"
import { type Answered, type KeyedDecider, type MemoryOptions, makeKeyedDecider } from "./keyedDecider.ts"

export type { WindowEngineOptions as EngineOptions }

const isAskError = Schema.is(AskError)

/** An engine's error as that of these services. */
const unavailable = (error: AskError): DecisionUnavailable =>
  new DecisionUnavailable({ message: error.message, mayBeDecided: error._tag === "OutcomeUnknown" })

/** An ask whose errors of the engine are those of these services. */
export const told = <A, E>(asked: Effect.Effect<A, E | AskError>): Effect.Effect<A, E | DecisionUnavailable> =>
  Effect.mapError(asked, (error) => (isAskError(error) ? unavailable(error) : error))

/** A decider as an actor, whose reply is what the services want to know. */
export type DeciderActor<Command, Fact, State, Reply, Rejection> = Actor.Actor<
  Command,
  Fact,
  State,
  Answered<Fact, State, Reply>,
  Rejection
>

export interface DeciderSchemas<Command, Fact, State, Reply, Rejection> {
  /** Stored in the log: never rename it. */
  readonly kind: string
  readonly command: Actor.JsonCodec<Command>
  readonly fact: Actor.JsonCodec<Fact>
  readonly state: Actor.JsonCodec<State>
  readonly reply: Actor.JsonCodec<Reply>
  readonly rejection: Actor.JsonCodec<Rejection>
}

export const deciderActor = <Command, Fact, State, Reply, Rejection>(
  decider: Decider<Command, Fact, State, Reply, Rejection>,
  { fact, reply, state, ...schemas }: DeciderSchemas<Command, Fact, State, Reply, Rejection>
): DeciderActor<Command, Fact, State, Reply, Rejection> =>
  Actor.make<Command, Fact, State, Answered<Fact, State, Reply>, Rejection>({
    ...schemas,
    fact,
    state,
    reply: Schema.Struct({ facts: Schema.Array(fact), state, reply }),
    initial: () => decider.initialState,
    evolve: decider.evolve,
    decide: (before, command, { now }) => {
      const decision = decider.decide(before, command, now)
      // A decision that is not accepted has a rejection, an accepted one has the reply that its type says.
      if (!decision.accepted) return Actor.rejected(decision.rejection as Rejection)
      const after = decision.facts.reduce(decider.evolve, before)
      return Actor.decided({
        facts: decision.facts,
        reply: { facts: decision.facts, state: after, reply: decision.reply as Reply }
      })
    }
  })

/** The interface of `makeKeyedDecider` over an engine. */
const makeEngineDecider = <Command, Fact, State, Reply, Rejection>(
  actor: DeciderActor<Command, Fact, State, Reply, Rejection>,
  { organization = ownOrganization }: WindowEngineOptions
): Effect.Effect<KeyedDecider<Command, Fact, State, Reply, Rejection>, never, Engine> =>
  Effect.map(Engine, (engine) => {
    const targetOf = (key: string) =>
      attempt(() => {
        assertKey(key)
        return { organization: organization(key), key }
      })
    // A decider reads only the time of its context. A command that it throws on fails as a bad argument, and not as a
    // rule that failed.
    const take = (key: string, command: Command) =>
      attempt(() => {
        actor.options.decide(actor.options.initial(key), command, { now: 0 } as Actor.DecideContext)
      })
    return {
      ask: (key, command) =>
        Effect.flatMap(targetOf(key), (target) =>
          Effect.andThen(take(key, command), told(engine.ask(actor, target, command)))
        ),
      state: (key) => Effect.flatMap(targetOf(key), (target) => told<State, never>(engine.state(actor, target)))
    }
  })

/** The layers of a service that a decider answers. */
export const deciderLayers = <Command, Fact, State, Reply, Rejection>(
  decider: Decider<Command, Fact, State, Reply, Rejection>,
  actor: DeciderActor<Command, Fact, State, Reply, Rejection>
): KeyedLayers<KeyedDecider<Command, Fact, State, Reply, Rejection>, MemoryOptions, WindowEngineOptions, never> =>
  keyedLayers(
    (options) => makeKeyedDecider(decider, options),
    (options) => makeEngineDecider(actor, options)
  )

/** Asks the actors of an account, in memory or on an engine. */
import { Clock, Effect } from "effect"
import type { Actor } from "../../engine/Actor.ts"
import { Engine } from "../../engine/Engine.ts"
import { attempt } from "../../limits/attempt.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import { defaultMaxKeys, maximumMaxKeys } from "../../limits/memory.ts"
import { assertKey, ownOrganization } from "../../limits/windowActor.ts"
import { assertInteger } from "../../limits/windowDecision.ts"
import { MemoryFull, type Unanswered } from "../errors.ts"
import { ActorsMemory } from "./ActorsMemory.ts"
import { type EngineOptions, told } from "./engineDecider.ts"
import type { MemoryOptions } from "./keyedDecider.ts"

export interface AdmissionAsks {
  /** The name under which an account's suppressed addresses are hashed. */
  readonly organizationOf: (account: string) => string
  readonly ask: <Command, Fact, State, Reply, Rejection>(
    account: string,
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    key: string,
    command: Command
  ) => Effect.Effect<Reply, Rejection | Unanswered>
  readonly state: <Command, Fact, State, Reply, Rejection>(
    account: string,
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    key: string
  ) => Effect.Effect<State, Unanswered>
}

const checkedKey = (account: string): Effect.Effect<void, InvalidArgument> => attempt(() => assertKey(account))

/** @throws InvalidArgument if `maxKeys` is outside its range. */
export const memoryAsks = (options: MemoryOptions): AdmissionAsks => {
  const maxKeys = options.maxKeys ?? defaultMaxKeys
  assertInteger("maxKeys", maxKeys, 1, maximumMaxKeys)
  const accounts = new Map<string, ActorsMemory>()
  const find = (account: string): ActorsMemory => accounts.get(account) ?? new ActorsMemory(account)
  const decide = <Command, Fact, State, Reply, Rejection>(
    account: string,
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    key: string,
    command: Command,
    now: number
  ): Effect.Effect<Reply, Rejection | MemoryFull> => {
    const actors = find(account)
    if (!accounts.has(account) && accounts.size >= maxKeys) return Effect.fail(new MemoryFull({ maxKeys }))
    const decision = actors.ask(actor, key, command, now)
    if (actors.size > 0) accounts.set(account, actors)
    // A decision that is not accepted has a rejection, an accepted one has the reply that its type says.
    return decision.accepted ? Effect.succeed(decision.reply as Reply) : Effect.fail(decision.rejection as Rejection)
  }
  return {
    organizationOf: (account) => account,
    ask: (account, actor, key, command) =>
      Effect.andThen(
        checkedKey(account),
        Clock.clockWith((clock) => decide(account, actor, key, command, clock.currentTimeMillisUnsafe()))
      ),
    state: (account, actor, key) =>
      Effect.andThen(
        checkedKey(account),
        Clock.clockWith((clock) =>
          Effect.sync(() => {
            const actors = find(account)
            actors.advance(clock.currentTimeMillisUnsafe())
            return actors.state(actor, key)
          })
        )
      )
  }
}

export const engineAsks = ({
  organization = ownOrganization
}: EngineOptions): Effect.Effect<AdmissionAsks, never, Engine> =>
  Effect.map(Engine, (engine) => ({
    organizationOf: organization,
    ask: (account, actor, key, command) =>
      Effect.andThen(
        checkedKey(account),
        told(Effect.suspend(() => engine.ask(actor, { organization: organization(account), key }, command)))
      ),
    state: <Command, Fact, State, Reply, Rejection>(
      account: string,
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      key: string
    ) =>
      Effect.andThen(
        checkedKey(account),
        told<State, never>(Effect.suspend(() => engine.state(actor, { organization: organization(account), key })))
      )
  }))

/**
 * Defines lane actors: actors without facts, such as request limiters (docs/architecture.md, rule 15). An ask is
 * decided on arrival, without mailbox and frame; the state lives in memory only, until it is over. Needs no service.
 */

import type { ActorOfState, JsonCodec, Touched } from "./Actor.ts"
import type { ActorAddress } from "./address.ts"

/** The knowledge of a lane's rule besides its state and the command. See {@link Lane.make}. */
export interface LaneContext {
  /** Milliseconds since the Unix epoch; never goes back within a partition. */
  readonly now: number
  readonly self: ActorAddress
  /**
   * The durable state of an actor of the organization; one that the lane `touches`, or it throws. Facts not yet stored
   * are not in it.
   */
  readonly read: <State>(actor: ActorOfState<State>, key?: string) => State
}

/** The definition of a lane: its name and its rules. Its state is only in memory. See {@link Lane.make}. */
export interface LaneOptions<Command, State, Reply> {
  /** Unique among the engine's lanes. */
  readonly kind: string
  readonly initial: (key: string) => State
  /**
   * The schema by which a command and a reply cross processes; a lane without it can be asked only in its own process.
   */
  readonly command?: JsonCodec<Command>
  readonly reply?: JsonCodec<Reply>
  /** Answers from, and may change, `state`. Synchronous; must not throw. */
  readonly decide: (state: State, command: Command, context: LaneContext) => Reply
  /** The time (milliseconds since the Unix epoch) until which the state counts: it is not dropped earlier. */
  readonly keepUntil: (state: State) => number
  /** Names the actors whose durable state the rule reads (plan, limits); the engine loads them first. */
  readonly touches?: (self: ActorAddress) => ReadonlyArray<Touched>
}

/** A lane's definition, made by `make`. See {@link Lane.make}. */
export interface Lane<in out Command, in out State, in out Reply> {
  readonly _tag: "Lane"
  readonly kind: string
  readonly options: LaneOptions<Command, State, Reply>
}

/** A lane of any types. See {@link Lane.make}. */
// biome-ignore lint/suspicious/noExplicitAny: the engine holds lanes of all types side by side; each is only used with values of its own
export type AnyLane = Lane<any, any, any>

/**
 * Defines a lane actor.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine, Lane } from "sluice"
 *
 * const Presence = Lane.make({
 *   kind: "presence",
 *   initial: () => ({ seenAt: 0 }),
 *   decide: (state, _: null, { now }) => {
 *     const wasSeen = state.seenAt > now - 60_000
 *     state.seenAt = now
 *     return wasSeen
 *   },
 *   keepUntil: ({ seenAt }) => seenAt + 60_000
 * })
 * const program = Effect.gen(function* () {
 *   const engine = yield* Engine.Engine
 *   const look = engine.askLane(Presence, { organization: "acme", key: "ann" }, null)
 *   return [yield* look, yield* look]
 * })
 * console.log(await Effect.runPromise(Effect.provide(program, Engine.layerMemory({ actors: [], lanes: [Presence] }))))
 * // [ false, true ]
 * ```
 */
export const make = <Command, State, Reply>(
  options: LaneOptions<Command, State, Reply>
): Lane<Command, State, Reply> => ({
  _tag: "Lane",
  kind: options.kind,
  options
})

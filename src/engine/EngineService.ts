/**
 * Defines the engine as a service, apart from its implementation, so that modules that only ask (windows and quotas,
 * `sluice/limits`) do not load an engine.
 */
import { Context, type Effect, type Exit, type Stream } from "effect"
import type { Actor } from "./Actor.ts"
import type { Target } from "./address.ts"
import type { AskError, OnceError, PartitionStopped } from "./errors.ts"
import type { FactsOptions, FollowError, KeysOptions, KeysPage, OrganizationsPage } from "./followTypes.ts"
import type { Lane } from "./Lane.ts"
import type { OnceOptions, OnceReply } from "./once.ts"
import type { FactOf } from "./Reactor.ts"
import type { Status } from "./shell/partition/EngineContext.ts"

/**
 * The engine: asks actors and lanes, reads their states, follows them. `Engine.layerMemory` and `Durable.layer` make
 * it.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Actor, Engine } from "sluice"
 *
 * const Counter = Actor.make({
 *   kind: "counter",
 *   command: Schema.Struct({ add: Schema.Int }),
 *   fact: Schema.Struct({ added: Schema.Int }),
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (total, { added }) => total + added,
 *   decide: (total, { add }) => Actor.decided({ facts: [{ added: add }], reply: total + add })
 * })
 *
 * const program = Effect.gen(function* () {
 *   const engine = yield* Engine.Engine
 *   const reply = yield* engine.ask(Counter, { organization: "acme" }, { add: 2 })
 *   return [reply, yield* engine.state(Counter, { organization: "acme" })]
 * })
 * console.log(await Effect.runPromise(Effect.provide(program, Engine.layerMemory({ actors: [Counter] })))) // [ 2, 2 ]
 * ```
 */
export class Engine extends Context.Service<
  Engine,
  {
    /**
     * Decides a command. Succeeds with the rule's reply once its facts are durable; fails with the rule's rejection or
     * an `AskError`. Interrupting the caller does not undo the command.
     */
    readonly ask: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, Rejection | AskError>

    /**
     * Begins to load the actors that a command touches, so that the ask for it, made a little later, need not wait.
     * Meant for callers that have other work to do first. It never fails. It does nothing if everything is in memory,
     * if too much is being loaded for the organization, or if another process runs the partition. Loaded actors may
     * leave memory again like all others.
     */
    readonly prefetch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) => Effect.Effect<void>

    /**
     * Like `ask`, under an idempotency key (docs/architecture.md, "Idempotency keys"). A command accepted before under
     * the same key, with the same digest and within the window, is not decided again: it has the same reply, which
     * crosses through the actor's `reply` schema. Another digest fails with `IdempotencyConflict`. A command that was
     * rejected or has failed is decided again. After `OutcomeUnknown` ask again under the same key.
     */
    readonly askOnce: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command,
      once: OnceOptions
    ) => Effect.Effect<OnceReply<Reply>, Rejection | OnceError>

    /** Asks a lane actor. It makes no fact and appends nothing; normally it answers immediately. */
    readonly askLane: <Command, State, Reply>(
      lane: Lane<Command, State, Reply>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, AskError>

    /**
     * Like `askLane`, for hot paths. Returns the answer immediately, without an Effect, if it can; otherwise it returns
     * undefined and calls `later` with the answer. An actor of another process is `PartitionUnavailable` here.
     */
    readonly askLaneNow: <Command, State, Reply>(
      lane: Lane<Command, State, Reply>,
      target: Target,
      command: Command,
      later: (exit: Exit.Exit<Reply, AskError>) => void
    ) => Exit.Exit<Reply, AskError> | undefined

    /**
     * Reads the durable state of an actor of this process: nothing in it is still waiting to be stored. The caller must
     * not change it.
     */
    readonly state: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target
    ) => Effect.Effect<State, AskError>

    /**
     * Follows an actor's durable state: its value now, and after each change. A slow reader gets the latest state and
     * misses those between; the same state may come twice if the actor is in another process. Ends when the engine
     * stops; fails as `state` does, and when its partition is away for more than half a minute. The reader must not
     * change the states.
     */
    readonly watch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target
    ) => Stream.Stream<State, FollowError>

    /**
     * Follows the facts of an actor in log order, each once: those stored from now on, or those behind `after`, the
     * last fact that the caller has processed. Every fact is in the log before it is given. A slow reader delays
     * nothing: facts that it has not taken are read from the log again, and if the log was purged meanwhile, it fails
     * with `FactsPurged`. Works wherever the partition runs. Ends when the engine stops. A reactor is the better choice
     * when effects in SQL must happen once for each fact.
     */
    readonly facts: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      options?: FactsOptions
    ) => Stream.Stream<FactOf<Fact>, FollowError>

    /**
     * Lists the keys of a kind in an organization, in pages: of all actors that have had a fact and whose `isOver` does
     * not hold. A page shows one moment; between pages keys may come and go.
     */
    readonly keys: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      organization: string,
      options?: KeysOptions
    ) => Effect.Effect<KeysPage, AskError>

    /**
     * Lists the organizations that have actors of a kind, in pages, over all partitions: those with a key that `keys`
     * would list. An organization that comes or goes between two pages may be missing or listed.
     */
    readonly organizations: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      options?: KeysOptions
    ) => Effect.Effect<OrganizationsPage, AskError>

    /** Number of partitions. */
    readonly partitions: number

    /** The partition of an organization. */
    readonly partitionOf: (organization: string) => number

    /** Waits until all partitions placed here serve; fails when one has stopped. */
    readonly ready: Effect.Effect<void, PartitionStopped>

    /** The status of each partition placed here, for /readyz. */
    readonly status: Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly status: Status }>>
  }
>()("sluice/engine/Engine") {}

/**
 * The engine as a service, apart from what it is made of, so that what only asks (windows and quotas, `sluice/limits`) loads no engine.
 */
import { Context, type Effect, type Exit, type Stream } from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import type { Target } from "./address.ts"
import type { AskError, EngineRefused, OnceError, PartitionStopped } from "./errors.ts"
import type { FactsOptions, FollowError, KeysOptions, KeysPage } from "./followTypes.ts"
import type { Lane } from "./Lane.ts"
import type { OnceOptions, OnceReply } from "./once.ts"
import type { ActorInspection, InspectedFrame, PartitionInspection, PartitionSummary } from "./operator/inspect.ts"
import type { RecoverAsked, Recovered } from "./operator/recoverHere.ts"
import type { FactOf } from "./Reactor.ts"
import type { Status } from "./shell/partition/EngineContext.ts"

/**
 * The engine: asks actors and lanes, reads their states, follows them. `Engine.layerMemory` and `Durable.layer` make it.
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
     * an `AskError`. Interrupting the caller does not take the command back.
     */
    readonly ask: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, Rejection | AskError>

    /**
     * Begins to load what a command touches, so that the ask for it, made a little later, need not wait. For callers who have other work
     * to do before. It never fails; where everything is in memory, or too much is being loaded for the organization, it does nothing, nor
     * for a partition of another process. What was loaded may leave memory again like everything else.
     */
    readonly prefetch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) => Effect.Effect<void>

    /**
     * Like `ask`, under an idempotency key (docs/architecture.md, "Idempotency keys"). A command accepted before under the same key, with the
     * same digest and within the window, is not decided again: it has the same reply, which crosses through the actor's `reply` schema. Another
     * digest fails with `IdempotencyConflict`. What was rejected or has failed is decided anew. After `OutcomeUnknown` ask again under the same
     * key.
     */
    readonly askOnce: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command,
      once: OnceOptions
    ) => Effect.Effect<OnceReply<Reply>, Rejection | OnceError>

    /** Asks a lane actor. It makes no fact and appends nothing; normally it answers at once. */
    readonly askLane: <Command, State, Reply>(
      lane: Lane<Command, State, Reply>,
      target: Target,
      command: Command
    ) => Effect.Effect<Reply, AskError>

    /**
     * Like `askLane`, for hot paths. Answers at once, without an Effect, where it can; otherwise it answers undefined
     * and calls `later` with the answer. An actor of another process is `PartitionUnavailable` here.
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
     * An actor's durable state now, and after each change of it. Whoever takes it slowly gets the latest state and misses those between;
     * the same state may come twice where the actor is in another process. Ends when the engine stops; fails as `state` does, and when its
     * partition is away for more than half a minute. Nobody may change what it gives.
     */
    readonly watch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target
    ) => Stream.Stream<State, FollowError>

    /**
     * The facts of an actor in the order of the log, each once: those stored from now on, or those behind `after`, which is the last fact
     * that somebody worked on. Every one of them is in the log before it is given. A slow taker holds nothing up: what it has not taken is read
     * from the log again, and where that was purged meanwhile, it fails with `FactsPurged`. Works wherever the partition runs. Ends when the
     * engine stops. A reactor is the better choice where effects in SQL must happen once for each fact.
     */
    readonly facts: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      options?: FactsOptions
    ) => Stream.Stream<FactOf<Fact>, FollowError>

    /**
     * Lists the keys of a kind in an organization, in pages: of all actors that have had a fact and whose `isOver` does not hold. A page
     * is what was stored at one moment; between pages keys may come and go.
     */
    readonly keys: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      organization: string,
      options?: KeysOptions
    ) => Effect.Effect<KeysPage, AskError>

    /** Number of partitions. */
    readonly partitions: number

    /** The partition of an organization. */
    readonly partitionOf: (organization: string) => number

    /** Waits until all partitions placed here serve; fails when one has stopped. */
    readonly ready: Effect.Effect<void, PartitionStopped>

    /** What the partitions placed here are doing, for /readyz. */
    readonly status: Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly status: Status }>>

    /** Says what keeps a partition from serving, and lets it go on where that is allowed; its owner does it, wherever it is. */
    readonly recoverPartition: (partition: number, asked: RecoverAsked) => Effect.Effect<Recovered, EngineRefused>
    readonly inspectPartition: (partition: number) => Effect.Effect<PartitionInspection, EngineRefused>
    /** The figures of every partition placed here, in order. */
    readonly summarizePartitions: Effect.Effect<ReadonlyArray<PartitionSummary>>
    /** A frame of a partition placed here; undefined where the log does not hold it, or does not answer. */
    readonly inspectFrame: (
      partition: number,
      sequence: number
    ) => Effect.Effect<InspectedFrame | undefined, EngineRefused>
    readonly inspectActor: (actor: AnyActor, target: Target) => Effect.Effect<ActorInspection, EngineRefused>
  }
>()("sluice/engine/Engine") {}

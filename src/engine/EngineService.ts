/**
 * The engine as a service, apart from what it is made of, so that what only asks (windows and quotas, `sluice/limits`) loads no engine.
 */
import { Context, type Effect, type Exit } from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import type { Target } from "./address.ts"
import type { AskError, EngineRefused, OnceError, PartitionStopped } from "./errors.ts"
import type { Lane } from "./Lane.ts"
import type { OnceOptions, OnceReply } from "./once.ts"
import type { ActorInspection, InspectedFrame, PartitionInspection, PartitionSummary } from "./operator/inspect.ts"
import type { Status } from "./parts.ts"

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

    /** Number of partitions. */
    readonly partitions: number

    /** The partition of an organization. */
    readonly partitionOf: (organization: string) => number

    /** Waits until all partitions placed here serve; fails when one has stopped. */
    readonly ready: Effect.Effect<void, PartitionStopped>

    /** What the partitions placed here are doing, for /readyz. */
    readonly status: Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly status: Status }>>

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

/**
 * The engine's service over the partitions of this process: each ask goes to the partition of its organization, here or
 * (over `Remote`) in another process.
 */
import { type Context, Effect, Exit, Stream, type Tracer } from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import { partitionOf, type Target } from "./address.ts"
import { type AskError, CommandInvalid, type OnceError, type Overloaded } from "./errors.ts"
import type { FactsOptions, FollowError, KeysOptions, KeysPage } from "./followTypes.ts"
import type { Lane } from "./Lane.ts"
import { type OnceOptions, type OnceReply, onceGuard } from "./once.ts"
import { atOwner } from "./operator/atOwner.ts"
import {
  type ActorInspection,
  type InspectedFrame,
  type PartitionInspection,
  summarizePartition
} from "./operator/inspect.ts"
import type { RecoverAsked, Recovered } from "./operator/recoverHere.ts"
import type { FactOf } from "./Reactor.ts"
import { followChanges, followFacts, subscribed } from "./shell/followers/followFacts.ts"
import { awaitAllServing } from "./shell/partition/awaitStatus.ts"
import type { EngineContext } from "./shell/partition/EngineContext.ts"
import type { Partition, Resume } from "./shell/partition/Partition.ts"
import { askLaneRemote, askOnceRemote, askRemote, keysRemote, stateRemote } from "./shell/remote/askRemote.ts"
import { localPartition } from "./shell/remote/deliverMessages.ts"
import { listKeys } from "./shell/stores/listKeys.ts"

/** Finds partitions, here or in another process. */
class Places {
  readonly parts: EngineContext

  constructor(parts: EngineContext) {
    this.parts = parts
  }

  readonly idOf = (organization: string): number => partitionOf(organization, this.parts.config.partitions)

  here(organization: string): Partition | undefined {
    return localPartition(this.parts, this.idOf(organization))
  }

  /** The index of an actor's kind, or the error where it is not one of this engine's. */
  indexOf(actor: AnyActor): number | CommandInvalid {
    const { registry } = this.parts
    const index = registry.actorIndex(actor.kind)
    return registry.actors[index] === actor ? index : unknownKind(actor.kind)
  }
}

/** The index of an actor's kind, or why the command is none for it. */
const checked = (places: Places, actor: AnyActor, command: unknown): number | CommandInvalid => {
  const index = places.indexOf(actor)
  if (typeof index !== "number") return index
  const problem = actor.commandProblem(command)
  return problem === undefined ? index : new CommandInvalid({ kind: actor.kind, reason: problem })
}

const unknownKind = (kind: string) => new CommandInvalid({ kind, reason: "it is not among the engine's actors" })

/** An ask in a span of its own, where anybody sees it. The drain that decides it links to the span. */
const spanned = <A, E>(
  { idOf, parts }: Places,
  { kind }: AnyActor,
  { organization }: Target,
  ask: (span: Tracer.Span | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  parts.isTraced
    ? Effect.useSpan("sluice.ask", { attributes: { kind, partition: idOf(organization) } }, ask)
    : ask(undefined)

/** What asks actors. */
const actorAsks = (places: Places) => ({
  ask: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    target: Target,
    command: Command
  ) =>
    spanned(places, actor, target, (span) =>
      Effect.callback<Reply, Rejection | AskError>((resume) => {
        const index = checked(places, actor, command)
        if (typeof index !== "number") return resume(Effect.fail(index))
        const { fresh, key = "", organization } = target
        const partition = places.here(organization)
        if (partition === undefined) return resume(askRemote(places.parts, actor, target, command, span))
        if (span !== undefined) partition.traces.asked(resume, span)
        partition.offer(organization, index, key, command, resume as Resume, fresh)
      })
    ),

  askOnce: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    target: Target,
    command: Command,
    once: OnceOptions
  ) =>
    spanned(places, actor, target, (span) =>
      Effect.callback<OnceReply<Reply>, Rejection | OnceError>((resume) => {
        const index = checked(places, actor, command)
        if (typeof index !== "number") return resume(Effect.fail(index))
        const { fresh, key = "", organization } = target
        const guard = onceGuard(actor, key, once)
        if (guard instanceof CommandInvalid) return resume(Effect.fail(guard))
        const partition = places.here(organization)
        if (partition === undefined) return resume(askOnceRemote(places.parts, actor, target, command, once, span))
        if (span !== undefined) partition.traces.asked(resume, span)
        partition.offer(organization, index, key, command, resume as Resume, fresh, guard)
      })
    ),

  prefetch: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    { fresh, key = "", organization }: Target,
    command: Command
  ) =>
    Effect.sync(() => {
      const index = places.indexOf(actor)
      if (typeof index === "number") places.here(organization)?.prefetch(organization, index, key, command, fresh)
    }),

  state: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    { key = "", organization }: Target
  ) =>
    Effect.callback<State, AskError>((resume) => {
      const index = places.indexOf(actor)
      if (typeof index !== "number") return resume(Effect.fail(index))
      const partition = places.here(organization)
      if (partition === undefined) return resume(stateRemote(places.parts, actor, { organization, key }))
      partition.peek(organization, index, key, resume as Resume)
    })
})

/** What follows actors, and lists their keys. */
const followers = (places: Places, ask: ReturnType<typeof actorAsks>) => {
  const { parts } = places
  const follow = <A, E>(actor: AnyActor, organization: string, stream: (id: number) => Stream.Stream<A, E>) =>
    Stream.suspend((): Stream.Stream<A, E | CommandInvalid | Overloaded> => {
      const index = places.indexOf(actor)
      const id = places.idOf(organization)
      return typeof index === "number" ? subscribed(parts, id, stream(id)) : Stream.fail(index)
    })
  return {
    watch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      { key = "", organization }: Target
    ): Stream.Stream<State, FollowError> =>
      follow(actor, organization, (id) =>
        followChanges(parts, id, { organization, kind: actor.kind, key }, ask.state(actor, { organization, key }))
      ),

    facts: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      { key = "", organization }: Target,
      { after, allKeys = false }: FactsOptions = {}
    ) =>
      // A record of the actor's kind holds what the actor's own schema has decoded.
      follow(actor, organization, (id) =>
        followFacts(parts, id, { organization, kind: actor.kind, key: allKeys ? undefined : key }, after)
      ) as Stream.Stream<FactOf<Fact>, FollowError>,

    keys: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      organization: string,
      options: KeysOptions = {}
    ): Effect.Effect<KeysPage, AskError> =>
      Effect.suspend(() => {
        const index = places.indexOf(actor)
        if (typeof index !== "number") return Effect.fail(index)
        const partition = places.here(organization)
        return partition === undefined
          ? keysRemote(parts, actor, organization, options)
          : listKeys(partition, organization, index, options)
      })
  }
}

/** What asks lanes. */
const laneAsks = (places: Places, context: Context.Context<never>) => {
  const askLaneNow = <Command, State, Reply>(
    lane: Lane<Command, State, Reply>,
    { key = "", organization }: Target,
    command: Command,
    later: (exit: Exit.Exit<Reply, AskError>) => void
  ): Exit.Exit<Reply, AskError> | undefined => {
    const { registry } = places.parts
    const laneIndex = registry.laneIndex(lane.kind)
    if (registry.lanes[laneIndex] !== lane) return Exit.fail(unknownKind(lane.kind))
    const partition = places.here(organization)
    if (partition === undefined) {
      const asked = askLaneRemote(places.parts, lane, { organization, key }, command)
      Effect.runForkWith(context)(asked).addObserver(later)
      return undefined
    }
    const caller = later as unknown as Resume
    const answer = partition.askLane({ organization, laneIndex, key, command, caller })
    if (answer === undefined) return undefined
    return answer.accepted ? Exit.succeed(answer.value as never) : Exit.fail(answer.value as AskError)
  }
  const askLane = <Command, State, Reply>(lane: Lane<Command, State, Reply>, target: Target, command: Command) =>
    Effect.callback<Reply, AskError>((resume) => {
      const exit = askLaneNow(lane, target, command, resume)
      if (exit !== undefined) resume(exit)
    })
  return { askLane, askLaneNow }
}

/** Makes the service of an engine. `context` is for what it starts by itself. */
export const makeService = (parts: EngineContext, context: Context.Context<never>) => {
  const places = new Places(parts)
  const { local } = parts
  const asks = actorAsks(places)
  return {
    partitions: parts.config.partitions,
    partitionOf: (organization: string) => places.idOf(organization),
    ...asks,
    ...followers(places, asks),
    ...laneAsks(places, context),
    ready: awaitAllServing(local),
    status: Effect.sync(() =>
      [...local.values()].map((partition) => ({ partition: partition.id, status: partition.status }))
    ),
    // What crosses processes is the same as JSON.
    inspectPartition: (id: number) =>
      Effect.map(atOwner(parts, id, "inspect partition"), (found) => found as PartitionInspection),
    recoverPartition: (id: number, asked: RecoverAsked) =>
      Effect.map(atOwner(parts, id, "recover", asked), (found) => found as Recovered),
    summarizePartitions: Effect.suspend(() =>
      Effect.forEach(
        [...local.values()].sort((one, other) => one.id - other.id),
        summarizePartition,
        { concurrency: 8 }
      )
    ),
    inspectFrame: (id: number, sequence: number) =>
      Effect.map(atOwner(parts, id, "inspect frame", sequence), (found) => found as InspectedFrame),
    inspectActor: (actor: AnyActor, { key = "", organization }: Target) =>
      Effect.map(
        atOwner(parts, places.idOf(organization), "inspect actor", { organization, kind: actor.kind, key }),
        (found) => found as ActorInspection
      )
  }
}

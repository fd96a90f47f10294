/**
 * The engine's service over the partitions of this process: each ask goes to the partition of its organization, here or
 * (over `Remote`) in another process.
 */
import { Effect, Exit } from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import { partitionOf, type Target } from "./address.ts"
import { type AskError, CommandInvalid, EngineRefused, type OnceError, PartitionUnavailable } from "./errors.ts"
import type { Lane } from "./Lane.ts"
import { type OnceOptions, type OnceReply, onceGuard } from "./once.ts"
import { inspectActor, inspectPartition } from "./operator/inspect.ts"
import type { EngineParts } from "./parts.ts"
import type { Remote } from "./Remote.ts"
import { awaitAllServing } from "./shell/awaiting.ts"
import type { Partition, Resume } from "./shell/Partition.ts"
import { askOnceRemote, askRemote } from "./shell/remoteAsk.ts"

const unplacedRetryMillis = 250

/** Makes the service of an engine whose partitions in this process are `local`. */
export const makeService = (
  parts: EngineParts,
  local: ReadonlyMap<number, Partition>,
  remote: Remote["Service"] | undefined
) => {
  const { partitions } = parts.config
  const { registry } = parts
  const unplaced = (partition: number): AskError =>
    new PartitionUnavailable({ partition, reason: "it is not placed here", retryAfterMillis: unplacedRetryMillis })
  const epochs = new Map<number, number>()
  const unknownKind = (kind: string) => new CommandInvalid({ kind, reason: "it is not among the engine's actors" })
  const localOf = (id: number): Effect.Effect<Partition, EngineRefused> => {
    const partition = local.get(id)
    return partition === undefined
      ? Effect.fail(new EngineRefused({ message: `partition ${id} is not placed here` }))
      : Effect.succeed(partition)
  }
  const askLaneNow = <Command, State, Reply>(
    lane: Lane<Command, State, Reply>,
    target: Target,
    command: Command,
    later: (exit: Exit.Exit<Reply, AskError>) => void
  ): Exit.Exit<Reply, AskError> | undefined => {
    const index = registry.laneIndex(lane.kind)
    if (registry.lanes[index] !== lane) return Exit.fail(unknownKind(lane.kind))
    const id = partitionOf(target.organization, partitions)
    const partition = local.get(id)
    if (partition === undefined) return Exit.fail(unplaced(id))
    const caller = later as unknown as Resume
    const { key = "", organization } = target
    const answer = partition.askLane({ organization, laneIndex: index, key, command, caller })
    if (answer === undefined) return undefined
    return answer.accepted ? Exit.succeed(answer.value as never) : Exit.fail(answer.value as AskError)
  }
  return {
    partitions,
    partitionOf: (organization: string) => partitionOf(organization, partitions),
    ask: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command
    ) =>
      Effect.callback<Reply, Rejection | AskError>((resume) => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return resume(Effect.fail(unknownKind(actor.kind)))
        const id = partitionOf(target.organization, partitions)
        const partition = local.get(id)
        if (partition !== undefined) {
          partition.offer(target.organization, index, target.key ?? "", command, resume as Resume, target.fresh)
        } else {
          resume(
            remote === undefined ? Effect.fail(unplaced(id)) : askRemote(remote, epochs, id, actor, target, command)
          )
        }
      }),
    prefetch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      { fresh, key = "", organization }: Target,
      command: Command
    ) =>
      Effect.sync(() => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return
        local.get(partitionOf(organization, partitions))?.prefetch(organization, index, key, command, fresh)
      }),
    askOnce: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target,
      command: Command,
      once: OnceOptions
    ) =>
      Effect.callback<OnceReply<Reply>, Rejection | OnceError>((resume) => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return resume(Effect.fail(unknownKind(actor.kind)))
        const { fresh, key = "", organization } = target
        const guard = onceGuard(actor, key, once)
        if (guard instanceof CommandInvalid) return resume(Effect.fail(guard))
        const id = partitionOf(organization, partitions)
        const partition = local.get(id)
        if (partition !== undefined)
          return partition.offer(organization, index, key, command, resume as Resume, fresh, guard)
        resume(
          remote === undefined
            ? Effect.fail(unplaced(id))
            : askOnceRemote(remote, epochs, id, actor, target, command, once)
        )
      }),
    askLane: <Command, State, Reply>(lane: Lane<Command, State, Reply>, target: Target, command: Command) =>
      Effect.callback<Reply, AskError>((resume) => {
        const exit = askLaneNow(lane, target, command, resume)
        if (exit !== undefined) resume(exit)
      }),
    askLaneNow,
    state: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      target: Target
    ) =>
      Effect.callback<State, AskError>((resume) => {
        const index = registry.actorIndex(actor.kind)
        if (registry.actors[index] !== actor) return resume(Effect.fail(unknownKind(actor.kind)))
        const id = partitionOf(target.organization, partitions)
        const partition = local.get(id)
        if (partition === undefined) return resume(Effect.fail(unplaced(id)))
        partition.peek(target.organization, index, target.key ?? "", resume as Resume)
      }),
    ready: awaitAllServing(local),
    status: Effect.sync(() =>
      [...local.values()].map((partition) => ({ partition: partition.id, status: partition.status }))
    ),
    inspectPartition: (id: number) => Effect.flatMap(localOf(id), inspectPartition),
    inspectActor: (actor: AnyActor, target: Target) =>
      Effect.flatMap(localOf(partitionOf(target.organization, partitions)), (partition) =>
        inspectActor(partition, { organization: target.organization, kind: actor.kind, key: target.key ?? "" })
      )
  }
}

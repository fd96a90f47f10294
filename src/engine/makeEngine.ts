/**
 * Makes the engine's service over the partitions of this process: each ask goes to the partition of its organization,
 * here or (over `Remote`) in another process.
 */
import { type Context, Effect, Exit, Stream, type Tracer } from "effect"
import type { Actor, AnyActor } from "./Actor.ts"
import { partitionOf, type Target } from "./address.ts"
import { type AskError, CommandInvalid, type OnceError, type Overloaded } from "./errors.ts"
import type { FactsOptions, FollowError, KeysOptions, KeysPage, OrganizationsPage } from "./followTypes.ts"
import type { Lane } from "./Lane.ts"
import { defaultKeysPage } from "./limits.ts"
import { type OnceOptions, type OnceReply, onceGuard } from "./once.ts"
import type { FactOf } from "./Reactor.ts"
import { followChanges, followFacts, subscribed } from "./shell/followers/followFacts.ts"
import { awaitAllServing } from "./shell/partition/awaitStatus.ts"
import type { EngineContext } from "./shell/partition/EngineContext.ts"
import type { Partition, Resume } from "./shell/partition/Partition.ts"
import {
  askLaneRemote,
  askOnceRemote,
  askRemote,
  keysRemote,
  organizationsRemote,
  stateRemote
} from "./shell/remote/askRemote.ts"
import { localPartition } from "./shell/remote/deliverMessages.ts"
import { listKeys, refusal } from "./shell/stores/listKeys.ts"
import { listOrganizations } from "./shell/stores/listOrganizations.ts"

/** Finds partitions, here or in another process. */
class Places {
  readonly context: EngineContext

  constructor(context: EngineContext) {
    this.context = context
  }

  readonly idOf = (organization: string): number => partitionOf(organization, this.context.config.partitions)

  here(organization: string): Partition | undefined {
    return localPartition(this.context, this.idOf(organization))
  }

  /** The index of an actor's kind, or the error if it is not one of this engine's. */
  indexOf(actor: AnyActor): number | CommandInvalid {
    const { registry } = this.context
    const index = registry.actorIndex(actor.kind)
    return registry.actors[index] === actor ? index : unknownKind(actor.kind)
  }
}

/** The index of an actor's kind, or an error if it does not take the command. */
const checked = (places: Places, actor: AnyActor, command: unknown): number | CommandInvalid => {
  const index = places.indexOf(actor)
  if (typeof index !== "number") return index
  const problem = actor.commandProblem(command)
  return problem === undefined ? index : new CommandInvalid({ kind: actor.kind, reason: problem })
}

const unknownKind = (kind: string) => new CommandInvalid({ kind, reason: "it is not among the engine's actors" })

/** Runs an ask in its own span, if spans are collected. The drain that decides it links to the span. */
const spanned = <A, E>(
  { idOf, context }: Places,
  { kind }: AnyActor,
  { organization }: Target,
  ask: (span: Tracer.Span | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  context.isTraced
    ? Effect.useSpan("sluice.ask", { attributes: { kind, partition: idOf(organization) } }, ask)
    : ask(undefined)

/** Makes the functions that ask actors. */
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
        if (partition === undefined) return resume(askRemote(places.context, actor, target, command, span))
        if (span !== undefined) partition.traces.asked(resume, span)
        partition.core.intake.offer(organization, index, key, command, resume as Resume, fresh)
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
        if (partition === undefined) return resume(askOnceRemote(places.context, actor, target, command, once, span))
        if (span !== undefined) partition.traces.asked(resume, span)
        partition.core.intake.offer(organization, index, key, command, resume as Resume, fresh, guard)
      })
    ),

  prefetch: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    { fresh, key = "", organization }: Target,
    command: Command
  ) =>
    Effect.sync(() => {
      const index = places.indexOf(actor)
      if (typeof index === "number")
        places.here(organization)?.core.intake.prefetch(organization, index, key, command, fresh === true)
    }),

  state: <Command, Fact, State, Reply, Rejection>(
    actor: Actor<Command, Fact, State, Reply, Rejection>,
    { key = "", organization }: Target
  ) =>
    Effect.callback<State, AskError>((resume) => {
      const index = places.indexOf(actor)
      if (typeof index !== "number") return resume(Effect.fail(index))
      const partition = places.here(organization)
      if (partition === undefined) return resume(stateRemote(places.context, actor, { organization, key }))
      partition.core.intake.peek(organization, index, key, resume as Resume, partition.now())
    })
})

/** Makes the functions that follow actors, and list their keys. */
const followers = (places: Places, ask: ReturnType<typeof actorAsks>) => {
  const { context } = places
  const follow = <A, E>(actor: AnyActor, organization: string, stream: (id: number) => Stream.Stream<A, E>) =>
    Stream.suspend((): Stream.Stream<A, E | CommandInvalid | Overloaded> => {
      const index = places.indexOf(actor)
      const id = places.idOf(organization)
      return typeof index === "number" ? subscribed(context, id, stream(id)) : Stream.fail(index)
    })
  return {
    watch: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      { key = "", organization }: Target
    ): Stream.Stream<State, FollowError> =>
      follow(actor, organization, (id) =>
        followChanges(context, id, { organization, kind: actor.kind, key }, ask.state(actor, { organization, key }))
      ),

    facts: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      { key = "", organization }: Target,
      { after, allKeys = false }: FactsOptions = {}
    ) =>
      // A record of the actor's kind holds a fact decoded by the actor's own schema.
      follow(actor, organization, (id) =>
        followFacts(context, id, { organization, kind: actor.kind, key: allKeys ? undefined : key }, after)
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
          ? keysRemote(context, actor, organization, options)
          : listKeys(partition, organization, index, options)
      }),

    organizations: <Command, Fact, State, Reply, Rejection>(
      actor: Actor<Command, Fact, State, Reply, Rejection>,
      options: KeysOptions = {}
    ): Effect.Effect<OrganizationsPage, AskError> =>
      Effect.suspend(() => {
        const index = places.indexOf(actor)
        return typeof index === "number" ? organizationsPage(context, actor, index, options) : Effect.fail(index)
      })
  }
}

/** The place behind a page of organizations: a partition, and the last organization of it. */
const placeAfter = (
  after: string | undefined
): readonly [partition: number, organization?: string | undefined] | undefined => {
  if (after === undefined) return [0]
  const found = /^(\d{1,5})\/(.*)$/su.exec(after)
  if (found === null) return undefined
  const [, partition, organization] = found
  return organization === "" ? [Number(partition)] : [Number(partition), organization]
}

/** A page of organizations: partition by partition, until it is full. */
const organizationsPage = Effect.fnUntraced(function* (
  context: EngineContext,
  actor: AnyActor,
  index: number,
  { after, limit = defaultKeysPage }: KeysOptions
): Effect.fn.Return<OrganizationsPage, AskError> {
  const { partitions } = context.config
  const refused = refusal(actor, limit)
  if (refused !== undefined) return yield* refused
  const place = placeAfter(after)
  if (place === undefined || place[0] >= partitions)
    return yield* new CommandInvalid({ kind: actor.kind, reason: "`after` must be the `next` of the page before" })
  const found: Array<string> = []
  let [partition, behind] = place
  while (partition < partitions) {
    const asked = { after: behind, limit: limit - found.length }
    const here = localPartition(context, partition)
    const { next, organizations } = yield* here === undefined
      ? organizationsRemote(context, actor, partition, asked)
      : listOrganizations(here, index, asked)
    found.push(...organizations)
    if (next === undefined) partition++
    behind = next
    if (found.length >= limit)
      return { organizations: found, next: partition === partitions ? undefined : `${partition}/${behind ?? ""}` }
  }
  return { organizations: found, next: undefined }
})

/** Makes the functions that ask lanes. */
const laneAsks = (places: Places, context: Context.Context<never>) => {
  const askLaneNow = <Command, State, Reply>(
    lane: Lane<Command, State, Reply>,
    { key = "", organization }: Target,
    command: Command,
    later: (exit: Exit.Exit<Reply, AskError>) => void
  ): Exit.Exit<Reply, AskError> | undefined => {
    const { registry } = places.context
    const laneIndex = registry.laneIndex(lane.kind)
    if (registry.lanes[laneIndex] !== lane) return Exit.fail(unknownKind(lane.kind))
    const partition = places.here(organization)
    if (partition === undefined) {
      const asked = askLaneRemote(places.context, lane, { organization, key }, command)
      Effect.runForkWith(context)(asked).addObserver(later)
      return undefined
    }
    const caller = later as unknown as Resume
    const answer = partition.core.intake.askLane({ organization, laneIndex, key, command, caller }, partition.now())
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

/** Makes the service of an engine. `services` are for the fibers that it starts by itself. */
export const makeEngine = (context: EngineContext, services: Context.Context<never>) => {
  const places = new Places(context)
  const { local } = context
  const asks = actorAsks(places)
  return {
    partitions: context.config.partitions,
    partitionOf: (organization: string) => places.idOf(organization),
    ...asks,
    ...followers(places, asks),
    ...laneAsks(places, services),
    ready: awaitAllServing(local),
    status: Effect.sync(() =>
      [...local.values()].map((partition) => ({ partition: partition.id, status: partition.status }))
    )
  }
}

/**
 * Carries asks between processes: the encoding of a command, its reply and its errors, for actors, for their states and
 * for lanes (docs/architecture.md, "Placement"). `ownerCalls.ts` finds the owner; `serveRemote.ts` is the owner's side.
 */
import { Cause, Effect, Exit, Schema, type Tracer } from "effect"
import type { Actor, AnyActor, JsonCodec } from "../../Actor.ts"
import { partitionOf, type Target } from "../../address.ts"
import { describe } from "../../describe.ts"
import { type AskError, CommandInvalid, OnceError, OutcomeUnknown } from "../../errors.ts"
import type { KeysOptions, KeysPage } from "../../followTypes.ts"
import type { AnyLane, Lane } from "../../Lane.ts"
import type { OnceOptions, OnceReply } from "../../once.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { PartitionOrganizations } from "../stores/listOrganizations.ts"
import { askOwner, hear, monotonicMillis, type OwnerAnswer, remoteTimeoutMillis } from "./ownerCalls.ts"
import { joinBatch } from "./requestBatch.ts"

/** How long an ask of a lane waits: it concerns this moment, and its caller has little patience. */
const laneTimeoutMillis = 1_000

/** A request to an actor or a lane. */
export interface RemoteRequest {
  readonly organization: string
  /** Exactly one of `kind` and `lane`. */
  readonly kind?: string
  readonly lane?: string
  readonly key: string
  /** Undefined if the state is requested. */
  readonly command?: unknown
  /** Asks for the actor's state instead of deciding something. */
  readonly state?: true
  /** Asks for keys of the kind instead; the key means nothing then. */
  readonly keys?: KeysOptions
  /** Asks for the organizations that have actors of the kind instead; organization and key mean nothing then. */
  readonly organizations?: KeysOptions
  readonly fresh?: boolean
  /** The span of the caller, if spans are collected. */
  readonly span?: readonly [traceId: string, spanId: string]
  /** For an ask under an idempotency key. */
  readonly once?: OnceOptions
}

/** Exactly one of `reply`, `rejection` and `error`. */
export interface RemoteAnswer {
  readonly reply?: unknown
  /** With a reply to an ask under an idempotency key: whether it was decided before. */
  readonly isReplay?: boolean
  readonly rejection?: unknown
  readonly error?: unknown
}

export const encodeError = Schema.encodeUnknownSync(Schema.toCodecJson(OnceError))
export const decodeError = Schema.decodeUnknownSync(Schema.toCodecJson(OnceError))
const isAskError = Schema.is(OnceError)

/** The encoding of a command, a reply or a rejection; without a schema only `undefined` can cross. */
interface Crossing {
  readonly kind: string
  readonly options: {
    readonly command?: JsonCodec<unknown>
    readonly reply?: JsonCodec<unknown>
    readonly rejection?: JsonCodec<unknown>
  }
}

type What = keyof Crossing["options"]

interface Codec {
  readonly encode: (value: unknown) => unknown
  readonly decode: (value: unknown) => unknown
}

/** Made once for each schema: making one takes longer than using it. */
const codecs = new WeakMap<object, Codec>()

const codecOf = (of: AnyActor | AnyLane, what: What): Codec | undefined => {
  // Only its schemas are read, by their effect on unknown values.
  const schema = (of as Crossing).options[what]
  if (schema === undefined) return undefined
  let codec = codecs.get(schema)
  if (codec === undefined) {
    const json = Schema.toCodecJson(schema)
    codec = { encode: Schema.encodeUnknownSync(json), decode: Schema.decodeUnknownSync(json) }
    codecs.set(schema, codec)
  }
  return codec
}

const encodeWith = (of: AnyActor | AnyLane, what: What, value: unknown): unknown => {
  const codec = codecOf(of, what)
  if (codec !== undefined) return codec.encode(value)
  if (value === undefined) return undefined
  throw new Error(`${of.kind} has no schema of its ${what}, so it cannot be asked from another process`)
}

export const decodeWith = (of: AnyActor | AnyLane, what: What, value: unknown): unknown =>
  codecOf(of, what)?.decode(value)

const spanOf = (span: Tracer.Span | undefined): Pick<RemoteRequest, "span"> =>
  span === undefined ? {} : { span: [span.traceId, span.spanId] }

/** Asks the owner in another process. */
export const askRemote = <Command, Fact, State, Reply, Rejection>(
  context: EngineContext,
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  target: Target,
  command: Command,
  span?: Tracer.Span
): Effect.Effect<Reply, Rejection | AskError> =>
  Effect.map(
    exchange<Reply, Rejection, AskError>(context, actor, target, () => ({
      kind: actor.kind,
      command: encodeWith(actor, "command", command),
      ...spanOf(span),
      ...(target.fresh === true ? { fresh: true } : {})
    })),
    ({ reply }) => reply
  )

/** Asks the owner in another process under an idempotency key. */
export const askOnceRemote = <Command, Fact, State, Reply, Rejection>(
  context: EngineContext,
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  target: Target,
  command: Command,
  once: OnceOptions,
  span?: Tracer.Span
): Effect.Effect<OnceReply<Reply>, Rejection | OnceError> =>
  Effect.flatMap(
    exchange<Reply, Rejection, OnceError>(context, actor, target, () => ({
      kind: actor.kind,
      command: encodeWith(actor, "command", command),
      ...spanOf(span),
      ...(target.fresh === true ? { fresh: true } : {}),
      once
    })),
    ({ isReplay, reply }) =>
      // A program without keys has decided it without one.
      isReplay === undefined
        ? Effect.fail(new OutcomeUnknown({ partition: placeOf(context, target) }))
        : Effect.succeed({ reply, isReplay })
  )

/** Reads an actor's durable state in another process. */
export const stateRemote = <Command, Fact, State, Reply, Rejection>(
  context: EngineContext,
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  target: Target
): Effect.Effect<State, AskError> =>
  Effect.map(
    exchange<State, never, AskError>(
      context,
      actor,
      target,
      () => ({ kind: actor.kind, state: true }),
      (state) => actor.decodeState(state, actor.version)
    ),
    ({ reply }) => reply
  )

/** Lists keys of a kind in another process. */
export const keysRemote = (
  context: EngineContext,
  actor: AnyActor,
  organization: string,
  keys: KeysOptions
): Effect.Effect<KeysPage, AskError> =>
  Effect.map(
    exchange<KeysPage, never, AskError>(
      context,
      actor,
      { organization },
      () => ({ kind: actor.kind, keys }),
      // JSON has no form for the end of the last page.
      (page) => ({ keys: (page as KeysPage).keys, next: (page as KeysPage).next })
    ),
    ({ reply }) => reply
  )

/** Lists the organizations of a partition of another process that have actors of a kind. */
export const organizationsRemote = (
  context: EngineContext,
  { kind }: AnyActor,
  partition: number,
  organizations: KeysOptions
): Effect.Effect<PartitionOrganizations, AskError> =>
  Effect.flatMap(
    askOwner(context, partition, { organization: "", key: "", kind, organizations } satisfies RemoteRequest),
    (said: OwnerAnswer & RemoteAnswer): Effect.Effect<PartitionOrganizations, AskError> => {
      // An owner of this version answers a page, or an error of these.
      if (said.error !== undefined) return Effect.fail(decodeError(said.error) as AskError)
      const { next, organizations: names } = said.reply as PartitionOrganizations
      return Effect.succeed({ organizations: names, next })
    }
  )

/** Asks a lane in another process. */
export const askLaneRemote = <Command, State, Reply>(
  context: EngineContext,
  lane: Lane<Command, State, Reply>,
  target: Target,
  command: Command
): Effect.Effect<Reply, AskError> =>
  Effect.map(
    exchange<Reply, never, AskError>(
      context,
      lane,
      target,
      () => ({ lane: lane.kind, command: encodeWith(lane, "command", command) }),
      (reply) => decodeWith(lane, "reply", reply),
      laneTimeoutMillis
    ),
    ({ reply }) => reply
  )

const placeOf = ({ config }: EngineContext, { organization }: Target): number =>
  partitionOf(organization, config.partitions)

/** The part of an answer that its caller gets. */
interface Exchanged<Reply> {
  readonly reply: Reply
  readonly isReplay: boolean | undefined
}

const exchange = <Reply, Rejection, E>(
  context: EngineContext,
  of: AnyActor | AnyLane,
  target: Target,
  asked: () => Omit<RemoteRequest, "organization" | "key">,
  decodeReply: (reply: unknown) => unknown = (reply) => decodeWith(of, "reply", reply),
  timeoutMillis: number = remoteTimeoutMillis
): Effect.Effect<Exchanged<Reply>, Rejection | AskError | E> =>
  Effect.callback((resume) => {
    const { clock, remote, traffic } = context
    const { key = "", organization } = target
    const partition = placeOf(context, target)
    let payload: RemoteRequest
    try {
      payload = { organization, key, ...asked() }
    } catch (cause) {
      return resume(Exit.fail(new CommandInvalid({ kind: of.kind, reason: describe(cause) })))
    }
    const read = (said: OwnerAnswer & RemoteAnswer): Exit.Exit<Exchanged<Reply>, Rejection | AskError | E> => {
      try {
        if (said.error !== undefined) return Exit.fail(decodeError(said.error) as AskError | E)
        return "rejection" in said
          ? Exit.fail(decodeWith(of as AnyActor, "rejection", said.rejection) as Rejection)
          : Exit.succeed({ reply: decodeReply(said.reply) as Reply, isReplay: said.isReplay })
      } catch {
        return Exit.fail(new OutcomeUnknown({ partition }))
      }
    }
    const alone = () => resume(Effect.flatMap(askOwner(context, partition, payload, timeoutMillis), read))
    // A page of keys may be as large as a message.
    if (remote === undefined || payload.keys !== undefined) return alone()
    const epoch = traffic.epochOf(partition)
    const sentAt = monotonicMillis(clock)
    const giveUp = joinBatch({ remote, traffic }, partition, payload, timeoutMillis, (said) => {
      if ("_tag" in said) return resume(Exit.fail(said))
      const heard = hear(traffic, partition, said, epoch, monotonicMillis(clock) - sentAt)
      if (heard === "answer") resume(read(said))
      else if (heard === "unknown") resume(Exit.fail(new OutcomeUnknown({ partition })))
      else alone()
    })
    return giveUp === undefined ? alone() : Effect.sync(giveUp)
  })

/** Makes the answer to an ask of an actor or a lane. */
export const answerOf = (
  partition: number,
  of: AnyActor | AnyLane,
  { keys, once, organizations, state }: RemoteRequest,
  exit: Exit.Exit<unknown, unknown>
): RemoteAnswer => {
  try {
    if (Exit.isSuccess(exit)) {
      if (keys !== undefined || organizations !== undefined) return { reply: exit.value }
      if (state === true) return { reply: (of as AnyActor).encodeState(exit.value) }
      if (once === undefined) return { reply: encodeWith(of, "reply", exit.value) }
      const { isReplay, reply } = exit.value as OnceReply<unknown>
      return { reply: encodeWith(of, "reply", reply), isReplay }
    }
    const error = Cause.squash(exit.cause)
    return isAskError(error) ? { error: encodeError(error) } : { rejection: encodeWith(of, "rejection", error) ?? null }
  } catch {
    // The command was decided, but its reply has no JSON form: the caller must not believe that it was not decided.
    return { error: encodeError(new OutcomeUnknown({ partition })) }
  }
}

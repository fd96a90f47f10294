/**
 * Asks that cross processes: how a command, its reply and its errors are written, and which replies count. A reply
 * carries the epoch of the owner that gave it. A reply with a lower epoch than seen before comes from a replaced owner
 * and is ignored (docs/architecture.md, "Placement").
 */
import { Cause, Effect, Exit, Schema } from "effect"
import type { Actor, AnyActor } from "../Actor.ts"
import type { Target } from "../address.ts"
import type { KeyGuard } from "../core/guard.ts"
import { describe } from "../describe.ts"
import { type AskError, CommandInvalid, OnceError, OutcomeUnknown, PartitionUnavailable } from "../errors.ts"
import { type OnceOptions, type OnceReply, onceGuard } from "../once.ts"
import type { Remote } from "../Remote.ts"
import { handlePost, postOf } from "./delivering.ts"
import type { Partition } from "./Partition.ts"
import { accepts, movedRetryMillis, parse, remoteTimeoutMillis } from "./remoteAnswers.ts"

interface Payload {
  readonly organization: string
  readonly kind: string
  readonly key: string
  readonly command: unknown
  readonly fresh?: boolean
  /** For an ask under an idempotency key. */
  readonly once?: OnceOptions
}

/** Exactly one of `reply`, `rejection` and `error`. */
interface Answer {
  readonly epoch: number
  readonly reply?: unknown
  /** With a reply to an ask under an idempotency key: whether it was decided before. */
  readonly isReplay?: boolean
  readonly rejection?: unknown
  readonly error?: unknown
}

const encodeError = Schema.encodeUnknownSync(Schema.toCodecJson(OnceError))
const decodeError = Schema.decodeUnknownSync(Schema.toCodecJson(OnceError))
const isAskError = Schema.is(OnceError)

const jsonCodec = (actor: AnyActor, what: "command" | "reply" | "rejection") => {
  const schema = actor.options[what]
  return schema === undefined ? undefined : Schema.toCodecJson(schema)
}

const encodeWith = (actor: AnyActor, what: "command" | "reply" | "rejection", value: unknown): unknown => {
  const codec = jsonCodec(actor, what)
  if (codec !== undefined) return Schema.encodeUnknownSync(codec)(value)
  if (value === undefined) return undefined
  throw new Error(`${actor.kind} has no schema of its ${what}, so it cannot be asked from another process`)
}

const decodeWith = (actor: AnyActor, what: "command" | "reply" | "rejection", value: unknown): unknown => {
  const codec = jsonCodec(actor, what)
  return codec === undefined ? undefined : Schema.decodeUnknownSync(codec)(value)
}

/** Asks the owner in another process. `epochs` remembers the highest epoch seen of each partition. */
export const askRemote = <Command, Fact, State, Reply, Rejection>(
  remote: Remote["Service"],
  epochs: Map<number, number>,
  partition: number,
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  target: Target,
  command: Command
): Effect.Effect<Reply, Rejection | AskError> =>
  Effect.map(
    exchange<Reply, Rejection, AskError>(remote, epochs, partition, actor, target, { command }),
    ({ reply }) => reply
  )

/** Asks the owner in another process under an idempotency key. */
export const askOnceRemote = <Command, Fact, State, Reply, Rejection>(
  remote: Remote["Service"],
  epochs: Map<number, number>,
  partition: number,
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  target: Target,
  command: Command,
  once: OnceOptions
): Effect.Effect<OnceReply<Reply>, Rejection | OnceError> =>
  Effect.flatMap(
    exchange<Reply, Rejection, OnceError>(remote, epochs, partition, actor, target, { command, once }),
    ({ isReplay, reply }) =>
      // A program that knows no keys has decided it without one.
      isReplay === undefined ? Effect.fail(new OutcomeUnknown({ partition })) : Effect.succeed({ reply, isReplay })
  )

const exchange = <Reply, Rejection, E>(
  remote: Remote["Service"],
  epochs: Map<number, number>,
  partition: number,
  actor: AnyActor,
  target: Target,
  asked: { readonly command: unknown; readonly once?: OnceOptions }
): Effect.Effect<{ readonly reply: Reply; readonly isReplay: boolean | undefined }, Rejection | AskError | E> =>
  Effect.gen(function* () {
    const payload = yield* Effect.try({
      try: () => {
        const encoded: Payload = {
          organization: target.organization,
          kind: actor.kind,
          key: target.key ?? "",
          ...asked,
          command: encodeWith(actor, "command", asked.command),
          ...(target.fresh === true ? { fresh: true } : {})
        }
        return Buffer.from(JSON.stringify(encoded))
      },
      catch: (cause) => new CommandInvalid({ kind: actor.kind, reason: describe(cause) })
    })
    const bytes = yield* Effect.mapError(
      remote.request(partition, payload, {
        timeoutMillis: remoteTimeoutMillis,
        accept: (reply) => accepts(epochs, partition, reply)
      }),
      (error) =>
        error.sent
          ? new OutcomeUnknown({ partition })
          : new PartitionUnavailable({ partition, reason: error.message, retryAfterMillis: movedRetryMillis })
    )
    const answer = yield* Effect.try({
      try: () => {
        const read = parse(bytes) as Answer
        if (read.error !== undefined) return Exit.fail(decodeError(read.error) as AskError | E)
        return "rejection" in read
          ? Exit.fail(decodeWith(actor, "rejection", read.rejection) as Rejection)
          : Exit.succeed({ reply: decodeWith(actor, "reply", read.reply) as Reply, isReplay: read.isReplay })
      },
      catch: () => new OutcomeUnknown({ partition })
    })
    return yield* answer
  })

/** Answers other processes' asks for a partition until the scope ends. A failed subscription is logged, and local asks go on. */
export const serveRemote = (remote: Remote["Service"], partition: Partition) =>
  Effect.ignore(
    remote.serve(partition.id, (bytes) => handle(partition, bytes)),
    { log: "Warn", message: `partition ${partition.id} cannot be asked from other processes` }
  )

const handle = (partition: Partition, bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.suspend(() => {
    let actor: AnyActor | undefined
    let payload: Payload
    let command: unknown
    let guard: KeyGuard | undefined
    try {
      const parsed = parse(bytes)
      const post = postOf(parsed)
      if (post !== undefined) return Effect.map(handlePost(partition, post), (text) => Buffer.from(text))
      payload = parsed as Payload
      actor = partition.parts.registry.actors[partition.parts.registry.actorIndex(payload.kind)]
      if (actor === undefined) throw new Error("it is not among the engine's actors")
      command = decodeWith(actor, "command", payload.command)
      const beside = payload.once === undefined ? undefined : onceGuard(actor, payload.key, payload.once)
      if (beside instanceof CommandInvalid) throw new Error(beside.reason)
      guard = beside
    } catch (cause) {
      return Effect.succeed(
        write({
          epoch: partition.core.head.epoch,
          error: encodeError(new CommandInvalid({ kind: actor?.kind ?? "?", reason: describe(cause) }))
        })
      )
    }
    const index = partition.parts.registry.actorIndex(actor.kind)
    const ask = Effect.callback<unknown, unknown>((resume) =>
      partition.offer(payload.organization, index, payload.key, command, resume, payload.fresh === true, guard)
    )
    return Effect.map(Effect.exit(ask), (exit) => write(answerOf(partition, actor, exit, guard !== undefined)))
  })

const answerOf = (
  partition: Partition,
  actor: AnyActor,
  exit: Exit.Exit<unknown, unknown>,
  isOnce: boolean
): Answer => {
  const { epoch } = partition.core.head
  try {
    if (Exit.isSuccess(exit) && isOnce) {
      const { isReplay, reply } = exit.value as OnceReply<unknown>
      return { epoch, reply: encodeWith(actor, "reply", reply), isReplay }
    }
    if (Exit.isSuccess(exit)) return { epoch, reply: encodeWith(actor, "reply", exit.value) }
    const error = Cause.squash(exit.cause)
    return isAskError(error)
      ? { epoch, error: encodeError(error) }
      : { epoch, rejection: encodeWith(actor, "rejection", error) ?? null }
  } catch {
    // The command was decided, but its reply has no JSON form: the caller must not believe that it was not decided.
    return { epoch, error: encodeError(new OutcomeUnknown({ partition: partition.id })) }
  }
}

const write = (answer: Answer): Uint8Array => Buffer.from(JSON.stringify(answer))

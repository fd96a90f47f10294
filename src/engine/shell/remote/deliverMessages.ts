/**
 * Delivers messages to the partition of the organization that receives them, here or in another process
 * (docs/outbox.md). Messages of one batch have one receiver and are in order; if one is not accepted, those behind it
 * are not either. Never fails: the answer holds the result of each message.
 */
import { Effect, Exit, Schema } from "effect"
import { partitionOf } from "../../address.ts"
import { describe } from "../../describe.ts"
import { AskError, CommandInvalid, OutcomeUnknown, PartitionUnavailable } from "../../errors.ts"
import type { FrameMessage } from "../../frame.ts"
import { retryAfterMillis } from "../../limits.ts"
import { inboxGuard, type MessageRecord, Origin, type Reception } from "../../outbox.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { Partition } from "../partition/Partition.ts"
import { askOwner, movedRetryMillis } from "./ownerCalls.ts"

/** The part of a message that is delivered. */
export type Letter = Pick<MessageRecord, "origin" | "message">

/** The result of a message. */
export type Delivered = Reception | AskError

/** The partition, if this process serves it; one that another process has taken over is asked there. */
export const localPartition = ({ local, remote }: EngineContext, id: number): Partition | undefined => {
  const partition = local.get(id)
  return remote !== undefined && partition?.status._tag === "NotOwned" ? undefined : partition
}

/** Delivers messages for one organization together. Returns the result of each. */
export const deliver = (
  context: EngineContext,
  from: number,
  receiver: string,
  letters: ReadonlyArray<Letter>
): Effect.Effect<ReadonlyArray<Delivered>> =>
  Effect.suspend(() => {
    const id = partitionOf(receiver, context.config.partitions)
    const partition = localPartition(context, id)
    return partition === undefined
      ? deliverRemote(context, id, from, receiver, letters)
      : receive(partition, from, receiver, letters)
  })

/** Makes a partition of this process decide messages, in their order. */
const receive = (
  partition: Partition,
  from: number,
  receiver: string,
  letters: ReadonlyArray<Letter>
): Effect.Effect<ReadonlyArray<Delivered>> =>
  Effect.callback<ReadonlyArray<Delivered>>((resume) => {
    const delivered = new Array<Delivered>(letters.length)
    let left = letters.length
    const answer = (index: number, value: Delivered) => {
      delivered[index] = value
      if (--left === 0) resume(Effect.succeed(delivered))
    }
    for (const [index, { message, origin }] of letters.entries()) {
      const command = commandOf(partition, message)
      if ("error" in command) {
        answer(index, command.error)
        continue
      }
      const guard = inboxGuard(from, origin, letters[index - 1]?.origin)
      const told = (exit: Exit.Exit<unknown, unknown>) => answer(index, deliveredOf(partition, exit))
      partition.core.intake.offer(receiver, command.actorIndex, message.key, command.command, told, false, guard)
    }
  })

/**
 * An entry with an inbox's guard is answered by the guard, or with an error of the engine; the rule's own answers stay
 * inside.
 */
const deliveredOf = ({ id }: Partition, exit: Exit.Exit<unknown, unknown>): Delivered => {
  if (Exit.isSuccess(exit)) return exit.value as Reception
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? (error.value as AskError) : new OutcomeUnknown({ partition: id })
}

/** A message's command for its receiver, or the reason why it cannot be decided here. */
const commandOf = (
  { id, context: { registry } }: Partition,
  { command, kind, version }: FrameMessage
): { readonly actorIndex: number; readonly command: unknown } | { readonly error: AskError } => {
  const actorIndex = registry.actorIndex(kind)
  const actor = registry.actors[actorIndex]
  if (actor === undefined || actor.internal !== undefined || actor.isStateless)
    return { error: new CommandInvalid({ kind, reason: "it is not among the engine's actors with a state" }) }
  // A newer program may have been rolled out to the sender's process first.
  if (version > actor.version) {
    const reason = `it knows version ${actor.version} of ${kind}, and a message is of version ${version}`
    return { error: new PartitionUnavailable({ partition: id, reason, retryAfterMillis }) }
  }
  try {
    return { actorIndex, command: actor.decodeCommand(command) }
  } catch (cause) {
    return { error: new CommandInvalid({ kind, reason: describe(cause) }) }
  }
}

/**
 * The encoding of messages between processes. It has no `kind`, so that a program without messages refuses it instead
 * of deciding a command without its guard.
 */
const Post = Schema.Struct({
  from: Schema.Finite,
  receiver: Schema.String,
  letters: Schema.Array(
    Schema.Struct({
      origin: Origin,
      kind: Schema.String,
      key: Schema.String,
      version: Schema.Finite,
      command: Schema.Unknown
    })
  )
})

const isPost = Schema.is(Post)
const isReception = (value: unknown): value is Reception => typeof value === "string"

const encodeError = Schema.encodeUnknownSync(Schema.toCodecJson(AskError))
const decodeError = Schema.decodeUnknownSync(Schema.toCodecJson(AskError))

const deliverRemote = Effect.fnUntraced(function* (
  context: EngineContext,
  partition: number,
  from: number,
  receiver: string,
  letters: ReadonlyArray<Letter>
) {
  const post: typeof Post.Type = {
    from,
    receiver,
    letters: letters.map(({ message: { command, key, kind, version }, origin }) => ({
      origin,
      kind,
      key,
      version,
      command
    }))
  }
  return yield* Effect.match(askOwner(context, partition, post), {
    onSuccess: (said) => readAnswer(partition, letters.length, said),
    onFailure: (error) => letters.map(() => error)
  })
})

const readAnswer = (partition: number, count: number, said: object): ReadonlyArray<Delivered> => {
  try {
    const { delivered, error } = said as { delivered?: ReadonlyArray<unknown>; error?: unknown }
    if (delivered?.length === count)
      return delivered.map((value) => (isReception(value) ? value : (decodeError(value) as AskError)))
    const why = error === undefined ? undefined : (decodeError(error) as AskError)
    if (why?.retryable === true) return Array.from({ length: count }, () => why)
    const reason = "its owner is a program that takes no messages"
    const none = new PartitionUnavailable({ partition, reason, retryAfterMillis: movedRetryMillis })
    return Array.from({ length: count }, () => none)
  } catch {
    return Array.from({ length: count }, () => new OutcomeUnknown({ partition }))
  }
}

/** The messages in a request of another process; undefined when it holds none. */
export const postOf = (payload: unknown): typeof Post.Type | undefined => (isPost(payload) ? payload : undefined)

/** Decides messages of another process; the answer is for JSON. */
export const handlePost = (
  partition: Partition,
  { from, letters, receiver }: typeof Post.Type
): Effect.Effect<object> => {
  const own = letters.map(({ origin, ...message }) => ({ origin, message: { ...message, organization: receiver } }))
  return Effect.map(receive(partition, from, receiver, own), (delivered) => ({
    delivered: delivered.map((value) => (isReception(value) ? value : encodeError(value)))
  }))
}

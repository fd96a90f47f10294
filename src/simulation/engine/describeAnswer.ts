/** Sends clients' commands and reads their answers. Needs no service. */
import { Cause, type Exit, Schema } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import { isRetryable, OnceError } from "../../engine/errors.ts"
import type { Answer } from "./Operations.ts"

const isAskError = Schema.is(OnceError)

const decoders = new WeakMap<object, (encoded: unknown) => unknown>()

/** A command from its JSON form; a fresh object each time. */
export const decodeCommand = (actor: AnyActor, encoded: unknown): unknown => {
  let decode = decoders.get(actor.options.command)
  if (decode === undefined) {
    decode = Schema.decodeUnknownSync(Schema.toCodecJson(actor.options.command))
    decoders.set(actor.options.command, decode)
  }
  return decode(encoded)
}

/** The answer that the exit of an ask's effect stands for. */
export const answerOf = (exit: Exit.Exit<unknown, unknown>): Answer => {
  if (exit._tag === "Success") return { _tag: "Replied", reply: exit.value }
  const error = Cause.squash(exit.cause)
  if (isAskError(error)) {
    return { _tag: "Failed", error: error._tag, message: error.message, isRetryable: isRetryable(error) }
  }
  if (Cause.hasDies(exit.cause) || Cause.hasInterrupts(exit.cause)) {
    return { _tag: "Failed", error: "Defect", message: String(error), isRetryable: false }
  }
  return { _tag: "Rejected", rejection: error }
}

/** Whether an answer says that nothing of the command is stored, whatever its rule has decided. */
export const isRefusal = (answer: Answer): boolean => answer._tag === "Failed" && answer.error !== "OutcomeUnknown"

/** An answer as a person reads it. */
export const describeAnswer = (answer: Answer): string => {
  switch (answer._tag) {
    case "Replied":
      return JSON.stringify(answer.reply) ?? "done"
    case "Rejected":
      return `rejected, ${JSON.stringify(answer.rejection)}`
    case "Failed":
      return `${answer.error}, ${answer.message}`
  }
}

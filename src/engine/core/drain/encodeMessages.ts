/**
 * Encodes a decision's messages to other organizations, checked by the receiver's schema before anything is appended
 * (docs/architecture.md, rule 17). A faulty message is the fault of the rule that decided it.
 */
import type { Message } from "../../Actor.ts"
import { isSubjectToken } from "../../address.ts"
import { encodeMessage, type FrameMessage } from "../../frame.ts"
import { maximumMessageBytes, maximumMessages } from "../../limits.ts"
import type { Registry } from "../actors/Organization.ts"
import { checkKey, RuleBroken } from "../ruleChecks.ts"

/** A message as text, stringified once. */
export interface EncodedMessage {
  readonly message: FrameMessage
  readonly text: string
  readonly bytes: number
}

const none: ReadonlyArray<EncodedMessage> = []

/** Checks and encodes a decision's messages. Throws a description of the fault. */
export const encodeMessages = (
  registry: Registry,
  messages: ReadonlyArray<Message>,
  level: number
): ReadonlyArray<EncodedMessage> => {
  if (messages.length === 0) return none
  if (messages.length > maximumMessages)
    throw new RuleBroken(`it sends ${messages.length} messages, at most ${maximumMessages} are allowed`)
  return messages.map((message) => encodeOne(registry, message, level))
}

const encodeOne = (
  registry: Registry,
  { actor: named, command, key, organization }: Message,
  level: number
): EncodedMessage => {
  const actor = registry.actors[registry.actorIndex(named.kind)]
  if (actor === undefined || actor.internal !== undefined)
    throw new RuleBroken(`it sends a message to ${named.kind}, which is not an actor of this engine`)
  if (actor.isStateless) throw new RuleBroken(`it sends a message to ${actor.kind}, which has no state`)
  if (typeof organization !== "string" || !isSubjectToken(organization))
    throw new RuleBroken(
      `it sends a message to "${String(organization).slice(0, 64)}", which cannot name an organization`
    )
  try {
    checkKey(key)
  } catch (cause) {
    throw new RuleBroken(`it sends a message to ${actor.kind}: ${cause instanceof Error ? cause.message : "its key"}`)
  }
  const encoded = actor.encodeCommand(command)
  if (encoded === undefined) throw new RuleBroken(`a message to ${actor.kind} has no JSON form`)
  const receiver = { organization, kind: actor.kind, key, version: actor.written(level).version }
  const text = encodeMessage({ ...receiver, command: encoded })
  // Read back, because an encoded value may still hold parts that JSON drops.
  const message = { ...receiver, command: (JSON.parse(text) as ReadonlyArray<unknown>)[4] }
  const bytes = Buffer.byteLength(text)
  if (bytes > maximumMessageBytes)
    throw new RuleBroken(`a message to ${actor.kind} takes ${bytes} bytes, at most ${maximumMessageBytes} are allowed`)
  return { message, text, bytes }
}

/**
 * Replaces replies that are too large for a message between processes. The message would be lost otherwise, and the
 * asker would wait until it gives up.
 */
import { CommandInvalid, OutcomeUnknown } from "../../errors.ts"
import type { Remote } from "../../ports/Remote.ts"
import type { Done } from "../operatorActs.ts"
import { encodeError, type RemoteRequest } from "./askRemote.ts"

/** Bytes of the message around a reply: the epoch and the number of the request. */
const envelopeBytes = 1024

/** No character of a text takes more bytes. */
const maximumCharacterBytes = 3

/** The answer in place of a reply that is too large. */
const refusalOf = (partition: number, request: unknown, reason: string): object => {
  const { act, command, kind, lane } = (request ?? {}) as Partial<RemoteRequest> & { readonly act?: unknown }
  if (act !== undefined) return { refused: reason } satisfies Done
  // The decision is stored; only its reply cannot be sent.
  if (command !== undefined && lane === undefined) return { error: encodeError(new OutcomeUnknown({ partition })) }
  return { error: encodeError(new CommandInvalid({ kind: kind ?? lane ?? "?", reason })) }
}

/** The JSON of an answer, or of the reason why it cannot be sent. */
export const replyText = (
  { maximumBytes }: Remote["Service"],
  partition: number,
  request: unknown,
  said: object & { readonly epoch?: number }
): string => {
  const text = JSON.stringify(said)
  const room = maximumBytes === undefined ? Number.POSITIVE_INFINITY : maximumBytes() - envelopeBytes
  if (text.length * maximumCharacterBytes <= room) return text
  const bytes = Buffer.byteLength(text)
  if (bytes <= room) return text
  const reason = `the reply is too large for a message between processes: ${bytes} bytes, ${room} can be sent`
  return JSON.stringify({ ...refusalOf(partition, request, reason), epoch: said.epoch })
}

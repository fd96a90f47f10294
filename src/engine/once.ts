/**
 * Idempotency keys (docs/architecture.md, "Idempotency keys"): which answer an organization was given under a key, kept by one of the engine's
 * own actors for each key, in the frame of the decision. Pure; needs no service.
 */
import { hash } from "node:crypto"
import { Schema } from "effect"
import type { AnyActor } from "./Actor.ts"
import type { Guard, KnownAnswer } from "./core/guard.ts"
import { CommandInvalid, IdempotencyConflict, ReplyTooLarge } from "./errors.ts"
import { makeInternal } from "./internalActor.ts"
import {
  defaultOnceWindowMillis,
  maximumDigestLength,
  maximumOnceKeyLength,
  maximumOnceWindowMillis,
  maximumReplyBytes,
  minimumOnceWindowMillis
} from "./limits.ts"

/** Under which key a command is asked. */
export interface OnceOptions {
  /** The idempotency key, 1 to 256 characters. An organization's keys are one set, whichever actor they are used for. */
  readonly key: string
  /**
   * What makes two commands the same, 1 to 256 characters: a hash of the request. The actor that is asked counts as part of it.
   */
  readonly digest: string
  /** How long the answer is remembered: 1 second to 30 days in milliseconds, 24 hours when left out. */
  readonly windowMillis?: number
}

/** An answer to `askOnce`. */
export interface OnceReply<Reply> {
  readonly reply: Reply
  /** Whether the command was decided before, under the same key. */
  readonly isReplay: boolean
}

/** Digest of actor and request, kind of the actor, when it was decided, until when it counts, the reply as JSON. */
const Remembered = Schema.Tuple([Schema.String, Schema.String, Schema.Number, Schema.Number, Schema.Json])
type Remembered = typeof Remembered.Type

/** Remembers the answer under one key, named by the key's hash. A fact is the whole state. */
export const Once = makeInternal<Remembered, Remembered | null>({
  name: "once",
  fact: Remembered,
  state: Schema.NullOr(Remembered),
  initial: null,
  evolve: (_, fact) => fact,
  leavesMemory: "after its checkpoint",
  traits: { expiresAt: (state) => (state as Remembered | null)?.[3] }
})

/** Characters of a hash that are kept: 132 bits. */
const hashLength = 22

const shortHash = (text: string): string => hash("sha256", text, "base64url").slice(0, hashLength)

interface ReplyCodec {
  readonly encode: (reply: unknown) => Schema.Json
  readonly decode: (encoded: unknown) => unknown
}

/** Codecs by the reply's schema; making one costs more than a decision. */
const codecs = new WeakMap<object, ReplyCodec>()

const codecOf = (actor: AnyActor): ReplyCodec | undefined => {
  const { reply } = actor.options
  if (reply === undefined) return undefined
  let codec = codecs.get(reply)
  if (codec === undefined) {
    const json = Schema.toCodecJson(reply)
    codec = {
      // A JSON codec encodes to JSON; its type says only that it is not known.
      encode: Schema.encodeUnknownSync(json) as (reply: unknown) => Schema.Json,
      decode: Schema.decodeUnknownSync(json)
    }
    codecs.set(reply, codec)
  }
  return codec
}

/** Bytes of a reply in a frame; only texts, lists and objects can be large. */
const bytesOf = (encoded: Schema.Json): number =>
  typeof encoded === "string" || typeof encoded === "object" ? Buffer.byteLength(JSON.stringify(encoded)) : 0

const isText = (text: unknown, maximumLength: number): boolean =>
  typeof text === "string" && text.length > 0 && text.length <= maximumLength

const problemOf = ({ digest, key, windowMillis }: OnceOptions): string | undefined => {
  if (!isText(key, maximumOnceKeyLength)) return `an idempotency key has 1 to ${maximumOnceKeyLength} characters`
  if (!isText(digest, maximumDigestLength)) return `a digest has 1 to ${maximumDigestLength} characters`
  if (windowMillis === undefined) return undefined
  return Number.isInteger(windowMillis) &&
    windowMillis >= minimumOnceWindowMillis &&
    windowMillis <= maximumOnceWindowMillis
    ? undefined
    : `a window has ${minimumOnceWindowMillis} to ${maximumOnceWindowMillis} milliseconds`
}

/** What stands beside a command that is asked under a key, or why it cannot be asked so. */
export const onceGuard = (actor: AnyActor, actorKey: string, options: OnceOptions): Guard | CommandInvalid => {
  const { kind } = actor.options
  const codec = codecOf(actor)
  const reason = codec === undefined ? "it has no schema of its reply, so none can be remembered" : problemOf(options)
  if (codec === undefined || reason !== undefined) return new CommandInvalid({ kind, reason: reason! })
  return new OnceGuard(codec, kind, actorKey, options)
}

class OnceGuard implements Guard {
  readonly actor = Once
  readonly key: string
  private readonly codec: ReplyCodec
  private readonly kind: string
  private readonly digest: string
  private readonly windowMillis: number

  constructor(codec: ReplyCodec, kind: string, actorKey: string, { digest, key, windowMillis }: OnceOptions) {
    this.key = shortHash(key)
    this.codec = codec
    this.kind = kind
    this.digest = shortHash(`${kind}\n${actorKey}\n${digest}`)
    this.windowMillis = windowMillis ?? defaultOnceWindowMillis
  }

  recall(state: unknown, now: number): KnownAnswer | undefined {
    const known = state as Remembered | null
    // The row of an answer that is over may still be there, and a later life may find it gone.
    if (known === null || known[3] <= now) return undefined
    if (known[0] !== this.digest) return { accepted: false, value: new IdempotencyConflict({ kind: this.kind }) }
    return { accepted: true, value: { reply: this.codec.decode(known[4]), isReplay: true } }
  }

  factOf(reply: unknown, now: number): Remembered {
    const encoded = this.codec.encode(reply)
    const bytes = bytesOf(encoded)
    if (bytes > maximumReplyBytes) throw new ReplyTooLarge({ kind: this.kind, bytes, maximumBytes: maximumReplyBytes })
    return [this.digest, this.kind, now, now + this.windowMillis, encoded]
  }

  answerOf(reply: unknown): OnceReply<unknown> {
    return { reply, isReplay: false }
  }
}

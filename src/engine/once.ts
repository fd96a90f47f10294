/**
 * Remembers an organization's answers under idempotency keys (docs/architecture.md, "Idempotency keys"): one of the
 * engine's own actors for each key holds the answer, in the frame of the decision. Pure; needs no service.
 */
import { hash } from "node:crypto"
import { Schema } from "effect"
import type { AnyActor } from "./Actor.ts"
import type { KeyGuard, KnownAnswer, Remembrance } from "./core/keys/KeyGuard.ts"
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

/** The key under which a command is asked. See {@link Engine.Engine}. */
export interface OnceOptions {
  /**
   * The idempotency key, 1 to 256 characters. An organization's keys are one set, whichever actor they are used for.
   */
  readonly key: string
  /** The identity of the request, 1 to 256 characters: a hash of it. The actor that is asked counts as part of it. */
  readonly digest: string
  /** How long the answer is remembered: 1 second to 30 days in milliseconds, default 24 hours. */
  readonly windowMillis?: number
}

/** An answer to `askOnce`. See {@link Engine.Engine}. */
export interface OnceReply<Reply> {
  readonly reply: Reply
  /** Whether the command was decided before, under the same key. */
  readonly isReplay: boolean
}

/**
 * Digest of the request (`plainDigest` or `hashedDigest`), kind of the actor, when it was decided, until when it
 * counts, the reply as JSON.
 */
const Remembered = Schema.Tuple([Schema.String, Schema.String, Schema.Finite, Schema.Finite, Schema.Json])
type Remembered = typeof Remembered.Type

const isFact = Schema.is(Remembered)

/** Characters of a hash that are kept: 132 bits. */
const hashLength = 22

const isShortHash = new RegExp(`^[\\w-]{${hashLength}}$`)

const shortHash = (text: string): string => hash("sha256", text, "base64url").slice(0, hashLength)

/** Remembers the answer under one key, named by the key's hash. A fact is the whole state. */
export const Once = makeInternal<Remembered, Remembered | null>({
  name: "once",
  fact: Remembered,
  state: Schema.NullOr(Remembered),
  initial: null,
  evolve: (_, fact) => fact,
  leavesMemory: "after its checkpoint",
  traits: {
    expiresAt: (state) => (state as Remembered | null)?.[3],
    isRemembered: (key, fact) => isShortHash.test(key) && isFact(fact)
  }
})

/** The longest actor key and digest that are remembered as they are, since hashing them costs more than the bytes. */
const maximumPlainLength = 72

/** Characters that JSON writes unescaped. */
const isPlain = /^[ !#-[\]-~]*$/

/** A digest with the key of the asked actor; undefined if they are too long or not plain. Its kind is next to it. */
const plainDigest = (actorKey: string, digest: string): string | undefined => {
  const text = `=${actorKey.length}:${actorKey}${digest}`
  return text.length <= maximumPlainLength && isPlain.test(text) ? text : undefined
}

/** Whether a remembered digest is a plain one. A hash has no such sign. */
const isPlainDigest = (digest: string): boolean => digest.startsWith("=")

/** A hash of the asked actor and the digest. Once all digests had this form. */
const hashedDigest = (kind: string, actorKey: string, digest: string): string =>
  shortHash(`${kind}\n${actorKey}\n${digest}`)

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

/** Makes the guard of a command that is asked under a key, or returns why it cannot be. */
export const onceGuard = (actor: AnyActor, actorKey: string, options: OnceOptions): KeyGuard | CommandInvalid => {
  const { kind } = actor.options
  const codec = codecOf(actor)
  const reason = codec === undefined ? "it has no schema of its reply, so none can be remembered" : problemOf(options)
  if (codec === undefined || reason !== undefined) return new CommandInvalid({ kind, reason: reason! })
  return new OnceGuard(codec, kind, actorKey, options)
}

/** The part behind the digest in the facts of one kind, time and window: the facts of a drain share it. */
class Middle {
  private kind = ""
  private now = 0
  private windowMillis = 0
  private text = ""

  of(kind: string, now: number, windowMillis: number): string {
    if (kind !== this.kind || now !== this.now || windowMillis !== this.windowMillis) {
      this.kind = kind
      this.now = now
      this.windowMillis = windowMillis
      this.text = `","${kind}",${now},${now + windowMillis},`
    }
    return this.text
  }
}

const middle = new Middle()

class OnceGuard implements KeyGuard {
  readonly key: string
  private readonly codec: ReplyCodec
  private readonly kind: string
  private readonly actorKey: string
  private readonly digest: string
  private readonly windowMillis: number

  constructor(codec: ReplyCodec, kind: string, actorKey: string, { digest, key, windowMillis }: OnceOptions) {
    this.key = shortHash(key)
    this.codec = codec
    this.kind = kind
    this.actorKey = actorKey
    this.digest = digest
    this.windowMillis = windowMillis ?? defaultOnceWindowMillis
  }

  recall(fact: unknown, now: number): KnownAnswer | undefined {
    const known = fact as Remembered | null
    // The row of an expired answer may still be there, and a later life may find it gone.
    if (known === null || known[3] <= now) return undefined
    const isSame = isPlainDigest(known[0])
      ? known[0] === plainDigest(this.actorKey, this.digest) && known[1] === this.kind
      : known[0] === hashedDigest(this.kind, this.actorKey, this.digest)
    if (!isSame) return { accepted: false, value: new IdempotencyConflict({ kind: this.kind }) }
    return { accepted: true, value: { reply: this.codec.decode(known[4]), isReplay: true } }
  }

  remember(reply: unknown, now: number): Remembrance {
    const { kind } = this
    const replyText = JSON.stringify(this.codec.encode(reply))
    const replyBytes = Buffer.byteLength(replyText)
    if (replyBytes > maximumReplyBytes)
      throw new ReplyTooLarge({ kind, bytes: replyBytes, maximumBytes: maximumReplyBytes })
    const told = plainDigest(this.actorKey, this.digest) ?? hashedDigest(kind, this.actorKey, this.digest)
    // This is the fact as its schema writes it. Digests and kinds have nothing to escape.
    const text = `["${told}${middle.of(kind, now, this.windowMillis)}${replyText}]`
    return { text, bytes: text.length - replyText.length + replyBytes, until: now + this.windowMillis }
  }

  answerOf(reply: unknown): OnceReply<unknown> {
    return { reply, isReplay: false }
  }
}

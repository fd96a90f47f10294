/**
 * Stores the contents of emails (docs/handoff.md, 1), outside the log of decisions, which has a pointer to each.
 * `layerMemory` keeps them in this process and needs nothing; `MessageContentsDurable.ts` makes them durable.
 */
import { createSecretKey } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { drawBytes } from "../../../common/identifiers.ts"
import type { Message } from "../../Message.ts"
import { termDigests } from "../../search/termDigests.ts"
import { contentKeyBytes, encodeContent } from "./contentFrames.ts"
import { maximumMemoryContents } from "./limits.ts"

/**
 * Contents cannot be kept or found now: a server is away, or its room is used up. Retryable. Nothing was acknowledged.
 */
export class ContentsUnavailable extends Schema.TaggedError<ContentsUnavailable>()("ContentsUnavailable", {
  /** The attempt and the obstacle, for an operator. */
  message: Schema.String
}) {}

/**
 * A content that is kept: where it is, and how many bytes it takes there. A pointer is text without spaces, at most 40
 * characters long.
 */
export interface KeptContent {
  readonly pointer: string
  readonly bytes: number
}

export class MessageContents extends Context.Service<
  MessageContents,
  {
    /** Keeps contents for good before it answers; one answer for each, in order. */
    readonly write: (
      organization: string,
      messages: ReadonlyArray<Message>
    ) => Effect.Effect<ReadonlyArray<KeptContent>, ContentsUnavailable>
    /**
     * The contents at pointers, in order; null for one that was erased, is too old, belongs to another organization or
     * was never there.
     */
    readonly read: (
      organization: string,
      pointers: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Message | null>, ContentsUnavailable>
    /**
     * Digests of terms under the key of an organization, in order (docs/platform.md, 9.20); none where nothing is kept
     * for the organization any more.
     */
    readonly digests: (
      organization: string,
      terms: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<number>, ContentsUnavailable>
  }
>()("sluice/send/MessageContents") {
  /** The newest contents of this process. */
  static readonly layerMemory: Layer.Layer<MessageContents> = Layer.sync(MessageContents, () => {
    const kept = new Map<string, { readonly organization: string; readonly message: Message }>()
    let written = 0
    const key = createSecretKey(drawBytes(contentKeyBytes))
    return MessageContents.of({
      write: (organization, messages) =>
        Effect.suspend(() => {
          if (kept.size + messages.length > maximumMemoryContents)
            return new ContentsUnavailable({ message: `${maximumMemoryContents} contents are all that memory keeps` })
          written++
          const contents = messages.map((message, index): KeptContent => {
            const pointer = `${written}.${index}`
            kept.set(pointer, { organization, message })
            return { pointer, bytes: Buffer.byteLength(encodeContent(message)) }
          })
          return Effect.succeed(contents)
        }),
      read: (organization, pointers) =>
        Effect.sync(() =>
          pointers.map((pointer) => {
            const found = kept.get(pointer)
            return found?.organization === organization ? found.message : null
          })
        ),
      digests: (_, terms) => Effect.sync(() => termDigests(key, terms))
    })
  })
}

/**
 * `MessageContents`: keeps what the emails of organizations say (docs/handoff.md, 1), outside the log of decisions, which has a pointer to each.
 * `layerMemory` keeps it in this process and needs nothing; what survives the process is in `MessageContentsDurable.ts`.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Message } from "../message/Message.ts"
import { maximumMemoryContents } from "./limits.ts"

/** Contents cannot be kept or found now: a server is away, or its room is used up. Retryable. Nothing was acknowledged. */
export class ContentsUnavailable extends Schema.TaggedError<ContentsUnavailable>()("ContentsUnavailable", {
  /** What was tried and what stood against it, for an operator. */
  message: Schema.String
}) {}

export class MessageContents extends Context.Service<
  MessageContents,
  {
    /** Keeps contents for good before it answers; a pointer for each, in order. A pointer is text without spaces, at most 40 characters long. */
    readonly write: (
      organization: string,
      messages: ReadonlyArray<Message>
    ) => Effect.Effect<ReadonlyArray<string>, ContentsUnavailable>
    /** The contents at pointers, in order; null for one that was erased, is too old, belongs to another organization or was never there. */
    readonly read: (
      organization: string,
      pointers: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Message | null>, ContentsUnavailable>
  }
>()("sluice/send/MessageContents") {
  /** The newest contents of this process. */
  static readonly layerMemory: Layer.Layer<MessageContents> = Layer.sync(MessageContents, () => {
    const kept = new Map<string, { readonly organization: string; readonly message: Message }>()
    let written = 0
    return MessageContents.of({
      write: (organization, messages) =>
        Effect.suspend(() => {
          if (kept.size + messages.length > maximumMemoryContents)
            return new ContentsUnavailable({ message: `${maximumMemoryContents} contents are all that memory keeps` })
          written++
          const pointers = messages.map((message, index) => {
            const pointer = `${written}.${index}`
            kept.set(pointer, { organization, message })
            return pointer
          })
          return Effect.succeed(pointers)
        }),
      read: (organization, pointers) =>
        Effect.sync(() =>
          pointers.map((pointer) => {
            const found = kept.get(pointer)
            return found?.organization === organization ? found.message : null
          })
        )
    })
  })
}

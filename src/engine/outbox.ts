/**
 * Defines messages to other organizations (docs/outbox.md): the origin of a message, the view of followers of the log,
 * and the engine's own actor by which a receiving organization accepts each message once. Pure; needs no service.
 */
import { Schema } from "effect"
import type { ActorAddress } from "./address.ts"
import type { Guard, KnownAnswer } from "./core/keys/KeyGuard.ts"
import type { FrameMessage } from "./frame.ts"
import { makeInternal } from "./internalActor.ts"

/** The outbox's name among the cursors and where records are parked. Stored: never rename it. */
export const outboxName = "sluice.outbox"

/**
 * The place of a message: epoch, sequence and index of its record in the log of the sending partition. In this order a
 * log's messages ascend, even when the end of the log was lost: the frames written in its place have a higher epoch.
 */
export const Origin = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite])
export type Origin = typeof Origin.Type

/** Whether a message is behind another one of the same log. */
export const isBehind = (left: Origin, right: Origin): boolean =>
  left[0] !== right[0] ? left[0] > right[0] : left[1] !== right[1] ? left[1] > right[1] : left[2] > right[2]

/** A message of a stored frame. */
export interface MessageRecord {
  readonly origin: Origin
  /** The frame's time, milliseconds since the Unix epoch. */
  readonly now: number
  /** The actor whose decision sent it. */
  readonly sender: ActorAddress
  readonly message: FrameMessage
  /** Size of the message in its frame. */
  readonly bytes: number
}

/**
 * Remembers the last message that an organization has accepted from a partition, whose number is the key. A fact is the
 * whole state.
 */
export const Inbox = makeInternal<Origin, Origin | null>({
  name: "inbox",
  fact: Origin,
  state: Schema.NullOr(Origin),
  initial: null,
  evolve: (_, fact) => fact,
  traits: {}
})

/**
 * The result for a message at its receiver. `out of turn`: an earlier message of the same delivery was not accepted.
 */
export type Reception = "accepted" | "rejected" | "repeated" | "out of turn"

/**
 * The guard of a message's command: the command is decided only if it was not accepted before, and if the message
 * before it in the same delivery was.
 */
export const inboxGuard = (from: number, origin: Origin, after: Origin | undefined): Guard =>
  new InboxGuard(from, origin, after)

class InboxGuard implements Guard {
  readonly actor = Inbox
  readonly key: string
  private readonly origin: Origin
  private readonly after: Origin | undefined

  constructor(from: number, origin: Origin, after: Origin | undefined) {
    this.key = String(from)
    this.origin = origin
    this.after = after
  }

  recall(state: unknown): KnownAnswer | undefined {
    const last = state as Origin | null
    if (last !== null && !isBehind(this.origin, last)) return received("repeated")
    // Commands that wait for different actors may overtake each other on their way.
    if (this.after !== undefined && (last === null || isBehind(this.after, last))) return received("out of turn")
    return undefined
  }

  factOf(): Origin {
    return this.origin
  }

  answerOf(): Reception {
    return "accepted"
  }

  answerOfRejection(): Reception {
    return "rejected"
  }
}

const received = (value: Reception): KnownAnswer => ({ accepted: true, value })

/**
 * Messages to other organizations (docs/outbox.md): where one comes from, what followers of the log see of it, and the engine's own actor by
 * which a receiving organization takes each of them in once. Pure; needs no service.
 */
import { Schema } from "effect"
import type { ActorAddress } from "./address.ts"
import type { Guard, KnownAnswer } from "./core/keys/KeyGuard.ts"
import type { FrameMessage } from "./frame.ts"
import { makeInternal } from "./internalActor.ts"

/** The outbox's name among the cursors and where records are parked. Stored: never rename it. */
export const outboxName = "sluice.outbox"

/**
 * Where a message stands: epoch, sequence and index of its record in the log of the sending partition. In this order a log's messages ascend,
 * also when the end of the log was lost: what is written in its place has a higher epoch.
 */
export const Origin = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite])
export type Origin = typeof Origin.Type

/** Whether a message stands behind another one of the same log. */
export const isBehind = (left: Origin, right: Origin): boolean =>
  left[0] !== right[0] ? left[0] > right[0] : left[1] !== right[1] ? left[1] > right[1] : left[2] > right[2]

/** A message of a stored frame. */
export interface MessageRecord {
  readonly origin: Origin
  /** The frame's time, milliseconds since the Unix epoch. */
  readonly now: number
  /** Whose decision it belongs to. */
  readonly sender: ActorAddress
  readonly message: FrameMessage
  /** Size of the message in its frame. */
  readonly bytes: number
}

/** Remembers the last message that an organization has taken in from a partition, whose number is the key. A fact is the whole state. */
export const Inbox = makeInternal<Origin, Origin | null>({
  name: "inbox",
  fact: Origin,
  state: Schema.NullOr(Origin),
  initial: null,
  evolve: (_, fact) => fact,
  traits: {}
})

/** What became of a message at its receiver. `out of turn`: one that was sent together with it and stands before it is not taken in. */
export type Reception = "accepted" | "rejected" | "repeated" | "out of turn"

/**
 * What stands beside a command that is a message: it is decided only where it was not taken in before, and where the one before it was, if that was
 * sent together with it.
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

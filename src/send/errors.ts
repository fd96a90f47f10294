/**
 * Defines the errors of this folder's services besides the rules' own rejections. A rejection changed nothing; a bad
 * argument is a mistake of the caller, and so are more keys than the memory was made for.
 */
import { Schema } from "effect"
import type { InvalidArgument } from "../limits/errors.ts"

/** The memory has no room for another account or sender. Nothing was decided. See {@link Admission}. */
export class MemoryFull extends Schema.TaggedError<MemoryFull>()("MemoryFull", {
  /** Keys that it keeps. */
  maxKeys: Schema.Int
}) {
  override get message(): string {
    return `No room for another key beside ${this.maxKeys}`
  }
}

/**
 * The engine gave no answer. Retryable, unless the message says what is wrong with the request. See {@link Admission}.
 */
export class DecisionUnavailable extends Schema.TaggedError<DecisionUnavailable>()("DecisionUnavailable", {
  /** The attempt and the reason why there was no answer, for an operator. */
  message: Schema.String,
  /** Whether it may have been decided all the same; then a repeat may count twice. */
  mayBeDecided: Schema.Boolean
}) {}

/** The errors of every call of these services that has no answer. See {@link Admission}. */
export type Unanswered = InvalidArgument | MemoryFull | DecisionUnavailable

/** A request that admission rejects (docs/platform.md, 9.7). See {@link Admission}. */
export class SendRejected extends Schema.TaggedError<SendRejected>()("SendRejected", {
  status: Schema.Literals([403, 429]),
  /** The answer's `error`: code, message and the code's own fields. */
  error: Schema.Struct({
    code: Schema.Literals([
      "sender_not_verified",
      "sending_paused",
      "monthly_limit_reached",
      "probation_limit_reached"
    ]),
    message: Schema.String,
    limit: Schema.optionalKey(Schema.Int),
    used: Schema.optionalKey(Schema.Int),
    window: Schema.optionalKey(Schema.Literals(["hour", "day"])),
    metric: Schema.optionalKey(Schema.Literals(["sends", "recipient_domains"])),
    resetsAt: Schema.optionalKey(Schema.String),
    upgradeUrl: Schema.optionalKey(Schema.String)
  }),
  /** Whole seconds after which a retry passes the cap; absent where waiting does not help. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {
  override get message(): string {
    return this.error.message
  }
}

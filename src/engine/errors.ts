/**
 * Defines the errors of an ask besides the rule's own rejection. Retryable and terminal errors are different types, so
 * that a caller cannot confuse them: after a `RetryableError` the same command may succeed, after a `TerminalError` it
 * will not.
 */
import { Data, Schema } from "effect"

/**
 * The mailbox, or the organization's share of it, is full. The command was not decided. HTTP: 503 with Retry-After.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { type Actor, type AskErrors, Engine } from "sluice"
 *
 * // Asks again once the mailbox has room.
 * export const patient = <A, E>(ask: Effect.Effect<A, E | AskErrors.Overloaded>) =>
 *   Effect.catchIf(
 *     ask,
 *     (error): error is AskErrors.Overloaded => (error as { _tag?: string })._tag === "Overloaded",
 *     ({ retryAfterMillis }) => Effect.andThen(Effect.sleep(retryAfterMillis), ask)
 *   )
 * ```
 */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  partition: Schema.Number,
  retryAfterMillis: Schema.Number
}) {
  readonly retryable = true as const
  override get message() {
    return `partition ${this.partition} has more waiting commands than it takes`
  }
}

/**
 * Another owner has taken the partition over. The command's facts were not stored; ask again. See
 * {@link AskErrors.isRetryable}.
 */
export class PartitionMoved extends Schema.TaggedError<PartitionMoved>()("PartitionMoved", {
  partition: Schema.Number
}) {
  readonly retryable = true as const
  override get message() {
    return `partition ${this.partition} was taken over by another owner`
  }
}

/**
 * The facts may or may not be stored, now or a moment later. Asking again is safe only if the rule recognizes a repeat
 * (the same Idempotency-Key). HTTP: 503.
 *
 * @example
 * ```ts
 * import { AskErrors } from "sluice"
 *
 * // ask again only under an idempotency key (`askOnce`), or where the rule recognizes a repeat
 * const unknown = new AskErrors.OutcomeUnknown({ partition: 3 })
 * console.log(unknown.retryable, AskErrors.isRetryable(unknown, { isIdempotent: true })) // false true
 * ```
 */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>()("OutcomeUnknown", {
  partition: Schema.Number
}) {
  readonly retryable = false as const
  override get message() {
    return `whether the decision is stored is not known yet; repeat with the same idempotency key`
  }
}

/**
 * The partition does not serve now: starting, recovering, its clock behind, its log full or away. Nothing was stored.
 * HTTP: 503. See {@link AskErrors.isRetryable}.
 */
export class PartitionUnavailable extends Schema.TaggedError<PartitionUnavailable>()("PartitionUnavailable", {
  partition: Schema.Number,
  reason: Schema.String,
  retryAfterMillis: Schema.Number
}) {
  readonly retryable = true as const
  override get message() {
    return `partition ${this.partition} does not serve now: ${this.reason}`
  }
}

/**
 * The rule threw on this command (docs/architecture.md, rule 12). Nothing was stored; the same command will throw
 * again. See {@link AskErrors.AskError}.
 */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  kind: Schema.String,
  reason: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `the rule of ${this.kind} failed on this command: ${this.reason}`
  }
}

/**
 * The command cannot be accepted as it is: unknown kind, a bad name, undecodable, or too many actors named. See
 * {@link AskErrors.AskError}.
 */
export class CommandInvalid extends Schema.TaggedError<CommandInvalid>()("CommandInvalid", {
  kind: Schema.String,
  reason: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `not a command for ${this.kind}: ${this.reason}`
  }
}

/** The facts and events of one decision do not fit one frame. Nothing was stored. See {@link AskErrors.AskError}. */
export class DecisionTooLarge extends Schema.TaggedError<DecisionTooLarge>()("DecisionTooLarge", {
  kind: Schema.String,
  bytes: Schema.Number,
  maximumBytes: Schema.Number
}) {
  readonly retryable = false as const
  override get message() {
    return `one decision of ${this.kind} takes ${this.bytes} bytes, a frame holds ${this.maximumBytes}`
  }
}

/**
 * The actor's state would be larger than an actor may be (docs/architecture.md, rule 10). Nothing was stored. See
 * {@link AskErrors.AskError}.
 */
export class StateTooLarge extends Schema.TaggedError<StateTooLarge>()("StateTooLarge", {
  kind: Schema.String,
  bytes: Schema.Number,
  maximumBytes: Schema.Number
}) {
  readonly retryable = false as const
  override get message() {
    return `the state of ${this.kind} would take ${this.bytes} bytes, an actor may take ${this.maximumBytes}`
  }
}

/**
 * This program cannot read some stored data of the organization (docs/architecture.md, rule 17). The organization is
 * out of service until a program that can read it runs; others are not affected. Nothing was stored. See
 * {@link AskErrors.AskError}.
 */
export class Quarantined extends Schema.TaggedError<Quarantined>()("Quarantined", {
  organization: Schema.String,
  reason: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `${this.organization} is out of service: ${this.reason}`
  }
}

/**
 * The idempotency key was used for another request of the organization, which is still remembered. Nothing was stored;
 * use a new key for a new request. See {@link AskErrors.OutcomeUnknown}.
 */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {
  kind: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `the idempotency key of this command for ${this.kind} was used for another request`
  }
}

/**
 * The reply to a command asked under an idempotency key is too large to be remembered. Nothing was stored. See
 * {@link AskErrors.OutcomeUnknown}.
 */
export class ReplyTooLarge extends Schema.TaggedError<ReplyTooLarge>()("ReplyTooLarge", {
  kind: Schema.String,
  bytes: Schema.Number,
  maximumBytes: Schema.Number
}) {
  readonly retryable = false as const
  override get message() {
    return `a reply of ${this.kind} takes ${this.bytes} bytes, ${this.maximumBytes} can be remembered`
  }
}

/**
 * The partition has stopped for good and waits for an operator; the reason names the fault. See
 * {@link AskErrors.AskError}.
 */
export class PartitionStopped extends Schema.TaggedError<PartitionStopped>()("PartitionStopped", {
  partition: Schema.Number,
  reason: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `partition ${this.partition} has stopped: ${this.reason}`
  }
}

/** Nothing was stored, and the same command may succeed when it is asked again. See {@link AskErrors.isRetryable}. */
export type RetryableError = Overloaded | PartitionMoved | PartitionUnavailable
/** Nothing was stored, and the same command will fail again. See {@link AskErrors.isRetryable}. */
export type TerminalError =
  | CommandFailed
  | CommandInvalid
  | DecisionTooLarge
  | StateTooLarge
  | Quarantined
  | PartitionStopped
/**
 * The errors of an ask. `OutcomeUnknown` is neither retryable nor terminal: the command may be stored.
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { AskErrors } from "sluice"
 *
 * // as a part of an API's errors
 * export const PaymentError = Schema.Union([Schema.TaggedStruct("NoMoney", {}), ...AskErrors.AskError.members])
 * console.log(PaymentError.members.length) // 11
 * ```
 */
export type AskError = RetryableError | OutcomeUnknown | TerminalError

/** The schema of all of them, for replies that cross processes. */
export const AskError = Schema.Union([
  Overloaded,
  PartitionMoved,
  OutcomeUnknown,
  PartitionUnavailable,
  CommandFailed,
  CommandInvalid,
  DecisionTooLarge,
  StateTooLarge,
  Quarantined,
  PartitionStopped
])

/**
 * The errors of an ask under an idempotency key. After `OutcomeUnknown` it is safe to ask again under the same key. See
 * {@link AskErrors.OutcomeUnknown}.
 */
export type OnceError = AskError | IdempotencyConflict | ReplyTooLarge
export const OnceError = Schema.Union([...AskError.members, IdempotencyConflict, ReplyTooLarge])

/**
 * Whether an error is the engine's, rather than a rule's own rejection.
 *
 * @example
 * ```ts
 * import { AskErrors } from "sluice"
 *
 * console.log(AskErrors.isAnAskError(new AskErrors.OutcomeUnknown({ partition: 0 }))) // true
 * // a rejection of a rule is the program's own
 * console.log(AskErrors.isAnAskError("it is sold out")) // false
 * ```
 */
export const isAnAskError = Schema.is(AskError)

/**
 * Whether an error is the engine's and the ask is worth repeating. With `isIdempotent` (the rule recognizes a repeat,
 * by an idempotency key) a command whose outcome is not known may be repeated too; any other command could then happen
 * twice.
 *
 * @example
 * ```ts
 * import { AskErrors } from "sluice"
 *
 * const away = new AskErrors.PartitionUnavailable({ partition: 0, reason: "starting", retryAfterMillis: 500 })
 * const unknown = new AskErrors.OutcomeUnknown({ partition: 0 })
 * console.log(AskErrors.isRetryable(away)) // true
 * console.log(AskErrors.isRetryable(unknown)) // false
 * console.log(AskErrors.isRetryable(unknown, { isIdempotent: true })) // true
 * ```
 */
export const isRetryable = (
  error: unknown,
  options?: { readonly isIdempotent: boolean }
): error is RetryableError | OutcomeUnknown =>
  isAnAskError(error) && (error.retryable || (error._tag === "OutcomeUnknown" && options?.isIdempotent === true))

/** The engine cannot run as configured; the message says what to change. Terminal. See {@link Engine.layer}. */
export class EngineRefused extends Data.TaggedError("EngineRefused")<{ readonly message: string }> {}

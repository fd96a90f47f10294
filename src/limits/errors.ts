/**
 * Defines the errors of a limit: a bad argument, a limit that is reached, a limiter without room for another key, and a
 * limiter that gave no answer. They are different types because callers treat them differently: the first is a mistake,
 * the second is answered with 429, and for the last two the caller decides whether the request passes. No error names
 * the key, because a key may be a credential.
 */
import { Schema } from "effect"

/**
 * An argument outside the limiter's range. Nothing was counted. Terminal: the same call fails again. See
 * {@link FixedWindow.assertCost}.
 */
export class InvalidArgument extends Schema.TaggedError<InvalidArgument>()("InvalidArgument", {
  /** Name of the argument. */
  argument: Schema.String,
  /** The expectation and, unless it is a key, the given value. */
  message: Schema.String
}) {}

/** The request is over the limit of its key and was not counted (docs/platform.md, 3.1). See {@link admit}. */
export class LimitReached extends Schema.TaggedError<LimitReached>()("LimitReached", {
  /** Requests per window. */
  limit: Schema.Int,
  /** Requests left in the window; above 0 if only a smaller cost would still fit. */
  remaining: Schema.Int,
  /** The cost of the refused request. Above `limit` it fits no window. */
  cost: Schema.Int,
  /** Unix seconds at which the window ends. */
  reset: Schema.Int,
  /** Whole seconds until then, at least 1. */
  retryAfterSeconds: Schema.Int
}) {
  override get message(): string {
    return this.cost > this.limit
      ? `A request of cost ${this.cost} never fits the limit of ${this.limit}`
      : `Over the limit of ${this.limit}; retry after ${this.retryAfterSeconds} s`
  }
}

/**
 * The limiter holds its maximum of keys, and this one is new to the window. Nothing was counted. See {@link orRefused}.
 */
export class LimiterFull extends Schema.TaggedError<LimiterFull>()("LimiterFull", {
  /** Unix seconds at which the window ends and there is room again. */
  reset: Schema.Int,
  /** Whole seconds until then, at least 1. */
  retryAfterSeconds: Schema.Int
}) {
  override get message(): string {
    return `No room to count another key; retry after ${this.retryAfterSeconds} s`
  }
}

/**
 * The limiter of this key gave no answer in time, so it is unknown whether the request is over its limit. Retryable.
 * See {@link admit}.
 */
export class LimiterUnreachable extends Schema.TaggedError<LimiterUnreachable>()("LimiterUnreachable", {
  /** The attempt and the reason for the missing answer, for an operator. */
  message: Schema.String
}) {}

/**
 * Defines the errors of endpoints whose product answers `{error: {code, message, …}}` (docs/platform.md, 1.5): one
 * class per status and code. A client of the typed API catches them by `_tag`, which is not on the wire.
 */
import { Schema } from "effect"

const nested = <const Code extends string>(code: Code) => ({
  error: Schema.Struct({ code: Schema.Literal(code), message: Schema.String })
})

/** 400 in the nested shape. */
export class NestedInvalidRequest extends Schema.Error<NestedInvalidRequest>("sluice/NestedInvalidRequest")(
  { _tag: Schema.tagDefaultOmit("NestedInvalidRequest"), ...nested("invalid_request") },
  { httpApiStatus: 400, description: "Something in the request is missing or malformed" }
) {
  static of(message: string): NestedInvalidRequest {
    return new NestedInvalidRequest({ error: { code: "invalid_request", message } })
  }
}

/** 401 in the nested shape. */
export class NestedUnauthorized extends Schema.Error<NestedUnauthorized>("sluice/NestedUnauthorized")(
  { _tag: Schema.tagDefaultOmit("NestedUnauthorized"), ...nested("unauthorized") },
  { httpApiStatus: 401, description: "No API key, or one that is unknown, revoked or expired" }
) {
  static of(message: string): NestedUnauthorized {
    return new NestedUnauthorized({ error: { code: "unauthorized", message } })
  }
}

/** 403 in the nested shape. */
export class NestedForbidden extends Schema.Error<NestedForbidden>("sluice/NestedForbidden")(
  { _tag: Schema.tagDefaultOmit("NestedForbidden"), ...nested("forbidden") },
  { httpApiStatus: 403, description: "The key lacks the service, or may not do this" }
) {
  static of(message: string): NestedForbidden {
    return new NestedForbidden({ error: { code: "forbidden", message } })
  }
}

/** 404 in the nested shape. */
export class NestedNotFound extends Schema.Error<NestedNotFound>("sluice/NestedNotFound")(
  { _tag: Schema.tagDefaultOmit("NestedNotFound"), ...nested("not_found") },
  { httpApiStatus: 404, description: "Nothing has the given id; the message names it" }
) {
  static of(message: string): NestedNotFound {
    return new NestedNotFound({ error: { code: "not_found", message } })
  }
}

/** 409 in the nested shape: the request does not fit the present state. */
export class NestedConflict extends Schema.Error<NestedConflict>("sluice/NestedConflict")(
  { _tag: Schema.tagDefaultOmit("NestedConflict"), ...nested("conflict") },
  { httpApiStatus: 409, description: "What was asked does not fit the present state; the message says why" }
) {
  static of(message: string): NestedConflict {
    return new NestedConflict({ error: { code: "conflict", message } })
  }
}

/** 409 in the nested shape: the Idempotency-Key was used for another request. */
export class NestedIdempotencyConflict extends Schema.Error<NestedIdempotencyConflict>(
  "sluice/NestedIdempotencyConflict"
)(
  { _tag: Schema.tagDefaultOmit("NestedIdempotencyConflict"), ...nested("idempotency_conflict") },
  { httpApiStatus: 409, description: "The Idempotency-Key was used for another request" }
) {
  static of(message: string): NestedIdempotencyConflict {
    return new NestedIdempotencyConflict({ error: { code: "idempotency_conflict", message } })
  }
}

/** 429 in the nested shape. */
export class NestedRateLimited extends Schema.Error<NestedRateLimited>("sluice/NestedRateLimited")(
  { _tag: Schema.tagDefaultOmit("NestedRateLimited"), ...nested("rate_limited") },
  { httpApiStatus: 429, description: "The request rate is used up; wait `Retry-After` seconds" }
) {
  static of(message: string): NestedRateLimited {
    return new NestedRateLimited({ error: { code: "rate_limited", message } })
  }
}

/** 500 in the nested shape. */
export class NestedInternalError extends Schema.Error<NestedInternalError>("sluice/NestedInternalError")(
  { _tag: Schema.tagDefaultOmit("NestedInternalError"), ...nested("internal_error") },
  { httpApiStatus: 500, description: "A fault of the platform; quote the request id when reporting it" }
) {}

/** 503 in the nested shape. */
export class NestedUnavailable extends Schema.Error<NestedUnavailable>("sluice/NestedUnavailable")(
  { _tag: Schema.tagDefaultOmit("NestedUnavailable"), ...nested("unavailable") },
  { httpApiStatus: 503, description: "What the answer needs cannot be reached now; safe to repeat" }
) {
  static of(message: string): NestedUnavailable {
    return new NestedUnavailable({ error: { code: "unavailable", message } })
  }
}

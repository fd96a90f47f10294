/**
 * Defines the errors of endpoints whose product answers `{error: {code, message, …}}` (docs/platform.md, 1.5): one
 * class per status and code. A client of the typed API catches them by `_tag`, which is not on the wire.
 */
import { nestedError } from "./errorClass.ts"

/** 400 in the nested shape. */
export class NestedInvalidRequest extends nestedError<NestedInvalidRequest>()(
  "NestedInvalidRequest",
  "invalid_request"
) {}

/** 401 in the nested shape. */
export class NestedUnauthorized extends nestedError<NestedUnauthorized>()("NestedUnauthorized", "unauthorized") {}

/** 403 in the nested shape. */
export class NestedForbidden extends nestedError<NestedForbidden>()(
  "NestedForbidden",
  "forbidden",
  "The key lacks the service, or may not do this"
) {}

/** 404 in the nested shape. */
export class NestedNotFound extends nestedError<NestedNotFound>()("NestedNotFound", "not_found") {}

/** 409 in the nested shape: the request does not fit the present state. */
export class NestedConflict extends nestedError<NestedConflict>()("NestedConflict", "conflict") {}

/** 409 in the nested shape: the Idempotency-Key was used for another request. */
export class NestedIdempotencyConflict extends nestedError<NestedIdempotencyConflict>()(
  "NestedIdempotencyConflict",
  "idempotency_conflict"
) {}

/** 429 in the nested shape. */
export class NestedRateLimited extends nestedError<NestedRateLimited>()(
  "NestedRateLimited",
  "rate_limited",
  "The request rate is used up; wait `Retry-After` seconds"
) {}

/** 500 in the nested shape. */
export class NestedInternalError extends nestedError<NestedInternalError>()("NestedInternalError", "internal_error") {}

/** 503 in the nested shape. */
export class NestedUnavailable extends nestedError<NestedUnavailable>()("NestedUnavailable", "unavailable") {}

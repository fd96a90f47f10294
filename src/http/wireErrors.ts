/**
 * Defines the errors of endpoints as the API's description states them: one class per status and shape. The first
 * classes have the shape `{error: code, message}` of the directory, telco and webhooks; `Envelope` holds the generic
 * one, `{success: false, error: {code, message}}`, and `Sentence` that of talk, `{error: sentence}`. A client of the
 * typed API catches them by `_tag`, which is not on the wire.
 */
import { codedError, envelopeError, sentenceError } from "./errorClass.ts"

/** 400: something in the request is missing or malformed; the message names and quotes it. */
export class InvalidRequest extends codedError<InvalidRequest>()(
  "InvalidRequest",
  "invalid_request",
  "Something in the request is missing or malformed; the message names and quotes it"
) {}

/** 401: no API key, or one that is unknown, revoked or expired. */
export class Unauthorized extends codedError<Unauthorized>()("Unauthorized", "unauthorized") {}

/** 403: the key is good, but lacks the service or the scope. */
export class Forbidden extends codedError<Forbidden>()("Forbidden", "forbidden") {}

/** 404: nothing has the given id. */
export class NotFound extends codedError<NotFound>()("NotFound", "not_found") {}

/** 409: the request does not fit the state of its object; the message says why. */
export class Conflict extends codedError<Conflict>()("Conflict", "conflict") {}

/** 409: the Idempotency-Key was used for another request. */
export class IdempotencyKeyReused extends codedError<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  "idempotency_conflict"
) {}

/** 429: the organization's request rate is used up; `Retry-After` says when the next minute begins. */
export class RateLimited extends codedError<RateLimited>()("RateLimited", "rate_limited") {}

/** 500: a fault of the platform. The message holds only the request id. */
export class InternalError extends codedError<InternalError>()("InternalError", "internal_error") {}

/** 503: the platform cannot reach what the answer needs. Safe to repeat. */
export class Unavailable extends codedError<Unavailable>()("Unavailable", "unavailable") {}

/** 400 in the generic envelope. */
export class EnvelopeInvalidRequest extends envelopeError<EnvelopeInvalidRequest>()(
  "EnvelopeInvalidRequest",
  "invalid_request"
) {}

/** 401 in the generic envelope. */
export class EnvelopeUnauthorized extends envelopeError<EnvelopeUnauthorized>()(
  "EnvelopeUnauthorized",
  "unauthorized",
  "No credential, or one that is not valid"
) {}

/** 404 in the generic envelope. */
export class EnvelopeNotFound extends envelopeError<EnvelopeNotFound>()(
  "EnvelopeNotFound",
  "not_found",
  "Nothing has the given id"
) {}

/** 503 in the generic envelope. */
export class EnvelopeUnavailable extends envelopeError<EnvelopeUnavailable>()("EnvelopeUnavailable", "unavailable") {}

/** 409 in the generic envelope. */
export class EnvelopeConflict extends envelopeError<EnvelopeConflict>()("EnvelopeConflict", "idempotency_conflict") {}

/** 409 in the generic envelope: the request does not fit the present state. */
export class EnvelopeStateConflict extends envelopeError<EnvelopeStateConflict>()(
  "EnvelopeStateConflict",
  "conflict"
) {}

/** 403 in the generic envelope. */
export class EnvelopeForbidden extends envelopeError<EnvelopeForbidden>()(
  "EnvelopeForbidden",
  "forbidden",
  "The key lacks the scope"
) {}

/** 429 in the generic envelope. */
export class EnvelopeRateLimited extends envelopeError<EnvelopeRateLimited>()("EnvelopeRateLimited", "rate_limited") {}

/** 500 in the generic envelope. */
export class EnvelopeInternalError extends envelopeError<EnvelopeInternalError>()(
  "EnvelopeInternalError",
  "internal_error"
) {}

/** 400 as a sentence. */
export class SentenceInvalidRequest extends sentenceError<SentenceInvalidRequest>()(
  "SentenceInvalidRequest",
  "invalid_request",
  "Something in the request is missing or malformed; the sentence names and quotes it"
) {}

/** 401 as a sentence. */
export class SentenceUnauthorized extends sentenceError<SentenceUnauthorized>()(
  "SentenceUnauthorized",
  "unauthorized"
) {}

/** 403 as a sentence. */
export class SentenceForbidden extends sentenceError<SentenceForbidden>()("SentenceForbidden", "forbidden") {}

/** 429 as a sentence. */
export class SentenceRateLimited extends sentenceError<SentenceRateLimited>()(
  "SentenceRateLimited",
  "rate_limited",
  "The organization's request rate or its share of places is used up; wait `Retry-After` seconds"
) {}

/** 500 as a sentence. */
export class SentenceInternalError extends sentenceError<SentenceInternalError>()(
  "SentenceInternalError",
  "internal_error"
) {}

/** 503 as a sentence. */
export class SentenceUnavailable extends sentenceError<SentenceUnavailable>()(
  "SentenceUnavailable",
  "unavailable",
  "A server that the answer needs cannot be reached now, or all places are taken; safe to repeat"
) {}

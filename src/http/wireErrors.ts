/**
 * Defines the errors of endpoints as the API's description states them: one class per status and shape. The first
 * classes have the shape `{error: code, message}` of the directory, telco and webhooks; `Envelope` holds the generic
 * one, `{success: false, error: {code, message}}`, and `Sentence` that of talk, `{error: sentence}`. A client of the
 * typed API catches them by `_tag`, which is not on the wire.
 */
import { Schema } from "effect"

/** 400: something in the request is missing or malformed; the message names and quotes it. */
export class InvalidRequest extends Schema.Error<InvalidRequest>("sluice/InvalidRequest")(
  { _tag: Schema.tagDefaultOmit("InvalidRequest"), error: Schema.tag("invalid_request"), message: Schema.String },
  {
    httpApiStatus: 400,
    description: "Something in the request is missing or malformed; the message names and quotes it"
  }
) {}

/** 401: no API key, or one that is unknown, revoked or expired. */
export class Unauthorized extends Schema.Error<Unauthorized>("sluice/Unauthorized")(
  { _tag: Schema.tagDefaultOmit("Unauthorized"), error: Schema.tag("unauthorized"), message: Schema.String },
  { httpApiStatus: 401, description: "No API key, or one that is unknown, revoked or expired" }
) {}

/** 403: the key is good, but lacks the service or the scope. */
export class Forbidden extends Schema.Error<Forbidden>("sluice/Forbidden")(
  { _tag: Schema.tagDefaultOmit("Forbidden"), error: Schema.tag("forbidden"), message: Schema.String },
  { httpApiStatus: 403, description: "The key lacks the service or the scope" }
) {}

/** 404: nothing has the given id. */
export class NotFound extends Schema.Error<NotFound>("sluice/NotFound")(
  { _tag: Schema.tagDefaultOmit("NotFound"), error: Schema.tag("not_found"), message: Schema.String },
  { httpApiStatus: 404, description: "Nothing has the given id; the message names it" }
) {}

/** 409: the request does not fit the state of its object; the message says why. */
export class Conflict extends Schema.Error<Conflict>("sluice/Conflict")(
  { _tag: Schema.tagDefaultOmit("Conflict"), error: Schema.tag("conflict"), message: Schema.String },
  { httpApiStatus: 409, description: "What was asked does not fit the present state; the message says why" }
) {}

/** 409: the Idempotency-Key was used for another request. */
export class IdempotencyKeyReused extends Schema.Error<IdempotencyKeyReused>("sluice/IdempotencyKeyReused")(
  {
    _tag: Schema.tagDefaultOmit("IdempotencyKeyReused"),
    error: Schema.tag("idempotency_conflict"),
    message: Schema.String
  },
  { httpApiStatus: 409, description: "The Idempotency-Key was used for another request" }
) {}

/** 429: the organization's request rate is used up; `Retry-After` says when the next minute begins. */
export class RateLimited extends Schema.Error<RateLimited>("sluice/RateLimited")(
  { _tag: Schema.tagDefaultOmit("RateLimited"), error: Schema.tag("rate_limited"), message: Schema.String },
  { httpApiStatus: 429, description: "The organization's request rate is used up; wait `Retry-After` seconds" }
) {}

/** 500: a fault of the platform. The message holds only the request id. */
export class InternalError extends Schema.Error<InternalError>("sluice/InternalError")(
  { _tag: Schema.tagDefaultOmit("InternalError"), error: Schema.tag("internal_error"), message: Schema.String },
  { httpApiStatus: 500, description: "A fault of the platform; quote the request id when reporting it" }
) {}

/** 503: the platform cannot reach what the answer needs. Safe to repeat. */
export class Unavailable extends Schema.Error<Unavailable>("sluice/Unavailable")(
  { _tag: Schema.tagDefaultOmit("Unavailable"), error: Schema.tag("unavailable"), message: Schema.String },
  { httpApiStatus: 503, description: "What the answer needs cannot be reached now; safe to repeat" }
) {}

const envelopeError = <const Code extends string>(code: Code) => ({
  success: Schema.tag(false),
  error: Schema.Struct({ code: Schema.Literal(code), message: Schema.String })
})

/** 400 in the generic envelope. */
export class EnvelopeInvalidRequest extends Schema.Error<EnvelopeInvalidRequest>("sluice/EnvelopeInvalidRequest")(
  { _tag: Schema.tagDefaultOmit("EnvelopeInvalidRequest"), ...envelopeError("invalid_request") },
  { httpApiStatus: 400, description: "Something in the request is missing or malformed" }
) {
  static of(message: string): EnvelopeInvalidRequest {
    return new EnvelopeInvalidRequest({ error: { code: "invalid_request", message } })
  }
}

/** 401 in the generic envelope. */
export class EnvelopeUnauthorized extends Schema.Error<EnvelopeUnauthorized>("sluice/EnvelopeUnauthorized")(
  { _tag: Schema.tagDefaultOmit("EnvelopeUnauthorized"), ...envelopeError("unauthorized") },
  { httpApiStatus: 401, description: "No credential, or one that is not valid" }
) {
  static of(message: string): EnvelopeUnauthorized {
    return new EnvelopeUnauthorized({ error: { code: "unauthorized", message } })
  }
}

/** 404 in the generic envelope. */
export class EnvelopeNotFound extends Schema.Error<EnvelopeNotFound>("sluice/EnvelopeNotFound")(
  { _tag: Schema.tagDefaultOmit("EnvelopeNotFound"), ...envelopeError("not_found") },
  { httpApiStatus: 404, description: "Nothing has the given id" }
) {
  static of(message: string): EnvelopeNotFound {
    return new EnvelopeNotFound({ error: { code: "not_found", message } })
  }
}

/** 503 in the generic envelope. */
export class EnvelopeUnavailable extends Schema.Error<EnvelopeUnavailable>("sluice/EnvelopeUnavailable")(
  { _tag: Schema.tagDefaultOmit("EnvelopeUnavailable"), ...envelopeError("unavailable") },
  { httpApiStatus: 503, description: "What the answer needs cannot be reached now; safe to repeat" }
) {
  static of(message: string): EnvelopeUnavailable {
    return new EnvelopeUnavailable({ error: { code: "unavailable", message } })
  }
}

/** 409 in the generic envelope. */
export class EnvelopeConflict extends Schema.Error<EnvelopeConflict>("sluice/EnvelopeConflict")(
  { _tag: Schema.tagDefaultOmit("EnvelopeConflict"), ...envelopeError("idempotency_conflict") },
  { httpApiStatus: 409, description: "The Idempotency-Key was used for another request" }
) {
  static of(message: string): EnvelopeConflict {
    return new EnvelopeConflict({ error: { code: "idempotency_conflict", message } })
  }
}

/** 409 in the generic envelope: the request does not fit the present state. */
export class EnvelopeStateConflict extends Schema.Error<EnvelopeStateConflict>("sluice/EnvelopeStateConflict")(
  { _tag: Schema.tagDefaultOmit("EnvelopeStateConflict"), ...envelopeError("conflict") },
  { httpApiStatus: 409, description: "What was asked does not fit the present state; the message says why" }
) {
  static of(message: string): EnvelopeStateConflict {
    return new EnvelopeStateConflict({ error: { code: "conflict", message } })
  }
}

/** 403 in the generic envelope. */
export class EnvelopeForbidden extends Schema.Error<EnvelopeForbidden>("sluice/EnvelopeForbidden")(
  { _tag: Schema.tagDefaultOmit("EnvelopeForbidden"), ...envelopeError("forbidden") },
  { httpApiStatus: 403, description: "The key lacks the scope" }
) {
  static of(message: string): EnvelopeForbidden {
    return new EnvelopeForbidden({ error: { code: "forbidden", message } })
  }
}

/** 429 in the generic envelope. */
export class EnvelopeRateLimited extends Schema.Error<EnvelopeRateLimited>("sluice/EnvelopeRateLimited")(
  { _tag: Schema.tagDefaultOmit("EnvelopeRateLimited"), ...envelopeError("rate_limited") },
  { httpApiStatus: 429, description: "The organization's request rate is used up; wait `Retry-After` seconds" }
) {
  static of(message: string): EnvelopeRateLimited {
    return new EnvelopeRateLimited({ error: { code: "rate_limited", message } })
  }
}

/** 500 in the generic envelope. */
export class EnvelopeInternalError extends Schema.Error<EnvelopeInternalError>("sluice/EnvelopeInternalError")(
  { _tag: Schema.tagDefaultOmit("EnvelopeInternalError"), ...envelopeError("internal_error") },
  { httpApiStatus: 500, description: "A fault of the platform; quote the request id when reporting it" }
) {}

/** 400 as a sentence. */
export class SentenceInvalidRequest extends Schema.Error<SentenceInvalidRequest>("sluice/SentenceInvalidRequest")(
  { _tag: Schema.tagDefaultOmit("SentenceInvalidRequest"), error: Schema.String },
  {
    httpApiStatus: 400,
    description: "Something in the request is missing or malformed; the sentence names and quotes it"
  }
) {}

/** 401 as a sentence. */
export class SentenceUnauthorized extends Schema.Error<SentenceUnauthorized>("sluice/SentenceUnauthorized")(
  { _tag: Schema.tagDefaultOmit("SentenceUnauthorized"), error: Schema.String },
  { httpApiStatus: 401, description: "No API key, or one that is unknown, revoked or expired" }
) {}

/** 403 as a sentence. */
export class SentenceForbidden extends Schema.Error<SentenceForbidden>("sluice/SentenceForbidden")(
  { _tag: Schema.tagDefaultOmit("SentenceForbidden"), error: Schema.String },
  { httpApiStatus: 403, description: "The key lacks the service or the scope" }
) {}

/** 429 as a sentence. */
export class SentenceRateLimited extends Schema.Error<SentenceRateLimited>("sluice/SentenceRateLimited")(
  { _tag: Schema.tagDefaultOmit("SentenceRateLimited"), error: Schema.String },
  {
    httpApiStatus: 429,
    description: "The organization's request rate or its share of places is used up; wait `Retry-After` seconds"
  }
) {}

/** 500 as a sentence. */
export class SentenceInternalError extends Schema.Error<SentenceInternalError>("sluice/SentenceInternalError")(
  { _tag: Schema.tagDefaultOmit("SentenceInternalError"), error: Schema.String },
  { httpApiStatus: 500, description: "A fault of the platform; quote the request id when reporting it" }
) {}

/** 503 as a sentence. */
export class SentenceUnavailable extends Schema.Error<SentenceUnavailable>("sluice/SentenceUnavailable")(
  { _tag: Schema.tagDefaultOmit("SentenceUnavailable"), error: Schema.String },
  {
    httpApiStatus: 503,
    description: "What the answer needs cannot be reached now, or all places are taken; safe to repeat"
  }
) {}

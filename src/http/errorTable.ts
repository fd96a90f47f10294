/** Lists the platform's error codes (docs/platform.md, 1.4). */

/**
 * Every error code with its HTTP status and its description. One enumeration for all products; a test lists it in the
 * docs.
 */
export const errorTable = {
  invalid_request: { status: 400, description: "Something in the request is missing or malformed" },
  unauthorized: { status: 401, description: "No API key, or one that is unknown, revoked or expired" },
  forbidden: { status: 403, description: "The key lacks the service or the scope" },
  sender_not_verified: { status: 403, description: "A sender is neither a verified domain nor a verified address" },
  sending_paused: { status: 403, description: "Sending is paused until support lifts the pause" },
  not_found: { status: 404, description: "Nothing has the given id; the message names it" },
  method_not_allowed: { status: 405, description: "The path has other methods; `Allow` names them" },
  request_timeout: { status: 408, description: "The request took too long to arrive" },
  conflict: { status: 409, description: "The request does not fit the present state; the message says why" },
  idempotency_conflict: { status: 409, description: "The Idempotency-Key was used for another request" },
  payload_too_large: { status: 413, description: "The request body is too large" },
  uri_too_long: { status: 414, description: "The path or the query is too long" },
  unsupported_media_type: { status: 415, description: "The body is not JSON" },
  rate_limited: { status: 429, description: "The organization's request rate is used up; wait `Retry-After` seconds" },
  monthly_limit_reached: { status: 429, description: "The plan's emails of this month do not take the request" },
  probation_limit_reached: { status: 429, description: "A cap of the probation does not take the request" },
  verification_too_soon: {
    status: 429,
    description: "The address was mailed a moment ago; wait `Retry-After` seconds"
  },
  request_header_fields_too_large: { status: 431, description: "The request's headers are too large" },
  internal_error: { status: 500, description: "A fault of the platform; quote the request id when reporting it" },
  unavailable: { status: 503, description: "A server that the answer needs cannot be reached now; safe to repeat" }
} as const satisfies Record<string, { readonly status: number; readonly description: string }>

export type ErrorCode = keyof typeof errorTable

/** The HTTP status of each code. */
export const errorStatus = Object.fromEntries(
  Object.entries(errorTable).map(([code, { status }]) => [code, status])
) as { readonly [Code in ErrorCode]: (typeof errorTable)[Code]["status"] }

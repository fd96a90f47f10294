/** The platform's errors, as classes. */

/** Facts of an answer that is an error. */
export interface ErrorFacts {
  readonly status: number
  /** One of the platform's codes, such as `not_found`; `unknown` where a body has none. */
  readonly code: string
  readonly message: string
  /** Quote it when you report a fault. */
  readonly requestId: string | undefined
  /** When a repeat makes sense, in seconds; undefined where the answer does not say. */
  readonly retryAfterSeconds: number | undefined
  readonly body: unknown
}

/** An answer that is an error. Its subclasses are its statuses. */
export class SluiceError extends Error implements ErrorFacts {
  override readonly name: string = "SluiceError"
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly body: unknown

  constructor(facts: ErrorFacts) {
    super(facts.message)
    this.status = facts.status
    this.code = facts.code
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.body = facts.body
  }
}

/** 400: something in the request is missing or malformed. */
export class InvalidRequest extends SluiceError {
  override readonly name = "InvalidRequest"
}

/** 401: the key is not known. */
export class Unauthorized extends SluiceError {
  override readonly name = "Unauthorized"
}

/** 403: the key may not do this, a sender is not verified, or sending is paused; `code` says which. */
export class Forbidden extends SluiceError {
  override readonly name = "Forbidden"
}

/** 404: nothing has the id. */
export class NotFound extends SluiceError {
  override readonly name = "NotFound"
}

/** 409: it does not fit the present state, or an Idempotency-Key was used for another request. */
export class Conflict extends SluiceError {
  override readonly name = "Conflict"
}

/** 429: a limit is used up; `code` says which, `retryAfterSeconds` when waiting helps. */
export class LimitReached extends SluiceError {
  override readonly name = "LimitReached"
}

/** 503: the platform cannot do it now. */
export class Unavailable extends SluiceError {
  override readonly name = "Unavailable"
}

const byStatus: Readonly<Record<number, new (facts: ErrorFacts) => SluiceError>> = {
  400: InvalidRequest,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  429: LimitReached,
  503: Unavailable
}

/** Codes of bodies that are a sentence alone. */
const codes: Readonly<Record<number, string>> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  429: "rate_limited",
  500: "internal_error",
  503: "unavailable"
}

interface Told {
  readonly code?: string
  readonly message?: string
}

/** Reads the four shapes of an error's body. */
const toldBy = (body: unknown, status: number): Told => {
  const { error, message } = (typeof body === "object" && body !== null ? body : {}) as {
    readonly error?: string | Told
    readonly message?: string
  }
  if (typeof error === "object") return error
  if (error !== undefined && message !== undefined) return { code: error, message }
  return { code: codes[status] ?? "unknown", ...(error === undefined ? {} : { message: error }) }
}

/** The error that an answer is. */
export const errorOf = (response: Response, body: unknown): SluiceError => {
  const { status } = response
  const { code = "unknown", message = `The platform answers ${status}` } = toldBy(body, status)
  const after = response.headers.get("retry-after")
  const facts: ErrorFacts = {
    status,
    code,
    message,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: after !== null && /^\d+$/.test(after) ? Number(after) : undefined,
    body
  }
  return new (byStatus[status] ?? SluiceError)(facts)
}

/**
 * Turns the cause of a failed request into the error that its caller sees (docs/platform.md, 1.4): malformed parts of a
 * request, bodies that are too large or unreadable, interruptions and defects. The edge and the fast lane answer with
 * it, so both say the same.
 */
import { type Cause, Context, SchemaIssue } from "effect"
import { ClientAbort, HttpServerError } from "effect/http/HttpServerError"
import { HttpApiError } from "effect/http-api"
import type { ErrorCode } from "./errors.ts"
import { quote } from "./parameters.ts"
import { BodyRefused } from "./strictBody.ts"
import { unknownField } from "./unknownNames.ts"

/** The part of a failure that the caller sees. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly headers?: Record<string, string>
}

/** The parts of a failed request that its answer names. */
export interface FailedRequest {
  readonly url: string
  readonly requestId: string
  /** The parameters of its path, if it has a route. */
  readonly params?: Readonly<Record<string, string | undefined>>
  /** The failure of a request without a route. */
  readonly unknownRoute?: () => Failure
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The formatter's text for a missing field when its schema has no message of its own. */
const missingKey = "Missing key"

const places = { Params: "parameter", Query: "parameter", Headers: "header", Payload: "field" } as const

/** Words an expectation for people: a schema's name becomes "a JSON object", and alternatives are joined by "or". */
const plainly = (expected: string): string =>
  expected
    .replace(/^Expected [A-Z][A-Za-z]+$/, "Expected a JSON object")
    .replace(/^Expected null \| object$/, "Expected a JSON object, or no body")
    .replace(/^Expected [a-z]+( \| [a-z]+)+$/, (text) => text.replaceAll(" | ", " or "))

/** The sentence for the first fault of a request that did not decode; quotes the given text. */
const schemaFailure = (
  error: HttpApiError.HttpApiSchemaError,
  target: string,
  params: Readonly<Record<string, string | undefined>>
): Failure => {
  const kind = error.kind
  if (kind === "Body" || kind === "ResponseHeaders") return { code: "internal_error", message: "" }
  const unknown = kind === "Payload" ? unknownField(error.cause.issue) : undefined
  if (unknown !== undefined) return { code: "invalid_request", message: unknown }
  const issue = formatIssue(error.cause.issue).issues[0]
  const expected = plainly((issue?.message ?? "Expected another value").replace(/\.$/, ""))
  const path = (issue?.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment))
  const name = path.map(String).join(".")
  if (name === "") return { code: "invalid_request", message: `Invalid request body. ${expected}.` }
  if (kind === "Query") {
    const url = URL.parse(target, "http://localhost")
    const values = url?.searchParams.getAll(name) ?? []
    if (values.length > 1) {
      return { code: "invalid_request", message: `The parameter '${name}' was given more than once.` }
    }
    if (values[0] !== undefined) {
      return { code: "invalid_request", message: `Invalid parameter '${name}': ${quote(values[0])}. ${expected}.` }
    }
    return { code: "invalid_request", message: `Missing required parameter '${name}'. ${expected}.` }
  }
  if (issue?.message === missingKey) {
    return { code: "invalid_request", message: `Missing required ${places[kind]} '${name}'.` }
  }
  const given = kind === "Params" ? params[name] : undefined
  return {
    code: "invalid_request",
    message: `Invalid ${places[kind]} '${name}'${given === undefined ? "" : `: ${quote(given)}`}. ${expected}.`
  }
}

const internal = (requestId: string): Failure => ({
  code: "internal_error",
  message: `The request could not be handled. Quote the request id ${requestId} when reporting this.`
})

/** Marks a request that was interrupted because its answer took too long. */
export class ReadTooLate extends Context.Service<ReadTooLate, true>()("sluice/http/edge/ReadTooLate") {
  static readonly annotation = this.context(true)
}

const tooLate: Failure = {
  code: "unavailable",
  message: "The answer took too long; the request is safe to repeat",
  headers: { "retry-after": "1" }
}

/** The caller's view of a cause; `aborted` when the caller has disconnected. */
export const failureOf = (
  cause: Cause.Cause<unknown>,
  { params = {}, requestId, unknownRoute, url }: FailedRequest
): Failure | "aborted" => {
  let interrupted = false
  for (const reason of cause.reasons) {
    if (reason._tag === "Interrupt") {
      if (reason.annotations.has(ClientAbort.key)) return "aborted"
      if (reason.annotations.has(ReadTooLate.key)) return tooLate
      interrupted = true
      continue
    }
    const error = reason._tag === "Fail" ? reason.error : reason.defect
    if (HttpApiError.HttpApiSchemaError.is(error)) {
      const failure = schemaFailure(error, url, params)
      return failure.code === "internal_error" ? internal(requestId) : failure
    }
    if (error instanceof BodyRefused) return { code: "invalid_request", message: error.message }
    if (HttpApiError.HttpApiPayloadTooLarge.is(error)) {
      return { code: "payload_too_large", message: "The request body is too large." }
    }
    if (error instanceof HttpServerError) {
      if (error.reason._tag === "RouteNotFound" && unknownRoute !== undefined) return unknownRoute()
      if (error.reason._tag === "RequestParseError") {
        return error.reason.reason === "BodyTooLarge"
          ? { code: "payload_too_large", message: "The request body is too large." }
          : { code: "invalid_request", message: "The request could not be read." }
      }
    }
    return internal(requestId)
  }
  return interrupted
    ? { code: "unavailable", message: "The server is stopping; repeat the request." }
    : internal(requestId)
}

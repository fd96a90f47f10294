/**
 * Answers one POST on the fast lane. It is counted on arrival, as on the general path; then its body is read and
 * decoded, and its handler runs in one fiber.
 */
import type { IncomingMessage } from "node:http"
import { Cause, Context, Exit, Predicate, Result, Schema, SchemaIssue } from "effect"
import { HttpApiError, HttpApiSchema } from "effect/http-api"
import { RequestState } from "../RequestState.ts"
import { mayBeUnstorable } from "../storableText.ts"
import { strictText } from "../strictBody.ts"
import { type FastLaneContext, FastRequest, type Incoming } from "./FastRequest.ts"
import type { PostRoute } from "./routes.ts"
import type { Target } from "./Targets.ts"

/** The forms of JSON's content type that need no closer look. */
const jsonContentType = /^application\/json(?:; ?charset=utf-8)?$/i

/** A decoder's replacement for bytes that are not UTF-8, and the mark that a strict decoder leaves out. */
const needsCare = /[\ufffd\ufeff]/

interface Encoded {
  readonly text: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

const noHeaders = {}

/** A handler's answer, split into body and headers. */
const partsOf = (value: unknown): { readonly body: unknown; readonly headers?: unknown } =>
  Predicate.hasProperty(value, HttpApiSchema.WithHeadersValueTypeId)
    ? (value as unknown as { readonly body: unknown; readonly headers: unknown })
    : { body: value }

/** The JSON of an encoded answer; undefined when it has none. */
const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

type Part = HttpApiError.HttpApiSchemaError["kind"]

/** A failure to decode a part of a request, as the general path has it. */
const undecoded = (kind: Part, cause: Cause.Cause<unknown>): Exit.Exit<never, unknown> => {
  const found = Cause.findError(cause)
  return Exit.fail(
    Result.isSuccess(found)
      ? new HttpApiError.HttpApiSchemaError({ kind, cause: found.success as Schema.SchemaError })
      : found.failure
  )
}

const noJson = Exit.fail(
  new HttpApiError.HttpApiSchemaError({
    kind: "Payload",
    cause: new Schema.SchemaError(new SchemaIssue.InvalidValue({ message: "Expected a valid JSON body" }))
  })
)

/** The value of a body. The strict reader takes a closer look at the few that need it. */
const jsonOf = (body: Buffer): Exit.Exit<unknown, unknown> => {
  let text = body.toString("utf8")
  if (needsCare.test(text) || mayBeUnstorable(text)) {
    try {
      text = strictText(body)
    } catch (refused) {
      return Exit.fail(refused)
    }
  }
  try {
    return Exit.succeed(JSON.parse(text))
  } catch {
    return noJson
  }
}

export class Post extends FastRequest<PostRoute> {
  private readonly input: object
  private readonly principal: unknown
  private readonly length: number

  private constructor(
    incoming: Incoming,
    { input, route }: Target<PostRoute>,
    lane: FastLaneContext,
    { length, principal }: { readonly length: number; readonly principal: unknown }
  ) {
    super(incoming, route, lane, lane.clock.monotonicTimeNanosUnsafe())
    this.input = input
    this.principal = principal
    this.length = length
  }

  /** Begins a request; false when it is left to the general path, uncounted. */
  static begin(incoming: Incoming, target: Target<PostRoute>, lane: FastLaneContext): boolean {
    const { headers } = incoming.request
    const { route } = target
    const length = announcedLength(incoming.request)
    const takesBody = route.decodePayload !== undefined
    const maxBytes = Math.min(lane.maxBodyBytes, route.maxBodyBytes ?? lane.maxBodyBytes)
    if (length === undefined || length > maxBytes || takesBody !== length > 0) return false
    if (takesBody && !jsonContentType.test(headers["content-type"] ?? "application/json")) return false
    const principal = route.principalOf(headers, lane.clock.currentTimeMillisUnsafe())
    if (principal === undefined) return false
    const organization = route.organizationOf(principal)
    // The general path refuses it, in the shape of its product.
    if (!lane.shedder.admits(organization, "write", Number(lane.clock.monotonicTimeNanosUnsafe()) / 1e6)) return false
    const taken = route.take(principal)
    const post = new Post(incoming, target, lane, { length, principal })
    post.state.admitted = organization
    post.state.caller = route.loggedOf(principal)
    post.counted(taken)
    return true
  }

  protected passed(): void {
    if (this.length === 0) this.run(this.inputOf(undefined))
    else readBody(this.incoming.request, this.length, this.onBody)
  }

  private readonly onBody = (body: Buffer): void => {
    // The server may have stopped meanwhile, and answered.
    if (!this.isPending) return
    this.state.body = body
    this.run(this.inputOf(body))
  }

  /** The handler's request, or the failure of the first part that does not decode. */
  private inputOf(body: Buffer | undefined): Exit.Exit<object, unknown> {
    const { decodeHeaders, decodePayload } = this.route
    const decoded: { headers?: unknown; payload?: unknown } = { ...this.input }
    if (decodeHeaders !== undefined) {
      const headers = decodeHeaders(this.incoming.request.headers)
      if (Exit.isFailure(headers)) return undecoded("Headers", headers.cause)
      decoded.headers = headers.value
    }
    if (decodePayload !== undefined && body !== undefined) {
      const json = jsonOf(body)
      if (Exit.isFailure(json)) return Exit.failCause(json.cause)
      const payload = decodePayload(json.value)
      if (Exit.isFailure(payload)) return undecoded("Payload", payload.cause)
      decoded.payload = payload.value
    }
    return Exit.succeed(decoded)
  }

  private run(input: Exit.Exit<object, unknown>): void {
    if (Exit.isFailure(input)) {
      this.fail(input.cause)
      return
    }
    const granted = Context.add(this.lane.context, this.route.principal, this.principal)
    this.fork(this.route.run(input.value), this.onAnswer, Context.add(granted, RequestState, this.state))
  }

  private readonly onAnswer = (value: unknown): void => {
    const answer = this.encode(value)
    if (Exit.isFailure(answer)) this.fail(answer.cause)
    else this.write(this.route.status, answer.value.text, answer.value.headers)
  }

  /**
   * Encodes the answer's parts. When a handler returns an answer that its endpoint does not describe, the request
   * fails, although the handler has acted.
   */
  private encode(value: unknown): Exit.Exit<Encoded> {
    const { encodeBody, encodeHeaders } = this.route
    const given = partsOf(value)
    const body = encodeBody(given.body)
    if (Exit.isFailure(body)) return Exit.die(body.cause)
    const text = textOf(body.value)
    if (text === undefined) return Exit.die(new Error("the answer is no JSON"))
    if (given.headers === undefined || encodeHeaders === undefined) return Exit.succeed({ text, headers: noHeaders })
    const headers = encodeHeaders(given.headers)
    if (Exit.isFailure(headers)) return Exit.die(headers.cause)
    return Exit.succeed({ text, headers: headers.value as Encoded["headers"] })
  }
}

/**
 * The length that a request announces; undefined when there is none, when it is no number, or when the body is chunked.
 */
export const announcedLength = ({ headers }: IncomingMessage): number | undefined => {
  if (headers["transfer-encoding"] !== undefined) return undefined
  const length = headers["content-length"]
  return length === undefined ? 0 : /^\d{1,9}$/.test(length) ? Number(length) : undefined
}

/** Calls `whole` once with all bytes of the body, or never if the connection is lost first. */
export const readBody = (request: IncomingMessage, length: number, whole: (body: Buffer) => void): void => {
  const parts: Array<Buffer> = []
  let received = 0
  const take = (part: Buffer) => {
    parts.push(part)
    received += part.byteLength
    if (received < length) return
    request.off("data", take)
    whole(parts.length === 1 ? part : Buffer.concat(parts))
  }
  request.on("data", take)
}

/**
 * Handles one POST on the fast lane. It is counted on arrival, as on the general path; then its body is read and
 * decoded, its handler runs in one fiber, and a success is written. From the count on, any other outcome is handed over
 * together with the progress.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { type Clock, Context, Effect, Exit, type Fiber, Predicate } from "effect"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpApiSchema } from "effect/http-api"
import { handOver, makeRequestState, type RateResult, RequestState, type RequestStateShape } from "../RequestState.ts"
import { mayBeUnstorable } from "../storableText.ts"
import type { Connection, Connections, PendingPost } from "./Connections.ts"
import type { Link } from "./PendingAnswers.ts"
import { passes, secondsSince } from "./passOn.ts"
import type { PostRoute } from "./routes.ts"
import type { Target } from "./Targets.ts"

/** The parts of the server that POSTs need. */
export interface PostMeans {
  /** The context of handlers, beside the principal and the request's state. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly maxBodyBytes: number
  /** Hands a request to the general path. */
  readonly handOver: (request: IncomingMessage, response: ServerResponse) => void
  readonly connections: Connections
}

/** The forms of JSON's content type that need no closer look. */
const jsonContentType = /^application\/json(?:; ?charset=utf-8)?$/i

/** A decoder's replacement for bytes that are not UTF-8. */
const replacement = "\ufffd"

/** Nginx' status for a client that did not wait for its answer, in metrics only. */
const clientGone = 499

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

export class Post implements PendingPost {
  before: Link | undefined
  after: Link | undefined
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly target: Target<PostRoute>
  private readonly means: PostMeans
  private readonly connection: Connection
  private readonly state: RequestStateShape
  private readonly startedNanos: bigint
  private readonly principal: unknown
  private readonly taken: RateResult
  private isGone = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined

  private constructor(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target<PostRoute>,
    means: PostMeans,
    principal: unknown
  ) {
    this.request = request
    this.response = response
    this.target = target
    this.means = means
    this.connection = means.connections.of(request.socket)
    this.principal = principal
    this.startedNanos = means.clock.monotonicTimeNanosUnsafe()
    this.state = makeRequestState(request.headers["x-request-id"])
    this.taken = target.route.take(principal)
    if (this.taken !== undefined && !Effect.isEffect(this.taken))
      this.state.responseHeaders = target.route.fieldsOf(this.taken)
  }

  /** Starts a request; false when it is left to the general path. */
  static begin(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target<PostRoute>,
    means: PostMeans
  ): boolean {
    const { headers } = request
    const { route } = target
    const length = announcedLength(request)
    const takesBody = route.decodePayload !== undefined
    const maxBytes = Math.min(means.maxBodyBytes, route.maxBodyBytes ?? means.maxBodyBytes)
    if (length === undefined || length > maxBytes || takesBody !== length > 0) return false
    if (takesBody && !jsonContentType.test(headers["content-type"] ?? "application/json")) return false
    const principal = route.principalOf(headers, means.clock.currentTimeMillisUnsafe())
    if (principal === undefined) return false
    const post = new Post(request, response, target, means, principal)
    const input = takesBody ? undefined : post.inputOf(undefined)
    if (!passes(post.taken) || (!takesBody && input === undefined)) {
      post.leave()
      return false
    }
    post.connection.posts.add(post)
    if (input !== undefined) {
      post.run(input)
      return true
    }
    readBody(request, length, post.onBody)
    return true
  }

  stop(): void {
    if (this.fiber !== undefined) this.fiber.interruptUnsafe()
    else this.handOver(Exit.interrupt())
  }

  lost(): void {
    this.isGone = true
    if (this.fiber === undefined) this.endUnanswered()
    else this.fiber.interruptUnsafe(undefined, ClientAbort.annotation)
  }

  private readonly onBody = (body: Buffer): void => {
    if (!this.connection.posts.has(this)) return
    this.state.body = body
    const input = this.inputOf(body)
    if (input !== undefined) {
      this.run(input)
      return
    }
    giveBack(this.request, body)
    this.handOver(undefined)
  }

  /** The handler's request; undefined when a part of it does not decode. */
  private inputOf(body: Buffer | undefined): object | undefined {
    const { input, route } = this.target
    const { decodeHeaders, decodePayload } = route
    const decoded: typeof input & { headers?: unknown; payload?: unknown } = { ...input }
    if (decodeHeaders !== undefined) {
      const headers = decodeHeaders(this.request.headers)
      if (Exit.isFailure(headers)) return undefined
      decoded.headers = headers.value
    }
    if (decodePayload !== undefined && body !== undefined) {
      const text = body.toString("utf8")
      if (text.includes(replacement) || mayBeUnstorable(text)) return undefined
      try {
        const payload = decodePayload(JSON.parse(text))
        if (Exit.isFailure(payload)) return undefined
        decoded.payload = payload.value
      } catch {
        return undefined
      }
    }
    return decoded
  }

  private run(input: object): void {
    const { route } = this.target
    const granted = Context.add(this.means.context, route.principal, this.principal)
    const fiber = Effect.runForkWith(Context.add(granted, RequestState, this.state))(route.run(input))
    this.fiber = fiber
    // The observer is called immediately when the fiber is over already.
    fiber.addObserver((exit) => this.finish(exit))
  }

  private finish(exit: Exit.Exit<unknown, unknown>): void {
    const answer = Exit.isSuccess(exit) ? this.encode(exit.value) : exit
    if (Exit.isSuccess(answer)) {
      const { status } = this.target.route
      this.settle()
      this.write(status, answer.value.text, answer.value.headers)
      this.count(status)
    } else if (this.isGone) this.endUnanswered()
    else this.handOver(answer)
  }

  /**
   * Encodes the answer's parts. When a handler returns an answer that its endpoint does not describe, the request
   * fails, although the handler has acted.
   */
  private encode(value: unknown): Exit.Exit<Encoded> {
    const { encodeBody, encodeHeaders } = this.target.route
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

  private endUnanswered(): void {
    this.settle()
    this.count(clientGone)
  }

  private write(status: number, text: string, headers: Encoded["headers"]): void {
    const bytes = Buffer.byteLength(text)
    const fields: Record<string, string | number> = { "content-type": "application/json", "content-length": bytes }
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) fields[name.toLowerCase()] = value
    }
    Object.assign(fields, this.state.responseHeaders)
    fields["x-request-id"] = this.state.requestId
    this.response.writeHead(status, fields)
    // Node writes ASCII faster when it is declared as such.
    this.response.end(text, bytes === text.length ? "latin1" : "utf8")
  }

  private count(status: number): void {
    this.target.route.series.add(status, secondsSince(this.startedNanos, this.means.clock))
  }

  private settle(): void {
    this.connection.posts.delete(this)
  }

  /** Hands the progress to the general path. */
  private leave(outcome?: Exit.Exit<unknown, unknown>): void {
    const { principal, startedNanos, state, taken } = this
    state.begun = { startedNanos, principal, taken, outcome }
    handOver(this.request, state)
  }

  private handOver(outcome: Exit.Exit<unknown, unknown> | undefined): void {
    this.settle()
    this.leave(outcome)
    this.means.handOver(this.request, this.response)
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
    // The next reader of the request must not miss its end.
    request.pause()
    whole(parts.length === 1 ? part : Buffer.concat(parts))
  }
  request.on("data", take)
}

const ignore = (): void => {}

/** Puts a body back. Call it immediately, within the call that brought the body, since the stream ends after that. */
export const giveBack = (request: IncomingMessage, body: Buffer): void => {
  request.unshift(body)
  // Undoes the pause as for an unread stream: it flows once it has a listener for data.
  request.on("readable", ignore)
  request.off("readable", ignore)
}

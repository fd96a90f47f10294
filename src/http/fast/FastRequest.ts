/**
 * Follows one request of the fast lane from its count to its answer. The request is counted once, on arrival; then it is
 * refused, or its subclass answers it. Every failure is answered here with the bytes of the general path: one that the
 * endpoint describes, a part that does not decode, an interruption, a defect.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Cause, type Clock, type Context, Effect, Exit, type Fiber, Result } from "effect"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpApiError } from "effect/http-api"
import { answerFields, flattenedFor, logAnswer, pathOf } from "../answerFields.ts"
import { clientGone } from "../edge.ts"
import { errorBody, errorShapeOf, errorStatus } from "../errors.ts"
import { failureOf } from "../failureOf.ts"
import type { LoadShedder } from "../LoadShedder.ts"
import type { AnsweredRequest, RequestRecorder } from "../RequestRecorder.ts"
import { makeRequestState, type RateDecision, type RateResult, type RequestStateShape } from "../RequestState.ts"
import type { RetryGrowth } from "../RetryGrowth.ts"
import type { Connection, Connections, PendingRequest } from "./Connections.ts"
import type { Link } from "./PendingAnswers.ts"
import type { EncodedError, FastRoute } from "./routes.ts"

/** The things that the requests of one lane share. */
export interface FastLaneContext {
  /** The context of handlers, beside the principal and the request's state. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly maxBodyBytes: number
  readonly connections: Connections
  readonly growth: RetryGrowth
  readonly shedder: LoadShedder
  readonly recorder: RequestRecorder
}

/** One of Node's requests, with its answer. */
export interface Incoming {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The time since a request began, in seconds. */
export const secondsSince = (startedNanos: bigint, clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e9

/** A request of the lane, and its answer, for the request log. */
export const answeredRequest = (
  { request }: Incoming,
  route: FastRoute | undefined,
  time: Pick<AnsweredRequest, "at" | "seconds">,
  {
    answer,
    body,
    facts,
    requestId,
    status
  }: Pick<RequestStateShape, "body" | "facts" | "requestId"> & Pick<AnsweredRequest, "answer" | "status">
): AnsweredRequest => ({
  ...time,
  method: request.method!,
  route: route?.path,
  url: request.url!,
  status,
  requestId,
  address: request.socket.remoteAddress,
  body,
  answer,
  facts
})

export abstract class FastRequest<Route extends FastRoute> implements PendingRequest {
  before: Link | undefined
  after: Link | undefined
  protected readonly incoming: Incoming
  protected readonly route: Route
  protected readonly lane: FastLaneContext
  protected readonly state: RequestStateShape
  private readonly connection: Connection
  private readonly startedNanos: bigint
  private isGone = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined

  protected constructor(incoming: Incoming, route: Route, lane: FastLaneContext, startedNanos: bigint) {
    this.incoming = incoming
    this.route = route
    this.lane = lane
    this.startedNanos = startedNanos
    this.connection = lane.connections.of(incoming.request.socket)
    this.state = makeRequestState(incoming.request.headers["x-request-id"])
    this.connection.pending.add(this)
  }

  /** Continues a request that has been counted, when its decision is known. */
  protected counted(taken: RateResult): void {
    if (Effect.isEffect(taken)) this.fork(taken, (decision) => this.decided(decision), this.lane.context)
    else this.decided(taken)
  }

  /** Answers a request that passes. */
  protected abstract passed(): void

  /** Whether the request still waits for its answer. */
  protected get isPending(): boolean {
    return this.connection.pending.has(this)
  }

  stop(): void {
    if (this.fiber !== undefined) this.fiber.interruptUnsafe()
    else this.fail(Cause.interrupt())
  }

  lost(): void {
    this.isGone = true
    if (this.fiber !== undefined) this.fiber.interruptUnsafe(undefined, ClientAbort.annotation)
    else this.end(clientGone)
  }

  /** Runs a part of the request in a fiber. A failure of it is answered. */
  protected fork<A>(
    effect: Effect.Effect<A, unknown>,
    onSuccess: (value: A) => void,
    context: Context.Context<never>
  ): void {
    const fiber = Effect.runForkWith(context)(effect)
    this.fiber = fiber
    // The observer is called immediately when the fiber is over already.
    fiber.addObserver((exit) => {
      this.fiber = undefined
      if (Exit.isSuccess(exit)) onSuccess(exit.value)
      else if (this.isGone) this.end(clientGone)
      else this.fail(exit.cause)
    })
  }

  /** Answers a failure. */
  protected fail(cause: Cause.Cause<unknown>): void {
    const { request } = this.incoming
    const described = this.describedBy(cause)
    if (described !== undefined) {
      this.refuse(described)
      return
    }
    const { requestId } = this.state
    const failure = failureOf(cause, { url: request.url!, requestId })
    // The client of an aborted request is gone, and was counted so.
    if (failure === "aborted") this.end(clientGone)
    else {
      const { code, message } = failure
      this.refuse(
        { status: errorStatus[code], body: errorBody(errorShapeOf(pathOf(request.url!)), code, message) },
        cause
      )
    }
  }

  /** Writes JSON and its headers, with those of every answer. */
  protected write(status: number, text: string, headers: Readonly<Record<string, string | undefined>>): void {
    const { response } = this.incoming
    const bytes = Buffer.byteLength(text)
    const fields: Record<string, string | number> = { "content-type": "application/json", "content-length": bytes }
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) fields[name.toLowerCase()] = value
    }
    Object.assign(fields, this.fieldsOf(status))
    fields["x-request-id"] = this.state.requestId
    response.writeHead(status, fields)
    // Node writes ASCII faster when it is declared as such.
    response.end(text, bytes === text.length ? "latin1" : "utf8")
    this.wrote(status, text)
  }

  /** Ends a request whose answer was written. */
  protected wrote(status: number, text?: string): void {
    this.end(status)
    const { clock, recorder } = this.lane
    const { caller } = this.state
    const keep = caller && recorder.counted(caller, status)
    if (keep === undefined) return
    const time = { at: clock.currentTimeMillisUnsafe(), seconds: secondsSince(this.startedNanos, clock) }
    const answer = status < 400 ? undefined : text
    keep(answeredRequest(this.incoming, this.route, time, { ...this.state, status, answer }))
  }

  /** Ends the request: it is counted by its status, and no longer waited for. */
  protected end(status: number): void {
    this.connection.pending.delete(this)
    this.lane.shedder.answered(this.state)
    this.route.series.add(status, secondsSince(this.startedNanos, this.lane.clock))
  }

  private decided(decision: RateDecision | undefined): void {
    if (decision === undefined) {
      this.passed()
      return
    }
    this.state.responseHeaders = this.route.fieldsOf(decision)
    if (decision.allowed) this.passed()
    else this.fail(Cause.fail(this.route.refusalOf(decision)))
  }

  /** The answer to an error that the endpoint describes. */
  private describedBy(cause: Cause.Cause<unknown>): EncodedError | undefined {
    const found = Cause.findError(cause)
    if (Result.isFailure(found)) return undefined
    const error = this.route.mapError(found.success)
    return HttpApiError.HttpApiSchemaError.is(error) ? undefined : this.route.encodeError(error)
  }

  private refuse({ body, status }: EncodedError, cause?: Cause.Cause<unknown>): void {
    const { request } = this.incoming
    const { headers, method = "", url = "" } = request
    const text = JSON.stringify(body)
    const flat = flattenedFor({ headers, url }, status, text)
    this.write(status, flat === undefined ? text : JSON.stringify(flat), {})
    if (status < 500) return
    const { requestId } = this.state
    Effect.runForkWith(this.lane.context)(logAnswer({ method, url, requestId, status }, cause))
  }

  private fieldsOf(status: number): Record<string, string> | undefined {
    if (status < 400) return this.state.responseHeaders
    const { clock, growth } = this.lane
    return answerFields({ status }, this.state, { growth, nowNanos: clock.monotonicTimeNanosUnsafe() })
  }
}

/**
 * Answers one read on the fast lane, synchronously: only a limiter that cannot decide immediately makes it wait.
 */
import { Cause, Effect, Result } from "effect"
import { cachingFields, hasAlready } from "../cacheHeaders.ts"
import { makeRequestState, type RateDecision } from "../RequestState.ts"
import { answeredRequest, type FastLaneContext, FastRequest, type Incoming, secondsSince } from "./FastRequest.ts"
import type { TaggedAnswer } from "./marks.ts"
import type { ReadRoute } from "./routes.ts"
import type { Target } from "./Targets.ts"

/** Writes the answer to a read, or 304 to a client that has it. Returns the status. */
const writeTagged = (
  { request, response }: Incoming,
  { bytes, tag }: TaggedAnswer,
  responseHeaders: Record<string, string> | undefined,
  requestId: string
): number => {
  const isKnown = hasAlready(request.headers["if-none-match"], tag)
  const fields: Record<string, string | number> = cachingFields(tag)
  if (!isKnown) {
    fields["content-type"] = "application/json"
    fields["content-length"] = bytes.byteLength
  }
  if (responseHeaders !== undefined) Object.assign(fields, responseHeaders)
  fields["x-request-id"] = requestId
  const status = isKnown ? 304 : 200
  response.writeHead(status, fields)
  response.end(isKnown ? undefined : bytes)
  return status
}

/** A handler's result; a defect is a failure too. */
const resultOf = ({ answer }: ReadRoute, input: object): Result.Result<TaggedAnswer, Cause.Cause<unknown>> => {
  try {
    return Result.mapError(answer(input), Cause.fail)
  } catch (defect) {
    return Result.fail(Cause.die(defect))
  }
}

export class Read extends FastRequest<ReadRoute> {
  private readonly input: object

  private constructor(
    incoming: Incoming,
    { input, route }: Target<ReadRoute>,
    lane: FastLaneContext,
    startedNanos: bigint
  ) {
    super(incoming, route, lane, startedNanos)
    this.input = input
  }

  /** Begins a read; false when it is left to the general path, uncounted. */
  static begin(incoming: Incoming, target: Target<ReadRoute>, lane: FastLaneContext): boolean {
    const { request } = incoming
    const { headers } = request
    if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) return false
    const { clock } = lane
    const { input, route } = target
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    const principal = route.principalOf(headers, clock.currentTimeMillisUnsafe())
    if (principal === undefined) return false
    const taken = route.take(principal)
    if (isPass(taken)) {
      const result = resultOf(route, input)
      if (Result.isSuccess(result)) {
        const state = makeRequestState(headers["x-request-id"])
        const fields = taken === undefined ? undefined : route.fieldsOf(taken)
        const status = writeTagged(incoming, result.success, fields, state.requestId)
        const seconds = secondsSince(startedNanos, clock)
        route.series.add(status, seconds)
        const logged = route.loggedOf(principal)
        const keep = logged && lane.recorder.counted(logged, status)
        if (keep !== undefined)
          keep(
            answeredRequest(
              incoming,
              route,
              { at: clock.currentTimeMillisUnsafe(), seconds },
              { ...state, status, answer: undefined }
            )
          )
        return true
      }
    }
    const read = new Read(incoming, target, lane, startedNanos)
    read.state.caller = route.loggedOf(principal)
    read.counted(taken)
    return true
  }

  protected passed(): void {
    const result = resultOf(this.route, this.input)
    if (Result.isFailure(result)) this.fail(result.failure)
    else this.wrote(writeTagged(this.incoming, result.success, this.state.responseHeaders, this.state.requestId))
  }
}

/** Whether a request passes immediately. */
const isPass = (taken: ReturnType<ReadRoute["take"]>): taken is RateDecision | undefined =>
  taken === undefined || (!Effect.isEffect(taken) && taken.allowed)

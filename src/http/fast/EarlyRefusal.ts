/**
 * Refuses requests that the load shedder would refuse (docs/platform.md, 8.5), before anything else is done about them:
 * while others are refused, at endpoints with an access, and of callers that are known without a wait. The answer has the
 * bytes of the general path, which costs several times as much. All others are left to it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Clock } from "effect"
import { answerFields, flattenedFor, pathOf } from "../answerFields.ts"
import { errorBody, errorShapeOf } from "../errors.ts"
import { type LoadShedder, tooManyMessage } from "../LoadShedder.ts"
import type { RouteSeries } from "../RequestMeter.ts"
import { makeRequestState } from "../RequestState.ts"
import type { RetryGrowth } from "../RetryGrowth.ts"
import type { Routes } from "./routes.ts"

/** The route in metrics of requests that were refused before their route was looked for. */
export const refusedRoute = "refused"

export interface EarlyRefusalMeans {
  readonly clock: Clock.Clock
  readonly growth: RetryGrowth
  readonly shedder: LoadShedder
  readonly accessAt: Routes["accessAt"]
  /** The series of a method's refused requests. */
  readonly seriesOf: (method: string) => RouteSeries
}

const status = 503

export class EarlyRefusal {
  private readonly means: EarlyRefusalMeans

  constructor(means: EarlyRefusalMeans) {
    this.means = means
  }

  /** Refuses a request, or returns false and leaves it. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { accessAt, clock, growth, seriesOf, shedder } = this.means
    const nowNanos = clock.monotonicTimeNanosUnsafe()
    const now = Number(nowNanos) / 1e6
    if (!shedder.isPressed(now)) return false
    const { headers, method = "", url = "" } = request
    // Probes, pages and unknown paths are refused to nobody.
    const organization = accessAt(method, url)?.callerOf(headers, clock.currentTimeMillisUnsafe())
    if (organization === undefined) return false
    if (!shedder.refuses(organization, method === "GET" || method === "HEAD" ? "read" : "write", now)) return false
    const body = JSON.stringify(errorBody(errorShapeOf(pathOf(url)), "unavailable", tooManyMessage))
    const flat = flattenedFor({ headers, url }, status, body)
    const text = flat === undefined ? body : JSON.stringify(flat)
    const state = makeRequestState(headers["x-request-id"])
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": text.length,
      ...answerFields({ status }, state, { growth, nowNanos }),
      "x-request-id": state.requestId
    })
    response.end(text, "latin1")
    seriesOf(method).add(status, 0)
    return true
  }
}

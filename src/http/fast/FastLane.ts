/**
 * The fast lane answers simple requests before the Effect server, from the same handlers, schemas and access rules. A
 * read is answered synchronously; a POST reads its body and runs its handler in one fiber. A request that is not a
 * plain success, or needs a wait, takes the general path together with the progress made for it, so that both paths
 * answer with the same bytes and nothing is counted or done twice. Needs the API's groups and the middlewares before
 * them.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Clock } from "effect"
import { cachingFields, hasAlready } from "../cacheHeaders.ts"
import { handOver, makeRequestState } from "../RequestState.ts"
import type { TaggedAnswer } from "./marks.ts"
import { Post, type PostMeans } from "./Post.ts"
import { passes, secondsSince } from "./passOn.ts"
import type { ReadRoute, Routes } from "./routes.ts"
import type { Target } from "./Targets.ts"

export interface FastLane {
  /** Answers a request, or returns false and leaves it to the general path. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Interrupts the handlers that still run; the general path answers their requests. */
  readonly stop: () => void
}

/** The answer to a read; undefined after a failure or a defect, which the general path meets again and reports. */
const answerOf = ({ answer }: ReadRoute, input: object): TaggedAnswer | undefined => {
  try {
    const result = answer(input)
    return result._tag === "Success" ? result.success : undefined
  } catch {
    return undefined
  }
}

const read = (
  request: IncomingMessage,
  response: ServerResponse,
  { input, route }: Target<ReadRoute>,
  clock: Clock.Clock
): boolean => {
  const { headers } = request
  if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) return false
  const startedNanos = clock.monotonicTimeNanosUnsafe()
  const principal = route.principalOf(headers, clock.currentTimeMillisUnsafe())
  if (principal === undefined) return false
  const answer = answerOf(route, input)
  if (answer === undefined) return false
  // This is the last step that may turn the request away.
  const taken = route.take(principal)
  const state = makeRequestState(headers["x-request-id"])
  if (!passes(taken)) {
    state.begun = { startedNanos, principal, taken, outcome: undefined }
    handOver(request, state)
    return false
  }
  const { bytes, tag } = answer
  const isKnown = hasAlready(headers["if-none-match"], tag)
  const fields: Record<string, string | number> = cachingFields(tag)
  if (!isKnown) {
    fields["content-type"] = "application/json"
    fields["content-length"] = bytes.byteLength
  }
  if (taken !== undefined) Object.assign(fields, route.fieldsOf(taken))
  fields["x-request-id"] = state.requestId
  const status = isKnown ? 304 : 200
  response.writeHead(status, fields)
  response.end(isKnown ? undefined : bytes)
  route.series.add(status, secondsSince(startedNanos, clock))
  return true
}

/** Makes the lane of compiled routes. */
export const makeFastLane = ({ posts, reads }: Routes, means: PostMeans): FastLane => ({
  answer: (request, response) => {
    const { headers, httpVersionMinor, method, url } = request
    if (httpVersionMinor !== 1 || headers.expect !== undefined) return false
    if (method === "GET") {
      const target = reads.find(url!)
      return target !== undefined && read(request, response, target, means.clock)
    }
    if (method === "POST") {
      const target = posts.find(url!)
      return target !== undefined && Post.begin(request, response, target, means)
    }
    return false
  },
  stop: () => {
    for (const post of means.connections.posts()) post.stop()
  }
})

/**
 * The fast lane answers simple requests before the Effect server, from the same handlers, schemas and access rules. A
 * read is answered synchronously; a POST reads its body and runs its handler in one fiber. The lane takes a request
 * whole or not at all: one that is refused before it is counted, or has a form that the lane does not read, takes the
 * general path. Both paths answer with the same bytes. Needs the API's groups and the middlewares before them.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { EarlyRefusal } from "./EarlyRefusal.ts"
import type { FastLaneContext } from "./FastRequest.ts"
import { Post } from "./Post.ts"
import { Read } from "./Read.ts"
import type { Routes } from "./routes.ts"

export interface FastLane {
  /** Answers a request, or returns false and leaves it to the general path. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Interrupts the handlers that still run; their requests are answered 503. */
  readonly stop: () => void
}

/** Makes the lane of compiled routes, before a refusal of what it leaves. */
export const makeFastLane = (
  { posts, reads }: Pick<Routes, "posts" | "reads">,
  lane: FastLaneContext,
  early: EarlyRefusal
): FastLane => {
  const take = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { headers, httpVersionMinor, method, url } = request
    if (httpVersionMinor !== 1 || headers.expect !== undefined) return false
    if (method === "GET") {
      const target = reads.find(url!)
      return target !== undefined && Read.begin({ request, response }, target, lane)
    }
    if (method === "POST") {
      const target = posts.find(url!)
      return target !== undefined && Post.begin({ request, response }, target, lane)
    }
    return false
  }
  return {
    answer: (request, response) => take(request, response) || early.answer(request, response),
    stop: () => {
      for (const request of lane.connections.pending()) request.stop()
    }
  }
}

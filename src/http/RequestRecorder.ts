/**
 * Reports answered requests to the request log (docs/platform.md, 2.12), from both paths through the server. A request
 * is first counted, which is all that most of them cost; a record is made only of one that is kept. Without a layer none
 * is.
 */
import { Context } from "effect"
import type { Caller, RequestStateShape } from "./RequestState.ts"

/** An answered request that is kept. */
export interface AnsweredRequest {
  /** Unix milliseconds: when it was answered. */
  readonly at: number
  /** From its arrival to its answer. */
  readonly seconds: number
  readonly method: string
  /** The path of its endpoint, with `:name` for each parameter; undefined where it was refused before that was known. */
  readonly route: string | undefined
  /** The target as it came, which may hold addresses and numbers. */
  readonly url: string
  readonly status: number
  readonly requestId: string
  /** The network address that it came from. */
  readonly address: string | undefined
  /** The bytes of its body, if they were read. */
  readonly body: Uint8Array | undefined
  /** The body of the answer, of a failed request. */
  readonly answer: string | undefined
  /** Facts about the failure that a handler has left (`RequestStateShape.facts`). */
  readonly facts: RequestStateShape["facts"]
}

export interface RequestRecorder {
  /**
   * Counts an answer. Returns the function that keeps its record, or undefined for one that is not kept. Synchronous and
   * cheap: every request of a known key does this.
   */
  readonly counted: (caller: Caller, status: number) => ((request: AnsweredRequest) => void) | undefined
}

export const CurrentRequestRecorder = Context.Reference<RequestRecorder>("sluice/http/CurrentRequestRecorder", {
  defaultValue: () => ({ counted: () => undefined })
})

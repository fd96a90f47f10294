/**
 * Receives the calls that access admits (docs/platform.md, 11.8). Without a layer calls are not counted: an embedded
 * server has no usage. Calls that leave a fact in the log when they succeed are counted from there, and are not
 * reported here.
 */
import { Context } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { type Service, services } from "./model.ts"

/** The units of usage: the products, and the platform's own endpoints. */
export const countedProducts = [...services, "platform"] as const
export type CountedProduct = Service | "platform"

export interface CallCountsShape {
  /** Counts one call. Synchronous and cheap: nearly every request does this. */
  readonly count: (organizationId: string, product: CountedProduct) => void
}

export const CallCounts = Context.Reference<CallCountsShape>("sluice/platform/CallCounts", {
  defaultValue: () => ({ count: () => {} })
})

/** The endpoints whose calls are facts: a call of theirs without a fact is not usage. */
export const countedByFacts: ReadonlySet<string> = new Set([
  "GET /v1/telco/lookup/:tn",
  "POST /v1/telco/lookups",
  "GET /v1/telco/search",
  "POST /v1/talk/speech",
  "POST /v1/send/emails",
  "POST /v1/send/emails/send",
  "POST /v1/send/emails/batch"
])

export const isCountedByFacts = ({ method, path }: HttpApiEndpoint.Top): boolean =>
  countedByFacts.has(`${method} ${path}`)

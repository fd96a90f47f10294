/**
 * Formats endpoints for the API's answers, and the content of idempotent requests (docs/platform.md, 6.1 and 6.2).
 * Pure.
 */
import { unmatchedPatterns } from "../../events/index.ts"
import { quote } from "../../http/parameters.ts"
import type { Ordering } from "../endpoint/deliveryOrder.ts"
import type { EndpointView, EndpointWithSecret } from "../endpoint/Endpoints.ts"
import { type CustomHeaders, encodeHeaders } from "../endpoint/headers.ts"
import type { Endpoint } from "../endpoint/model.ts"
import type { WebhookSecrets } from "../secret/WebhookSecrets.ts"
import type { EndpointForm } from "./forms.ts"

/** The note in an answer that shows a secret. */
export const shownOnce = "Store the signing secret now: it is shown this once."

/** The owner's additions. Only the names of headers are shown: any value may be a secret. */
const ownOf = ({
  headers,
  label = null,
  ordering = null,
  rateLimit
}: Pick<Endpoint, "headers" | "rateLimit" | "ordering" | "label">) => ({
  header_names: headers?.names ?? [],
  rate_limit: rateLimit,
  ordering,
  label
})

/** Completes an answer that was kept before there were headers, rates, orders, labels and public keys. */
export const withOwn = <Answer extends object>(answer: Answer): Answer => ({
  ...ownOf({ headers: null, rateLimit: null }),
  public_key: null,
  ...answer
})

/** Completes an answer with a new secret that was kept before there were public keys. */
export const withPublicKey = <Answer extends object>(answer: Answer): Answer => ({ public_key: null, ...answer })

/** The list form (docs/platform.md, 6.1). */
export const wireEndpoint = ({ endpoint, id, ...known }: EndpointView): EndpointForm => ({
  id,
  url: endpoint.url,
  enabled_events: endpoint.enabledEvents,
  description: endpoint.description,
  ...ownOf(endpoint),
  public_key: known.publicKey,
  is_active: endpoint.isActive,
  is_paused: endpoint.paused !== null,
  consecutive_failures: endpoint.consecutiveFailures,
  last_delivery_at: known.lastDeliveryAt,
  last_delivery_status: known.lastDeliveryStatus,
  pending: known.pending,
  oldest_pending_at: known.oldestPendingAt,
  created_at: endpoint.createdAt
})

/** The warning for patterns that match no type of the catalogue. */
export const warningOf = (enabledEvents: ReadonlyArray<string>): { readonly warning?: string } => {
  const unmatched = unmatchedPatterns(enabledEvents)
  return unmatched.length === 0
    ? {}
    : {
        warning: `No type of the catalogue matches ${unmatched.map(quote).join(", ")}: nothing is delivered for it yet.`
      }
}

/** The answer with a new endpoint and its secret. */
export const createdEndpoint = (id: string, { endpoint, publicKey, signingSecret }: EndpointWithSecret) => ({
  id,
  url: endpoint.url,
  enabled_events: endpoint.enabledEvents,
  description: endpoint.description,
  ...ownOf(endpoint),
  signing_secret: signingSecret,
  public_key: publicKey,
  is_active: endpoint.isActive,
  message: shownOnce,
  ...warningOf(endpoint.enabledEvents)
})

/** The answer to a request for a replay of missed events if there were none. */
export const nothingMissed = {
  replayId: null,
  count: 0 as const,
  message:
    "The endpoint was not paused, so there is nothing that it has missed. POST …/replay sends events of any interval."
}

/**
 * The headers and rate of a request for its digest, from which the values must not be guessed. A request without either
 * has the same digest as before there were any.
 */
export const askedOf = (
  secrets: WebhookSecrets["Service"],
  {
    asymmetric,
    headers,
    label,
    ordering,
    rateLimit
  }: {
    readonly headers: CustomHeaders
    readonly rateLimit: number | null
    readonly ordering: Ordering | null
    readonly label: string | null
    readonly asymmetric: boolean
  }
) => ({
  ...(asymmetric ? { asymmetric } : {}),
  ...(Object.keys(headers).length === 0 ? {} : { headers: secrets.fingerprint(encodeHeaders(headers)) }),
  ...(ordering === null ? {} : { ordering }),
  ...(label === null ? {} : { label }),
  ...(rateLimit === null ? {} : { rateLimit })
})

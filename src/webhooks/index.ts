/**
 * Exports `sluice/webhook`: `verifyWebhook` for receivers, signing and patterns of event types for senders. It needs no
 * server and no running Effect, and does not load the dispatcher, which is `sluice/webhook/dispatcher`.
 */
import "../common/checkedPeers.ts"

export {
  Event,
  type EventPattern,
  encodeEvent,
  type FirstSegments,
  InvalidPattern,
  type Matchable,
  matches,
  matchesAny,
  maximumPatterns,
  parsePattern,
  parsePatterns
} from "../events/index.ts"
export {
  type DeliveryToSign,
  defaultToleranceSeconds,
  deliveryHeaders,
  deliveryUserAgent,
  eventIdHeader,
  makeSecret,
  type RawBody,
  ReceivedEvent,
  type ReceivedHeaders,
  secretPrefix,
  sign,
  signatureHeader,
  timestampHeader,
  verifyWebhook,
  WebhookVerificationError
} from "./secret/signature.ts"

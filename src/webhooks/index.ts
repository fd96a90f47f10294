/**
 * `sluice/webhook`: for those who receive webhooks, `verifyWebhook`; for those who send them, signing and patterns of event types.
 * None of it needs a server or a running Effect, or loads what delivers: that is `sluice/webhook/dispatcher`.
 */
export {
  Event,
  type EventPattern,
  encodeEvent,
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

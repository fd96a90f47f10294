/**
 * Exports `sluice/webhook/dispatcher`: for programs that send webhooks of their own. `Webhooks.layerMemory` needs only
 * HTTP; with other ports (`delivery/ports.ts`), `make` delivers from any store. Receivers use `sluice/webhook`, which
 * loads none of this.
 */
import "../../common/checkedPeers.ts"

export type { Delivery } from "../delivery/Deliveries.ts"
export { DispatchFeed, type DispatchFeedShape } from "../delivery/DispatchFeed.ts"
export { DeliveryAttempt, DeliveryStatus, type JobPayload } from "../delivery/model.ts"
export * from "../delivery/ports.ts"
export { type Attempt, defaultSchedule, RetrySchedule } from "../delivery/schedule.ts"
export type { Track } from "../dispatcher/ConcurrencyLimit.ts"
export type { DispatcherSettings } from "../dispatcher/DispatcherState.ts"
export type { AttemptPlace, Capacity } from "../dispatcher/DispatchQueue.ts"
export {
  type DispatcherPorts,
  defaultSettings,
  leaseOf,
  make,
  WebhookDispatcher
} from "../dispatcher/WebhookDispatcher.ts"
export type { CustomHeaders } from "../endpoint/headers.ts"
export {
  DeliveryOrigin,
  Endpoint,
  EndpointCommand,
  EndpointDisabled,
  EndpointExists,
  EndpointHeadersChanged,
  EndpointInvalid,
  EndpointNotFound,
  EndpointPaused,
  EndpointReply,
  type EndpointStatus,
  type FoldedEndpoint,
  TooManyEndpoints
} from "../endpoint/model.ts"
export { WebhookEndpoint, WebhookEndpoints } from "../endpoint/rules.ts"
export type { EgressProxy } from "../sender/egressProxy.ts"
export * as HttpSender from "../sender/HttpSender.ts"
export type { Resolve, ResolvedAddress } from "../target/addresses.ts"
export { NameNotFound, type TargetNames } from "../target/TargetNames.ts"
export {
  makeTargetGuard,
  type TargetGuard,
  type TargetPolicy,
  TargetRefused,
  targetPolicies,
  UrlRefused
} from "../target/targets.ts"
export * as DeliveryStoreMemory from "./DeliveryStoreMemory.ts"
export { defaultMaximumPending, defaultMaximumSettled } from "./DeliveryStoreMemory.ts"
export { type EndpointOptions, maximumMemoryEndpoints } from "./EmbeddedEndpoints.ts"
export {
  type EndpointState,
  type EventOptions,
  EventRefused,
  type MemoryOptions,
  maximumEventLength,
  NotRetryable,
  Webhooks,
  WebhooksFull
} from "./Webhooks.ts"

/**
 * `sluice/webhook/dispatcher`: for programs that send webhooks of their own. `Webhooks.layerMemory` needs only HTTP;
 * with other ports (`dispatchPorts.ts`), `make` delivers from any store. Receivers use `sluice/webhook`, which loads
 * none of this.
 */

export type { Delivery } from "./Deliveries.ts"
export * as DeliveryStoreMemory from "./DeliveryStoreMemory.ts"
export { defaultMaximumPending, defaultMaximumSettled } from "./DeliveryStoreMemory.ts"
export { DispatchFeed } from "./DispatchFeed.ts"
export type { DispatcherSettings } from "./Dispatching.ts"
export { DeliveryAttempt, DeliveryStatus } from "./deliveryModel.ts"
export * from "./dispatchPorts.ts"
export { EndpointDisabled, EndpointInvalid, EndpointNotFound } from "./endpointModel.ts"
export { WebhookEndpoint, WebhookEndpoints } from "./endpointRules.ts"
export * as HttpSender from "./HttpSender.ts"
export { defaultSchedule, RetrySchedule } from "./schedule.ts"
export { makeTargetGuard, type TargetPolicy, UrlRefused } from "./targets.ts"
export { type DispatcherPorts, defaultSettings, leaseOf, make, WebhookDispatcher } from "./WebhookDispatcher.ts"
export {
  type EndpointOptions,
  type EndpointState,
  type EventOptions,
  EventRefused,
  type MemoryOptions,
  maximumEventLength,
  maximumMemoryEndpoints,
  NotRetryable,
  Webhooks,
  WebhooksFull
} from "./Webhooks.ts"

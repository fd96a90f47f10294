/**
 * Exports `sluice/limits`: limits as a library. `RateLimiter`, `TokenBucket`, `RollingWindow`, `DistinctWindow` and
 * `MonthlyQuota` are Effect services; `FixedWindow`, `TokenBucketRule`, `RollingWindowRule`, `DistinctWindowRule` and
 * `MonthlyQuotaRule` are their rules alone, each over one state. `AllOrNone` decides over several of them together.
 * `makeMemory` is the request rate synchronous and without Effect, `LimiterActor` the same as an actor of the engine.
 */
import "../common/checkedPeers.ts"

export { AllOrNone, type AllOrNoneDecision, type LimitAsks } from "./AllOrNone.ts"
export * as LimiterActor from "./actor.ts"
export {
  type AskDecision,
  type AskOptions,
  type BucketAsk,
  type DistinctAsk,
  type FixedAsk,
  type LimitAsk,
  type MonthlyAsk,
  maximumLimitsOfOne,
  type RollingAsk
} from "./allOrNoneRules.ts"
export type { BucketCap, BucketDecision } from "./bucketRules.ts"
export * as TokenBucketRule from "./bucketRules.ts"
export { type DistinctCapOptions, DistinctWindow, type DistinctWindowOptions } from "./DistinctWindow.ts"
export * as DistinctWindowRule from "./distinctRules.ts"
export { InvalidArgument, LimiterFull, LimiterUnreachable, LimitReached } from "./errors.ts"
export { rateLimitHeaders } from "./headers.ts"
export type { KeyedWindowOptions } from "./keyedWindow.ts"
export { type MonthlyLimitOptions, MonthlyQuota, type MonthlyQuotaOptions } from "./MonthlyQuota.ts"
export {
  defaultMaxKeys,
  type MemoryLimiter,
  type MemoryOptions,
  makeMemory,
  maximumBytesPerKey,
  maximumKeyLength,
  maximumMaxKeys
} from "./memory.ts"
export * as MonthlyQuotaRule from "./monthlyRules.ts"
export { type PlatformPlan, platformPlans, requestsPerMinute, requestsPerMinuteByPlan } from "./plans.ts"
export { admit, fromMemory, type MemoryLayerOptions, orRefused, RateLimiter, type TakeOptions } from "./RateLimiter.ts"
export { type RollingCapOptions, RollingWindow, type RollingWindowOptions, type UnitsOptions } from "./RollingWindow.ts"
export * as RollingWindowRule from "./rollingRules.ts"
export * as FixedWindow from "./rules.ts"
export {
  type Decision,
  type DecisionBase,
  type Limit,
  type LimitedDecision,
  type LimitOutcome,
  maximumLimit,
  maximumWindowMillis,
  minuteMillis,
  type Receipt,
  type UnlimitedDecision,
  type WindowState
} from "./rules.ts"
export { type BucketCapOptions, TokenBucket, type TokenBucketOptions } from "./TokenBucket.ts"
export type { WindowEngineOptions } from "./windowActor.ts"
export {
  maximumExactLimit,
  maximumRollingWindowMillis,
  type RollingCap,
  type WindowDecision
} from "./windowDecision.ts"

/**
 * `sluice/limits`: request limits as a library. `RateLimiter` is the Effect service, `makeMemory` the same rule synchronous and
 * without Effect, `FixedWindow` the rule alone over one state, `LimiterActor` the rule as an actor of the engine.
 */
export * as LimiterActor from "./actor.ts"
export { InvalidArgument, LimiterFull, LimiterUnreachable, LimitReached } from "./errors.ts"
export { rateLimitHeaders } from "./headers.ts"
export {
  defaultMaxKeys,
  type MemoryLimiter,
  type MemoryOptions,
  makeMemory,
  maximumBytesPerKey,
  maximumKeyLength,
  maximumMaxKeys
} from "./memory.ts"
export { type PlatformPlan, platformPlans, requestsPerMinute, requestsPerMinuteByPlan } from "./plans.ts"
export { admit, fromMemory, type MemoryLayerOptions, orRefused, RateLimiter, type TakeOptions } from "./RateLimiter.ts"
export * as FixedWindow from "./rules.ts"
export {
  type Decision,
  type Limit,
  type LimitedDecision,
  maximumLimit,
  maximumWindowMillis,
  minuteMillis,
  type Outcome,
  type Receipt,
  type UnlimitedDecision,
  type WindowState
} from "./rules.ts"

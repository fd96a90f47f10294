/** Defines the windows, the quota and the bucket as actors, for the `layer` of their services and for `AllOrNone`. */
import { Schema } from "effect"
import * as Bucket from "./bucketRules.ts"
import * as Distinct from "./distinctRules.ts"
import * as Monthly from "./monthlyRules.ts"
import * as Rolling from "./rollingRules.ts"
import type { Limit } from "./rules.ts"
import * as Fixed from "./rules.ts"
import {
  BucketStateSchema,
  DistinctStateSchema,
  decisionFields,
  FixedStateSchema,
  MonthlyStateSchema,
  makeWindow,
  RollingStateSchema,
  type Window
} from "./windowActor.ts"
import { type RollingCap, type WindowDecision, windowDecision } from "./windowDecision.ts"

const cap = { windowMillis: Schema.Number, limit: Schema.Number }
const Texts = Schema.Array(Schema.String)
const AnyLimit = Schema.Union([Schema.Number, Schema.Literal("unlimited")])

/** The schemas of the answers. */
export const WindowDecisionSchema = Schema.Struct(decisionFields)
export const DistinctDecisionSchema = Schema.Struct({ ...decisionFields, fresh: Texts, over: Texts })
export const BucketDecisionSchema = Schema.Struct({
  ...decisionFields,
  remaining: Schema.Number,
  fullAt: Schema.Number
})

/** When the newest entry leaves a window, of a state that has one. */
const lastEnd = (latest: number | undefined, { windowMillis }: RollingCap): number => (latest ?? 0) + windowMillis

export interface UnitsRequest extends RollingCap {
  readonly cost: number
}

export const rollingWindow: Window<Rolling.RollingState, UnitsRequest, WindowDecision> = makeWindow<
  Rolling.RollingState,
  UnitsRequest,
  WindowDecision
>(
  {
    initial: Rolling.initial,
    peek: (state, request, now) => Rolling.peek(state, request, request.cost, now),
    record: (state, { cost, windowMillis }, at) => Rolling.record(state, windowMillis, cost, at),
    endOf: (state, request) => lastEnd(Rolling.latest(state), request)
  },
  {
    kind: "rollingWindow",
    state: RollingStateSchema,
    request: Schema.Struct({ ...cap, cost: Schema.Number }),
    decision: WindowDecisionSchema
  }
)

export interface ValuesRequest extends RollingCap {
  readonly values: ReadonlyArray<string>
}

export const distinctWindow: Window<Distinct.DistinctState, ValuesRequest, Distinct.DistinctDecision> = makeWindow<
  Distinct.DistinctState,
  ValuesRequest,
  Distinct.DistinctDecision
>(
  {
    initial: Distinct.initial,
    peek: (state, request, now) => Distinct.peek(state, request, request.values, now),
    record: (state, { values, windowMillis }, at) => Distinct.record(state, windowMillis, values, at),
    endOf: (state, request) => lastEnd(Distinct.latest(state), request)
  },
  {
    kind: "distinctWindow",
    state: DistinctStateSchema,
    request: Schema.Struct({ ...cap, values: Texts }),
    decision: DistinctDecisionSchema
  }
)

export interface QuotaRequest {
  readonly limit: Limit
  readonly cost: number
}

export const monthlyQuota: Window<Monthly.MonthlyState, QuotaRequest, WindowDecision> = makeWindow<
  Monthly.MonthlyState,
  QuotaRequest,
  WindowDecision
>(
  {
    initial: Monthly.initial,
    peek: (state, { cost, limit }, now) => Monthly.peek(state, limit, cost, now),
    record: (state, { cost }, at) => Monthly.record(state, cost, at),
    endOf: (state) => state.endMillis
  },
  {
    kind: "monthlyQuota",
    state: MonthlyStateSchema,
    request: Schema.Struct({
      limit: AnyLimit,
      cost: Schema.Number
    }),
    decision: WindowDecisionSchema
  }
)

export interface FixedRequest extends QuotaRequest {
  readonly windowMillis: number
}

/** The request rate, which alone is a lane: with other limits it has to be stored as they are. */
export const fixedWindow: Window<Fixed.WindowState, FixedRequest, WindowDecision> = makeWindow<
  Fixed.WindowState,
  FixedRequest,
  WindowDecision
>(
  {
    initial: Fixed.initial,
    peek: (state, { cost, limit, windowMillis }, now) => {
      Fixed.assertWindow(windowMillis)
      Fixed.assertLimit(limit)
      Fixed.assertCost(cost)
      const { endMillis, used } = Fixed.advance(state, now, windowMillis)
      const outcome = Fixed.judge(used, limit, cost)
      return windowDecision(outcome, cost, limit, used, outcome === "allowed" ? now : endMillis, now)
    },
    record: (state, { cost, windowMillis }, at) => {
      const { endMillis, used } = Fixed.advance(state, at, windowMillis)
      return { endMillis, used: Fixed.count(used, cost) }
    },
    endOf: (state) => state.endMillis
  },
  {
    kind: "fixedWindow",
    state: FixedStateSchema,
    request: Schema.Struct({ limit: AnyLimit, windowMillis: Schema.Number, cost: Schema.Number }),
    decision: WindowDecisionSchema
  }
)

export interface TokensRequest extends Bucket.BucketCap {
  readonly cost: number
}

export const tokenBucket: Window<Bucket.BucketState, TokensRequest, Bucket.BucketDecision> = makeWindow<
  Bucket.BucketState,
  TokensRequest,
  Bucket.BucketDecision
>(
  {
    initial: Bucket.initial,
    peek: (state, request, now) => Bucket.peek(state, request, request.cost, now),
    record: (state, request, at) => Bucket.record(state, request, request.cost, at),
    endOf: Bucket.fullAt,
    taken: Bucket.takenDecision
  },
  {
    kind: "tokenBucket",
    state: BucketStateSchema,
    request: Schema.Struct({
      burst: Schema.Number,
      tokens: Schema.Number,
      everyMillis: Schema.Number,
      cost: Schema.Number
    }),
    decision: BucketDecisionSchema
  }
)

/** Defines the exact windows and the monthly quota as actors, for the `layer` of their services. */
import { Schema } from "effect"
import * as Distinct from "./distinctRules.ts"
import * as Monthly from "./monthlyRules.ts"
import * as Rolling from "./rollingRules.ts"
import type { Limit } from "./rules.ts"
import {
  DistinctStateSchema,
  decisionFields,
  MonthlyStateSchema,
  makeWindow,
  RollingStateSchema,
  type Window
} from "./windowActor.ts"
import type { RollingCap, WindowDecision } from "./windowDecision.ts"

const cap = { windowMillis: Schema.Number, limit: Schema.Number }
const Texts = Schema.Array(Schema.String)

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
    record: (state, { cost, windowMillis }, at) => Rolling.record(state, windowMillis, cost, at)
  },
  {
    kind: "rollingWindow",
    state: RollingStateSchema,
    request: Schema.Struct({ ...cap, cost: Schema.Number }),
    decision: Schema.Struct(decisionFields)
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
    record: (state, { values, windowMillis }, at) => Distinct.record(state, windowMillis, values, at)
  },
  {
    kind: "distinctWindow",
    state: DistinctStateSchema,
    request: Schema.Struct({ ...cap, values: Texts }),
    decision: Schema.Struct({ ...decisionFields, fresh: Texts, over: Texts })
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
    record: (state, { cost }, at) => Monthly.record(state, cost, at)
  },
  {
    kind: "monthlyQuota",
    state: MonthlyStateSchema,
    request: Schema.Struct({
      limit: Schema.Union([Schema.Number, Schema.Literal("unlimited")]),
      cost: Schema.Number
    }),
    decision: Schema.Struct(decisionFields)
  }
)

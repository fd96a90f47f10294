/**
 * Defines the stored form of the rules of sending: schemas of the deciders' states and facts, as the engine keeps them.
 * They are numbers, short texts and flat lists, because a state is checked at every change and written whole. Once
 * released, a change needs a version and an upcast (docs/CONTRIBUTING.md, "Adding an actor").
 */
import { Schema } from "effect"
import { Numbers } from "../../../common/numbers.ts"
import { DistinctStateSchema, MonthlyStateSchema, RollingStateSchema } from "../../../limits/windowActor.ts"
import { sendPlans } from "../../../platform/model.ts"
import { type Risk, tiers } from "../../limits.ts"
import { pauseReasons } from "../../rules/pause.ts"
import { stages } from "../../rules/trust.ts"

const Texts = Schema.Array(Schema.String)
/** Unix milliseconds, or never. */
const Instant = Schema.NullOr(Schema.Finite)

const risks: ReadonlyArray<Risk> = ["standard", "higher"]

export const RiskSchema = Schema.Literals(risks)
export const PlanSchema = Schema.Literals(sendPlans)
export const TierSchema = Schema.Literals(tiers)
export const PauseReasonSchema = Schema.Literals(pauseReasons)

/** Caps and limits are numbers that a caller chose, an infinite one too. */
export const CapsSchema = Schema.Struct({
  emailsPerHour: Schema.Number,
  emailsPerDay: Schema.Number,
  domainsPerHour: Schema.Number
})

export const CustomLimitsSchema = Schema.Struct({
  emailsPerMonth: Schema.NullOr(Schema.Union([Schema.Number, Schema.Literal("unlimited")])),
  probation: Schema.NullOr(CapsSchema),
  requestsPerMinute: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Number, Schema.Literal("unlimited")])))
})

const HoursSchema = Schema.Struct({ hour: Schema.Finite, counts: Numbers })

export const ProbationStateSchema = Schema.Struct({
  emails: RollingStateSchema,
  domains: DistinctStateSchema
})

export const PauseStateSchema = Schema.Struct({
  first: Texts,
  bounced: Schema.Finite,
  accepted: HoursSchema,
  firstHour: Instant,
  signals: RollingStateSchema
})

export const TrustStateSchema = Schema.Struct({
  stage: Schema.Literals(stages),
  risk: RiskSchema,
  riskAt: Instant,
  since: Instant,
  pauseReason: Schema.NullOr(PauseReasonSchema),
  mail: HoursSchema,
  handedOverAt: Instant,
  complainedAt: Instant,
  checkedHour: Schema.Finite,
  uncleanAt: Instant
})

export const accountFields = {
  plan: PlanSchema,
  custom: CustomLimitsSchema,
  trust: TrustStateSchema,
  probation: ProbationStateSchema,
  triggers: PauseStateSchema,
  month: MonthlyStateSchema,
  accepted: Schema.Finite
}

export const TierStateSchema = Schema.Struct({
  tier: TierSchema,
  verifiedAt: Instant,
  handedOver: Schema.Finite,
  bounced: Schema.Finite,
  complained: Schema.Finite,
  changedAt: Schema.Finite
})

export const HoldsStateSchema = Schema.Struct({
  day: Schema.Finite,
  released: Schema.Finite,
  steps: Schema.Finite,
  head: Schema.Finite,
  tail: Schema.Finite,
  cancelled: Schema.Finite,
  paused: Schema.Boolean
})

export const CancelledPageSchema = Numbers

const at = { at: Schema.Finite }

export const trustFacts = [
  Schema.TaggedStruct("Began", { ...at, risk: RiskSchema }),
  Schema.TaggedStruct("HandedOver", { ...at, emails: Schema.Finite }),
  Schema.TaggedStruct("Complained", at),
  Schema.TaggedStruct("Paused", { ...at, reason: PauseReasonSchema }),
  Schema.TaggedStruct("Lifted", at),
  Schema.TaggedStruct("RiskSet", { ...at, risk: RiskSchema }),
  Schema.TaggedStruct("ProbationProlonged", at),
  Schema.TaggedStruct("Established", at),
  Schema.TaggedStruct("Trusted", at)
] as const

export const accountFacts = [
  ...trustFacts,
  Schema.TaggedStruct("Accepted", {
    ...at,
    emails: Schema.Finite,
    first: Texts,
    domains: Texts,
    signals: Schema.Finite
  }),
  Schema.TaggedStruct("Bounced", { ...at, email: Schema.String }),
  Schema.TaggedStruct("PlanSet", { ...at, plan: PlanSchema }),
  Schema.TaggedStruct("LimitsSet", { ...at, custom: CustomLimitsSchema })
] as const

export const tierFacts = [
  Schema.TaggedStruct("Verified", at),
  Schema.TaggedStruct("HandedOver", { ...at, emails: Schema.Finite }),
  Schema.TaggedStruct("Bounced", at),
  Schema.TaggedStruct("Complained", at),
  Schema.TaggedStruct("Promoted", { ...at, tier: TierSchema })
] as const

export const holdsFacts = [
  Schema.TaggedStruct("Accepted", { ...at, released: Schema.Finite, held: Schema.Finite }),
  Schema.TaggedStruct("Released", {
    ...at,
    from: Schema.Finite,
    through: Schema.Finite,
    emails: Schema.Finite,
    steps: Schema.Finite
  }),
  Schema.TaggedStruct("Cancelled", { ...at, place: Schema.Finite }),
  Schema.TaggedStruct("Paused", at),
  Schema.TaggedStruct("Lifted", at)
] as const

/**
 * Defines the rules as actors, each alone, for the `layer` of their services. An account on an engine has actors of its
 * own (`account/actors`).
 */
import { Schema } from "effect"
import { Numbers } from "../../common/numbers.ts"
import {
  CapsSchema,
  HoldsStateSchema,
  holdsFacts,
  PauseReasonSchema,
  PauseStateSchema,
  ProbationStateSchema,
  RiskSchema,
  TierSchema,
  TierStateSchema,
  TrustStateSchema,
  tierFacts,
  trustFacts
} from "../account/actors/schemas.ts"
import { pauseTriggers } from "../rules/pause.ts"
import { probationWindow } from "../rules/probation.ts"
import { queueWithPages } from "../rules/queue.ts"
import { domainTier } from "../rules/tier.ts"
import { stages, trustStage } from "../rules/trust.ts"
import { deciderActor } from "./engineDecider.ts"

const Texts = Schema.Array(Schema.String)
const at = { at: Schema.Number }
const restarted = Schema.TaggedStruct("Restarted", at)
const bounced = Schema.TaggedStruct("Bounced", at)
const bounce = Schema.TaggedStruct("Bounce", {})
const complain = Schema.TaggedStruct("Complain", {})
const restart = Schema.TaggedStruct("Restart", {})
const handOver = Schema.TaggedStruct("HandOver", { emails: Schema.Number })
const check = Schema.TaggedStruct("Check", {})

export const probationWindowActor = deciderActor(probationWindow, {
  kind: "probationWindow",
  command: Schema.Union([
    Schema.TaggedStruct("Take", { emails: Schema.Number, domains: Texts, caps: CapsSchema }),
    restart
  ]),
  fact: Schema.Union([Schema.TaggedStruct("Taken", { ...at, emails: Schema.Number, domains: Texts }), restarted]),
  state: ProbationStateSchema,
  reply: Schema.Null,
  rejection: Schema.TaggedStruct("CapReached", {
    limit: Schema.Number,
    window: Schema.Literals(["hour", "day"]),
    metric: Schema.Literals(["sends", "recipient_domains"]),
    resetsAt: Schema.Number,
    neverFits: Schema.Boolean
  })
})

export const pauseTriggersActor = deciderActor(pauseTriggers, {
  kind: "pauseTriggers",
  command: Schema.Union([
    Schema.TaggedStruct("Accept", { emails: Texts, signals: Schema.Number, lastHour: Schema.Number }),
    Schema.TaggedStruct("Bounce", { email: Schema.String }),
    Schema.TaggedStruct("Complain", { email: Schema.String }),
    restart
  ]),
  fact: Schema.Union([
    Schema.TaggedStruct("Accepted", { ...at, emails: Schema.Number, first: Texts, signals: Schema.Number }),
    Schema.TaggedStruct("Bounced", { ...at, email: Schema.String }),
    restarted
  ]),
  state: PauseStateSchema,
  reply: Schema.Struct({ pause: Schema.NullOr(PauseReasonSchema) }),
  rejection: Schema.Never
})

export const trustStageActor = deciderActor(trustStage, {
  kind: "trustStage",
  command: Schema.Union([
    Schema.TaggedStruct("Begin", { risk: RiskSchema }),
    handOver,
    bounce,
    complain,
    Schema.TaggedStruct("Pause", { reason: PauseReasonSchema }),
    Schema.TaggedStruct("Lift", {}),
    Schema.TaggedStruct("SetRisk", { risk: RiskSchema }),
    check
  ]),
  fact: Schema.Union([...trustFacts, bounced]),
  state: TrustStateSchema,
  reply: Schema.Struct({
    trustStage: Schema.Literals(stages),
    probationEndsAt: Schema.optionalKey(Schema.Number),
    pausedAt: Schema.optionalKey(Schema.Number),
    pauseReason: Schema.optionalKey(PauseReasonSchema)
  }),
  rejection: Schema.TaggedStruct("NotPaused", { trustStage: Schema.Literals(stages) })
})

export const domainTierActor = deciderActor(domainTier, {
  kind: "domainTier",
  command: Schema.Union([Schema.TaggedStruct("Verify", {}), handOver, bounce, complain, check]),
  fact: Schema.Union(tierFacts),
  state: TierStateSchema,
  reply: Schema.Struct({ tier: TierSchema, dailyCap: Schema.Number }),
  rejection: Schema.TaggedStruct("NotVerified", {})
})

export const holdsActor = deciderActor(queueWithPages, {
  kind: "holds",
  command: Schema.Union([
    Schema.TaggedStruct("Accept", { emails: Schema.Number, cap: Schema.Number }),
    Schema.Struct({ _tag: Schema.Literals(["Release", "RaiseCap"]), cap: Schema.Number }),
    Schema.TaggedStruct("Cancel", { place: Schema.Number }),
    Schema.Struct({ _tag: Schema.Literals(["Pause", "Lift"]) })
  ]),
  fact: Schema.Union(holdsFacts),
  state: Schema.Struct({ queue: HoldsStateSchema, firstPage: Schema.Number, pages: Schema.Array(Numbers) }),
  reply: Schema.Struct({
    released: Schema.Number,
    held: Schema.Array(Schema.Struct({ place: Schema.Number, heldUntil: Schema.NullOr(Schema.Number) })),
    places: Numbers
  }),
  rejection: Schema.TaggedStruct("NotHeld", { place: Schema.Number })
})

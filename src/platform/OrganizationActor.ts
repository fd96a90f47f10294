/**
 * Defines the organization as an actor: its plans and limits are facts of the log, the columns in PostgreSQL their
 * projection (docs/architecture.md, "The way of a command"). Other actors of the organization read its state.
 */
import { Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import { Limit } from "../limits/actor.ts"
import { type PlatformPlan, platformPlans, type SendPlan, sendPlans } from "./model.ts"

/** The plans of an organization that has bought none. */
export const freePlans = { plan: "free", sendPlan: "hobby" } as const

/** Limits that an operator may set. Null means the plan's own figure. */
export const OrganizationLimits = Schema.Struct({
  requestsPerMinute: Schema.NullOr(Limit).annotate({
    description: "Requests per minute in place of the plan's; null for the plan's own, `unlimited` for none"
  })
}).annotate({ identifier: "OrganizationLimits" })
export type OrganizationLimits = typeof OrganizationLimits.Type

const plans = { plan: Schema.Literals(platformPlans), sendPlan: Schema.Literals(sendPlans) }

const Command = Schema.Union([
  /** Sets one or both plans. An omitted plan stays. A plan set by an operator overrides the subscription. */
  Schema.TaggedStruct("SetPlans", {
    plan: Schema.optionalKey(plans.plan),
    sendPlan: Schema.optionalKey(plans.sendPlan),
    by: Schema.optionalKey(Schema.Literal("operator"))
  }),
  /** Makes both plans follow the subscription again, or the free ones without one. */
  Schema.TaggedStruct("FollowSubscription", {}),
  Schema.TaggedStruct("SetLimits", { limits: OrganizationLimits })
])

const Fact = Schema.Union([
  Schema.TaggedStruct("PlansSet", {
    plan: Schema.optionalKey(plans.plan),
    sendPlan: Schema.optionalKey(plans.sendPlan),
    by: Schema.optionalKey(Schema.Literal("operator"))
  }),
  Schema.TaggedStruct("LimitsSet", { limits: OrganizationLimits }),
  /** The paid plans, and those in force after that, which differ if an operator has set one. */
  Schema.TaggedStruct("PlansSubscribed", { subscribed: Schema.Struct(plans), ...plans }),
  Schema.TaggedStruct("SubscriptionFollowed", plans)
])
export type OrganizationFact = typeof Fact.Type

const State = Schema.Struct({
  /** Null before the first `PlansSet` that names it, for organizations from versions without an engine. */
  plan: Schema.NullOr(plans.plan),
  sendPlan: Schema.NullOr(plans.sendPlan),
  limits: OrganizationLimits,
  /** Whether an operator has set the plan, so that it overrides the paid one. */
  isPlanSet: Schema.optionalKey(Schema.Boolean),
  isSendPlanSet: Schema.optionalKey(Schema.Boolean),
  /** The paid plans; omitted for the free ones. */
  subscribed: Schema.optionalKey(Schema.Struct(plans))
})
export type OrganizationState = typeof State.Type

const initial: OrganizationState = { plan: null, sendPlan: null, limits: { requestsPerMinute: null } }

/**
 * Whether an operator has set a plan. States and facts of versions without billing do not say: there every plan but the
 * free one, with which organizations begin, was an operator's.
 */
const isSet = (isSet: boolean | undefined, plan: string | null, free: string): boolean =>
  isSet ?? (plan !== null && plan !== free)

const setBefore = ({ isPlanSet, isSendPlanSet, plan, sendPlan }: OrganizationState) => ({
  isPlanSet: isSet(isPlanSet, plan, freePlans.plan),
  isSendPlanSet: isSet(isSendPlanSet, sendPlan, freePlans.sendPlan)
})

const plansSet = (
  state: OrganizationState,
  { by, plan, sendPlan }: Extract<OrganizationFact, { readonly _tag: "PlansSet" }>
): OrganizationState => {
  const before = setBefore(state)
  return {
    ...state,
    plan: plan ?? state.plan,
    sendPlan: sendPlan ?? state.sendPlan,
    isPlanSet: plan === undefined ? before.isPlanSet : by === "operator" || plan !== freePlans.plan,
    isSendPlanSet: sendPlan === undefined ? before.isSendPlanSet : by === "operator" || sendPlan !== freePlans.sendPlan
  }
}

/** The fact for an organization after a change of its paid plans; undefined if nothing changes. */
export const subscribing = (
  state: OrganizationState,
  subscribed: { readonly plan: PlatformPlan; readonly sendPlan: SendPlan }
): OrganizationFact | undefined => {
  const { plan, sendPlan } = state.subscribed ?? freePlans
  if (plan === subscribed.plan && sendPlan === subscribed.sendPlan) return undefined
  const before = setBefore(state)
  return {
    _tag: "PlansSubscribed",
    subscribed,
    plan: (before.isPlanSet ? state.plan : null) ?? subscribed.plan,
    sendPlan: (before.isSendPlanSet ? state.sendPlan : null) ?? subscribed.sendPlan
  }
}

const evolve = (state: OrganizationState, fact: OrganizationFact): OrganizationState => {
  switch (fact._tag) {
    case "PlansSet":
      return plansSet(state, fact)
    case "LimitsSet":
      return { ...state, limits: fact.limits }
    case "PlansSubscribed": {
      const { plan, sendPlan, subscribed } = fact
      return { ...state, ...setBefore(state), plan, sendPlan, subscribed }
    }
    case "SubscriptionFollowed":
      return { ...state, plan: fact.plan, sendPlan: fact.sendPlan, isPlanSet: false, isSendPlanSet: false }
  }
}

/** One per organization. Its reply is the state after the command; a command that changes nothing makes no fact. */
export const OrganizationActor = Actor.make({
  kind: "organization",
  command: Command,
  fact: Fact,
  state: State,
  reply: State,
  initial: () => initial,
  evolve,
  decide: (state, command) => {
    switch (command._tag) {
      case "SetPlans": {
        const { _tag, ...given } = command
        const after = evolve(state, { _tag: "PlansSet", ...given })
        const before = setBefore(state)
        const same =
          after.plan === state.plan &&
          after.sendPlan === state.sendPlan &&
          after.isPlanSet === before.isPlanSet &&
          after.isSendPlanSet === before.isSendPlanSet
        return Actor.decided({ facts: same ? [] : [{ _tag: "PlansSet" as const, ...given }], reply: after })
      }
      case "FollowSubscription": {
        const { plan, sendPlan } = state.subscribed ?? freePlans
        const fact = { _tag: "SubscriptionFollowed" as const, plan, sendPlan }
        const after = evolve(state, fact)
        const before = setBefore(state)
        const same = plan === state.plan && sendPlan === state.sendPlan && !before.isPlanSet && !before.isSendPlanSet
        return Actor.decided({ facts: same ? [] : [fact], reply: after })
      }
      case "SetLimits": {
        const after = evolve(state, { _tag: "LimitsSet", limits: command.limits })
        const same = after.limits.requestsPerMinute === state.limits.requestsPerMinute
        return Actor.decided({
          facts: same ? [] : [{ _tag: "LimitsSet" as const, limits: command.limits }],
          reply: after
        })
      }
    }
  }
})

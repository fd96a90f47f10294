/**
 * The organization as an actor: its plans and limits are facts of the log, the columns in PostgreSQL their projection
 * (docs/architecture.md, "The way of a command"). Other actors of the organization read its state.
 */
import { Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import { Limit } from "../limits/actor.ts"
import { platformPlans, sendPlans } from "./model.ts"

/** Limits that an operator may set. Null means the plan's own figure. */
export const OrganizationLimits = Schema.Struct({
  requestsPerMinute: Schema.NullOr(Limit).annotate({
    description: "Requests per minute in place of the plan's; null for the plan's own, `unlimited` for none"
  })
}).annotate({ identifier: "OrganizationLimits" })
export type OrganizationLimits = typeof OrganizationLimits.Type

const plans = { plan: Schema.Literals(platformPlans), sendPlan: Schema.Literals(sendPlans) }

const Command = Schema.Union([
  /** Sets one or both plans. A plan that is left out stays. */
  Schema.TaggedStruct("SetPlans", {
    plan: Schema.optionalKey(plans.plan),
    sendPlan: Schema.optionalKey(plans.sendPlan)
  }),
  Schema.TaggedStruct("SetLimits", { limits: OrganizationLimits })
])

const Fact = Schema.Union([
  Schema.TaggedStruct("PlansSet", {
    plan: Schema.optionalKey(plans.plan),
    sendPlan: Schema.optionalKey(plans.sendPlan)
  }),
  Schema.TaggedStruct("LimitsSet", { limits: OrganizationLimits })
])
export type OrganizationFact = typeof Fact.Type

const State = Schema.Struct({
  /** Null before the first `PlansSet` that names it, for organizations from versions without an engine. */
  plan: Schema.NullOr(plans.plan),
  sendPlan: Schema.NullOr(plans.sendPlan),
  limits: OrganizationLimits
})
export type OrganizationState = typeof State.Type

const initial: OrganizationState = { plan: null, sendPlan: null, limits: { requestsPerMinute: null } }

const evolve = (state: OrganizationState, fact: OrganizationFact): OrganizationState => {
  switch (fact._tag) {
    case "PlansSet":
      return { ...state, plan: fact.plan ?? state.plan, sendPlan: fact.sendPlan ?? state.sendPlan }
    case "LimitsSet":
      return { ...state, limits: fact.limits }
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
        const same = after.plan === state.plan && after.sendPlan === state.sendPlan
        return Actor.decided({ facts: same ? [] : [{ _tag: "PlansSet" as const, ...given }], reply: after })
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

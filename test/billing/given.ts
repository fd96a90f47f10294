/**
 * Specifications of billing: `given(facts).when(command, at).then(…)`, and a life that goes on. The organization's own state goes along, because a decision changes both. Facts and states
 * go through JSON, as through a log and a checkpoint.
 */
import { expect } from "@effect/vitest"
import {
  type BillingCommand,
  type BillingFact,
  type BillingRejection,
  type BillingReply,
  type BillingState,
  initialBilling
} from "../../src/billing/model.ts"
import { BillingActor } from "../../src/billing/rules.ts"
import type * as Actor from "../../src/engine/Actor.ts"
import { OrganizationActor, type OrganizationState } from "../../src/platform/OrganizationActor.ts"

const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

type BillingDecision = Actor.Decision<BillingFact, BillingReply, BillingRejection>

/** The billing of one organization as it goes on. */
export class Life {
  billing: BillingState = initialBilling
  organization: OrganizationState = { plan: "free", sendPlan: "hobby", limits: { requestsPerMinute: null } }
  private decisions = 0

  private context(now: number): Actor.DecideContext {
    const decision = ++this.decisions
    return {
      now,
      self: { organization: "org_1", kind: "billing", key: "" },
      level: Number.POSITIVE_INFINITY,
      id: (index) => `${String(decision).padStart(8, "0")}-0000-8000-8000-${String(index).padStart(12, "0")}`,
      read: (actor) => (actor.kind === "organization" ? this.organization : undefined) as never
    } as Actor.DecideContext
  }

  apply(facts: ReadonlyArray<BillingFact>): void {
    for (const fact of facts) this.billing = stored(BillingActor.options.evolve(this.billing, stored(fact)))
  }

  private take(decision: BillingDecision): BillingDecision {
    this.apply(decision.facts)
    for (const { facts } of decision.others)
      for (const fact of facts)
        this.organization = stored(OrganizationActor.options.evolve(this.organization, stored(fact) as never))
    return decision
  }

  ask(command: BillingCommand, now: number): BillingDecision {
    const before = JSON.stringify(this.billing)
    const decision = BillingActor.options.decide(this.billing, command, this.context(now))
    expect(JSON.stringify(this.billing)).toBe(before)
    return this.take(decision)
  }

  get wakesAt(): number | undefined {
    return BillingActor.options.wakeAt?.(this.billing)
  }

  /** Wakes it as often as its time has come. Answers the types of the events. */
  passTo(now: number): ReadonlyArray<string> {
    const types: Array<string> = []
    for (let at = this.wakesAt; at !== undefined && at <= now; at = this.wakesAt) {
      const decision = this.take(BillingActor.options.wake!(this.billing, this.context(at)) as BillingDecision)
      // Without a fact it would not be woken again.
      expect(decision.facts.length).toBeGreaterThan(0)
      types.push(...decision.events.map(({ type }) => type))
    }
    return types
  }

  /** An operator's plans. */
  setPlans(plans: { readonly plan?: "free" | "team"; readonly sendPlan?: "hobby" | "pro" }, now: number): void {
    const decision = OrganizationActor.options.decide(
      this.organization,
      { _tag: "SetPlans", ...plans, by: "operator" },
      this.context(now)
    )
    for (const fact of decision.facts)
      this.organization = stored(OrganizationActor.options.evolve(this.organization, fact))
  }

  follow(now: number): void {
    const decision = OrganizationActor.options.decide(
      this.organization,
      { _tag: "FollowSubscription" },
      this.context(now)
    )
    for (const fact of decision.facts)
      this.organization = stored(OrganizationActor.options.evolve(this.organization, fact))
  }

  get plans(): ReadonlyArray<string | null> {
    return [this.organization.plan, this.organization.sendPlan]
  }
}

/** Variants of billing and usage. */
import type { Finder, Variant } from "./runner/variant.ts"

const rules: Finder = { kind: "unit", files: ["test/billing/rules.unit.ts"] }
const life: Finder = { kind: "unit", files: ["test/billing/lifeProperties.unit.ts"] }
const periods: Finder = { kind: "unit", files: ["test/billing/periods.unit.ts"] }
const counting: Finder = { kind: "unit", files: ["test/billing/counting.unit.ts"] }

export const billing: ReadonlyArray<Variant> = [
  {
    name: "billing: a checkout can be paid again",
    file: "src/billing/rules.ts",
    find: 'if (checkout.state !== "open") return draft.decided(id)',
    replace: 'if (checkout.state === "submitted") return draft.decided(id)',
    sentence: "a customer who presses the button twice pays twice",
    finders: [rules]
  },
  {
    name: "billing: a recovered subscription keeps its grace",
    file: "src/billing/rules.ts",
    find: 'status: "active", graceEndsAt: null })',
    replace: 'status: "active" })',
    sentence: "a subscription that was paid late is canceled all the same",
    finders: [rules, life]
  },
  {
    name: "billing: a period is counted from the one before",
    file: "src/billing/periods.ts",
    find: "start: addMonths(anchor, number * monthsOf[interval]),",
    replace: "start: addMonths(addMonths(anchor, number), number * (monthsOf[interval] - 1)),",
    sentence: "a subscription that began on the 31st, or by the year, drifts to other days",
    finders: [periods]
  },
  {
    name: "billing: an operator's plan gives way to a payment",
    file: "src/platform/OrganizationActor.ts",
    find: "plan: (before.isPlanSet ? state.plan : null) ?? subscribed.plan,",
    replace: "plan: subscribed.plan,",
    sentence: "the plan that an operator has promised goes with the next renewal",
    finders: [rules, life]
  },
  {
    name: "usage: counts whose outcome is not known get another key",
    file: "src/billing/usage/Flushing.ts",
    find: "if (this.waiting.has(organization)) continue",
    replace:
      "const earlier = this.waiting.get(organization); if (earlier !== undefined) { this.waiting.set(organization, { ...earlier, key: newKey() }); continue }",
    sentence: "calls that were stored although the answer was lost are counted twice",
    finders: [counting]
  },
  {
    name: "usage: contents go with their email's end",
    file: "src/billing/usage/counting.ts",
    find: "hourOf(fact.at + keptContentMillis)",
    replace: "hourOf(fact.at)",
    sentence: "contents that are kept for seven days more are not counted",
    finders: [counting]
  },
  {
    name: "usage: each report of an email takes its content away",
    file: "src/send/actors/SendEmail.ts",
    find: "return bytes !== undefined && endsEmail(fact) ? evolved(ended, fact) : evolved(state, fact)",
    replace:
      'return bytes !== undefined && endsEmail(fact) && ended.state === "none" ? evolved(ended, fact) : evolved(state, fact)',
    sentence: "an email that was sent and then bounced is taken off twice",
    finders: [counting]
  },
  {
    name: "usage: contents for suppressed recipients stay for ever",
    file: "src/billing/usage/counting.ts",
    find: 'return fact.state === "suppressed" ? [kept, gone] : [kept]',
    replace: "return [kept]",
    sentence: "the room of emails that nobody got is counted long after it was free",
    finders: [counting]
  },
  {
    name: "usage: the contents of old emails go with old figures",
    file: "src/billing/usage/keeping.ts",
    find: "where usage_type = 'contents' group by",
    replace: "where usage_type = 'none' group by",
    sentence: "after three years what is kept counts as less than nothing",
    finders: [{ kind: "servers", files: ["test/billing/usage.it.ts"] }]
  },
  {
    name: "sites: a credential has no rate",
    file: "src/platform/layerSiteAccess.ts",
    find: "if (!decision.allowed) return",
    replace: "if (decision === null) return",
    sentence: "a site's loop keeps the database busy for everybody",
    finders: [{ kind: "servers", files: ["test/billing/usage.it.ts"] }]
  }
]

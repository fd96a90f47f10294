/** The page of limits, with the values that the code enforces. */
import { maximumStreamsPerOrganization } from "../../src/events/EventStreams.ts"
import { maximumTypeLength } from "../../src/events/event.ts"
import { maximumPatterns } from "../../src/events/patterns.ts"
import { defaultCursorPageSize } from "../../src/http/PageCursors.ts"
import { defaultPageSize, maximumPageSize } from "../../src/http/parameters.ts"
import { platformPlans, requestsPerMinuteByPlan } from "../../src/limits/plans.ts"
import * as Send from "../../src/send/limits.ts"
import * as Talk from "../../src/talk/limits.ts"
import { maximumNumbers } from "../../src/telco/Inventory.ts"
import { maximumRetryAfterMillis } from "../../src/webhooks/delivery/schedule.ts"
import * as Headers from "../../src/webhooks/endpoint/headers.ts"
import * as Endpoint from "../../src/webhooks/endpoint/model.ts"
import { maximumUrlLength } from "../../src/webhooks/target/targets.ts"
import { code, page, table } from "./markdown.ts"

const shown = (value: number | string): string => (typeof value === "number" ? value.toLocaleString("en-US") : value)

const days = (millis: number): string => `${shown(millis / Send.dayMillis)} days`

const section = (title: string, rows: ReadonlyArray<readonly [what: string, value: number | string]>): string =>
  `## ${title}\n\n${table(
    ["Limit", "Value"],
    rows.map(([what, value]) => [what, shown(value)])
  )}`

const plans = (): string => {
  const requests = platformPlans.map((plan) => [code(plan), shown(requestsPerMinuteByPlan[plan])])
  const sending = Object.entries(Send.emailsPerMonthByPlan).map(([plan, emails]) => [
    code(plan),
    shown(emails),
    shown(Send.requestsPerMinuteByPlan[plan as keyof typeof Send.requestsPerMinuteByPlan])
  ])
  return `## Plans

${table(["Platform plan", "Requests a minute, of an organization"], requests)}

${table(["Send plan", "Emails a month (UTC)", "Send requests a minute, of a key"], sending)}`
}

const probation = (): string =>
  `## Probation of a new account

${table(
  ["Risk", "Emails in any hour", "Emails in any 24 hours", "Recipient domains in any hour", "Lasts"],
  Object.entries(Send.probationCaps).map(([risk, caps]) => [
    code(risk),
    shown(caps.emailsPerHour),
    shown(caps.emailsPerDay),
    shown(caps.domainsPerHour),
    days(Send.probationMillis[risk as keyof typeof Send.probationMillis])
  ])
)}`

const tiers = (): string =>
  `## Warm-up of a domain or an address

${table(
  ["Tier", "Emails a day (UTC)", "Next tier", "Emails until then", "Time until then"],
  Send.tiers.map((tier) => {
    const next = Send.promotions[tier]
    const until = next === undefined ? ["", "", ""] : [code(next.to), shown(next.emails), days(next.millis)]
    return [code(tier), shown(Send.emailsPerDayByTier[tier]), ...until]
  })
)}`

export const limitsPage = (): string =>
  page(
    "Limits",
    `What one organization may do, and how large a request may be. [platform.md](../platform.md), 3, says how request
rates count, [platform/send.md](../platform/send.md) how sending's rules work together. An operator can set some of
them for one organization (\`sluice orgs set-limits\`, \`sluice send set-limits\`).`,
    plans(),
    probation(),
    tiers(),
    section("An email", [
      ["Recipients: to, cc and bcc together", Send.maximumRecipients],
      ["Emails of a batch", Send.maximumEmails],
      ["Body of a request, bytes", Send.maximumSendBodyBytes],
      ["Subject, characters", Send.maximumSubjectLength],
      ["Attachments", Send.maximumAttachments],
      ["Tags", Send.maximumTags],
      ["Headers of its own", Send.maximumHeaders],
      ["Scheduled ahead", days(Send.maximumScheduleMillis)],
      ["Kept after its end", days(Send.keptEmailMillis)],
      ["Domains and addresses of an account", Send.maximumSenders]
    ]),
    section("Events and webhooks", [
      ["Endpoints", Endpoint.maximumEndpoints],
      ["Patterns of an endpoint", maximumPatterns],
      ["Type or pattern, characters", maximumTypeLength],
      ["URL, characters", maximumUrlLength],
      ["Description, characters", Endpoint.maximumDescriptionLength],
      ["Headers of an endpoint", Headers.maximumHeaders],
      ["Deliveries a second that `rate_limit` can ask for", Endpoint.maximumRateLimit],
      ["Overlap of two signing secrets", `${shown(Endpoint.maximumOverlapSeconds)} s`],
      ["Longest `Retry-After` that is respected", `${shown(maximumRetryAfterMillis / 1000)} s`],
      ["Event streams at once", maximumStreamsPerOrganization]
    ]),
    section("Speech and numbers", [
      ["Text, characters", Talk.maximumTextCharacters],
      ["Speed", `${Talk.minimumSpeed} to ${Talk.maximumSpeed}`],
      ["Speeches at once, of an organization", Talk.speechPlaces.ofOrganization],
      ["Numbers that an import takes at once", maximumNumbers]
    ]),
    section("Pages of lists", [
      ["Entries at most", maximumPageSize],
      ["Entries by default, with an offset", defaultPageSize],
      ["Entries by default, with a cursor", defaultCursorPageSize]
    ])
  )

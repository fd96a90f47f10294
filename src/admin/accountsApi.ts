/**
 * Describes the admin API's lists over all organizations (docs/platform.md, 8.3): accounts that send, by what may pause
 * them; senders with their tiers and caps; request rates with what is left of them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EnvelopeInvalidRequest, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { platformPlans, risks } from "../platform/model.ts"
import { OrganizationLimits } from "../platform/OrganizationActor.ts"
import { modes, pauseReasons, SendLimits, stages } from "../send/index.ts"
import { AdminAccess } from "./access.ts"
import { cursorPage, pagination, searchText } from "./forms.ts"
import { organizationId } from "./organizationId.ts"
import { Triggers } from "./sendApi.ts"

const time = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

const owner = {
  organizationId: Schema.String.annotate({ examples: ["org_tmeSJ5HmCvGA4LDTjhNEyB"] }),
  organizationName: Schema.String.annotate({ examples: ["acme"] })
}

const AccountListed = Schema.Struct({
  ...owner,
  mode: Schema.Literals(modes),
  stage: Schema.Literals(stages),
  risk: Schema.Literals(risks),
  changedAt: time,
  pausedAt: Schema.NullOr(time),
  pauseReason: Schema.NullOr(Schema.Literals(pauseReasons)).annotate({ description: "Of the last pause" }),
  warnedAt: Schema.NullOr(time).annotate({
    description: "The last bounce, complaint or risky content of the present probation"
  }),
  triggers: Schema.NullOr(Triggers).annotate({
    description: "The progress of each trigger of a pause now; empty but on probation, null where nobody says it now"
  })
}).annotate({ identifier: "AccountListed" })

const SenderListed = Schema.Struct({
  id: Schema.String,
  ...owner,
  mode: Schema.Literals(modes),
  kind: Schema.Literals(["domain", "address"]),
  name: Schema.String.annotate({ examples: ["mail.example.com"] }),
  status: Schema.String.annotate({ description: "The stage of its verification" }),
  createdAt: time,
  sending: Schema.NullOr(
    Schema.Struct({
      isVerified: Schema.Boolean,
      tier: Schema.Literals(SendLimits.tiers),
      dailyCap: Schema.Int.annotate({ description: "Emails a day that are in force" }),
      waiting: Schema.Int.annotate({ description: "Held emails" })
    })
  ).annotate({ description: "Null where nobody says it now" })
}).annotate({ identifier: "SenderListed" })

const rate = Schema.Union([Schema.Int, Schema.Literal("unlimited")])

const RateListed = Schema.Struct({
  ...owner,
  plan: Schema.Literals(platformPlans),
  own: OrganizationLimits.fields.requestsPerMinute.annotate({
    description: "The requests a minute that an operator has set; null for the plan's"
  }),
  inForce: rate.annotate({ description: "Requests a minute" }),
  left: Schema.NullOr(
    Schema.Struct({
      remaining: rate.annotate({ description: "Requests that still pass in the present minute" }),
      resetsAt: time
    })
  ).annotate({ description: "Null where nobody says it now" })
}).annotate({ identifier: "RateListed" })

const mode = Schema.optional(Schema.Literals(modes)).annotate({ description: "Accounts of this mode alone" })
const organization = Schema.optional(organizationId).annotate({ description: "Of this organization alone" })
const yes = (description: string) => Schema.optional(Schema.Literal("true")).annotate({ description })

const pageOf = <S extends Schema.Top>(item: S) => Schema.Struct({ data: Schema.Array(item), pagination })

const errors = [EnvelopeInvalidRequest, EnvelopeUnavailable] as const

export const accountsGroup = HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/send/accounts", {
      query: {
        ...cursorPage,
        stage: Schema.optional(Schema.Literals(stages)).annotate({
          message: `Expected one of ${stages.join(", ")}`,
          description: "Accounts in this stage alone, such as sending_paused"
        }),
        risk: Schema.optional(Schema.Literals(risks)).annotate({ description: "Accounts of this risk alone" }),
        warned: yes("Only accounts on probation with a bounce, a complaint or risky content in it"),
        mode,
        organization
      },
      success: pageOf(AccountListed),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List accounts that send, newest change first",
        description:
          "Accounts that have sent mail, or that an operator has changed. Rows follow the decisions, normally within a second; `triggers` is read with the request."
      })
    ),
    HttpApiEndpoint.get("senders", "/admin/v1/send/senders", {
      query: {
        ...cursorPage,
        name: Schema.optional(searchText).annotate({ description: "The beginning of a domain or an address" }),
        mode,
        organization
      },
      success: pageOf(SenderListed),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List domains and addresses that send, newest first",
        description: "With the tier and the daily cap, which are read with the request."
      })
    ),
    HttpApiEndpoint.get("rates", "/admin/v1/rates", {
      query: {
        ...cursorPage,
        own: yes("Only organizations whose rate an operator has set"),
        search: Schema.optional(searchText).annotate({ description: "As in the list of organizations" })
      },
      success: pageOf(RateListed),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List request rates, newest organization first",
        description: "With what is left of the present minute, which is read with the request and counts nothing."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Accounts and limits" }))

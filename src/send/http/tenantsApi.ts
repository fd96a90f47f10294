/**
 * Describes the account of the asking key as an HttpApi group (docs/platform.md, 9.16). Definitions only:
 * `tenantsHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { SendAccess } from "../../platform/access.ts"
import { modes } from "../account/actors/index.ts"
import { PlanSchema } from "../account/actors/schemas.ts"
import { pauseReasons } from "../rules/pause.ts"
import { stages } from "../rules/trust.ts"
import { SendForbidden, SendUnavailable } from "./sendErrors.ts"

const Timestamp = Schema.String.annotate({ description: "ISO 8601" })

const Cap = Schema.Struct({
  limit: Schema.NullOr(Schema.Int).annotate({ description: "Null for no limit" }),
  used: Schema.Int,
  resetsAt: Schema.NullOr(Timestamp).annotate({
    description: "When one more passes, of a month its end; null where one more passes now, or time changes nothing"
  })
}).annotate({ identifier: "SendCap" })

export const SendTenant = Schema.Struct({
  mode: Schema.Literals(modes),
  plan: PlanSchema,
  trustStage: Schema.Literals(stages),
  probationEndsAt: Schema.optionalKey(Timestamp).annotate({ description: "On probation only" }),
  pausedAt: Schema.optionalKey(Timestamp).annotate({ description: "While sending is paused only" }),
  pauseReason: Schema.optionalKey(Schema.Literals(pauseReasons)),
  caps: Schema.Struct({
    emailsPerMonth: Cap,
    emailsPerHour: Schema.optionalKey(Cap).annotate({ description: "On probation only" }),
    emailsPerDay: Schema.optionalKey(Cap).annotate({ description: "On probation only" }),
    recipientDomainsPerHour: Schema.optionalKey(Cap).annotate({ description: "On probation only" }),
    senders: Cap
  }),
  triggers: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({ trigger: Schema.Literals(pauseReasons), count: Schema.Int, limit: Schema.Int }).annotate({
        identifier: "SendTrigger"
      })
    )
  ).annotate({ description: "On probation only: sending is paused when `count` reaches `limit`" })
}).annotate({ identifier: "SendTenant" })

const get = HttpApiEndpoint.get("get", "/v1/send/tenants", {
  success: SendTenant,
  error: [SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get the stage of the key's account, and what it has used of its limits",
    description: "The trust stage of the account, the limits that apply to it, and what it has used of each."
  })
)

const reset = HttpApiEndpoint.post("reset", "/v1/send/tenants/reset", {
  success: SendTenant.pipe(HttpApiSchema.status(200)),
  error: [SendForbidden, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Start the test account anew",
    description: "For test keys alone. Stage, windows, triggers and month begin anew; senders, lists and emails stay."
  })
)

const facts = HttpApiEndpoint.get("facts", "/v1/send/tenants/facts", {
  success: Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        decidedAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
        sequence: Schema.Int.annotate({ description: "The frame's place in the log" }),
        index: Schema.Int,
        sentence: Schema.String,
        fact: Schema.JsonObject
      }).annotate({ identifier: "SendTenantFact" })
    )
  }).annotate({ identifier: "SendTenantFacts" }),
  error: [SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List what led to the stage of the key's account",
    description:
      "The facts that changed its stage, risk and limits, and those that the last pause rests on, in order: the newest 500 of 180 days."
  })
)

/** All endpoints of accounts. */
export class SendTenantsApi extends HttpApiGroup.make("sendTenants")
  .add(get, facts, reset)
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Send: account",
      description: "An organization has an account for its live keys and one for its test keys."
    })
  ) {}

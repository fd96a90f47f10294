/** Describes the admin API's list of operators' acts (docs/platform.md, 8.3). Definitions only. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { integerParameter } from "../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { AdminAccess } from "./access.ts"
import { cursorPage, pagination } from "./forms.ts"

const OperatorAct = Schema.Struct({
  id: Schema.Int.annotate({ description: "Its number: later acts have larger ones" }),
  at: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
  act: Schema.String.annotate({ examples: ["organization.limits_set"] }),
  subject: Schema.String.annotate({
    description: "The id of what it was done to, such as an organization or a key",
    examples: ["org_tmeSJ5HmCvGA4LDTjhNEyB"]
  }),
  detail: Schema.JsonObject.annotate({ description: "The values that were given; no secret" })
}).annotate({ identifier: "OperatorAct" })

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

export const actsGroup = HttpApiGroup.make("acts")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/acts", {
      query: {
        ...cursorPage,
        act: Schema.optional(
          Schema.String.check(Schema.isPattern(/^[a-z_.]{1,64}$/, { message: "Expected an act" }))
        ).annotate({ description: "This act alone, such as send.lifted" }),
        subject: Schema.optional(
          Schema.String.check(Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,320}$/u, { message: "Expected an id" }))
        ).annotate({ description: "Acts on this subject alone" }),
        since: time("Acts from this time on, milliseconds since the Unix epoch"),
        until: time("Acts before this time, milliseconds since the Unix epoch")
      },
      success: Schema.Struct({ data: Schema.Array(OperatorAct), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the acts of operators, newest first",
        description: "Everything that changed something through this API or the command line, over all organizations."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Acts" }))

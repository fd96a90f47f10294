/** Describes the admin API's look-up of numbers, which `sluice lookup` uses (docs/platform.md, 4.5). Definitions only. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EnvelopeInvalidRequest, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { TelcoFault, TelcoLookup, TelcoLookupsRequest } from "../telco/telcoApi.ts"
import { AdminAccess } from "./access.ts"

const { inInventory: _, localTimes: __, ...fields } = TelcoLookup.fields

/** The directory's record of a number, without an organization. */
export const DirectoryNumber = Schema.Struct(fields).annotate({ identifier: "DirectoryNumber" })

export const lookupsGroup = HttpApiGroup.make("lookups")
  .add(
    HttpApiEndpoint.post("run", "/admin/v1/lookups", {
      payload: TelcoLookupsRequest,
      success: Schema.Struct({ data: Schema.Array(Schema.Union([DirectoryNumber, TelcoFault])) }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Look up numbers in the directory",
        description:
          "One result for each number, in their order. No organization's inventory is read, and no event made."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Look-ups" }))

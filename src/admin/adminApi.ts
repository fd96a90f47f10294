/**
 * Describes the admin API, `/admin/v1`, of the command line and of operators' own tools. It has a listener of its own
 * (loopback by default) and a credential of its own (`Authorization: Bearer adm_…`); customers' keys open nothing here
 * (docs/platform.md, 8.3). Errors have the generic envelope.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { version } from "../common/version.ts"
import {
  IngestionEvent,
  IngestionFailureRecord,
  IngestionRecord,
  PresentIngestion
} from "../directory/ingestionSchema.ts"
import { exampleTypes } from "../events/TestEvents.ts"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import { EnvelopeConflict, EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { AuditEntryPage, auditQuery } from "../platform/audit/auditApi.ts"
import { ApiKey, Organization, platformPlans, risks, scopes, sendPlans, services } from "../platform/model.ts"
import { OrganizationLimits } from "../platform/OrganizationActor.ts"
import { RequestDetailShown, RequestsPage, recordId, requestsQuery } from "../platform/requests/requestsApi.ts"
import { maximumNumbers } from "../telco/Inventory.ts"
import { expectedNumber, normalizeNumber } from "../telco/numbers.ts"
import { AdminAccess } from "./access.ts"
import { accountsGroup } from "./accountsApi.ts"
import { actsGroup } from "./actsApi.ts"
import { consoleGroup, signInGroup } from "./consoleApi.ts"
import { clusterGroup, engineGroup, parkedGroup } from "./engineApi.ts"
import { cursorPage, idempotent, name, pagination, Replayed, searchText } from "./forms.ts"
import { invoicesGroup } from "./invoicesApi.ts"
import { lookupsGroup } from "./lookupsApi.ts"
import { organizationId as id } from "./organizationId.ts"
import { membersGroup } from "./organizationMembersApi.ts"
import { sendGroup } from "./sendApi.ts"
import { sitesGroup } from "./sitesApi.ts"
import { whatIfGroup } from "./whatIfApi.ts"

export { AdminAccess }

const email = Schema.String.check(
  Schema.isPattern(/^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,190}$/u, { message: "Expected an email address" })
)

/** The end of the year 9999, the latest time that every system involved can write. */
const latestTimeMillis = 253_402_300_799_999

/** The fields of a new organization. Plans default to the smallest. */
export const CreateOrganization = Schema.Struct({
  name,
  email: Schema.optional(Schema.NullOr(email)),
  plan: Schema.optional(Schema.Literals(platformPlans)),
  sendPlan: Schema.optional(Schema.Literals(sendPlans)),
  risk: Schema.optional(Schema.Literals(risks))
}).annotate({ identifier: "CreateOrganization" })

/** A deleted organization. */
export const DeletedOrganization = Schema.Struct({
  id: Schema.String,
  deletedAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
  erasedAt: Schema.NullOr(Schema.Int).annotate({
    description: "When the last of it was erased; null while something is left"
  })
}).annotate({ identifier: "DeletedOrganization" })

const noRequests =
  "A limit of 0 lets no request pass: give at least 1, unlimited, or null for the plan's; revoke keys to shut somebody out"

/** The fields of a new key. */
export const CreateApiKey = Schema.Struct({
  name: Schema.optional(Schema.NullOr(name)),
  mode: Schema.optional(Schema.Literals(["live", "test"])),
  services: Schema.Array(Schema.Literals(services)).check(Schema.isMaxLength(services.length)),
  scopes: Schema.Array(Schema.Literals(scopes)).check(Schema.isMaxLength(scopes.length)),
  expiresAt: Schema.optional(
    Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: latestTimeMillis })))
  ).annotate({
    description: "Milliseconds since the Unix epoch after which the key is refused"
  })
}).annotate({ identifier: "CreateApiKey" })

/** A new key with its text. Only this answer shows the text; it is null in the answer to a repeated request. */
export const CreatedApiKey = Schema.Struct({
  ...ApiKey.fields,
  key: Schema.NullOr(Schema.String).annotate({ description: "The key itself; not to be had again" })
}).annotate({ identifier: "CreatedApiKey" })

const organizations = HttpApiGroup.make("organizations")
  .add(
    HttpApiEndpoint.post("create", "/admin/v1/organizations", {
      headers: idempotent,
      payload: CreateOrganization,
      success: HttpApiSchema.WithHeaders(Organization.pipe(HttpApiSchema.status(201)), Replayed),
      error: [EnvelopeInvalidRequest, EnvelopeConflict, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.put("setPlans", "/admin/v1/organizations/:id/plans", {
      params: { id },
      payload: Schema.Struct({
        plan: Schema.optionalKey(Schema.Literals(platformPlans)),
        sendPlan: Schema.optionalKey(Schema.Literals(sendPlans))
      }),
      success: Organization,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set plans",
        description:
          "In force at the next request, for what was used in this minute too. They stand whatever the organization subscribes to."
      })
    ),
    HttpApiEndpoint.delete("followSubscription", "/admin/v1/organizations/:id/plans", {
      params: { id },
      success: Organization,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Let plans follow the subscription",
        description: "Ends what an operator has set: the plans are those that are paid for, or the free ones."
      })
    ),
    HttpApiEndpoint.put("setLimits", "/admin/v1/organizations/:id/limits", {
      params: { id },
      payload: OrganizationLimits.check(
        // A stored limit may be 0, but somebody who asks for 0 most likely means `unlimited`.
        Schema.makeFilter(({ requestsPerMinute }: OrganizationLimits) => requestsPerMinute !== 0 || noRequests, {
          message: noRequests
        })
      ),
      success: Organization,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Set custom limits" })),
    HttpApiEndpoint.get("list", "/admin/v1/organizations", {
      query: {
        ...cursorPage,
        search: Schema.optional(searchText).annotate({
          description:
            "Organizations that it finds alone: words of the name or of the contact's address, each by its beginning; the id; the id of a key; the beginning of a domain or an address that sends"
        })
      },
      success: Schema.Struct({ data: Schema.Array(Organization), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List or find organizations, newest first" })),
    HttpApiEndpoint.get("get", "/admin/v1/organizations/:id", {
      params: { id },
      success: Organization,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("audit", "/admin/v1/organizations/:id/audit", {
      params: { id },
      query: auditQuery,
      success: AuditEntryPage,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("requests", "/admin/v1/organizations/:id/requests", {
      params: { id },
      query: requestsQuery,
      success: RequestsPage,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("request", "/admin/v1/organizations/:id/requests/:recordId", {
      params: { id, recordId },
      success: RequestDetailShown,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.delete("remove", "/admin/v1/organizations/:id", {
      params: { id },
      query: {
        name: Schema.optional(name).annotate({ description: "Refuses to delete an organization of another name" })
      },
      success: DeletedOrganization,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete an organization for good",
        description:
          "Its keys end at once. Erases as much as there is time for; while `erasedAt` is null, repeat the request to go on."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Organizations" }))

const keys = HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/admin/v1/organizations/:id/keys", {
      params: { id },
      headers: idempotent,
      payload: CreateApiKey,
      success: HttpApiSchema.WithHeaders(CreatedApiKey.pipe(HttpApiSchema.status(201)), Replayed),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeConflict, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/keys", {
      params: { id },
      query: cursorPage,
      success: Schema.Struct({ data: Schema.Array(ApiKey), pagination }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.delete("revoke", "/admin/v1/keys/:id", {
      params: { id },
      success: ApiKey,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    })
  )
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "A revoked key stops working on every node within a second."
    })
  )

/** Most files or addresses in one request to ingest. */
export const maximumSources = 20

const ingestions = HttpApiGroup.make("ingestions")
  .add(
    HttpApiEndpoint.post("run", "/admin/v1/ingestions", {
      payload: Schema.Struct({
        sources: Schema.NonEmptyArray(Schema.String.check(Schema.isMaxLength(4096))).check(
          Schema.isMaxLength(maximumSources)
        ),
        dryRun: Schema.optional(Schema.Boolean),
        allowOlder: Schema.optional(Schema.Boolean).annotate({
          description: "Take a file although a newer publication is in force"
        }),
        allowRemovals: Schema.optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))).annotate({
          description: "Take a file that removes up to so many records, however large their share"
        }),
        retire: Schema.optional(
          Schema.Array(Schema.String.check(Schema.isPattern(/^[2-9][0-9]{2}$/, { message: "Expected an area code" })))
        ).annotate({ description: "Area codes that files leave out and that are to go" })
      }),
      success: HttpApiSchema.StreamNdjson({ schema: IngestionEvent }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Ingest published numbering files",
        description:
          "Paths as the server sees them, or addresses. The answer reports progress and ends with a summary a file."
      })
    ),
    HttpApiEndpoint.get("state", "/admin/v1/ingestions/state", {
      success: Schema.Struct({
        present: Schema.Array(PresentIngestion).annotate({ description: "Files that this process works on" }),
        latest: Schema.Array(IngestionRecord).annotate({ description: "The last file of each kind that was taken" })
      }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show what is ingested now, and the newest data of each kind" })),
    HttpApiEndpoint.get("failures", "/admin/v1/ingestions/failures", {
      query: {
        limit: Schema.optional(integerParameter(1, maximumPageSize)),
        before: Schema.optional(integerParameter(1))
      },
      success: Schema.Struct({ data: Schema.Array(IngestionFailureRecord) }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List files that were not taken, newest first",
        description:
          "The newest thousand, of runs that store. `before` takes the id of the last one listed and continues from there."
      })
    ),
    HttpApiEndpoint.get("list", "/admin/v1/ingestions", {
      query: {
        limit: Schema.optional(integerParameter(1, maximumPageSize)),
        before: Schema.optional(integerParameter(1))
      },
      success: Schema.Struct({ data: Schema.Array(IngestionRecord) }),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List ingestions, newest first",
        description: "`before` takes the id of the last one listed and continues from there."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Ingestions" }))

const tn = Schema.String.check(
  Schema.makeFilter((text: string) => normalizeNumber(text) !== undefined || expectedNumber, {
    message: expectedNumber
  })
)

const numbers = HttpApiGroup.make("numbers")
  .add(
    HttpApiEndpoint.post("add", "/admin/v1/organizations/:id/numbers", {
      params: { id },
      payload: Schema.Struct({
        numbers: Schema.Array(tn).check(Schema.isMinLength(1), Schema.isMaxLength(maximumNumbers))
      }),
      success: Schema.Struct({
        added: Schema.Int.annotate({ description: "Numbers that were not in the inventory before" })
      }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Add numbers",
        description: "All or none; those that are there stay as they are."
      })
    ),
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/numbers", {
      params: { id },
      query: cursorPage,
      success: Schema.Struct({
        data: Schema.Array(Schema.Struct({ tn: Schema.String, addedAt: Schema.Int })),
        pagination
      }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List numbers, ascending" })),
    HttpApiEndpoint.delete("remove", "/admin/v1/organizations/:id/numbers/:tn", {
      params: { id, tn },
      success: Schema.Struct({ tn: Schema.String }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Remove a number" }))
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Numbers", description: "Organizations' own numbers." }))

const events = HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.post("trigger", "/admin/v1/organizations/:id/events", {
      params: { id },
      payload: Schema.Struct({
        type: Schema.Literals(exampleTypes).annotate({ message: `Expected one of ${exampleTypes.join(", ")}` }),
        endpoint: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_]{1,64}$/))).annotate({
          description: "Id of the only endpoint that gets it, whatever its patterns"
        })
      }),
      success: Schema.Struct({
        eventId: Schema.NullOr(Schema.String).annotate({ description: "Null where the event is not written yet" }),
        type: Schema.String,
        livemode: Schema.Literal(false),
        data: Schema.JsonObject,
        endpoints: Schema.Array(
          Schema.Struct({ id: Schema.String, url: Schema.String, isPaused: Schema.Boolean })
        ).annotate({ description: "The webhook endpoints that get it" })
      }).pipe(HttpApiSchema.status(202)),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Emit a test event",
        description:
          "The catalogue's example of the type, not live. It is recorded like every event and delivered to endpoints of both modes."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Test events" }))

export class AdminApi extends HttpApi.make("sluice-admin")
  .add(organizations)
  .add(keys)
  .add(sitesGroup)
  .add(membersGroup)
  .add(ingestions)
  .add(numbers)
  .add(lookupsGroup)
  .add(events)
  .add(engineGroup)
  .add(clusterGroup)
  .add(parkedGroup)
  .add(sendGroup)
  .add(whatIfGroup)
  .add(accountsGroup)
  .add(actsGroup)
  .add(invoicesGroup)
  .add(signInGroup)
  .add(consoleGroup)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
  .annotateMerge(OpenApi.annotations({ title: "Sluice admin", version, license: { name: "MIT" } })) {}

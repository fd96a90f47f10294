/** Describes the part of the admin API for accounts that send (docs/platform.md, 9.9). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { risks } from "../platform/model.ts"
import { intakeOutcomes } from "../send/feedback/intake/FeedbackIntake.ts"
import { importedBytes } from "../send/feedback/intake/limits.ts"
import { DmarcSource, dmarcFields, reportParameters, TlsDay, tlsFields } from "../send/http/reportsApi.ts"
import { modes, pauseReasons, SendLimits, stages } from "../send/index.ts"
import { verdictStatuses } from "../send/senders/authentication/authenticationVerdict.ts"
import { domainStatuses, proofs } from "../send/senders/domains/model.ts"
import { AdminAccess } from "./access.ts"
import { organizationId } from "./organizationId.ts"

const { maximumProbationCaps } = SendLimits

const mode = Schema.optional(Schema.Literals(modes)).annotate({
  description: "Whose account: that of live keys, which is the default, or that of test keys"
})

/** The longest address that SMTP takes. */
const maximumAddressLength = 320

const count = (maximum: number) =>
  Schema.Int.check(
    Schema.isBetween({ minimum: 1, maximum }, { message: `Expected a whole number from 1 to ${maximum}` })
  )

const limit = Schema.Union([count(1_000_000_000), Schema.Literal("unlimited")])

const probation = Schema.Struct({
  emailsPerHour: count(maximumProbationCaps.emailsPerHour),
  emailsPerDay: count(maximumProbationCaps.emailsPerDay),
  domainsPerHour: count(maximumProbationCaps.domainsPerHour)
})

const custom = Schema.Struct({
  emailsPerMonth: Schema.NullOr(limit).annotate({ description: "Null for the plan's own" }),
  probation: Schema.NullOr(probation).annotate({ description: "Null for the risk's own" }),
  requestsPerMinute: Schema.optionalKey(Schema.NullOr(limit)).annotate({
    description: "Send requests of each key; null, or left out, for the plan's own"
  })
})

const time = Schema.NullOr(Schema.Int).annotate({ description: "Milliseconds since the Unix epoch" })

/** An account is paused when a `count` reaches its `limit`. */
export const Triggers = Schema.Array(
  Schema.Struct({ trigger: Schema.Literals(pauseReasons), count: Schema.Int, limit: Schema.Int })
)

export const SendAccountShown = Schema.Struct({
  mode: Schema.Literals(modes),
  trustStage: Schema.Literals(stages),
  probationEndsAt: time,
  pausedAt: time,
  pauseReason: Schema.NullOr(Schema.Literals(pauseReasons)),
  risk: Schema.Literals(risks),
  custom: Schema.Struct({
    emailsPerMonth: Schema.NullOr(Schema.Union([Schema.Int, Schema.Literal("unlimited")])),
    probation: Schema.NullOr(
      Schema.Struct({ emailsPerHour: Schema.Int, emailsPerDay: Schema.Int, domainsPerHour: Schema.Int })
    ),
    requestsPerMinute: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Int, Schema.Literal("unlimited")])))
  }).annotate({ description: "The limit that an operator has set; null for the plan's and the risk's own" }),
  triggers: Schema.NullOr(Triggers).annotate({
    description: "The progress of each trigger of a pause (9.4); empty but on probation, null where it is not known"
  }),
  emailsThisMonth: Schema.NullOr(Schema.Int).annotate({
    description: "Emails of the present month; null where it is not known"
  }),
  inForce: Schema.Struct({
    emailsPerMonth: Schema.Union([Schema.Int, Schema.Literal("unlimited")]),
    probation: Schema.NullOr(
      Schema.Struct({ emailsPerHour: Schema.Int, emailsPerDay: Schema.Int, domainsPerHour: Schema.Int })
    ),
    requestsPerMinute: Schema.Union([Schema.Int, Schema.Literal("unlimited")])
  }).annotate({ description: "The limits in force; the caps on probation alone" })
}).annotate({ identifier: "SendAccount" })
export type SendAccountShown = typeof SendAccountShown.Type

export const SenderShown = Schema.Struct({
  mode: Schema.Literals(modes),
  sender: Schema.String,
  isVerified: Schema.Boolean,
  tier: Schema.Literals(SendLimits.tiers),
  dailyCap: Schema.Int.annotate({ description: "Emails a day that are in force" }),
  waiting: Schema.Int.annotate({ description: "Held emails" })
}).annotate({ identifier: "SendSender" })
export type SenderShown = typeof SenderShown.Type

const SendFact = Schema.Struct({
  decidedAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
  sequence: Schema.Int,
  index: Schema.Int,
  sentence: Schema.String,
  fact: Schema.JsonObject
}).annotate({ identifier: "SendAccountFact" })

const DomainAuthentication = Schema.Struct({
  record: Schema.Literals(["SPF", "DMARC"]),
  name: Schema.String,
  status: Schema.Literals(verdictStatuses),
  message: Schema.String.annotate({ description: "The fault and the repair, in one sentence" }),
  advised: Schema.NullOr(Schema.String).annotate({ description: "The text to set; null where there is none to copy" }),
  checkedAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })
}).annotate({ identifier: "SendDomainAuthenticationShown" })

const DomainShown = Schema.Struct({
  id: Schema.String,
  mode: Schema.Literals(modes),
  name: Schema.String,
  status: Schema.Literals(domainStatuses),
  proof: Schema.NullOr(Schema.Literals(proofs)).annotate({
    description: "Why it counts as verified: its records, an operator's word, or that it is a test key's"
  }),
  lacks: Schema.Array(Schema.Struct({ record: Schema.String, name: Schema.String, value: Schema.String })).annotate({
    description: "Needed records that the last check did not find, with the text to set"
  }),
  authentication: Schema.Array(DomainAuthentication).annotate({
    description: "SPF and DMARC as the last check found them; empty before it, and for a test key"
  })
}).annotate({ identifier: "SendDomainShown" })

const addedDomain = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]+$/u, { message: "Expected a domain" }),
  Schema.isMaxLength(maximumAddressLength)
).annotate({ description: "A domain that the organization has added" })

const errors = [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable] as const

export const sendGroup = HttpApiGroup.make("send")
  .add(
    HttpApiEndpoint.get("show", "/admin/v1/organizations/:id/send", {
      params: { id: organizationId },
      query: { mode },
      success: Schema.Struct({ ...SendAccountShown.fields, facts: Schema.Array(SendFact) }),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show an account and why it was paused",
        description:
          "`facts` are those that changed its stage, risk and limits, and those that the last pause rests on, in order, the newest 500 of 180 days."
      })
    ),
    HttpApiEndpoint.post("lift", "/admin/v1/organizations/:id/send/lift", {
      params: { id: organizationId },
      payload: Schema.Struct({ mode }),
      success: SendAccountShown.pipe(HttpApiSchema.status(200)),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({ summary: "Lift a pause", description: "Probation begins again, from the beginning." })
    ),
    HttpApiEndpoint.put("setRisk", "/admin/v1/organizations/:id/send/risk", {
      params: { id: organizationId },
      payload: Schema.Struct({ mode, risk: Schema.Literals(risks) }),
      success: SendAccountShown,
      error: errors
    }).annotateMerge(
      OpenApi.annotations({ summary: "Set an account's risk", description: "In force at the next decision." })
    ),
    HttpApiEndpoint.put("setLimits", "/admin/v1/organizations/:id/send/limits", {
      params: { id: organizationId },
      payload: Schema.Struct({ mode, ...custom.fields }),
      success: SendAccountShown,
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set an organization's limits",
        description: "In place of the plan's and the risk's; in force at the next decision of both of its accounts."
      })
    ),
    HttpApiEndpoint.put("setCap", "/admin/v1/organizations/:id/send/cap", {
      params: { id: organizationId },
      payload: Schema.Struct({
        mode,
        sender: Schema.String.check(
          Schema.isPattern(/^[^\p{Cc}\p{Cs}]+$/u, { message: "Expected a domain or an address" }),
          Schema.isMaxLength(maximumAddressLength)
        ).annotate({ description: "A verified domain or address" }),
        dailyCap: Schema.NullOr(count(1_000_000_000)).annotate({ description: "Emails a day; null for the tier's own" })
      }),
      success: SenderShown,
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a sender's daily cap",
        description: "In place of the tier's. A raised cap releases held mail at once."
      })
    ),
    HttpApiEndpoint.post("takeFeedback", "/admin/v1/send/feedback", {
      payload: Schema.Struct({
        mail: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]+={0,2}$/, { message: "Expected base64" })).annotate({
          description: `The mail as it came over the wire, in base64; its first ${importedBytes} bytes are enough`
        })
      }),
      success: Schema.Struct({ outcome: Schema.Literals(intakeOutcomes) }).pipe(HttpApiSchema.status(200)),
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Import a bounce or complaint",
        description:
          "A mail that came to a return path of this platform, as its headers say. `taken`: it is counted, now or before. `silent`: it says nothing that counts. `late`: its email is not kept any more. `none`: it is no report. `stray`: it came to no return path, and has none in it."
      })
    ),
    HttpApiEndpoint.get("showDomain", "/admin/v1/organizations/:id/send/domains/:domain", {
      params: {
        id: organizationId,
        domain: addedDomain
      },
      query: { mode },
      success: DomainShown,
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show a domain",
        description: "One that the organization has added, with what the last check of its records found."
      })
    ),
    HttpApiEndpoint.get("domainReports", "/admin/v1/organizations/:id/send/domains/:domain/reports", {
      params: { id: organizationId, domain: addedDomain },
      query: { mode, ...reportParameters },
      success: Schema.Union([
        Schema.Struct({ ...dmarcFields, data: Schema.Array(DmarcSource) }).annotate({
          identifier: "SendDmarcReportsShown"
        }),
        Schema.Struct({ ...tlsFields, data: Schema.Array(TlsDay) }).annotate({ identifier: "SendTlsReportsShown" })
      ]),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show the reports about a domain",
        description:
          "Claims of other mail systems, as its organization sees them: the first sources, or the newest days of TLS; 25 without a `limit`."
      })
    ),
    HttpApiEndpoint.post("verifyDomain", "/admin/v1/organizations/:id/send/domains/verify", {
      params: { id: organizationId },
      payload: Schema.Struct({
        mode,
        domain: Schema.String,
        unchecked: Schema.optionalKey(Schema.Boolean).annotate({
          description: "Whether it counts as verified whatever its records say; default: false"
        })
      }),
      success: DomainShown.pipe(HttpApiSchema.status(200)),
      error: errors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Verify a domain",
        description: "One that the organization has added: by its records, which are looked for now, or unchecked."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Sending" }))

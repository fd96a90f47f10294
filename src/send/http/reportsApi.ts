/**
 * Describes the endpoint of reports about a domain (docs/platform.md, 9.21), which is one of the group of domains.
 * Definitions only: `domainsHttp.ts` implements it and the typed client shares it.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import { reportKinds, tlsFailures, tlsPolicies } from "../senders/reports/model.ts"
import { pageOf } from "./answerPage.ts"
import { idParameter } from "./idParameter.ts"
import { SendInvalidRequest, SendNotFound, SendUnavailable } from "./sendErrors.ts"

const count = (description: string) => Schema.Int.annotate({ description })
const day = (description: string) => Schema.String.annotate({ description, examples: ["2026-11-28"] })

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

/** The period of a request, and the kind of reports. */
export const reportParameters = {
  kind: Schema.optional(
    Schema.Literals(reportKinds).annotate({
      message: `Expected one of ${reportKinds.join(", ")}`,
      description: "`dmarc`, by default: mail from the domain. `tls`: connections of those who send mail to it"
    })
  ),
  since: time(
    "The first day, milliseconds since the Unix epoch: by default 30 days that end with `until`. At most 90 days ago"
  ),
  until: time("The end, milliseconds since the Unix epoch, exclusive; by default now"),
  limit: Schema.optional(integerParameter(1, maximumPageSize))
}

const messages = {
  messages: count("Messages that the reporters have seen"),
  passed: count("Those that passed DMARC: `dkimAligned`, `spfAligned` or both"),
  dkimAligned: count("Those with a valid signature of the domain"),
  spfAligned: count("Those that SPF allows, with a return path of the domain"),
  quarantined: count("Those that a reporter has put aside, such as into a folder for spam"),
  rejected: count("Those that a reporter has refused")
}

const sessions = { successful: count("Encrypted connections"), failed: count("Connections without proper encryption") }

const common = {
  since: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch: the start of a UTC day, inclusive" }),
  until: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch: the start of a UTC day, exclusive" }),
  reporters: Schema.Array(
    Schema.Struct({
      name: Schema.String.annotate({ description: "As it calls itself. Nothing proves it" }),
      reports: count("Reports that were taken in")
    }).annotate({ identifier: "SendDomainReporter" })
  ).annotate({ description: "The ten with most reports in this time. All figures are their claims" })
}

export const DmarcSource = Schema.Struct({
  source: Schema.NullOr(Schema.String).annotate({
    description: "The IP address that the messages came from; null for sources beyond 200 of a day, added up"
  }),
  firstDay: day("The first UTC day with messages of it"),
  lastDay: day("The last one"),
  ...messages
}).annotate({ identifier: "SendDmarcSource" })

export const TlsDay = Schema.Struct({
  day: day("The UTC day"),
  policy: Schema.Literals(tlsPolicies).annotate({
    description: "The policy that senders have followed: MTA-STS, DANE (`tlsa`), or none"
  }),
  ...sessions,
  failures: Schema.Array(
    Schema.Struct({
      type: Schema.Literals(tlsFailures).annotate({
        description: "As RFC 8460 names them; `unspecified` where the reporter does not say"
      }),
      sessions: count("Connections that failed so")
    }).annotate({ identifier: "SendTlsFailure" })
  )
}).annotate({ identifier: "SendTlsDay" })

export const dmarcFields = {
  kind: Schema.Literal("dmarc"),
  ...common,
  totals: Schema.Struct(messages).annotate({ identifier: "SendDmarcTotals" })
}

export const tlsFields = {
  kind: Schema.Literal("tls"),
  ...common,
  totals: Schema.Struct(sessions).annotate({ identifier: "SendTlsTotals" })
}

const DmarcReports = Schema.Struct({ ...pageOf(DmarcSource).fields, ...dmarcFields }).annotate({
  identifier: "SendDmarcReports",
  description: "Sources with most failed messages first, then those with most messages"
})

const TlsReports = Schema.Struct({ ...pageOf(TlsDay).fields, ...tlsFields }).annotate({
  identifier: "SendTlsReports",
  description: "Newest day first"
})

export const reportsEndpoint = HttpApiEndpoint.get("reports", "/v1/send/domains/:id/reports", {
  params: { id: idParameter },
  query: { ...reportParameters, cursor: Schema.optional(Schema.String) },
  success: Schema.Union([DmarcReports, TlsReports]),
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get the reports of other mail systems about a domain",
    description:
      "Figures of DMARC reports by source, or of TLS reports by day and policy, for 90 days. They are claims of the reporters that are named: anybody can send a report. A test key's domain has none."
  })
)

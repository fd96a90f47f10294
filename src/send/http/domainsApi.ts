/**
 * Describes domains of senders as an HttpApi group (docs/platform.md, 9.13). Paths and fields are those of Resend's
 * API, beside ours in camel case. Definitions only: `domainsHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { IdempotencyKey } from "../../http/idempotency.ts"
import { SendAccess } from "../../platform/access.ts"
import { tiers } from "../limits.ts"
import { verdictStatuses } from "../senders/authentication/authenticationVerdict.ts"
import { recordStatuses, shownRecordNames } from "../senders/domains/dnsRecords.ts"
import { domainStatuses } from "../senders/domains/model.ts"
import { pageOf, pageQuery } from "./answerPage.ts"
import { idParameter } from "./idParameter.ts"
import { reportsEndpoint } from "./reportsApi.ts"
import {
  SendConflict,
  SendIdempotencyConflict,
  SendInvalidRequest,
  SendNotFound,
  SendUnavailable
} from "./sendErrors.ts"

export const idempotent = { "idempotency-key": Schema.optional(IdempotencyKey) }

/** The answer of a request that takes an `Idempotency-Key`: a repeat gets it too, with `Idempotency-Replayed: true`. */
export const once = <S extends Schema.Top>(schema: S, status: number) =>
  HttpApiSchema.WithHeaders(schema.pipe(HttpApiSchema.status(status)), {
    "idempotency-replayed": Schema.optional(Schema.String)
  })

const Timestamp = Schema.String.annotate({ description: "ISO 8601" })

const DomainRecord = Schema.Struct({
  record: Schema.Literals(shownRecordNames),
  name: Schema.String.annotate({ description: "The whole name, with the domain" }),
  type: Schema.Literal("TXT"),
  ttl: Schema.String.annotate({ description: "Seconds" }),
  status: Schema.Literals(recordStatuses).annotate({
    description:
      "`not_started`: the domain is verified without it. `temporary_failure`: it was there, and was not found the last time"
  }),
  value: Schema.String,
  required: Schema.Boolean.annotate({ description: "Whether the domain is verified by it" })
}).annotate({ identifier: "SendDomainRecord" })

export const AuthenticationCheck = Schema.Struct({
  record: Schema.Literals(["SPF", "DMARC"]),
  name: Schema.String.annotate({
    description: "The whole name of the TXT record: of the domain, or of the return path of the platform's mail"
  }),
  status: Schema.Literals(verdictStatuses).annotate({
    description:
      "`advice`: it works, and should be better. `invalid`: receivers cannot use it, or it harms. `unknown`: no name server answered. None of them stops mail"
  }),
  message: Schema.String.annotate({ description: "The fault and the repair, in one sentence" }),
  advised: Schema.NullOr(Schema.String).annotate({ description: "The text to set; null where there is none to copy" }),
  checkedAt: Timestamp
}).annotate({ identifier: "SendDomainAuthentication" })

const listed = {
  id: Schema.String.annotate({ description: "dom_…" }),
  name: Schema.String.annotate({ description: "In lower case and punycode", examples: ["example.com"] }),
  status: Schema.Literals(domainStatuses).annotate({
    description:
      "`failed`: no longer looked for. `partially_failed`: verified, but a record has gone; it goes on sending"
  }),
  created_at: Timestamp,
  region: Schema.NullOr(Schema.String).annotate({ description: "As it was given; it changes nothing" })
}

const NextTier = Schema.Struct({
  tier: Schema.Literals(tiers),
  emailsMissing: Schema.Int.annotate({ description: "Emails that are still to be handed over" }),
  notBefore: Timestamp,
  bounceRate: Schema.Number,
  bounceRateBelow: Schema.Number,
  complaintRate: Schema.Number,
  complaintRateBelow: Schema.Number
}).annotate({ identifier: "SendNextTier" })

/** The progress of a sender. */
export const standing = {
  tier: Schema.Literals(tiers),
  dailyCap: Schema.Int,
  releasedToday: Schema.Int.annotate({ description: "Emails let go on this UTC day" }),
  held: Schema.Int.annotate({ description: "Emails that wait for another day" }),
  scheduled: Schema.Int,
  nextTier: Schema.NullOr(NextTier).annotate({ description: "Conditions of the next tier; null where there is none" })
}

export const SendDomain = Schema.Struct({
  object: Schema.Literal("domain"),
  ...listed,
  records: Schema.Array(DomainRecord),
  authentication: Schema.Array(AuthenticationCheck).annotate({
    description: "SPF and DMARC as the last check found them; empty before it, and for a test key"
  }),
  ...standing
}).annotate({ identifier: "SendDomain" })

/** The tier as lists have it. */
export const listedTier = {
  tier: Schema.NullOr(Schema.Literals(tiers)).annotate({
    description: "Null while what counts its emails cannot be reached"
  })
}

const ListedDomain = Schema.Struct({ ...listed, ...listedTier }).annotate({ identifier: "ListedSendDomain" })

const domainName = Schema.String.annotate({
  description: "The domain, and no subdomain of it",
  examples: ["example.com"]
})
const region = Schema.optionalKey(
  Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,64}$/, { message: "Expected 1 to 64 printable characters" }))
)

const create = HttpApiEndpoint.post("create", "/v1/send/domains", {
  headers: idempotent,
  payload: Schema.Struct({
    name: Schema.optionalKey(domainName),
    domain: Schema.optionalKey(domainName).annotate({ description: "The same as `name`; give one of them" }),
    region
  }).annotate({ identifier: "CreateSendDomain" }),
  success: once(SendDomain, 201),
  error: [SendInvalidRequest, SendConflict, SendIdempotencyConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Add a domain",
    description:
      "Set the records of the answer; they are looked for from now on. A test key's domain is verified at once."
  })
)

const list = HttpApiEndpoint.get("list", "/v1/send/domains", {
  query: pageQuery,
  success: pageOf(ListedDomain),
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List domains, newest first",
    description: "The sending domains of the key's mode, with their states."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/send/domains/:id", {
  params: { id: idParameter },
  success: SendDomain,
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get a domain, its records and its standing",
    description: "One domain: the DNS records to set, which of them were found, and how much it may send."
  })
)

const verify = HttpApiEndpoint.post("verify", "/v1/send/domains/:id/verify", {
  params: { id: idParameter },
  success: Schema.Struct({
    object: Schema.Literal("domain"),
    id: Schema.String,
    status: listed.status
  }),
  error: [SendInvalidRequest, SendNotFound, SendConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Look for a domain's records now",
    description:
      "Answers what was found; where something is missing, it is looked for again for 72 hours. SPF and DMARC are checked too: `authentication` of the domain has the verdicts."
  })
)

const rotateKey = HttpApiEndpoint.post("rotateKey", "/v1/send/domains/:id/rotate-key", {
  params: { id: idParameter },
  success: SendDomain,
  error: [SendInvalidRequest, SendNotFound, SendConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make a domain's next DKIM key",
    description:
      "Set the second DKIM record of the answer. Mail is signed with the old key until it is found, and with the new one from then on; keep the old record for a week after that. While a key waits for its record, the same one is answered."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/v1/send/domains/:id", {
  params: { id: idParameter },
  success: Schema.Struct({ object: Schema.Literal("domain"), id: Schema.String, deleted: Schema.Literal(true) }),
  error: [SendInvalidRequest, SendNotFound, SendConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({ summary: "Delete a domain", description: "409 while mail of it is held or scheduled." })
)

const records = HttpApiEndpoint.get("records", "/v1/send/domains/:id/records", {
  params: { id: idParameter },
  success: Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        ...DomainRecord.fields,
        seen: Schema.NullOr(Schema.Array(Schema.String)).annotate({
          description: "The texts at this name now, at most ten; null where no name server answers, and for a test key"
        })
      }).annotate({ identifier: "SeenSendDomainRecord" })
    )
  }).annotate({ identifier: "SendDomainRecords" }),
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Compare a domain's records with what is there",
    description: "Name servers are asked now. It changes nothing: `verify` does."
  })
)

/** All endpoints of domains. */
export class SendDomainsApi extends HttpApiGroup.make("sendDomains")
  .add(create, list, get, records, reportsEndpoint, verify, rotateKey, remove)
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Send: domains",
      description:
        "Domains from which an organization sends, verified by DNS records. A key sees those of its own mode."
    })
  ) {}

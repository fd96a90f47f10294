/**
 * Describes the endpoints that take and show email as an HttpApi group (docs/platform.md, 9.10 to 9.12): paths and
 * errors; the bodies are in `forms.ts`. Paths and fields are those of Resend's API. Definitions only: `emailsHttp.ts`
 * implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "effect/http-api"
import { IdempotencyKey } from "../../http/idempotency.ts"
import { includeTotal } from "../../http/listTotal.ts"
import {
  NestedConflict,
  NestedForbidden,
  NestedIdempotencyConflict,
  NestedInternalError,
  NestedInvalidRequest,
  NestedNotFound,
  NestedRateLimited,
  NestedUnauthorized,
  NestedUnavailable
} from "../../http/nestedErrors.ts"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import { MaximumBodyBytes } from "../../http/rawBody.ts"
import { type CurrentPrincipal, SendAccess } from "../../platform/access.ts"
import {
  BatchForm,
  ChangedEmail,
  EmailForm,
  EmailList,
  RescheduledEmail,
  SentEmail,
  SentEmails,
  ShownEmail
} from "../emails/forms.ts"
import { maximumSendBodyBytes } from "../limits.ts"
import { shownStates } from "../rules/emailStates.ts"
import { searchProblem } from "../search/searchTerms.ts"
import { csvPlaces } from "./csvExport.ts"
import { maximumCsvEmails } from "./emailsCsv.ts"
import { MonthlyLimitReached, ProbationLimitReached, SenderNotVerified, SendingPaused } from "./rejectionErrors.ts"

/**
 * Access to the endpoints that take email: a key with the service `send`. Its requests count against the key's own rate
 * (docs/platform.md, 9.10), and not against the organization's.
 */
export class SendEmailsAccess extends HttpApiMiddleware.Service<SendEmailsAccess, { provides: CurrentPrincipal }>()(
  "sluice/send/SendEmailsAccess",
  {
    error: [
      NestedInvalidRequest,
      NestedUnauthorized,
      NestedForbidden,
      NestedRateLimited,
      NestedInternalError,
      NestedUnavailable
    ]
  }
) {}

const emailId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "Expected an id of letters, digits, - and _" })
)

const sendHeaders = {
  "idempotency-key": Schema.optional(IdempotencyKey),
  // Clients of Resend's API send it with every batch.
  "x-batch-validation": Schema.optional(
    Schema.Literal("strict").annotate({ message: "Expected strict: a batch is taken whole or not at all" })
  )
}

/** The answer of a request to send; a repeat under the same key gets it too, with `Idempotency-Replayed: true`. */
const accepted = <S extends Schema.Top>(schema: S) =>
  HttpApiSchema.WithHeaders(schema.pipe(HttpApiSchema.status(202)), {
    "idempotency-replayed": Schema.optional(Schema.String)
  })

const sendErrors = [
  NestedInvalidRequest,
  SenderNotVerified,
  SendingPaused,
  NestedIdempotencyConflict,
  MonthlyLimitReached,
  ProbationLimitReached,
  NestedUnavailable
] as const

const sendOne = {
  headers: sendHeaders,
  payload: EmailForm,
  success: accepted(SentEmail),
  error: sendErrors
} as const

const send = HttpApiEndpoint.post("send", "/v1/send/emails/send", sendOne)
  .middleware(SendEmailsAccess)
  .annotate(MaximumBodyBytes, maximumSendBodyBytes)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send an email",
      description: "It is queued, or held, scheduled or left out, as `state` says. Rejected requests count nowhere."
    })
  )

const create = HttpApiEndpoint.post("create", "/v1/send/emails", sendOne)
  .middleware(SendEmailsAccess)
  .annotate(MaximumBodyBytes, maximumSendBodyBytes)
  .annotateMerge(
    OpenApi.annotations({ summary: "Send an email", description: "The same as `POST /v1/send/emails/send`." })
  )

const batch = HttpApiEndpoint.post("batch", "/v1/send/emails/batch", {
  headers: sendHeaders,
  payload: BatchForm,
  success: accepted(SentEmails),
  error: sendErrors
})
  .middleware(SendEmailsAccess)
  .annotate(MaximumBodyBytes, maximumSendBodyBytes)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send up to 100 emails",
      description: "All are accepted or none; it counts as one request. The answers are in the order of the emails."
    })
  )

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

/** The parameter that restricts emails to those of a sender's domain. */
export const emailDomainParameter = Schema.optional(
  Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,15}$/, {
      message: "Expected a domain such as example.com"
    })
  )
).annotate({ description: "Emails of senders of this domain only" })

/** A text to search for. */
const searched = (description: string) =>
  Schema.optional(Schema.String.check(Schema.makeFilter((text: string) => searchProblem(text)))).annotate({
    description: `${description}, in any order; a word of at least three characters is also found by its beginning`
  })

/** The parameters by which emails are found: their state, times and texts. */
export const emailFilters = {
  state: Schema.optional(
    Schema.Literals(shownStates).annotate({
      message: `Expected one of ${shownStates.join(", ")}`,
      description: "Emails in this state only; all without it"
    })
  ),
  domain: emailDomainParameter,
  to: searched("Emails with these words in an address or a name of `to`, `cc` or `bcc`"),
  from: searched("Emails with these words in the sender's address or name"),
  subject: searched("Emails with these words in the subject"),
  search: searched("Emails with these words in recipients, sender or subject"),
  key: Schema.optional(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "Expected the id of a key" }))
  ).annotate({ description: "Emails that this API key sent only" }),
  since: time("Emails accepted from this time on, milliseconds since the Unix epoch"),
  until: time("Emails accepted before this time, milliseconds since the Unix epoch")
}

/** Their values. */
export type EmailFilterParameters = {
  readonly [Name in keyof typeof emailFilters]?: (typeof emailFilters)[Name]["Type"]
}

const list = HttpApiEndpoint.get("list", "/v1/send/emails", {
  query: {
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String),
    ...emailFilters,
    include: includeTotal,
    after: Schema.optional(emailId),
    before: Schema.optional(emailId)
  },
  success: EmailList,
  error: [NestedInvalidRequest, NestedUnavailable]
})
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List emails, newest first",
      description:
        "Those of the key's mode. A page begins at `cursor`, or behind the email `after`, or ends before the email `before`. Texts are found while the content of an email is kept: until seven days after its last state. A page of found emails may be short: rely on `hasMore`."
    })
  )

const exported = HttpApiEndpoint.get("export", "/v1/send/emails/export", {
  query: emailFilters,
  success: HttpApiSchema.StreamUint8Array({ contentType: "text/csv" }),
  error: [NestedInvalidRequest, NestedRateLimited, NestedUnavailable]
})
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Export emails as CSV",
      description: `A line for each email that the filters find, newest first, at most ${maximumCsvEmails.toLocaleString("en-US")}, behind a line with the names of the columns. It is written as it is read. An organization may export ${csvPlaces.ofOrganization} lists concurrently, else 429.`
    })
  )

const get = HttpApiEndpoint.get("get", "/v1/send/emails/:id", {
  params: { id: emailId },
  success: ShownEmail,
  error: [NestedInvalidRequest, NestedNotFound, NestedUnavailable]
})
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get an email",
      description: "One email by its id: its content while it is kept, its state, and its history."
    })
  )

const cancel = HttpApiEndpoint.post("cancel", "/v1/send/emails/:id/cancel", {
  params: { id: emailId },
  success: ChangedEmail,
  error: [NestedInvalidRequest, NestedNotFound, NestedConflict, NestedUnavailable]
})
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Take an email back",
      description: "One that is queued, held or scheduled. It has counted, and nothing is given back."
    })
  )

const reschedule = HttpApiEndpoint.patch("reschedule", "/v1/send/emails/:id", {
  params: { id: emailId },
  payload: Schema.Struct({
    scheduled_at: Schema.String.annotate({
      description: "ISO 8601, or words such as `in 2 hours` or `Friday at 3pm ET`; at most 30 days ahead"
    })
  }).annotate({ identifier: "RescheduleEmail" }),
  success: RescheduledEmail,
  error: [NestedInvalidRequest, NestedNotFound, NestedConflict, NestedUnavailable]
})
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Give a scheduled email another time",
      description: "Sets `scheduled_at` of an email that is not sent yet; at most 30 days ahead."
    })
  )

/** All endpoints of emails. */
export class EmailsApi extends HttpApiGroup.make("emails")
  .add(send, create, batch, list, exported, get, cancel, reschedule)
  .annotateMerge(
    OpenApi.annotations({
      title: "Emails",
      description:
        "Sending email, with the fields and paths of Resend's API: its clients work with `<address>/v1/send` as their base address."
    })
  ) {}

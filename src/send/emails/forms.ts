/**
 * Defines the bodies of the endpoints that take and show email (docs/platform.md, 9.10 to 9.12). Their fields are those
 * of Resend's API, so that its clients work unchanged. Schemas only; `readMessage.ts` checks the rest.
 */
import { Schema } from "effect"
import { PaginationWithTotal } from "../../http/listTotal.ts"
import { maximumEmails } from "../limits.ts"
import { firstStates, lastEvents, shownStates } from "../rules/emailStates.ts"

/** One address or several. */
const Addresses = Schema.Union([Schema.String, Schema.Array(Schema.String)])

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema)).annotate({ description })

const TagForm = Schema.Struct({ name: Schema.String, value: Schema.String })

const AttachmentForm = Schema.Struct({
  content: optional(Schema.String, "The file in base64; this or `path`"),
  filename: optional(Schema.Union([Schema.String, Schema.Literal(false)]), "Needed with `content`"),
  path: optional(Schema.String, "Where the file is fetched from at hand-off; https"),
  content_type: optional(Schema.String, "By default that of the file's name"),
  content_id: optional(Schema.String, "By which the HTML refers to it: `cid:…`")
})

/** An email as it is asked for. */
export const EmailForm = Schema.Struct({
  from: Schema.String.annotate({ description: "`a@b` or `Name <a@b>`, of a verified sender" }),
  to: Addresses.annotate({ description: "With `cc` and `bcc` 1 to 50 addresses" }),
  cc: optional(Addresses, "Who is shown a copy"),
  bcc: optional(Addresses, "Who is not shown"),
  reply_to: optional(Addresses, "Where answers go; not verified"),
  subject: Schema.String.annotate({ description: "At most 500 characters" }),
  html: optional(Schema.String, "This, `text`, or both"),
  text: optional(Schema.String, "This, `html`, or both"),
  headers: optional(Schema.Record(Schema.String, Schema.String), "Headers of your own"),
  tags: optional(Schema.Array(TagForm), "Kept with the email; letters, digits, - and _"),
  attachments: optional(Schema.Array(AttachmentForm), "At most 10"),
  scheduled_at: optional(
    Schema.String,
    "When it is to be sent: ISO 8601, or words such as `in 2 hours` or `Friday at 3pm ET`; at most 30 days ahead"
  )
}).annotate({ identifier: "SendEmail" })
export type EmailForm = typeof EmailForm.Type

export const BatchForm = Schema.Array(EmailForm)
  .check(Schema.isBetweenLength(1, maximumEmails, { message: `Expected 1 to ${maximumEmails} emails` }))
  .annotate({ identifier: "SendEmails" })

/** The accepted emails. */
export const SentEmail = Schema.Struct({
  id: Schema.String.annotate({ description: "em_…" }),
  state: Schema.Literals(firstStates),
  heldUntil: Schema.optionalKey(Schema.String).annotate({
    description: "Where it is held and that is known: ISO 8601, an upper bound"
  }),
  scheduled_at: Schema.optionalKey(Schema.String).annotate({ description: "Where it is scheduled: ISO 8601" }),
  suppressed: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
    description: "Recipients that are left out, because the account does not send to them"
  })
}).annotate({ identifier: "SentEmail" })
export type SentEmail = typeof SentEmail.Type

export const SentEmails = Schema.Struct({ data: Schema.Array(SentEmail) }).annotate({ identifier: "SentEmails" })

/** The reasons for which an email is held. */
export const holdReasons = ["daily_cap", "sending_paused"] as const

const IsoTime = Schema.String.annotate({ description: "ISO 8601" })
const Shown = Schema.NullOr(Schema.Array(Schema.String))

const listed = {
  id: Schema.String,
  from: Schema.NullOr(Schema.String),
  to: Shown,
  cc: Shown,
  bcc: Shown,
  reply_to: Shown,
  subject: Schema.NullOr(Schema.String),
  key_id: Schema.NullOr(Schema.String).annotate({ description: "The API key that sent it; null where it is not kept" }),
  created_at: IsoTime,
  scheduled_at: Schema.NullOr(IsoTime),
  last_event: Schema.Literals(lastEvents),
  state: Schema.Literals(shownStates),
  held: Schema.NullOr(
    Schema.Struct({
      reason: Schema.Literals(holdReasons).annotate({
        description: "The daily cap of its sender is used up, or the account's sending is paused"
      }),
      sender: Schema.String,
      until: Schema.NullOr(IsoTime).annotate({ description: "An upper bound; null where nobody knows" })
    }).annotate({ identifier: "EmailHold" })
  ).annotate({ description: "Why it is held; null where it is not, or the process that knows is away" })
}

/** An email in a list. */
export const ListedEmail = Schema.Struct(listed).annotate({ identifier: "ListedEmail" })
export type ListedEmail = typeof ListedEmail.Type

/** An email alone. */
export const ShownEmail = Schema.Struct({
  object: Schema.Literal("email"),
  ...listed,
  message_id: Schema.String,
  request_id: Schema.NullOr(Schema.String).annotate({
    description: "The `X-Request-Id` of the request that sent it; null where it is not kept"
  }),
  html: Schema.NullOr(Schema.String),
  text: Schema.NullOr(Schema.String),
  tags: Schema.NullOr(Schema.Array(TagForm)),
  attachments: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        filename: Schema.NullOr(Schema.String),
        content_type: Schema.NullOr(Schema.String).annotate({ description: "As it was given" }),
        content_id: Schema.NullOr(Schema.String),
        size: Schema.NullOr(Schema.Int).annotate({
          description: "Bytes; null for one that is fetched from an address when it is sent"
        })
      }).annotate({ identifier: "ShownAttachment" })
    )
  ).annotate({ description: "Without their contents; null where the content is no longer kept" }),
  history: Schema.Array(
    Schema.Struct({
      state: listed.state,
      at: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
      recipient: Schema.optionalKey(Schema.String).annotate({ description: "Whom it concerns, where that is one" }),
      code: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({ description: "Status code, such as 5.1.1" }),
      kind: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "Kind of bounce, complaint or failure"
      }),
      reason: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "Answer of the other side, or the failure"
      })
    })
  ).annotate({ description: "Its steps, in order" }),
  handoff: Schema.NullOr(
    Schema.Struct({
      attempts: Schema.Int.annotate({ description: "Attempts that were begun" }),
      nextAttemptAt: Schema.NullOr(Schema.Int).annotate({ description: "Milliseconds since the Unix epoch" }),
      lastAnswer: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt was not the end" })
    }).annotate({ identifier: "EmailHandoff" })
  ).annotate({ description: "The hand-off that goes on; null where there is none, or none any more" })
}).annotate({ identifier: "Email" })
export type ShownEmail = typeof ShownEmail.Type

export const EmailList = Schema.Struct({
  object: Schema.Literal("list"),
  has_more: Schema.Boolean,
  data: Schema.Array(ListedEmail),
  pagination: PaginationWithTotal
}).annotate({ identifier: "EmailList" })

/** The answer to a change of an email. */
export const ChangedEmail = Schema.Struct({ object: Schema.Literal("email"), id: Schema.String }).annotate({
  identifier: "ChangedEmail"
})

/** The answer to a new time of an email. */
export const RescheduledEmail = Schema.Struct({
  object: Schema.Literal("email"),
  id: Schema.String,
  scheduled_at: IsoTime
}).annotate({ identifier: "RescheduledEmail" })

/**
 * Defines an email's stored content: the fields of a request to send, checked, with defaults filled in
 * (docs/platform.md, 9.1). It never enters the log of decisions, which has a pointer to it.
 */
import { Schema } from "effect"

export const Tag = Schema.Struct({ name: Schema.String, value: Schema.String })
export type Tag = typeof Tag.Type

/** Either `content`, in base64, or `path`, an https address from which it is fetched at hand-off. */
export const Attachment = Schema.Struct({
  filename: Schema.NullOr(Schema.String),
  content: Schema.NullOr(Schema.String),
  path: Schema.NullOr(Schema.String),
  contentType: Schema.NullOr(Schema.String),
  contentId: Schema.NullOr(Schema.String)
})
export type Attachment = typeof Attachment.Type

/** Addresses are as they were given: `Name <a@b>` or `a@b`, domains in punycode. */
export const Message = Schema.Struct({
  from: Schema.String,
  to: Schema.Array(Schema.String),
  cc: Schema.Array(Schema.String),
  bcc: Schema.Array(Schema.String),
  replyTo: Schema.Array(Schema.String),
  subject: Schema.String,
  html: Schema.NullOr(Schema.String),
  text: Schema.NullOr(Schema.String),
  headers: Schema.Record(Schema.String, Schema.String),
  tags: Schema.Array(Tag),
  attachments: Schema.Array(Attachment),
  /** The id of the API key that sent it; contents from before have none. */
  keyId: Schema.optionalKey(Schema.String),
  /** The `X-Request-Id` of the request that sent it; contents from before, and from SMTP, have none. */
  requestId: Schema.optionalKey(Schema.String)
})
export type Message = typeof Message.Type

/**
 * A header by which a sender asks for an unsubscription with one click (docs/platform.md, 9.15), in lower case. It is
 * not in the mail.
 */
export const unsubscribeHeader = "x-sluice-unsubscribe"

/** Whether each recipient gets a link of its own to unsubscribe. */
export const hasUnsubscribe = ({ headers }: Message): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === unsubscribeHeader)

/** Everybody whom the message goes to, in the order in which the rules and the suppression list see them. */
export const recipientsOf = ({ bcc, cc, to }: Message): ReadonlyArray<string> => [...to, ...cc, ...bcc]

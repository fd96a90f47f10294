/**
 * Searches the local mailbox (docs/handoff.md, 3.2): reads a query such as `to:ann@ subject:"Your order" is:unread -draft`
 * and says which mails it finds. All parts must fit. Pure.
 */
import { Data, Result } from "effect"
import { wordsOfHtml } from "./htmlPieces.ts"
import type { CapturedMail } from "./MailboxFolder.ts"

/** Longest query, in characters, and most parts of it. */
export const maximumQueryLength = 500
export const maximumTerms = 20

/** A query that means nothing. The message is for its writer. */
export class QueryRefused extends Data.TaggedError("QueryRefused")<{ readonly message: string }> {}

const textFields = ["from", "to", "cc", "bcc", "subject", "text", "tag", "id", "filename", "anywhere"] as const
type TextField = (typeof textFields)[number]

const states = ["unread", "read", "live", "test"] as const
type State = (typeof states)[number]

/** One part of a query. */
export type MailTerm = { readonly isExcluded: boolean } & (
  | { readonly _tag: "Text"; readonly field: TextField; readonly text: string }
  | { readonly _tag: "State"; readonly state: State }
  | { readonly _tag: "Attachment" }
  /** Unix milliseconds: kept at or after, or before it. */
  | { readonly _tag: "Time"; readonly side: "before" | "after"; readonly at: number }
)

/** Two spellings of a text that a reader takes for the same are the same. */
const folded = (text: string): string => text.normalize("NFKC").toLowerCase()

const recipients = ({ envelope, mail: { message } }: CapturedMail): ReadonlyArray<string> => [
  ...message.to,
  ...message.cc,
  ...message.bcc,
  ...envelope.to
]

const contentOf = ({ mail: { message } }: CapturedMail): ReadonlyArray<string> => [
  message.text ?? "",
  message.html === null ? "" : wordsOfHtml(message.html)
]

const readers: Readonly<Record<TextField, (mail: CapturedMail) => ReadonlyArray<string>>> = {
  from: ({ mail }) => [mail.message.from],
  to: recipients,
  cc: ({ mail }) => mail.message.cc,
  bcc: ({ mail }) => mail.message.bcc,
  subject: ({ mail }) => [mail.message.subject],
  text: contentOf,
  tag: ({ mail }) => mail.message.tags.map(({ name, value }) => `${name}=${value}`),
  id: ({ mail }) => [mail.id],
  filename: ({ mail }) => mail.message.attachments.map(({ filename }) => filename ?? ""),
  anywhere: (mail) => [
    mail.mail.id,
    mail.mail.message.from,
    mail.mail.message.subject,
    ...recipients(mail),
    ...readers.filename(mail),
    ...contentOf(mail)
  ]
}

/** Whether a mail fits one part. */
const fits = (mail: CapturedMail, term: MailTerm): boolean => {
  switch (term._tag) {
    case "Text":
      return readers[term.field](mail).some((text) => folded(text).includes(term.text))
    case "Attachment":
      return mail.mail.message.attachments.length > 0
    case "Time":
      return term.side === "before" ? mail.capturedAt < term.at : mail.capturedAt >= term.at
    case "State":
      return term.state === "read" || term.state === "unread"
        ? mail.isRead === (term.state === "read")
        : mail.mail.mode === term.state
  }
}

/** Whether a mail fits all parts. A query without parts finds every mail. */
export const matchesMail = (mail: CapturedMail, terms: ReadonlyArray<MailTerm>): boolean =>
  terms.every((term) => fits(mail, term) !== term.isExcluded)

const refused = (message: string) => Result.fail(new QueryRefused({ message }))

const isOneOf = <A extends string>(all: ReadonlyArray<A>, word: string): word is A => all.some((one) => one === word)

/** A day of UTC, or a moment with its zone. */
const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/i

/** The part that a field and its value make; undefined if the word before the colon is no field. */
const fieldTerm = (
  name: string,
  value: string,
  isExcluded: boolean
): Result.Result<MailTerm, QueryRefused> | undefined => {
  if (name === "is")
    return isOneOf(states, value)
      ? Result.succeed({ _tag: "State", state: value, isExcluded })
      : refused(`'is:' takes ${states.join(", ")}; it has '${value}'.`)
  if (name === "has")
    return value === "attachment" || value === "attachments"
      ? Result.succeed({ _tag: "Attachment", isExcluded })
      : refused(`'has:' takes attachment; it has '${value}'.`)
  if (name === "before" || name === "after") {
    const at = dateForm.test(value) ? Date.parse(value) : Number.NaN
    return Number.isNaN(at)
      ? refused(`'${name}:' takes a day such as 2026-11-28, or a time such as 2026-11-28T09:30:00Z; it has '${value}'.`)
      : Result.succeed({ _tag: "Time", side: name, at, isExcluded })
  }
  if (name === "anywhere" || !isOneOf(textFields, name)) return undefined
  return value === ""
    ? refused(`'${name}:' needs a text behind it.`)
    : Result.succeed({ _tag: "Text", field: name, text: folded(value), isExcluded })
}

/** A minus, a field with its colon, and a text in quotes or without blanks. */
const part = /(-?)(?:([a-z]{2,10}):)?(?:"([^"]*)"|(\S+))?/iy

/** Reads a query. Words that are no field, such as the `https` of an address, are looked for as they are. */
export const parseMailQuery = (query: string): Result.Result<ReadonlyArray<MailTerm>, QueryRefused> => {
  if (query.length > maximumQueryLength) return refused(`The search is longer than ${maximumQueryLength} characters.`)
  const terms: Array<MailTerm> = []
  let at = 0
  while (at < query.length) {
    if (/\s/.test(query[at]!)) {
      at++
      continue
    }
    part.lastIndex = at
    const [whole, minus, name, quoted, bare] = part.exec(query)!
    at += whole.length
    const isExcluded = minus === "-"
    const value = quoted ?? bare ?? ""
    const made = name === undefined ? undefined : fieldTerm(name.toLowerCase(), value, isExcluded)
    if (made !== undefined && Result.isFailure(made)) return Result.fail(made.failure)
    const text = folded(name === undefined ? value : `${name}:${value}`)
    if (made !== undefined) terms.push(made.success)
    else if (text !== "") terms.push({ _tag: "Text", field: "anywhere", text, isExcluded })
    if (terms.length > maximumTerms) return refused(`The search has more than ${maximumTerms} parts.`)
  }
  return Result.succeed(terms)
}

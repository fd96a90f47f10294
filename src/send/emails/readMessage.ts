/**
 * Checks and normalizes an email from a request (docs/platform.md, 9.10). The error names the first faulty field and
 * quotes its value. No text that would end a header line passes. Pure: the time and the allowed fetches are arguments.
 */
import { Result } from "effect"
import { quote } from "../../http/parameters.ts"
import { maximumRecipients, maximumScheduleMillis, maximumSubjectLength } from "../limits.ts"
import { type Message, recipientsOf } from "../Message.ts"
import type { RiskySignal } from "../rules/admission.ts"
import { riskySignalsOf } from "../rules/content/index.ts"
import { type Address, isSimulator, readAddress } from "./addresses.ts"
import type { EmailForm } from "./forms.ts"
import { attachmentsOf, headersOf, tagsOf } from "./headersAndAttachments.ts"
import { Fault, fault, isLine } from "./readFields.ts"
import { expectedScheduleTime, scheduleTimeOf } from "./scheduleTime.ts"

/** The bounds that a request is checked against. */
export interface Checks {
  readonly mode: "live" | "test"
  /** Unix milliseconds. */
  readonly now: number
  /** The reason why nothing is fetched from an address; undefined if it is. */
  readonly pathProblem: (path: string) => string | undefined
}

/** An email that was checked, as admission and the store of contents take it. */
export interface ReadEmail {
  readonly message: Message
  readonly recipients: ReadonlyArray<string>
  readonly signals: ReadonlyArray<RiskySignal>
  /** Unix milliseconds. */
  readonly scheduledAt: number | undefined
}

const expectedAddress =
  "Expected an address: a@b.com, or Name <a@b.com>; a name with other signs than letters stands in double quotes"

const addressOf = (field: string, given: string): Address => {
  const address = readAddress(given)
  if (address === undefined) throw fault(field, given, expectedAddress)
  return address
}

const listOf = (given: string | ReadonlyArray<string> | null | undefined): ReadonlyArray<string> =>
  given == null ? [] : typeof given === "string" ? [given] : given

/** The addresses of a field. */
const addressesOf = (field: string, given: string | ReadonlyArray<string> | null | undefined): ReadonlyArray<Address> =>
  listOf(given).map((one, index) => addressOf(typeof given === "string" ? field : `${field}.${index}`, one))

const subjectOf = (subject: string): string => {
  if (!isLine(subject)) throw fault("subject", subject, "Expected one line of text, without controls")
  // A text has at most as many code points as units.
  if (subject.length > maximumSubjectLength && [...subject].length > maximumSubjectLength)
    throw fault("subject", subject, `Expected at most ${maximumSubjectLength} characters`)
  return subject
}

/** A body, in which lines may end. */
const bodyOf = (field: "html" | "text", given: string | null | undefined): string | null => {
  if (given == null) return null
  if (!given.isWellFormed() || given.includes("\0")) throw fault(field, given, "Expected text without NUL characters")
  return given
}

const scheduleOf = (given: string, now: number): number => {
  const time = scheduleTimeOf(given, now)
  if (time === undefined) throw fault("scheduled_at", given, expectedScheduleTime)
  if (time > now + maximumScheduleMillis) throw fault("scheduled_at", given, "Expected a time at most 30 days ahead")
  return time
}

const recipients = (form: EmailForm, { mode }: Checks) => {
  const [to, cc, bcc] = [addressesOf("to", form.to), addressesOf("cc", form.cc), addressesOf("bcc", form.bcc)]
  if (to.length === 0) throw new Fault("Invalid field 'to'. Expected at least one address.")
  const all = [...to, ...cc, ...bcc]
  if (all.length > maximumRecipients)
    throw new Fault(
      `Expected at most ${maximumRecipients} addresses in 'to', 'cc' and 'bcc'; ${all.length} were given.`
    )
  const simulator = mode === "live" ? all.find(isSimulator) : undefined
  if (simulator !== undefined)
    throw new Fault(`The address ${quote(simulator.text)} is for test keys: it acts out what becomes of an email.`)
  const texts = (addresses: ReadonlyArray<Address>) => addresses.map(({ text }) => text)
  return { to: texts(to), cc: texts(cc), bcc: texts(bcc) }
}

const read = (form: EmailForm, checks: Checks): ReadEmail => {
  const from = addressOf("from", form.from)
  const { bcc, cc, to } = recipients(form, checks)
  const replyTo = addressesOf("reply_to", form.reply_to).map(({ text }) => text)
  if (replyTo.length > maximumRecipients)
    throw new Fault(`Expected at most ${maximumRecipients} addresses in 'reply_to'; ${replyTo.length} were given.`)
  const subject = subjectOf(form.subject)
  const html = bodyOf("html", form.html)
  const text = bodyOf("text", form.text)
  if (html === null && text === null) throw new Fault("Missing required field 'html' or 'text'.")
  const message: Message = {
    from: from.text,
    to,
    cc,
    bcc,
    replyTo,
    subject,
    html,
    text,
    headers: headersOf(form.headers),
    tags: tagsOf(form.tags),
    attachments: attachmentsOf(form.attachments, checks.pathProblem)
  }
  return {
    message,
    recipients: recipientsOf(message),
    signals: riskySignalsOf({ senderDomain: from.domain, subject, html, text }),
    scheduledAt: form.scheduled_at == null ? undefined : scheduleOf(form.scheduled_at, checks.now)
  }
}

const attempt = <A>(readIt: () => A): Result.Result<A, string> => {
  try {
    return Result.succeed(readIt())
  } catch (error) {
    if (error instanceof Fault) return Result.fail(error.message)
    throw error
  }
}

/** Reads an email; fails with the sentence for the caller. */
export const readEmail = (form: EmailForm, checks: Checks): Result.Result<ReadEmail, string> =>
  attempt(() => read(form, checks))

/** Reads a time of `scheduled_at`, in Unix milliseconds; fails with the sentence for the caller. */
export const readTime = (given: string, now: number): Result.Result<number, string> =>
  attempt(() => scheduleOf(given, now))

/** Reads the emails of a batch; the fault of one names it by its place, from 0. */
export const readEmails = (
  forms: ReadonlyArray<EmailForm>,
  checks: Checks
): Result.Result<ReadonlyArray<ReadEmail>, string> => {
  const emails: Array<ReadEmail> = []
  for (const [index, form] of forms.entries()) {
    const email = readEmail(form, checks)
    if (Result.isFailure(email)) return Result.fail(`Email ${index}: ${email.failure}`)
    emails.push(email.success)
  }
  return Result.succeed(emails)
}

/** Writes the platform's own mails to an organization's contact (docs/handoff.md, 4). */
import { Clock, Effect } from "effect"
import type { JobOutcome, TakenJob } from "../../postgres/WorkQueue.ts"
import type { Message } from "../Message.ts"
import { deliver, settledAs } from "./attemptMail.ts"
import type { MailAttempts } from "./emails.ts"
import type { HandoffContext } from "./HandoffContext.ts"
import { decodeNotice, type Notice } from "./jobs.ts"
import { plainAddress } from "./MailTransport.ts"
import { partsOf } from "./reports.ts"

const accountReasons: Readonly<Record<string, string>> = {
  bounces: "too many of its first emails bounced",
  complaint: "a recipient complained about one of its first emails",
  spike: "it sent far more within an hour than before",
  risky_content: "its emails looked like attempts to deceive their recipients"
}

const textOf = (
  notice: Exclude<Notice, { readonly _tag: "Mail" }>,
  name: string
): { readonly subject: string; readonly text: string } => {
  const at = new Date(notice.at).toISOString()
  if (notice._tag === "AccountPaused") {
    const reason = accountReasons[notice.reason] ?? notice.reason
    const which = notice.mode === "test" ? "test sending" : "sending"
    return {
      subject: `Email ${which} of ${name} is paused`,
      text: `Email ${which} of ${name} was paused at ${at}, because ${reason}.\n\nMail that was accepted and is not handed over yet is held, and new requests are refused. Please contact support, who can lift the pause.\n`
    }
  }
  const reason = notice.reason === "gone" ? "it answered 410 Gone" : "its deliveries failed again and again"
  return {
    subject: `A webhook endpoint of ${name} is paused`,
    text: `The ${notice.livemode ? "" : "test "}webhook endpoint ${notice.endpoint} (${notice.url}) was paused at ${at}, because ${reason}.\n\nNothing is lost: its events wait. Repair the endpoint, then unpause it.\n`
  }
}

/** A plain mail. */
export const noticeMessage = (
  from: string,
  to: string,
  said: { readonly subject: string; readonly text: string }
): Message => ({
  from,
  to: [to],
  cc: [],
  bcc: [],
  replyTo: [],
  ...said,
  html: null,
  headers: {},
  tags: [],
  attachments: []
})

/** The notice to send, and its mail; null without a reader, or with nothing left to read. */
const mailOf = Effect.fnUntraced(function* (parts: HandoffContext, organization: string, notice: Notice) {
  if (notice._tag === "Mail") {
    const [message = null] = yield* parts.contents.read(organization, [notice.pointer])
    return message === null ? null : { message, mode: notice.mode }
  }
  const contact = yield* parts.contactOf(organization)
  if (contact === null) return null
  // A name is the customer's own text, and a subject is one line.
  const said = textOf(notice, contact.name.replace(/\s+/g, " ").trim())
  return { message: noticeMessage(parts.settings.noticesFrom, contact.email, said), mode: "live" as const }
})

const handOverNotice = Effect.fnUntraced(function* (parts: HandoffContext, organization: string, job: TakenJob) {
  const { attempt, id } = job
  const notice = decodeNotice(job.payload)
  if (notice._tag === "None")
    return { _tag: "Parked", id, attempt, error: "the job cannot be read" } satisfies JobOutcome
  const found = yield* mailOf(parts, organization, notice.value)
  if (found === null) {
    yield* Effect.logInfo(
      `${organization} is not told of ${notice.value._tag}: nobody is there to be told, or it is too late`
    )
    return { _tag: "Done", id, attempt } satisfies JobOutcome
  }
  const { message, mode } = found
  const transport = parts.transport[mode]
  const mail = { id: id.replaceAll("/", "-"), organization, mode, message, acceptedAt: notice.value.at }
  const envelope = { from: plainAddress(message.from), to: message.to.map(plainAddress) }
  const answer = yield* deliver(parts, transport, job, mail, envelope)
  // It has one recipient, and nothing to fetch.
  const [part] = answer._tag === "Failed" ? [] : partsOf(message.to, answer)
  if (part === undefined || part.answer._tag === "Waits")
    return yield* settledAs(job, part === undefined ? [] : [part.answer], { waitMillis: parts.settings.troubleMillis })
  const now = yield* Clock.currentTimeMillis
  if (answer._tag === "Accepted") parts.metrics.latency(now - notice.value.at)
  parts.metrics.outcome(
    answer._tag === "Accepted" ? "handed_over" : answer._tag === "Permanent" ? "refused" : "delayed",
    transport.kind,
    "notices"
  )
  if (answer._tag === "Permanent")
    yield* Effect.logWarning(`the notice ${id} was refused: ${answer.code} ${answer.reason}`)
  return yield* settledAs(job, [part.answer], { waitMillis: parts.settings.troubleMillis })
})

/** Notices ask nobody whether they may go. */
export const beginNotices = (
  parts: HandoffContext,
  organization: string,
  jobs: ReadonlyArray<TakenJob>
): Effect.Effect<MailAttempts> =>
  Effect.succeed({
    outcomes: [],
    isPaused: false,
    going: jobs.map((job) => ({
      job,
      attempt: Effect.map(handOverNotice(parts, organization, job), (outcome) => ({ job, reports: [], outcome }))
    }))
  })

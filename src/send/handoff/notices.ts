/** What the platform itself writes to an organization's contact (docs/handoff.md, 4). */
import { Clock, Effect } from "effect"
import type { Outcome, TakenJob } from "../../postgres/WorkQueue.ts"
import { bareAddress } from "../actors/names.ts"
import type { Message } from "../message/Message.ts"
import { deliver, settledAs } from "./delivering.ts"
import { decodeNotice, type Notice } from "./jobs.ts"
import type { HandoffParts } from "./parts.ts"

const accountReasons: Readonly<Record<string, string>> = {
  bounces: "too many of its first emails bounced",
  complaint: "a recipient complained about one of its first emails",
  spike: "it sent far more within an hour than before",
  risky_content: "its emails looked like attempts to deceive their recipients"
}

const textOf = (notice: Notice, name: string): { readonly subject: string; readonly text: string } => {
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

const messageOf = (notice: Notice, from: string, to: string, name: string): Message => ({
  from,
  to: [to],
  cc: [],
  bcc: [],
  replyTo: [],
  // A name is the customer's own text, and a subject is one line.
  ...textOf(notice, name.replace(/\s+/g, " ").trim()),
  html: null,
  headers: {},
  tags: [],
  attachments: []
})

const handOverNotice = Effect.fnUntraced(function* (parts: HandoffParts, organization: string, job: TakenJob) {
  const { attempt, id } = job
  const notice = decodeNotice(job.payload)
  if (notice._tag === "None") return { _tag: "Parked", id, attempt, error: "the job cannot be read" } satisfies Outcome
  const contact = yield* parts.contactOf(organization)
  if (contact === null) {
    yield* Effect.logInfo(`${organization} has no contact to be told of ${notice.value._tag}`)
    return { _tag: "Done", id, attempt } satisfies Outcome
  }
  const transport = parts.transport.live
  const message = messageOf(notice.value, parts.settings.noticesFrom, contact.email, contact.name)
  const mail = {
    id: id.replaceAll("/", "-"),
    organization,
    mode: "live",
    message,
    acceptedAt: notice.value.at
  } as const
  const envelope = { from: bareAddress(message.from), to: [bareAddress(contact.email)] }
  const answer = yield* deliver(parts, transport, job, mail, envelope)
  const now = yield* Clock.currentTimeMillis
  if (answer._tag === "Accepted") parts.metrics.latency(now - notice.value.at)
  parts.metrics.outcome(
    answer._tag === "Accepted" ? "handed_over" : answer._tag === "Permanent" ? "refused" : "delayed",
    transport.kind,
    "notices"
  )
  if (answer._tag === "Permanent")
    yield* Effect.logWarning(`the notice ${id} was refused: ${answer.code} ${answer.reason}`)
  return yield* settledAs(job, answer)
})

export const handOverNotices = (parts: HandoffParts, organization: string, jobs: ReadonlyArray<TakenJob>) =>
  Effect.map(
    Effect.forEach(jobs, (job) => handOverNotice(parts, organization, job), { concurrency: "unbounded" }),
    (outcomes) => ({ outcomes, isPaused: false })
  )

/**
 * The emails of an account, a batch at a time (docs/handoff.md, 2): the account says which may go, the transport takes them, the account is told. Each step may be the
 * last one before a crash: what the account has recorded is not handed over again, and what it has not is looked at again.
 */
import { Clock, Effect, Schedule } from "effect"
import type { Outcome, TakenJob } from "../../postgres/WorkQueue.ts"
import { type EmailReport, type EmailState, type Mode, SendAccount, SendEmail, suppressedOf } from "../actors/index.ts"
import { bareAddress } from "../actors/names.ts"
import { type Message, recipientsOf } from "../message/Message.ts"
import type { HandoffAnswer } from "../transport/MailTransport.ts"
import { deliver, returned, settledAs } from "./delivering.ts"
import { decodeEmailJob, type EmailJob, handoffLanes } from "./jobs.ts"
import { pausedLookMillis } from "./limits.ts"
import type { HandoffParts } from "./parts.ts"
import { type Handed, isLast, reportsOf, simulatedOf } from "./reports.ts"

/** What a batch of emails has come to. */
export interface BatchResult {
  readonly outcomes: ReadonlyArray<Outcome>
  /** Whether some of them wait for the end of a pause. */
  readonly isPaused: boolean
}

interface Taken {
  readonly job: TakenJob
  readonly email: EmailJob
  readonly state: EmailState
  readonly message: Message | null
}

/** Asked for in place of the recipients of a content that is gone: it is on nobody's list. */
const nobody = ["nobody@nowhere.invalid"]

const reportRetries = { schedule: Schedule.exponential("100 millis"), times: 3 } as const

/** Reads where the emails are and what they say. */
const lookAt = Effect.fnUntraced(function* (
  { asks, contents }: HandoffParts,
  organization: string,
  jobs: ReadonlyArray<{ readonly job: TakenJob; readonly email: EmailJob }>
) {
  const states = yield* Effect.forEach(jobs, ({ email }) => asks.state(organization, SendEmail, email.email), {
    concurrency: "unbounded"
  })
  const messages = yield* contents.read(
    organization,
    jobs.map(({ email }) => email.pointer)
  )
  return jobs.map((one, index): Taken => ({ ...one, state: states[index]!, message: messages[index] ?? null }))
})

/** Reports of one command: with long lists of recipients more of them do not fit a decision. */
const reportsAtOnce = 25

/** Tells the account. What is told twice counts once. */
const tell = (
  { asks }: HandoffParts,
  organization: string,
  mode: Mode,
  reports: ReadonlyArray<EmailReport>
): Effect.Effect<void, unknown> =>
  Effect.forEach(
    Array.from({ length: Math.ceil(reports.length / reportsAtOnce) }, (_, at) =>
      reports.slice(at * reportsAtOnce, (at + 1) * reportsAtOnce)
    ),
    (some) => Effect.retry(asks.ask(organization, SendAccount, mode, { _tag: "Report", reports: some }), reportRetries),
    { discard: true }
  )

const handedOf = ({ email, message, state }: Taken, recipients: ReadonlyArray<string>): Handed | undefined =>
  message === null ? undefined : { id: email.email, sender: state.sender, mode: state.mode, message, recipients }

/** Whether the account has recorded already what became of the email, so that its job is over. */
const isOver = ({ state }: EmailState): boolean => state !== "queued" && state !== "held" && state !== "sending"

/** The email's attempt, and what is to be told of it. */
const attempt = Effect.fnUntraced(function* (
  parts: HandoffParts,
  organization: string,
  one: Taken,
  recipients: ReadonlyArray<string>
) {
  const { email, job, message, state } = one
  const about = { id: email.email, sender: state.sender }
  const failed = (reason: string) => {
    const reports: ReadonlyArray<EmailReport> = [{ ...about, what: "failed", reason }]
    return { job, reports, outcome: { _tag: "Done", id: job.id, attempt: job.attempt } satisfies Outcome }
  }
  const handed = handedOf(one, recipients)
  if (message === null || handed === undefined) return failed("its content is not kept any more")
  if (recipients.length === 0) return failed("all of its recipients are suppressed")
  const transport = parts.transport[state.mode]
  const mail = { id: email.email, organization, mode: state.mode, message, acceptedAt: email.acceptedAt }
  const envelope = { from: bareAddress(message.from), to: [...new Set(recipients.map((one) => bareAddress(one)))] }
  const answer = yield* deliver(parts, transport, job, mail, envelope)
  yield* count(parts, one, transport.kind, answer)
  return { job, reports: reportsOf(handed, answer, job.attempt), outcome: yield* settledAs(job, answer) }
})

const count = ({ metrics }: HandoffParts, { email, job, state }: Taken, kind: string, answer: HandoffAnswer) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    if (answer._tag === "Accepted") {
      metrics.outcome("handed_over", kind, state.mode)
      metrics.latency(now - email.acceptedAt)
    } else if (answer._tag === "Permanent") metrics.outcome("refused", kind, state.mode)
    else metrics.outcome(isLast(job.attempt) ? "expired" : "delayed", kind, state.mode)
  })

/** Hands the emails of an account over. Fails where the account, the contents or the engine cannot be reached; then nothing is known of any job. */
export const handOverEmails = Effect.fnUntraced(function* (
  parts: HandoffParts,
  organization: string,
  mode: Mode,
  jobs: ReadonlyArray<TakenJob>
) {
  const outcomes: Array<Outcome> = []
  const readable: Array<{ readonly job: TakenJob; readonly email: EmailJob }> = []
  for (const job of jobs) {
    const email = decodeEmailJob(job.payload)
    if (email._tag === "Some") readable.push({ job, email: email.value })
    else outcomes.push({ _tag: "Parked", id: job.id, attempt: job.attempt, error: "the job cannot be read" })
  }
  const taken = yield* lookAt(parts, organization, readable)
  const over = taken.filter(({ state }) => isOver(state))
  // Its simulated recipients may not have answered before a crash.
  const left = over.flatMap((one) => {
    const handed =
      one.state.state === "sent" && one.message !== null ? handedOf(one, recipientsOf(one.message)) : undefined
    return handed === undefined ? [] : simulatedOf(handed)
  })
  yield* tell(parts, organization, mode, left)
  for (const { job } of over) outcomes.push({ _tag: "Done", id: job.id, attempt: job.attempt })
  const asked = taken.filter(({ state }) => !isOver(state))
  if (asked.length === 0) return { outcomes, isPaused: false } satisfies BatchResult
  const allOf = ({ message }: Taken) => (message === null ? nobody : recipientsOf(message))
  const { account, emails } = yield* parts.asks.ask(organization, SendAccount, mode, {
    _tag: "Dispatch",
    emails: asked.map((one) => ({ id: one.email.email, sender: one.state.sender, recipients: [...allOf(one)] }))
  })
  const now = yield* Clock.currentTimeMillis
  const isPaused = account.trustStage === "sending_paused"
  const attempts: Array<ReturnType<typeof attempt>> = []
  let waits = false
  for (const [index, one] of asked.entries()) {
    const { job } = one
    const answer = emails[index]
    if (answer?.state === "sending") {
      const out = new Set(suppressedOf(allOf(one), answer))
      attempts.push(
        attempt(
          parts,
          organization,
          one,
          allOf(one).filter((recipient) => !out.has(recipient))
        )
      )
    } else if (answer?.state !== "held") outcomes.push({ _tag: "Done", id: job.id, attempt: job.attempt })
    else if (isPaused) {
      waits = true
      outcomes.push(returned(job, now + pausedLookMillis, handoffLanes.paused))
    } else outcomes.push(returned(job, now + parts.settings.troubleMillis))
  }
  const going = yield* Effect.all(attempts, { concurrency: "unbounded" })
  yield* tell(
    parts,
    organization,
    mode,
    going.flatMap(({ reports }) => reports)
  )
  for (const { job, outcome } of going) {
    parts.unrecorded.delete(job.id)
    outcomes.push(outcome)
  }
  return { outcomes, isPaused: waits } satisfies BatchResult
})

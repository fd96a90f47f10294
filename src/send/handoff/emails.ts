/**
 * The emails of an account (docs/handoff.md, 2): the account decides which of the taken emails may go, the transport takes each by itself, and the account gets the outcomes. Each
 * step may be the last one before a crash: what the account has recorded is not handed over again, and what it has not is looked at again.
 */
import { Clock, Effect, Schedule } from "effect"
import type { JobOutcome, TakenJob } from "../../postgres/WorkQueue.ts"
import { bareAddress } from "../account/actors/actorKeys.ts"
import {
  type EmailReport,
  type EmailState,
  type Mode,
  SendAccount,
  SendEmail,
  suppressedOf
} from "../account/actors/index.ts"
import { type Message, recipientsOf } from "../Message.ts"
import { deliver, isOpen, returned, settledAs } from "./attemptMail.ts"
import type { HandoffContext } from "./HandoffContext.ts"
import { decodeEmailJob, type EmailJob, encodeEmailJob, handoffLanes, type SettledRecipient } from "./jobs.ts"
import { pausedLookMillis } from "./limits.ts"
import type { MailJob } from "./MailTasks.ts"
import { type HandoffAnswer, plainAddress } from "./MailTransport.ts"
import { failureOf, type HandedMail, isLast, partsOf, type RecipientAnswer, reportsOf, simulatedOf } from "./reports.ts"

/** The result of an attempt. */
export interface MailResult {
  readonly job: TakenJob
  readonly reports: ReadonlyArray<EmailReport>
  readonly outcome: JobOutcome
  /** Keeps the job with what is known of some recipients, before the account gets the outcomes: an email with an outcome is not handed over again. */
  readonly note?: JobOutcome | undefined
}

/** An attempt that may be made. */
export interface MailAttempt {
  readonly job: TakenJob
  readonly attempt: Effect.Effect<MailResult, unknown>
}

/** The fate of mails that were taken together. */
export interface MailAttempts {
  /** Of those that do not go. */
  readonly outcomes: ReadonlyArray<JobOutcome>
  /** Whether some of them wait for the end of a pause. */
  readonly isPaused: boolean
  /** Each by itself: none waits for another one's answer. */
  readonly going: ReadonlyArray<MailAttempt>
}

interface Taken {
  readonly job: TakenJob
  readonly email: EmailJob
  readonly state: Pick<EmailState, "state" | "mode" | "sender">
  readonly message: Message | null
}

/** Asked for in place of the recipients of a content that is gone: it is on nobody's list. */
const nobody = ["nobody@nowhere.invalid"]

const reportRetries = { schedule: Schedule.exponential("100 millis"), times: 3 } as const

/** Reads where the emails are and what they say. */
const lookAt = Effect.fnUntraced(function* (
  { asks, contents }: HandoffContext,
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

/** Reports to the account. A report that comes twice counts once. */
const tell = (
  { asks }: HandoffContext,
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

const handedOf = ({ email, message, state }: Taken, recipients: ReadonlyArray<string>): HandedMail | undefined =>
  message === null ? undefined : { id: email.email, sender: state.sender, mode: state.mode, message, recipients }

/** Whether the account has recorded already what became of the email, so that its job is over. Of one that some recipients have the job itself says what is left. */
const isOver = ({ email, state: { state } }: Taken): boolean =>
  email.settled === undefined && state !== "queued" && state !== "held" && state !== "sending"

/** Characters of a refusal that the job keeps. */
const keptReasonLength = 200

/** The recipients of whom nothing is to be waited for, by their place among all of them. */
const settledOf = (message: Message, parts: ReadonlyArray<RecipientAnswer>): ReadonlyArray<SettledRecipient> => {
  const all = recipientsOf(message)
  return parts.flatMap(({ answer, recipient }): ReadonlyArray<SettledRecipient> => {
    const index = all.indexOf(recipient)
    if (answer._tag === "Accepted") return [{ index }]
    if (answer._tag !== "Permanent") return []
    const { code, isReputation = /^5\.7\./.test(code), reason } = answer
    return [{ index, refused: { code, reason: reason.slice(0, keptReasonLength), isReputation } }]
  })
}

/** The results of earlier attempts for some recipients. */
const earlierParts = ({ settled = [] }: EmailJob, message: Message): ReadonlyArray<RecipientAnswer> => {
  const all = recipientsOf(message)
  return settled.flatMap(({ index, refused }): ReadonlyArray<RecipientAnswer> => {
    const recipient = all[index]
    if (recipient === undefined) return []
    return [{ recipient, answer: refused === undefined ? { _tag: "Accepted" } : { _tag: "Permanent", ...refused } }]
  })
}

/** One envelope address for each recipient, however often the email names it. */
const envelopeTo = (recipients: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Map(recipients.map((one) => [bareAddress(one), plainAddress(one)])).values()
]

/** The email's attempt, and what is to be told of it. */
const attempt = Effect.fnUntraced(function* (
  parts: HandoffContext,
  organization: string,
  one: Taken,
  recipients: ReadonlyArray<string>
) {
  const { email, job, message, state } = one
  const about = { id: email.email, sender: state.sender }
  const over = { _tag: "Done", id: job.id, attempt: job.attempt } as const
  const failed = (reason: string): MailResult => ({
    job,
    reports: [{ ...about, what: "failed", reason }],
    outcome: over
  })
  const handed = handedOf(one, recipients)
  if (message === null || handed === undefined) return failed("its content is not kept any more")
  const earlier = earlierParts(email, message)
  const left = recipients.filter((recipient) => !earlier.some((part) => part.recipient === recipient))
  if (left.length === 0)
    return earlier.length === 0
      ? failed("all of its recipients are suppressed")
      : ({ job, reports: reportsOf(handed, earlier, job.attempt), outcome: over } satisfies MailResult)
  const transport = parts.transport[state.mode]
  const mail = { id: email.email, organization, mode: state.mode, message, acceptedAt: email.acceptedAt }
  const envelope = { from: plainAddress(message.from), to: envelopeTo(left) }
  const answer = yield* deliver(parts, transport, job, mail, envelope)
  yield* count(parts, one, transport.kind, answer)
  yield* parts.alert(organization, state.mode, answer)
  if (answer._tag === "Failed") return { job, reports: [failureOf(handed, answer)], outcome: over } satisfies MailResult
  return yield* attempted(parts, one, handed, earlier, partsOf(left, answer))
})

/** The results after an attempt of the recipients that were left. */
const attempted = Effect.fnUntraced(function* (
  { metrics, settings }: HandoffContext,
  { email, job }: Taken,
  handed: HandedMail,
  earlier: ReadonlyArray<RecipientAnswer>,
  now: ReadonlyArray<RecipientAnswer>
) {
  const all = [...earlier, ...now]
  const reports = reportsOf(handed, all, job.attempt)
  if (handed.mode === "live") metrics.bounces(reportsOf(handed, now, job.attempt))
  const answers = now.map(({ answer }) => answer)
  const isNoted = answers.some((answer) => !isOpen(answer)) && (earlier.length > 0 || answers.some(isOpen))
  const { refusals = 0 } = email
  const isRefused = answers.some(({ _tag }) => _tag === "Account")
  const known: EmailJob = {
    ...email,
    ...(isNoted ? { settled: settledOf(handed.message, all) } : {}),
    ...(isRefused ? { refusals: refusals + 1 } : {})
  }
  const payload = isNoted || isRefused ? encodeEmailJob(known) : undefined
  const outcome = yield* settledAs(job, answers, { waitMillis: settings.troubleMillis, refusals, payload })
  if (payload === undefined || !isNoted) return { job, reports, outcome } satisfies MailResult
  const dueAt = (yield* Clock.currentTimeMillis) + settings.leaseMillis
  const note = { _tag: "Again", id: job.id, attempt: job.attempt, dueAt, lane: job.lane, payload } as const
  return { job, reports, outcome, note } satisfies MailResult
})

const count = ({ metrics }: HandoffContext, { email, job, state }: Taken, kind: string, answer: HandoffAnswer) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const tags = answer._tag === "Parted" ? answer.parts.map((part) => part.answer._tag) : [answer._tag]
    if (tags.includes("Accepted")) {
      metrics.outcome("handed_over", kind, state.mode)
      metrics.latency(now - email.acceptedAt)
    } else if (tags.includes("Permanent")) metrics.outcome("refused", kind, state.mode)
    else if (tags.includes("Failed")) metrics.outcome("failed", kind, state.mode)
    else if (tags.includes("Unknown")) metrics.outcome("unknown", kind, state.mode)
    else if (tags.includes("Account")) metrics.outcome("account", kind, state.mode)
    else if (tags.includes("Temporary")) metrics.outcome(isLast(job.attempt) ? "expired" : "delayed", kind, state.mode)
  })

/** Every recipient of a mail, or nobody where its content is gone. */
const allOf = ({ message }: Taken): ReadonlyArray<string> => (message === null ? nobody : recipientsOf(message))

/** The attempt of a mail at those of its recipients that are not suppressed. */
const attemptOf = (
  parts: HandoffContext,
  organization: string,
  one: Taken,
  answer: Parameters<typeof suppressedOf>[1]
): MailAttempt => {
  const out = new Set(suppressedOf(allOf(one), answer))
  const recipients = allOf(one).filter((recipient) => !out.has(recipient))
  return { job: one.job, attempt: attempt(parts, organization, one, recipients) }
}

/** Begins emails whose admission has given them the right to go. */
const beginDirect = Effect.fnUntraced(function* (
  parts: HandoffContext,
  organization: string,
  mode: Mode,
  jobs: ReadonlyArray<MailJob>
) {
  const direct = jobs.flatMap((job) => (job.direct === undefined ? [] : [{ job, direct: job.direct }]))
  if (direct.length === 0) return []
  const pointers = direct.map(({ direct: { email } }) => email.pointer)
  const messages = yield* parts.contents.read(organization, pointers)
  return direct.map(({ direct: { email, sender, suppressed }, job }, index) => {
    const one: Taken = { job, email, state: { state: "sending", mode, sender }, message: messages[index] ?? null }
    return attemptOf(parts, organization, one, { suppressed })
  })
})

/** Asks which emails of an account may go. Fails where the account, the contents or the engine cannot be reached; then nothing is known of any job. */
export const beginEmails = Effect.fnUntraced(function* (
  parts: HandoffContext,
  organization: string,
  mode: Mode,
  jobs: ReadonlyArray<MailJob>
) {
  const going: Array<MailAttempt> = [...(yield* beginDirect(parts, organization, mode, jobs))]
  const outcomes: Array<JobOutcome> = []
  const readable: Array<{ readonly job: TakenJob; readonly email: EmailJob }> = []
  for (const job of jobs) {
    if (job.direct !== undefined) continue
    const email = decodeEmailJob(job.payload)
    if (email._tag === "Some") readable.push({ job, email: email.value })
    else outcomes.push({ _tag: "Parked", id: job.id, attempt: job.attempt, error: "the job cannot be read" })
  }
  if (readable.length === 0) return { outcomes, isPaused: false, going } satisfies MailAttempts
  const taken = yield* lookAt(parts, organization, readable)
  const over = taken.filter(isOver)
  // Its simulated recipients may not have answered before a crash.
  const left = over.flatMap((one) => {
    const handed =
      one.state.state === "sent" && one.message !== null ? handedOf(one, recipientsOf(one.message)) : undefined
    return handed === undefined ? [] : simulatedOf(handed)
  })
  yield* tell(parts, organization, mode, left)
  for (const { job } of over) outcomes.push({ _tag: "Done", id: job.id, attempt: job.attempt })
  const asked = taken.filter((one) => !isOver(one))
  if (asked.length === 0) return { outcomes, isPaused: false, going } satisfies MailAttempts
  const { account, emails } = yield* parts.asks.ask(organization, SendAccount, mode, {
    _tag: "Dispatch",
    emails: asked.map((one) => ({ id: one.email.email, sender: one.state.sender, recipients: [...allOf(one)] }))
  })
  const now = yield* Clock.currentTimeMillis
  const isPaused = account.trustStage === "sending_paused"
  let waits = false
  for (const [index, one] of asked.entries()) {
    const { job } = one
    const answer = emails[index]
    const goesOn = one.email.settled !== undefined && answer !== undefined && answer.state !== "none"
    if (answer !== undefined && (answer.state === "sending" || goesOn))
      going.push(attemptOf(parts, organization, one, answer))
    else if (answer?.state !== "held") outcomes.push({ _tag: "Done", id: job.id, attempt: job.attempt })
    else if (isPaused) {
      waits = true
      outcomes.push(returned(job, now + pausedLookMillis, handoffLanes.paused))
    } else outcomes.push(returned(job, now + parts.settings.troubleMillis))
  }
  return { outcomes, isPaused: waits, going } satisfies MailAttempts
})

/** Tells the account what attempts have come to, and settles their jobs. Where it fails, it is not known whether the account knows. */
export const recordEmails = Effect.fnUntraced(function* (
  parts: HandoffContext,
  organization: string,
  mode: Mode,
  ended: ReadonlyArray<MailResult>
) {
  yield* parts.note(ended.flatMap(({ note }) => note ?? []))
  yield* tell(
    parts,
    organization,
    mode,
    ended.flatMap(({ reports }) => reports)
  )
  for (const { job } of ended) parts.unrecorded.delete(job.id)
  return ended.map(({ outcome }) => outcome)
})

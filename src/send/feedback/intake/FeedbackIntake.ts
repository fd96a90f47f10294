/**
 * Accepts the reports of other mail systems that came to one of our return paths (docs/handoff.md, 6). Only the return
 * path says which email and recipient a report is about; a repeated report counts once. Needs `SqlClient`,
 * `EngineOnDemand` and `MessageContents`.
 */
import { Context, Effect, Layer, Metric, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Engine } from "../../../engine/Engine.ts"
import { EngineOnDemand } from "../../../platform/EngineOnDemand.ts"
import { bareAddress, type EmailReport, type Mode, SendAccount, SendEmail } from "../../account/actors/index.ts"
import { MessageContents } from "../../emails/contents/MessageContents.ts"
import { engineAsks } from "../../library/admissionAsks.ts"
import { type Message, recipientsOf } from "../../Message.ts"
import { ReportCounter } from "../../ReportCounter.ts"
import {
  type AbuseReport,
  type DeliveryReport,
  type Feedback,
  parseFeedback,
  type RecipientStatus,
  type VerpTarget
} from "../parse/index.ts"
import { type ReturnPathKeys, readReturnPath } from "../parse/returnPathKeys.ts"

// Maps a report of another mail system to its meaning for the recipient that its return path names (docs/handoff.md,
// 6). Pure.

/** The email and the recipient of a report. */
export interface ReportSubject {
  readonly id: string
  readonly sender: string
  readonly message: Message
  /** As the message has it. */
  readonly recipient: string
}

/** The status of the recipient. Where its address leads to others, one of them says nothing of it. */
const statusFor = ({ recipients }: DeliveryReport, recipient: string): RecipientStatus | undefined => {
  const bare = bareAddress(recipient)
  const own = recipients.find((one) =>
    [one.recipient, one.originalRecipient].some((address) => address !== null && bareAddress(address) === bare)
  )
  return own ?? (recipients.length === 1 ? recipients[0] : undefined)
}

const ofDelivery = (about: ReportSubject, report: DeliveryReport): EmailReport | undefined => {
  const { id, message, recipient, sender } = about
  const found = statusFor(report, recipient)
  if (found === undefined) return undefined
  const { action, answer, reason, status } = found
  const said = { id, sender, recipient, from: message.from, subject: message.subject, code: status }
  const words = reason === null ? {} : { reason }
  // Passed on to a system that reports nothing, or to several recipients, so nothing more is known.
  if (action === "delivered") return { ...said, ...words, what: "delivered" }
  if (action !== "failed") return undefined
  // A report that is not about the address counts nowhere and suppresses nothing.
  return answer === "permanent"
    ? { ...said, ...words, what: "bounced", kind: "permanent" }
    : { ...said, ...words, what: "bounced", kind: answer, suppresses: false, counts: false }
}

const ofAbuse = ({ id, message, recipient, sender }: ReportSubject, report: AbuseReport): EmailReport | undefined =>
  report.isComplaint
    ? { id, sender, recipient, from: message.from, subject: message.subject, what: "complained", kind: report.type }
    : undefined

/** The report for the account; undefined where it says nothing that counts. */
export const reportOf = (about: ReportSubject, feedback: Feedback): EmailReport | undefined =>
  feedback._tag === "DeliveryReport" ? ofDelivery(about, feedback) : ofAbuse(about, feedback)

/**
 * The kind of a mail: `taken`, counted now or before; `silent`, a report that says nothing that counts; `late`, of an
 * email that is not kept any more; `none`, no report.
 */
export const intakeOutcomes = ["taken", "silent", "late", "none", "stray"] as const
/** `stray`: it came to no return path of ours, and has none in it. */
export type IntakeOutcome = (typeof intakeOutcomes)[number]

/** A server is away. Retryable: nothing was counted, or it is counted once in the end. */
export class IntakeUnavailable extends Schema.TaggedError<IntakeUnavailable>()("IntakeUnavailable", {
  message: Schema.String
}) {}

export class FeedbackIntake extends Context.Service<
  FeedbackIntake,
  {
    /** Reads an address; null if it is no return path of ours. */
    readonly targetOf: (address: string) => VerpTarget | null
    /**
     * Takes in a mail, as it came over the wire, that was sent to these return paths; to none where it came to the
     * address of a feedback loop.
     */
    readonly take: (
      raw: Uint8Array,
      targets: ReadonlyArray<VerpTarget>
    ) => Effect.Effect<IntakeOutcome, IntakeUnavailable>
    /** The same for a mail in a file: its own headers say where it was sent. */
    readonly takeFile: (raw: Uint8Array) => Effect.Effect<IntakeOutcome, IntakeUnavailable>
  }
>()("sluice/send/FeedbackIntake") {
  static readonly layer = (
    keys: ReturnPathKeys
  ): Layer.Layer<FeedbackIntake, never, SqlClient.SqlClient | EngineOnDemand | MessageContents> =>
    Layer.effect(FeedbackIntake, make(keys))

  /** For processes without a platform. */
  static readonly layerNone: Layer.Layer<FeedbackIntake> = Layer.sync(FeedbackIntake, () => {
    const none = Effect.fail(
      new IntakeUnavailable({ message: "no platform is running here that counts reports; start it first" })
    )
    return FeedbackIntake.of({ targetOf: () => null, take: () => none, takeFile: () => none })
  })
}

interface Row {
  readonly organization: string
  readonly mode: Mode
  readonly pointer: string
}

const away = (cause: unknown) =>
  new IntakeUnavailable({ message: `the report was not counted: ${cause instanceof Error ? cause.message : cause}` })

const make = Effect.fnUntraced(function* (keys: ReturnPathKeys) {
  const sql = yield* SqlClient.SqlClient
  const started = yield* EngineOnDemand
  const contents = yield* MessageContents
  const context = yield* Effect.context<never>()

  const reported = new ReportCounter("feedback", context)
  const came = (outcome: IntakeOutcome, mails: number): void =>
    Metric.counter("sluice_send_feedback_total", {
      description: "Mails that came to return paths or were imported, by what became of them",
      incremental: true,
      attributes: { outcome }
    }).updateUnsafe(mails, context)
  for (const outcome of intakeOutcomes) came(outcome, 0)

  const counted = (outcome: IntakeOutcome): IntakeOutcome => {
    came(outcome, 1)
    return outcome
  }

  /** Tells the account of one report. */
  const report = Effect.fnUntraced(function* ({ emailId, recipientIndex }: VerpTarget, feedback: Feedback) {
    const [row] = yield* sql<Row>`
      select organization_id as organization, mode, pointer from send_emails where id = ${emailId}`
    if (row === undefined) return "late"
    const [message = null] = yield* contents.read(row.organization, [row.pointer])
    const recipient = message === null ? undefined : recipientsOf(message)[recipientIndex]
    if (message === null || recipient === undefined) return "late"
    const asks = yield* Effect.provideService(engineAsks({}), Engine, yield* started)
    const { sender } = yield* asks.state(row.organization, SendEmail, emailId)
    const told = reportOf({ id: emailId, sender, message, recipient }, feedback)
    if (told === undefined) return "silent"
    yield* asks.ask(row.organization, SendAccount, row.mode, { _tag: "Report", reports: [told] })
    reported.count(told)
    return "taken"
  })

  /** The emails that these addresses name, each once. */
  const targetsIn = (addresses: ReadonlyArray<string>): ReadonlyArray<VerpTarget> => {
    const found = addresses.flatMap((address) => readReturnPath(address, keys) ?? [])
    return [...new Map(found.map((one) => [`${one.emailId} ${one.recipientIndex}`, one])).values()]
  }

  /** The recipient address says what a report is about, or else a return path inside it: nobody can forge one. */
  const takeAll = (
    feedback: Feedback | null,
    targets: ReadonlyArray<VerpTarget>
  ): Effect.Effect<IntakeOutcome, IntakeUnavailable> => {
    if (feedback === null) return Effect.succeed(counted("none"))
    const meant = targets.length > 0 ? targets : targetsIn(feedback.original.returnPaths)
    if (meant.length === 0) return Effect.succeed(counted("stray"))
    return Effect.forEach(meant, (target) => report(target, feedback)).pipe(
      Effect.map((outcomes) => counted(intakeOutcomes.find((outcome) => outcomes.some((one) => one === outcome))!)),
      Effect.mapError(away)
    )
  }

  return FeedbackIntake.of({
    targetOf: (address) => readReturnPath(address, keys),
    take: Effect.fn("FeedbackIntake.take")((raw, targets) =>
      Effect.flatMap(parseFeedback(raw), (feedback) => takeAll(feedback, targets))
    ),
    takeFile: Effect.fn("FeedbackIntake.takeFile")((raw) =>
      Effect.flatMap(parseFeedback(raw), (feedback) =>
        takeAll(feedback, targetsIn(feedback?.original.reportedTo ?? []))
      )
    )
  })
})

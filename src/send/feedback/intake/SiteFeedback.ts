/**
 * Accepts reports of another mail system over HTTP (docs/platform.md, 9.17), for the emails of one organization. A
 * repeated report counts once. Needs `Engine`.
 */
import { Array as Arr, Context, Effect, Layer } from "effect"
import { Engine } from "../../../engine/Engine.ts"
import type { AskError } from "../../../engine/errors.ts"
import {
  type EmailReport,
  type EmailState,
  isAccountRejection,
  type Mode,
  modes,
  SendAccount,
  SendEmail
} from "../../account/actors/index.ts"
import { marks } from "../../account/actors/SendEmail.ts"
import { ReportCounter } from "../../ReportCounter.ts"
import { type FeedbackSignal, reportsOfSignal } from "./feedbackSignal.ts"

/**
 * The result of a report: `taken`, counted now or before; `unsent`, of an email that no mail system has got; `unknown`,
 * of none that the organization has under this id, mode and sender, or not any more.
 */
export const siteFeedbackOutcomes = ["taken", "unsent", "unknown"] as const
export type SiteFeedbackOutcome = (typeof siteFeedbackOutcomes)[number]

/** Most reports of one decision: with the longest texts their facts and events fit one frame of the log. */
const reportsAtOnce = 10

/** Emails that are looked at together. */
const looksAtOnce = 16

export class SiteFeedback extends Context.Service<
  SiteFeedback,
  {
    /**
     * Takes in reports of an organization's emails, and answers what each was, in order. After a failure some may be
     * counted; all are safe to repeat.
     */
    readonly take: (
      organizationId: string,
      reports: ReadonlyArray<FeedbackSignal>
    ) => Effect.Effect<ReadonlyArray<SiteFeedbackOutcome>, AskError>
  }
>()("sluice/send/SiteFeedback") {
  static readonly layer: Layer.Layer<SiteFeedback, never, Engine> = Layer.effect(
    SiteFeedback,
    Effect.suspend(() => make)
  )
}

/** Whether a report can count: the email is with the relay, or was. */
const hasGone = ({ marks: had, state }: EmailState): boolean =>
  state === "sending" || (had & (marks.handedOver | marks.early)) !== 0

interface Meant {
  readonly outcome: SiteFeedbackOutcome
  readonly mode: Mode
  readonly reports: ReadonlyArray<EmailReport>
}

/** The meaning of a report for the email in its present state. */
const meantBy = (signal: FeedbackSignal, email: EmailState): Meant => {
  const { mode, reports } = reportsOfSignal(signal)
  const ofSender = reports.filter(({ sender }) => sender === email.sender)
  if (email.state === "none" || email.mode !== mode || ofSender.length === 0)
    return { outcome: "unknown", mode, reports: [] }
  return hasGone(email) ? { outcome: "taken", mode, reports: ofSender } : { outcome: "unsent", mode, reports: [] }
}

const make = Effect.gen(function* () {
  const engine = yield* Engine
  const reported = new ReportCounter("feedback", yield* Effect.context<never>())

  const tell = Effect.fnUntraced(function* (organization: string, mode: Mode, reports: ReadonlyArray<EmailReport>) {
    yield* Effect.forEach(Arr.chunksOf(reports, reportsAtOnce), (some) =>
      engine.ask(SendAccount, { organization, key: mode }, { _tag: "Report", reports: some }).pipe(
        // An account refuses only more reports than these, or none.
        Effect.catchIf(isAccountRejection, Effect.die),
        Effect.tap(() =>
          Effect.sync(() => {
            for (const one of some) reported.count(one)
          })
        )
      )
    )
  })

  return SiteFeedback.of({
    take: Effect.fn("SiteFeedback.take")(function* (organization, signals) {
      const meant = yield* Effect.forEach(
        signals,
        (signal) =>
          Effect.map(engine.state(SendEmail, { organization, key: signal.id }), (email) => meantBy(signal, email)),
        { concurrency: looksAtOnce }
      )
      for (const mode of modes)
        yield* tell(
          organization,
          mode,
          meant.flatMap((one) => (one.mode === mode ? one.reports : []))
        )
      return meant.map(({ outcome }) => outcome)
    })
  })
})

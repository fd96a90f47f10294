/**
 * What a signal `signal.<organization>.feedback` means (docs/handoff.md, 6.3): another mail system, which a NATS user lets publish, says what became of an email for a
 * recipient. It ends in the same report as a bounce, and counts as often: once. Pure.
 */
import { Schema } from "effect"
import type { SignalRule } from "../../engine/shell/signalFeed.ts"
import { type EmailReport, type Mode, modes, SendAccount } from "../actors/index.ts"
import { namesOf } from "../actors/names.ts"

const text = (longest: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(longest))

const feedbackKinds = ["delivered", "bounced", "complained"] as const
const bounceKinds = ["permanent", "temporary", "reputation"] as const

/** The data of a signal, as JSON. */
export const FeedbackSignal = Schema.Struct({
  /** The email's id. */
  id: text(64),
  /** As the email has it: its domain or address is the sender. */
  from: text(512),
  recipient: text(512),
  what: Schema.Literals(feedbackKinds),
  mode: Schema.optionalKey(Schema.Literals(modes)),
  /** Of a bounce; `permanent` without it. */
  kind: Schema.optionalKey(Schema.Literals(bounceKinds)),
  /** Of a complaint, such as `abuse`. */
  complaint: Schema.optionalKey(text(64)),
  code: Schema.optionalKey(text(32)),
  reason: Schema.optionalKey(text(1_000)),
  /** For the event, which is left out without it. */
  subject: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2_000)))
}).annotate({ identifier: "FeedbackSignal" })
export type FeedbackSignal = typeof FeedbackSignal.Type

/** The reports that it means. Only one of the sender's possible names is the email's; the other counts nowhere. */
export const reportsOfSignal = (
  signal: FeedbackSignal
): { readonly mode: Mode; readonly reports: ReadonlyArray<EmailReport> } => {
  const { code, complaint, from, id, kind = "permanent", mode = "live", reason, recipient, subject, what } = signal
  const said = {
    id,
    what,
    recipient,
    from,
    ...(subject === undefined ? {} : { subject }),
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
    ...(what === "complained" ? { kind: complaint ?? "abuse" } : {}),
    ...(what === "bounced" ? { kind, suppresses: kind === "permanent", counts: kind !== "temporary" } : {})
  }
  return { mode, reports: namesOf(from).map((sender) => ({ ...said, sender })) }
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(FeedbackSignal))
const decoder = new TextDecoder("utf-8", { fatal: true })

/** Throws for data that is none: such a signal is counted and passed over. */
export const feedbackSignal: SignalRule = ({ data }) => {
  const { mode, reports } = reportsOfSignal(decode(decoder.decode(data)))
  return { actor: SendAccount, key: mode, command: { _tag: "Report", reports } }
}

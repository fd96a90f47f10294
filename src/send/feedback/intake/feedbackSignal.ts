/**
 * Reads another mail system's report on an email and a recipient, from a signal `signal.<organization>.feedback` that a
 * NATS user may publish (docs/handoff.md, 6.3), or over HTTP (docs/platform.md, 9.17). It becomes the same report as a
 * bounce does, and counts once like it. Pure.
 */
import { Schema } from "effect"
import type { SignalRule } from "../../../engine/shell/signals/feedSignals.ts"
import { namesOf } from "../../account/actors/actorKeys.ts"
import { type EmailReport, type Mode, modes, SendAccount } from "../../account/actors/index.ts"

/** Words of any form. No database keeps a NUL or half a character. */
const words = (longest: number, shortest = 0) => {
  const message = `Expected a text of ${shortest} to ${longest} characters, without NUL`
  return Schema.String.annotate({ message }).check(
    Schema.isBetweenLength(shortest, longest, { message }),
    Schema.isPattern(/^[^\0\p{Cs}]*$/u, { message })
  )
}

/** One line that says something. */
const line = (longest: number) => {
  const message = `Expected one line of 1 to ${longest} characters`
  return Schema.String.annotate({ message }).check(
    Schema.isBetweenLength(1, longest, { message }),
    Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { message })
  )
}

const noAddress = "Expected an address such as bob@example.com"
const address = line(512).check(Schema.isPattern(/[^@]@[^@]/, { message: noAddress }))

const oneOf = <const L extends ReadonlyArray<string>>(literals: L) =>
  Schema.Literals(literals).annotate({ message: `Expected one of ${literals.join(", ")}` })

const feedbackKinds = ["delivered", "bounced", "complained"] as const
const bounceKinds = ["permanent", "temporary", "reputation"] as const

/** The data of a signal, as JSON. */
export const FeedbackSignal = Schema.Struct({
  id: line(64).annotateKey({ description: "The email's id" }),
  from: address.annotateKey({ description: "As the email has it: its domain or address is the sender" }),
  recipient: address.annotateKey({ description: "Whom it concerns" }),
  what: oneOf(feedbackKinds),
  mode: Schema.optionalKey(oneOf(modes)).annotateKey({ description: "The email's; `live` without it" }),
  kind: Schema.optionalKey(oneOf(bounceKinds)).annotateKey({ description: "Of a bounce; `permanent` without it" }),
  complaint: Schema.optionalKey(line(64)).annotateKey({ description: "Of what kind a complaint is, such as `abuse`" }),
  code: Schema.optionalKey(line(32)).annotateKey({ description: "For the event, such as `5.1.1`" }),
  reason: Schema.optionalKey(words(1_000, 1)).annotateKey({ description: "For the event" }),
  subject: Schema.optionalKey(words(2_000)).annotateKey({
    description: "For the event, which is left out without it"
  })
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
    ...(what === "bounced" ? { kind, suppresses: kind === "permanent", counts: kind === "permanent" } : {})
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

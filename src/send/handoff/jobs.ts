/** The jobs of the hand-off as they stand in the work queue. Pure. */
import { Schema } from "effect"
import { type Mode, modes } from "../account/actors/index.ts"

/** First attempts, attempts after a failure, and mails that found their account paused. */
export const handoffLanes = { first: 0, again: 1, paused: 2 } as const

/** A group: the mails of an account, or the platform's own notices to an organization. */
export type HandoffPurpose = Mode | "notices"

const purposes: ReadonlyArray<HandoffPurpose> = [...modes, "notices"]

export const groupOf = (organization: string, purpose: HandoffPurpose): string => `${organization}/${purpose}`

/** The organization and purpose of a group. Only `groupOf` makes groups. */
export const partsOfGroup = (group: string): readonly [organization: string, purpose: HandoffPurpose] => {
  const slash = group.lastIndexOf("/")
  const named = group.slice(slash + 1)
  return [group.slice(0, slash), purposes.find((purpose) => purpose === named) ?? "live"]
}

/** An outcome that is already known of one recipient: the relay has taken the mail for it, or refused it for good. */
export const SettledRecipient = Schema.Struct({
  /** Its place among all recipients of the email, from 0. */
  index: Schema.Finite,
  /** Left out where the mail was taken. */
  refused: Schema.optionalKey(
    Schema.Struct({ code: Schema.String, reason: Schema.String, isReputation: Schema.Boolean })
  )
})
export type SettledRecipient = typeof SettledRecipient.Type

/** An email that may be handed over. */
export const EmailJob = Schema.Struct({
  /** The email's id. */
  email: Schema.String,
  /** Where its content is. */
  pointer: Schema.String,
  acceptedAt: Schema.Finite,
  /** Recipients that nothing is handed over to any more, while others still wait for it. */
  settled: Schema.optionalKey(Schema.Array(SettledRecipient)),
  /** How often the relay has refused the account that it is sent with. Left out before the first time. */
  refusals: Schema.optionalKey(Schema.Finite)
})
export type EmailJob = typeof EmailJob.Type

export const emailJobId = (organization: string, email: string): string => `${organization}/${email}`

/** A mail that the platform itself writes. */
export const Notice = Schema.Union([
  Schema.TaggedStruct("AccountPaused", { mode: Schema.Literals(modes), at: Schema.Finite, reason: Schema.String }),
  Schema.TaggedStruct("WebhookPaused", {
    at: Schema.Finite,
    endpoint: Schema.String,
    url: Schema.String,
    reason: Schema.String,
    livemode: Schema.Boolean
  }),
  /** A mail that was written when it was ordered, whoever it goes to. */
  Schema.TaggedStruct("Mail", { mode: Schema.Literals(modes), at: Schema.Finite, pointer: Schema.String })
])
export type Notice = typeof Notice.Type

/** The same for every telling of the same pause. */
export const noticeId = (organization: string, notice: Exclude<Notice, { readonly _tag: "Mail" }>): string =>
  notice._tag === "AccountPaused"
    ? `${organization}/account/${notice.mode}/${notice.at}`
    : `${organization}/webhook/${notice.endpoint}/${notice.at}`

const EmailPayload = Schema.fromJsonString(EmailJob)
const NoticePayload = Schema.fromJsonString(Notice)

export const encodeEmailJob = Schema.encodeSync(EmailPayload)
export const decodeEmailJob = Schema.decodeOption(EmailPayload)
export const encodeNotice = Schema.encodeSync(NoticePayload)
export const decodeNotice = Schema.decodeOption(NoticePayload)

/**
 * Defines commands, facts, states, replies and rejections of the account, its senders and its emails as actors
 * (docs/send.md, 3). The account decides over all of them; senders and emails change by its decisions, by time, and by
 * a few commands of their own.
 */
import { Schema } from "effect"
import { type AccountState, initialState as initialAccount } from "../../rules/account.ts"
import { riskySignals } from "../../rules/admission.ts"
import { emailStates, firstStates } from "../../rules/emailStates.ts"
import { type HoldsState, holds } from "../../rules/hold.ts"
import { pauseReasons } from "../../rules/pause.ts"
import { isSendRejection } from "../../rules/rejections.ts"
import { domainTier, type TierState } from "../../rules/tier.ts"
import { stages } from "../../rules/trust.ts"
import { modes } from "./actorKeys.ts"
import {
  accountFacts,
  accountFields,
  CustomLimitsSchema,
  HoldsStateSchema,
  holdsFacts,
  PlanSchema,
  RiskSchema,
  TierSchema,
  TierStateSchema,
  tierFacts
} from "./schemas.ts"

const Id = Schema.String
const Instant = Schema.NullOr(Schema.Finite)
const Place = Schema.NullOr(Schema.Finite)

// Emails

/** The stored state of an email; recipients and content are elsewhere. See {@link Admission}. */
export const EmailState = Schema.Struct({
  state: Schema.Literals(emailStates),
  /** The account it belongs to. */
  mode: Schema.Literals(modes),
  /** The sender's name (`senderName`). */
  sender: Schema.String,
  /** Its place in the sender's queue; null where it never waited there. */
  place: Place,
  scheduledAt: Instant,
  /** The place of its content, as the caller named it. */
  pointer: Schema.String,
  /** Bytes of its content until it has ended. Left out afterwards, and if they are unknown. */
  bytes: Schema.optionalKey(Schema.Finite),
  acceptedAt: Schema.Finite,
  /** When it changed last. */
  changedAt: Schema.Finite,
  /** Its reported outcomes, as bits (`marks` of SendEmail.ts). Each counts once. */
  marks: Schema.Finite,
  /**
   * Which reports of which recipients were heard, as one text of entries (`heardEntry`). Left out before the first one.
   */
  heard: Schema.optionalKey(Schema.String)
})
export type EmailState = typeof EmailState.Type

const at = { at: Schema.Finite }
/**
 * Bytes of an email's content: with its acceptance, and with its end, which is seven days before the content goes
 * (docs/platform.md, 11.8).
 */
const bytes = { bytes: Schema.optionalKey(Schema.Finite) }

/** A fact of an email. See {@link Admission}. */
export const EmailFact = Schema.Union([
  Schema.TaggedStruct("Accepted", {
    ...at,
    state: Schema.Literals(firstStates),
    mode: Schema.Literals(modes),
    sender: Schema.String,
    place: Place,
    scheduledAt: Instant,
    pointer: Schema.String,
    ...bytes
  }),
  Schema.TaggedStruct("Rescheduled", { ...at, scheduledAt: Schema.Finite }),
  /** A scheduled email's time has come. */
  Schema.TaggedStruct("Queued", at),
  /** The same, over the sender's cap or while the account is paused. */
  Schema.TaggedStruct("Held", { ...at, place: Schema.Finite }),
  Schema.TaggedStruct("Canceled", { ...at, ...bytes }),
  /** All recipients were suppressed between acceptance and hand-over. */
  Schema.TaggedStruct("Suppressed", { ...at, ...bytes }),
  /**
   * The mailer may hand it over. Right behind `Accepted` it names the recipients that are suppressed, as a mask; left
   * out where none is.
   */
  Schema.TaggedStruct("Dispatched", { ...at, suppressed: Schema.optionalKey(Schema.Finite) }),
  /** It could not be handed over for now, for the first time. */
  Schema.TaggedStruct("Delayed", at),
  Schema.TaggedStruct("HandedOver", { ...at, ...bytes }),
  /** One for each recipient, like the next two. */
  Schema.TaggedStruct("Delivered", { ...at, recipient: Schema.String }),
  /** `counts` is false where it was given up and not refused for good. */
  Schema.TaggedStruct("Bounced", {
    ...at,
    ...bytes,
    recipient: Schema.String,
    counts: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.TaggedStruct("Complained", { ...at, recipient: Schema.String }),
  Schema.TaggedStruct("Failed", { ...at, ...bytes }),
  /** The time that a finished email is kept is over. */
  Schema.TaggedStruct("Forgotten", at)
])
export type EmailFact = typeof EmailFact.Type

/** Asked of the email. `sender` and `place` are those of its state, which name what else is touched. */
const where = { mode: Schema.Literals(modes), sender: Schema.String, place: Place }
/** Asked of an email. See {@link Admission}. */
export const EmailCommand = Schema.Union([
  Schema.TaggedStruct("Cancel", where),
  Schema.TaggedStruct("Reschedule", { scheduledAt: Schema.Finite })
])
export type EmailCommand = typeof EmailCommand.Type

/**
 * `NotWaiting`: it is in a state that cannot be changed any more. `Moved`: it is elsewhere than the command says. See
 * {@link Admission}.
 */
export const EmailRejection = Schema.Union([
  Schema.TaggedStruct("NotWaiting", { state: Schema.Literals(emailStates) }),
  Schema.TaggedStruct("Moved", where),
  Schema.TaggedStruct("ScheduleInvalid", { latest: Schema.Finite })
])
export type EmailRejection = typeof EmailRejection.Type

// Senders

/** A sender, as it is stored. See {@link Admission}. */
export const SenderState = Schema.Struct({
  tier: TierStateSchema,
  holds: HoldsStateSchema,
  /** An operator's cap in place of the tier's. */
  customCap: Instant,
  /** Emails whose time has not come. */
  scheduled: Schema.Finite,
  removedAt: Instant
})
export interface SenderState {
  readonly tier: TierState
  readonly holds: HoldsState
  readonly customCap: number | null
  readonly scheduled: number
  readonly removedAt: number | null
}

export const initialSender: SenderState = {
  tier: domainTier.initialState,
  holds: holds.initialState,
  customCap: null,
  scheduled: 0,
  removedAt: null
}

/** A fact of a sender. See {@link Admission}. */
export const SenderFact = Schema.Union([
  ...tierFacts,
  ...holdsFacts,
  Schema.TaggedStruct("Scheduled", { ...at, emails: Schema.Finite }),
  /** A scheduled email's time has come, or it was cancelled. */
  Schema.TaggedStruct("Unscheduled", at),
  Schema.TaggedStruct("CapSet", { ...at, cap: Instant }),
  Schema.TaggedStruct("Removed", at),
  /** It was verified again within the time that tier and counts are kept. */
  Schema.TaggedStruct("Restored", at),
  /** It was verified again after that time: nothing of before counts. */
  Schema.TaggedStruct("Forgotten", at)
])
export type SenderFact = typeof SenderFact.Type

/** Asked of the sender, under the key that `senderKey` makes. See {@link Admission}. */
export const SenderCommand = Schema.Union([
  Schema.TaggedStruct("Verify", {}),
  /** With `force` held and scheduled mail is no reason to refuse it. */
  Schema.TaggedStruct("Remove", { force: Schema.optionalKey(Schema.Boolean) }),
  /** A daily cap in place of the tier's, at least 1; null for the tier's. A raised cap releases immediately. */
  Schema.TaggedStruct("SetDailyCap", { cap: Instant }),
  Schema.TaggedStruct("Check", {})
])
export type SenderCommand = typeof SenderCommand.Type

/** A sender after a command. See {@link Admission}. */
export const SenderReply = Schema.Struct({
  isVerified: Schema.Boolean,
  tier: TierSchema,
  dailyCap: Schema.Finite,
  /** Held emails. */
  waiting: Schema.Finite
})
export type SenderReply = typeof SenderReply.Type

/** The rejections of a sender. See {@link Admission}. */
export const SenderRejection = Schema.Union([
  Schema.TaggedStruct("NotVerified", {}),
  /** Mail is held or scheduled. */
  Schema.TaggedStruct("HasWaitingMail", { held: Schema.Finite, scheduled: Schema.Finite }),
  Schema.TaggedStruct("TooManySenders", { maximum: Schema.Finite }),
  Schema.TaggedStruct("CapInvalid", {})
])
export type SenderRejection = typeof SenderRejection.Type

// Accounts

/** An account that sends, as it is stored. See {@link Admission}. */
export const SendAccountState = Schema.Struct({
  ...accountFields,
  /** Verified senders. */
  senders: Schema.Finite,
  /** Names of the senders that wait for the end of a pause. */
  waiting: Schema.Array(Schema.String),
  /** When its organization was deleted. Left out before. */
  closedAt: Schema.optionalKey(Schema.Finite)
})
export interface SendAccountState extends AccountState {
  readonly senders: number
  readonly waiting: ReadonlyArray<string>
  readonly closedAt?: number
}

export const initialSendAccount: SendAccountState = { ...initialAccount, senders: 0, waiting: [] }

/** A fact of an account that sends. See {@link Admission}. */
export const SendAccountFact = Schema.Union([
  ...accountFacts,
  Schema.TaggedStruct("SenderAdded", at),
  Schema.TaggedStruct("SenderRemoved", at),
  /** A sender has mail to release, and finds the account paused. */
  Schema.TaggedStruct("SenderWaits", { ...at, sender: Schema.String }),
  /** The first waiting senders continue. */
  Schema.TaggedStruct("SendersGoOn", { ...at, senders: Schema.Finite }),
  /** The test account starts over. */
  Schema.TaggedStruct("Reset", at),
  /** Its organization was deleted. */
  Schema.TaggedStruct("Closed", at)
])
export type SendAccountFact = typeof SendAccountFact.Type

/** One email of a request. See {@link Admission}. */
export const AdmitEmail = Schema.Struct({
  /** Made before the decision, used for no other email. */
  id: Id,
  /** The address it is from; its domain is the sender where that is verified, else the address itself. */
  from: Schema.String,
  /** All of to, cc and bcc, 1 to 50. */
  recipients: Schema.Array(Schema.String),
  /** Risky content, at most one of each kind counts. */
  signals: Schema.optionalKey(Schema.Array(Schema.Literals(riskySignals))),
  /** Unix milliseconds, at most 30 days ahead. A time that has passed is no schedule. */
  scheduledAt: Schema.optionalKey(Schema.Finite),
  /** The place of the content, kept for the hand-off. */
  pointer: Schema.optionalKey(Schema.String),
  /** The bytes that it takes there. */
  bytes: Schema.optionalKey(Schema.Finite)
})
export type AdmitEmail = typeof AdmitEmail.Type

/** The hand-off's question about one email. */
const DispatchEmail = Schema.Struct({ id: Id, sender: Schema.String, recipients: Schema.Array(Schema.String) })

/**
 * The outcome of an email (docs/send.md, 3.2). `delayed` is its first failure for now, while it is `sending`. `bounced`
 * is for good: while it is `sending`, by the relay itself. It counts once for an email, and so does `complained`; the
 * events are one for each recipient. See {@link Admission}.
 */
const EmailReport = Schema.Struct({
  id: Id,
  /** The sender's name, as the email has it. */
  sender: Schema.String,
  what: Schema.Literals(["handedOver", "delayed", "delivered", "bounced", "complained", "failed"]),
  /** Whom it concerns; for `delivered`, `bounced` and `complained`. */
  recipient: Schema.optionalKey(Schema.String),
  /** False for a bounce that says nothing of the address, such as one for the sender's reputation. Default true. */
  suppresses: Schema.optionalKey(Schema.Boolean),
  /** False for a bounce that counts for neither account nor sender, because it is not for good. Default true. */
  counts: Schema.optionalKey(Schema.Boolean),
  /**
   * `from`, `to` and `subject` as the content has them, for the event. A report without them counts, and makes none.
   */
  from: Schema.optionalKey(Schema.String),
  /** Never cc or bcc; not for what concerns a recipient. */
  to: Schema.optionalKey(Schema.Array(Schema.String)),
  subject: Schema.optionalKey(Schema.String),
  /** Status code, such as 5.1.1. */
  code: Schema.optionalKey(Schema.String),
  /** Kind of bounce or complaint; of `failed` `expired`, `unknown` or `attachment`, without which it makes no event. */
  kind: Schema.optionalKey(Schema.String),
  /** Words of the remote side, or what went wrong. */
  reason: Schema.optionalKey(Schema.String)
})
/** A report on one email: handed over, bounced, and so on. */
export type EmailReport = typeof EmailReport.Type

/** Asked of the account, whose key is the mode. See {@link Admission}. */
export const SendAccountCommand = Schema.Union([
  /** A request of 1 to 100 emails, decided whole (docs/platform.md, 9.7). */
  Schema.TaggedStruct("Admit", {
    emails: Schema.Array(AdmitEmail),
    /** The address at which an account finds a larger plan. */
    upgradeUrl: Schema.String,
    /**
     * Whether emails that wait for nothing may be handed over immediately, because the mailer has room for them. They
     * are `sending` then, and cannot be cancelled any more.
     */
    goes: Schema.optionalKey(Schema.Boolean)
  }),
  /**
   * Says what `Admit` would come to, and changes nothing. It is always rejected: with `Acceptable`, or as `Admit` would
   * be. So under an idempotency key it answers what is remembered, and leaves nothing behind itself.
   */
  Schema.TaggedStruct("Preview", { emails: Schema.Array(AdmitEmail), upgradeUrl: Schema.String }),
  /** Which of 1 to 100 emails may be handed over now. */
  Schema.TaggedStruct("Dispatch", { emails: Schema.Array(DispatchEmail) }),
  /** The outcomes of 1 to 100 emails. Reports of unknown emails count nowhere. */
  Schema.TaggedStruct("Report", { reports: Schema.Array(EmailReport) }),
  /** Begins probation, once; any other first command begins it with the standard risk. */
  Schema.TaggedStruct("Begin", { risk: RiskSchema }),
  Schema.TaggedStruct("Lift", {}),
  Schema.TaggedStruct("SetRisk", { risk: RiskSchema }),
  /** The plan where the organization's own is not known to the engine. */
  Schema.TaggedStruct("SetPlan", { plan: PlanSchema }),
  /** They are the organization's: its other account has them as well. */
  Schema.TaggedStruct("SetLimits", { custom: CustomLimitsSchema }),
  /** Says what operators are shown, and changes nothing. */
  Schema.TaggedStruct("Look", {}),
  /** Takes the transitions that are due, and says the stage. */
  Schema.TaggedStruct("Check", {}),
  /**
   * Starts the test account over, as if nothing had been sent: stage, windows, triggers and month. Its senders, limits
   * and lists stay.
   */
  Schema.TaggedStruct("Reset", { risk: RiskSchema }),
  /**
   * Ends both accounts of the organization for good: they accept nothing more and let nothing more go. Repeating it
   * changes nothing.
   */
  Schema.TaggedStruct("Close", {})
])
export type SendAccountCommand = typeof SendAccountCommand.Type

/** The result for one email of a command. See {@link Admission}. */
export const EmailAnswer = Schema.Struct({
  id: Id,
  /** `sending` lets a dispatched email go; any other state does not. */
  state: Schema.Literals(emailStates),
  /** The recipients that were taken out: bit n is recipient n (`suppressedOf`). */
  suppressed: Schema.Finite,
  /** Unix milliseconds of the midnight at which a held email fits; left out if it is unknown. */
  heldUntil: Schema.optionalKey(Schema.Finite),
  /** Unix milliseconds of a scheduled email's time; left out by versions that did not answer it. */
  scheduledAt: Schema.optionalKey(Schema.Finite)
})
export type EmailAnswer = typeof EmailAnswer.Type

export const AccountView = Schema.Struct({
  trustStage: Schema.Literals(stages),
  probationEndsAt: Schema.optionalKey(Schema.Finite),
  pausedAt: Schema.optionalKey(Schema.Finite),
  pauseReason: Schema.optionalKey(Schema.Literals(pauseReasons))
})

/** The answer of an account: one for each email or report, and how the account is now. See {@link Admission}. */
export const SendAccountReply = Schema.Struct({
  /** One for each email or report of the command, in order. */
  emails: Schema.Array(EmailAnswer),
  account: AccountView,
  /** The answer to `Look`. */
  look: Schema.optionalKey(
    Schema.Struct({
      custom: CustomLimitsSchema,
      risk: RiskSchema,
      /** Whether it has begun. */
      hasBegun: Schema.Boolean,
      /** The progress of each trigger of a pause, in every stage but probation none. Left out by older versions. */
      triggers: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({ trigger: Schema.Literals(pauseReasons), count: Schema.Finite, limit: Schema.Finite })
        )
      ),
      /** Emails of the present month. Left out by older versions. */
      emailsThisMonth: Schema.optionalKey(Schema.Finite)
    })
  )
})
export type SendAccountReply = typeof SendAccountReply.Type

const Refused = <Code extends string>(code: Code) =>
  Schema.Struct({ code: Schema.Literal(code), message: Schema.String })

/**
 * The first four are the answer's `error` (docs/platform.md, 9.7), `Acceptable` is a preview's; the others are mistakes
 * of the caller. See {@link Admission}.
 */
export const SendAccountRejection = Schema.Union([
  Refused("sender_not_verified"),
  Refused("sending_paused"),
  Schema.Struct({
    code: Schema.Literal("monthly_limit_reached"),
    message: Schema.String,
    limit: Schema.Finite,
    used: Schema.Finite,
    resetsAt: Schema.String,
    upgradeUrl: Schema.String
  }),
  Schema.Struct({
    code: Schema.Literal("probation_limit_reached"),
    message: Schema.String,
    limit: Schema.Finite,
    window: Schema.Literals(["hour", "day"]),
    metric: Schema.Literals(["sends", "recipient_domains"]),
    resetsAt: Schema.String
  }),
  Schema.TaggedStruct("NotPaused", { trustStage: Schema.Literals(stages) }),
  /** The previewed request would be accepted now. */
  Schema.TaggedStruct("Acceptable", {}),
  Schema.TaggedStruct("RequestInvalid", { message: Schema.String })
])
export type SendAccountRejection = typeof SendAccountRejection.Type

const rejectionTags: ReadonlySet<unknown> = new Set<Extract<SendAccountRejection, { readonly _tag: string }>["_tag"]>([
  "NotPaused",
  "Acceptable",
  "RequestInvalid"
])

/** Whether a failure is an account's rejection, not an error of the engine. */
export const isAccountRejection = (error: unknown): error is SendAccountRejection =>
  isSendRejection(error) ||
  (typeof error === "object" && error !== null && "_tag" in error && rejectionTags.has(error._tag))

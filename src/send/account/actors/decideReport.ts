/**
 * Decides after acceptance: whether an email may be handed over now, and how a report counts for account, sender and
 * suppression list. Each report counts once for an email and has one event, however often it comes.
 */
import * as Actor from "../../../engine/Actor.ts"
import { maximumEmails } from "../../limits.ts"
import { type AccountCommand, admission } from "../../rules/admission.ts"
import { warningsOf } from "../../rules/pauseWarnings.ts"
import { viewOf } from "../../rules/trust.ts"
import { accountEvents, emailEvent, warningEvents, warningType } from "./accountEvents.ts"
import { type Mode, senderKey, suppressionPlace } from "./actorKeys.ts"
import { type AccountDecision, bucketsOf, placesOf } from "./decideAdmission.ts"
import type {
  EmailAnswer,
  EmailFact,
  EmailReport,
  EmailState,
  SendAccountCommand,
  SendAccountFact,
  SendAccountState
} from "./model.ts"
import { ending, evolveEmail, type Feedback, isHeard, isHeld, marks, SendEmail } from "./SendEmail.ts"
import { SendSender } from "./SendSender.ts"
import { isSuppressed, SendSuppressions } from "./SendSuppressions.ts"
import { SenderDraft } from "./senderRules.ts"
import { suppressedMask } from "./suppressedMask.ts"

type Dispatch = Extract<SendAccountCommand, { readonly _tag: "Dispatch" }>
type Report = Extract<SendAccountCommand, { readonly _tag: "Report" }>

const countInvalid = (count: number, what: string) =>
  count === 0 || count > maximumEmails
    ? Actor.rejected({ _tag: "RequestInvalid" as const, message: `a request has 1 to ${maximumEmails} ${what}` })
    : undefined

const emailsAndSenders = (
  named: ReadonlyArray<{ readonly id: string; readonly sender: string }>,
  mode: Mode
): ReadonlyArray<Actor.Touched> => [
  ...[...new Set(named.map(({ id }) => id))].map((id) => SendEmail.at(id)),
  ...[...new Set(named.map(({ sender }) => senderKey(mode, sender)))].map((key) => SendSender.at(key))
]

export const dispatchTouches = (
  { emails }: Dispatch,
  organization: string,
  mode: Mode
): ReadonlyArray<Actor.Touched> => [
  ...emailsAndSenders(emails, mode),
  ...bucketsOf(placesOf(emails, organization, mode))
]

/** Which emails may be handed over: what is not cancelled, not held and not paused, to recipients that are not suppressed. */
export const dispatch = (state: SendAccountState, command: Dispatch, context: Actor.DecideContext): AccountDecision => {
  const invalid = countInvalid(command.emails.length, "emails")
  if (invalid !== undefined) return invalid
  const { now, read, self } = context
  const mode = self.key as Mode
  const places = placesOf(command.emails, self.organization, mode)
  const isPaused = state.trust.stage === "sending_paused"
  const others: Array<Actor.OtherFacts> = []
  const done = new Set<string>()
  const emails = command.emails.map(({ id, recipients, sender }): EmailAnswer => {
    const email = read(SendEmail, id)
    const suppressed = suppressedMask(recipients, (one) => {
      const place = places.get(one)
      return place !== undefined && isSuppressed(read(SendSuppressions, place.key), place.entry)
    })
    if (email.mode !== mode || email.sender !== sender) return { id, state: "none", suppressed }
    // The relay may already have an email that the mailer took before, so it goes on in any case.
    if (email.state === "sending") return { id, state: "sending", suppressed }
    const mayGo = email.state === "queued" || email.state === "held"
    if (!mayGo) return { id, state: email.state, suppressed }
    if (isPaused || isHeld(email, read(SendSender, senderKey(mode, sender)).holds.head))
      return { id, state: "held", suppressed }
    const isEmpty = suppressed === 2 ** recipients.length - 1
    if (!done.has(id))
      others.push(SendEmail.facts(id, [ending(email, { _tag: isEmpty ? "Suppressed" : "Dispatched", at: now })]))
    done.add(id)
    return { id, state: isEmpty ? "suppressed" : "sending", suppressed }
  })
  return Actor.decided({ others, reply: { emails, account: viewOf(state.trust) } })
}

export const reportTouches = ({ reports }: Report, organization: string, mode: Mode): ReadonlyArray<Actor.Touched> => [
  ...emailsAndSenders(reports, mode),
  ...bucketsOf(
    placesOf(
      reports.map(({ recipient }) => ({ recipients: recipient === undefined ? [] : [recipient] })),
      organization,
      mode
    )
  )
]

/** The domain whose addresses act out their names for test keys, and are never suppressed. */
const simulatorDomain = "@simulator.invalid"

/** One command's reports, taken in one after the other. */
class Reporting {
  account: SendAccountState
  readonly facts: Array<SendAccountFact> = []
  readonly others: Array<Actor.OtherFacts> = []
  events: Array<Actor.PublicEvent> = []
  private readonly context: Actor.DecideContext
  private readonly mode: Mode
  private readonly emails = new Map<string, EmailState>()
  private readonly senders = new Map<string, SenderDraft>()
  private readonly suppressed = new Set<string>()

  constructor(account: SendAccountState, context: Actor.DecideContext) {
    this.account = account
    this.context = context
    this.mode = context.self.key as Mode
  }

  take(report: EmailReport): EmailAnswer {
    const { id } = report
    const email = this.emails.get(id) ?? this.context.read(SendEmail, id)
    const counted = email.mode === this.mode && email.sender === report.sender ? this.factOf(email, report) : undefined
    if (counted === undefined) return { id, state: email.state, suppressed: 0 }
    const fact = ending(email, counted)
    this.others.push(SendEmail.facts(id, [fact]))
    const after = evolveEmail(email, fact)
    this.emails.set(id, after)
    const event = emailEvent(this.mode, report)
    if (event !== undefined) this.events.push(event)
    return { id, state: after.state, suppressed: 0 }
  }

  /** Counts a report. Undefined where it says nothing new, or nothing of such an email. */
  private factOf(email: EmailState, report: EmailReport): EmailFact | undefined {
    const { now: at } = this.context
    const { recipient = "", what } = report
    const isSending = email.state === "sending"
    switch (what) {
      case "handedOver":
        return this.handedOver(email, report) ? { _tag: "HandedOver", at } : undefined
      case "delayed":
        return isSending && (email.marks & marks.delayed) === 0 ? { _tag: "Delayed", at } : undefined
      case "failed":
        return isSending ? { _tag: "Failed", at } : undefined
      case "delivered":
        return this.hear(email, report, what) ? { _tag: "Delivered", at, recipient } : undefined
      case "bounced":
        if (!this.hear(email, report, what)) return undefined
        return { _tag: "Bounced", at, recipient, ...(report.counts === false ? { counts: false } : {}) }
      case "complained":
        return this.hear(email, report, what) ? { _tag: "Complained", at, recipient } : undefined
    }
  }

  private handedOver({ marks: had, state }: EmailState, report: EmailReport): boolean {
    const isEarly = (had & marks.early) !== 0
    if ((had & marks.handedOver) !== 0 || !(isEarly || state === "sending")) return false
    if (!isEarly) this.countHandOver(report)
    return true
  }

  private countHandOver(report: EmailReport): void {
    this.tell({ _tag: "HandOver", emails: 1 })
    this.sender(report).tier({ _tag: "HandOver", emails: 1 })
  }

  /** Takes in what is reported of a recipient; whether it is new. */
  private hear(email: EmailState, report: EmailReport, what: Feedback): boolean {
    const { marks: had, state } = email
    const hasGone = (had & (marks.handedOver | marks.early)) !== 0
    if (!hasGone && state !== "sending") return false
    const isFirst = what !== "delivered" && report.counts !== false && (had & marks[what]) === 0
    if (isHeard(email, what, report.recipient ?? "") && !isFirst) return false
    // Only what is new: an address that was taken off the list stays off it when an old report comes again.
    if (what !== "delivered") this.suppress(report, what)
    // Whom it has reached, or who refused it, is rightly counted among what was handed over, although nobody has said so yet.
    if (!hasGone) this.countHandOver(report)
    if (isFirst) {
      this.tell(what === "bounced" ? { _tag: "Bounce", email: report.id } : { _tag: "Complain", email: report.id })
      this.sender(report).tier({ _tag: what === "bounced" ? "Bounce" : "Complain" })
    }
    return true
  }

  private tell(command: AccountCommand): void {
    const { facts } = admission.decide(this.account, command, this.context.now)
    const warnings = warningsOf(this.account, facts, this.context.now)
    // Reports that come together may warn and pause: beside the pause a warning is of no use.
    if (facts.some(({ _tag }) => _tag === "Paused"))
      this.events = this.events.filter(({ type }) => type !== warningType)
    this.events.push(...accountEvents(this.mode, facts), ...warningEvents(this.mode, warnings))
    this.facts.push(...facts)
    this.account = facts.reduce(admission.evolve, this.account) as SendAccountState
  }

  private sender({ sender }: EmailReport): SenderDraft {
    let draft = this.senders.get(sender)
    if (draft === undefined) {
      const key = senderKey(this.mode, sender)
      draft = new SenderDraft(key, this.context.read(SendSender, key), this.context.now)
      this.senders.set(sender, draft)
    }
    return draft
  }

  private suppress({ recipient, suppresses = true }: EmailReport, reason: "bounced" | "complained"): void {
    if (recipient === undefined || !suppresses || recipient.toLowerCase().includes(simulatorDomain)) return
    const { entry, key } = suppressionPlace(this.context.self.organization, this.mode, recipient)
    if (this.suppressed.has(key + entry) || isSuppressed(this.context.read(SendSuppressions, key), entry)) return
    this.suppressed.add(key + entry)
    const at = this.context.now
    this.others.push(SendSuppressions.facts(key, [{ _tag: "Suppressed", at, entry, address: recipient, reason }]))
  }

  /** Facts and events of the senders, behind those of the emails. */
  finish(): void {
    for (const [name, { events, facts }] of this.senders) {
      if (facts.length > 0) this.others.push(SendSender.facts(senderKey(this.mode, name), facts))
      this.events.push(...events)
    }
  }
}

export const report = (state: SendAccountState, command: Report, context: Actor.DecideContext): AccountDecision => {
  const invalid = countInvalid(command.reports.length, "reports")
  if (invalid !== undefined) return invalid
  const reporting = new Reporting(state, context)
  const emails = command.reports.map((one) => reporting.take(one))
  reporting.finish()
  return Actor.decided({
    facts: reporting.facts,
    others: reporting.others,
    events: reporting.events,
    reply: { emails, account: viewOf(reporting.account.trust) }
  })
}

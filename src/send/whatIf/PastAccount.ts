/**
 * Decides the history of an account again, under other rules (docs/what-if.md): requests, releases of held mail, what
 * became of each email, and the acts of operators, in the order of time. It decides as the actors of accounts and
 * senders do. Pure, but for the state it keeps.
 */
import { Heap, type HeapEntry } from "../../common/Heap.ts"
import * as Monthly from "../../limits/monthlyRules.ts"
import * as Rolling from "../../limits/rollingRules.ts"
import type { SenderState } from "../account/actors/model.ts"
import { dayMillis, hourMillis } from "../limits.ts"
import { type AccountState, emailsPerMonth, initialState } from "../rules/account.ts"
import { type AccountCommand, type AdmittedEmail, admissionBy, type RiskySignal } from "../rules/admission.ts"
import type { PauseReason } from "../rules/pause.ts"
import { isSendRejection } from "../rules/rejections.ts"
import { DayFigures, type RefusalCode } from "./DayFigures.ts"
import { figuresOf, limitsUnder, type OtherRules, tierCapsOf } from "./otherRules.ts"
import { PastSenders } from "./PastSenders.ts"
import type { EmailOutcome, PastAct, PastEmail, PastEntry, PastRequest } from "./sendHistory.ts"

/** The account and its senders at the beginning of a history. */
export interface PastBeginning {
  readonly account: AccountState
  readonly sender: (name: string) => SenderState
}

/** A pause that came under the rules. */
export interface PastPause {
  readonly at: number
  readonly reason: PauseReason
}

/** Something that is due at a time. */
type Due = HeapEntry & { readonly at: number; readonly order: number } & (
    | { readonly _tag: "Outcome"; readonly email: PastEmail; readonly what: EmailOutcome["what"] }
    | { readonly _tag: "Scheduled"; readonly email: PastEmail }
    | { readonly _tag: "Lift"; readonly pausedAt: number }
  )
type NewDue = Due extends infer One ? (One extends Due ? Omit<One, "index" | "order"> : never) : never

/** Mail that was refused is taken to be handed over at once, and to please everybody. */
const assumed: ReadonlyArray<EmailOutcome> = [{ what: "handedOver", afterMillis: 0 }]

/** Signals count by their number alone; a request brings at most one of each kind for an email. */
const signalKinds: ReadonlyArray<RiskySignal> = ["foreign_link", "shortened_link", "verification_subject"]

/** The emails of a request as admission takes them, with its signals dealt out. */
const admitted = ({ emails, signals }: PastRequest): ReadonlyArray<AdmittedEmail> => {
  let left = signals
  return emails.map(({ id, sender }) => {
    const own = Math.min(left, signalKinds.length)
    left -= own
    return { id, sender, recipients: ["someone@unknown.invalid"], signals: signalKinds.slice(0, own) }
  })
}

/** The command whose fact an act is. */
const commandOf = (fact: Exclude<PastAct["fact"], { readonly _tag: "Reset" }>): AccountCommand => {
  switch (fact._tag) {
    case "Began":
      return { _tag: "Begin", risk: fact.risk }
    case "Lifted":
      return { _tag: "Lift" }
    case "RiskSet":
      return { _tag: "SetRisk", risk: fact.risk }
    case "PlanSet":
      return { _tag: "SetPlan", plan: fact.plan }
    case "LimitsSet":
      return { _tag: "SetLimits", custom: fact.custom }
  }
}

export class PastAccount {
  readonly days = new DayFigures()
  readonly pauses: Array<PastPause> = []
  /** Requests that were answered as in the history, and the others. */
  readonly answers = { same: 0, other: 0 }
  /** Emails that were refused, and are accepted under these rules: nobody knows what would have become of them. */
  assumedEmails = 0
  private state: AccountState
  private readonly rules: OtherRules
  private readonly admission: ReturnType<typeof admissionBy>
  private readonly senders: PastSenders
  private readonly due = new Heap<Due>((one, other) => one.at - other.at || one.order - other.order)
  private order = 0

  constructor(beginning: PastBeginning, rules: OtherRules) {
    this.state = beginning.account
    this.rules = rules
    this.admission = admissionBy(figuresOf(rules))
    this.senders = new PastSenders(tierCapsOf(rules), beginning.sender, (email, at, waitedMillis) => {
      if (waitedMillis > 0) this.days.released(at, waitedMillis)
      for (const { afterMillis, what } of email.outcomes ?? assumed)
        this.later({ _tag: "Outcome", at: at + afterMillis, email, what })
    })
  }

  /** Takes the next entry of the history, after all that is due before it. */
  take(entry: PastEntry): void {
    this.passUntil(entry.at)
    if (entry._tag === "Request") this.request(entry)
    else this.act(entry)
  }

  /** Lets time pass: what is due up to then happens. */
  passUntil(end: number): void {
    while (true) {
      const wakeAt = this.senders.nextAt ?? Number.POSITIVE_INFINITY
      const due = this.due.first
      const dueAt = due?.at ?? Number.POSITIVE_INFINITY
      if (Math.min(wakeAt, dueAt) > end) return
      if (due !== undefined && dueAt <= wakeAt) {
        this.due.remove(due)
        this.happen(due)
      } else this.senders.wake(wakeAt, this.isPaused)
    }
  }

  private get isPaused(): boolean {
    return this.state.trust.stage === "sending_paused"
  }

  private later(due: NewDue): void {
    // Each form of it is whole with the two.
    this.due.push({ ...due, index: 0, order: this.order++ } as Due)
  }

  private happen(due: Due): void {
    const { at } = due
    switch (due._tag) {
      case "Outcome":
        this.outcome(due.email, due.what, at)
        break
      case "Scheduled":
        this.accept(due.email.sender, [due.email], at)
        break
      case "Lift":
        // A lift of the history may have come first, and another pause after it.
        if (this.isPaused && this.state.trust.since === due.pausedAt) this.decide({ _tag: "Lift" }, at)
    }
  }

  private outcome({ id, sender }: PastEmail, what: EmailOutcome["what"], at: number): void {
    if (what === "handedOver") {
      this.decide({ _tag: "HandOver", emails: 1 }, at)
      this.senders.count(sender, { _tag: "HandOver", emails: 1 }, at)
    } else {
      const _tag = what === "bounced" ? "Bounce" : "Complain"
      this.decide({ _tag, email: id }, at)
      this.senders.count(sender, { _tag }, at)
    }
  }

  private act({ at, fact }: PastAct): void {
    if (fact._tag === "Reset") {
      const { custom, plan } = this.state
      this.state = { ...initialState, custom, plan }
    } else this.decide(commandOf(fact), at)
  }

  private accept(sender: string, emails: ReadonlyArray<PastEmail>, at: number): void {
    this.days.held(at, this.senders.accept(sender, emails, at, this.isPaused))
  }

  /** Decides a command of the account, and carries out what follows from it. */
  private decide(command: AccountCommand, at: number) {
    const { state } = this
    const custom = limitsUnder(this.rules, state.custom, state.trust.risk)
    const decision = this.admission.decide({ ...state, plan: this.rules.plan ?? state.plan, custom }, command, at)
    for (const fact of decision.facts) {
      this.state = this.admission.evolve(this.state, fact)
      if (fact._tag === "Lifted") this.senders.lift(at)
      if (fact._tag !== "Paused") continue
      this.pauses.push({ at: fact.at, reason: fact.reason })
      if (this.rules.liftHours !== undefined)
        this.later({ _tag: "Lift", at: at + this.rules.liftHours * hourMillis, pausedAt: fact.at })
    }
    return decision
  }

  private request(request: PastRequest): void {
    const { answer, at, emails } = request
    const { rejection } = this.decide(
      {
        _tag: "Send",
        emails: admitted(request),
        isVerified: () => answer !== "sender_not_verified",
        isSuppressed: () => false,
        upgradeUrl: ""
      },
      at
    )
    const code: RefusalCode | undefined = isSendRejection(rejection) ? rejection.code : undefined
    this.answers[(code ?? "accepted") === answer ? "same" : "other"]++
    if (code === undefined) this.accepted(request)
    else this.days.refused(at, emails.length, code)
  }

  private accepted({ at, emails }: PastRequest): void {
    this.days.accepted(at, emails.length)
    this.use(at)
    const soon = new Map<string, Array<PastEmail>>()
    for (const email of emails) {
      if (email.outcomes === undefined) this.assumedEmails++
      if (email.scheduledAt !== null && email.scheduledAt > at) {
        this.later({ _tag: "Scheduled", at: email.scheduledAt, email })
        continue
      }
      const own = soon.get(email.sender)
      if (own === undefined) soon.set(email.sender, [email])
      else own.push(email)
    }
    for (const [sender, own] of soon) this.accept(sender, own, at)
  }

  /** Takes note of how much of each limit is used after a request. */
  private use(at: number): void {
    const { rules, state } = this
    const custom = limitsUnder(rules, state.custom, state.trust.risk)
    const limit = emailsPerMonth({ custom, plan: rules.plan ?? state.plan })
    if (limit !== "unlimited") this.days.used(at, "monthUsed", Monthly.advance(state.month, at).used, limit)
    if (state.trust.stage !== "probation" || custom.probation === null) return
    const { emails } = state.probation
    this.days.used(at, "probationUsed", Rolling.used(emails, hourMillis, at), custom.probation.emailsPerHour)
    this.days.used(at, "probationUsed", Rolling.used(emails, dayMillis, at), custom.probation.emailsPerDay)
  }
}

/** Lives of an account by the actors themselves, drawn by a seed, with the history that an operator would have of each. */
import {
  SendAccount,
  type SendAccountFact,
  SendEmail,
  SendLimits,
  SendSender,
  senderKey
} from "../../../src/send/index.ts"
import { ActorsMemory } from "../../../src/send/library/ActorsMemory.ts"
import type { PastEmail, PastEntry, PastRequest } from "../../../src/send/whatIf/sendHistory.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

const { dayMillis, hourMillis } = SendLimits
export const lifeStart = Date.UTC(2026, 4, 29, 9, 30, 0, 123)

const signalKinds = ["foreign_link", "shortened_link", "verification_subject"] as const

interface Email {
  readonly id: string
  readonly sender: string
  readonly scheduledAt: number | null
  readonly outcomes: PastEmail["outcomes"] & object
  readonly acceptedAt: number
  place: number | null
  isFree: boolean
}

interface Report {
  readonly at: number
  readonly email: Email
  readonly what: "handedOver" | "bounced" | "complained"
}

export interface Life {
  readonly history: ReadonlyArray<PastEntry>
  readonly pauses: ReadonlyArray<{ readonly at: number; readonly reason: string }>
  /** When each held email was free to go, and how long it had waited. */
  readonly waited: ReadonlyArray<readonly [at: number, millis: number]>
}

/** Plays a life of some weeks. */
export class RealLife {
  private readonly draw: Prng
  private readonly actors = new ActorsMemory("org_1")
  private readonly history: Array<PastEntry> = []
  private readonly pauses: Array<{ at: number; reason: string }> = []
  private readonly waited: Array<readonly [number, number]> = []
  private readonly held: Array<Email> = []
  private readonly scheduled: Array<Email> = []
  private reports: Array<Report> = []
  private count = 0
  private now = lifeStart

  constructor(seed: number) {
    this.draw = new Prng(seed, "life")
  }

  play(steps: number): Life {
    this.tell({ _tag: "Begin", risk: this.draw.pick(["standard", "higher"] as const) })
    for (const sender of ["one.test", "two.test"])
      this.actors.ask(SendSender, senderKey("live", sender), { _tag: "Verify" }, this.now)
    for (let step = 0; step < steps; step++) {
      this.pass(this.now + this.gap())
      this.act()
    }
    this.pass(this.now + 3 * dayMillis)
    return { history: this.history, pauses: this.pauses, waited: this.waited }
  }

  private gap(): number {
    const most = this.draw.pick([60_000, 20 * 60_000, hourMillis, 8 * hourMillis, dayMillis, 3 * dayMillis])
    return this.draw.int(1, most)
  }

  private act(): void {
    const kind = this.draw.chance(0.9) ? "send" : this.draw.pick(["risk", "risk", "plan", "limits"] as const)
    const { stage } = this.actors.state(SendAccount, "live").trust
    if (kind === "send") this.send()
    else if (stage === "sending_paused") this.tell({ _tag: "Lift" })
    else if (kind === "risk") this.tell({ _tag: "SetRisk", risk: this.draw.pick(["standard", "higher"] as const) })
    else if (kind === "plan") this.tell({ _tag: "SetPlan", plan: this.draw.pick(["hobby", "pro"] as const) })
    else {
      const probation = this.draw.chance(0.5)
        ? null
        : { emailsPerHour: this.draw.int(5, 90), emailsPerDay: this.draw.int(60, 400), domainsPerHour: 500 }
      this.tell({ _tag: "SetLimits", custom: { emailsPerMonth: this.draw.pick([null, 300, 2_000]), probation } })
    }
  }

  /** An act upon the account, and its facts as they are kept. */
  private tell(command: Parameters<typeof SendAccount.options.decide>[1]): void {
    const { facts } = this.actors.ask(SendAccount, "live", command, this.now)
    for (const fact of facts) {
      this.notice(fact)
      if (["Began", "Lifted", "RiskSet", "PlanSet", "LimitsSet"].includes(fact._tag))
        this.history.push({ _tag: "Act", at: fact.at, fact: fact as never })
    }
    this.free(this.now)
  }

  private notice(fact: SendAccountFact): void {
    if (fact._tag === "Paused") this.pauses.push({ at: fact.at, reason: fact.reason })
  }

  private outcomes(): Email["outcomes"] {
    const handedOver = { what: "handedOver" as const, afterMillis: this.draw.int(1, 90_000) }
    const later = () => handedOver.afterMillis + this.draw.int(1, 2 * dayMillis)
    if (this.draw.chance(0.03)) return [handedOver, { what: "bounced", afterMillis: later() }]
    if (this.draw.chance(0.004)) return [handedOver, { what: "complained", afterMillis: later() }]
    return [handedOver]
  }

  private send(): void {
    const { draw, now } = this
    const scheduledAt = draw.chance(0.1) ? now + draw.int(1_000, 5 * dayMillis) : null
    const emails = Array.from(
      { length: draw.pick([1, 1, 2, 5, 20, 60, 100]) },
      (): Email => ({
        id: `m${this.count++}`,
        sender: draw.pick(["one.test", "two.test"]),
        scheduledAt,
        outcomes: this.outcomes(),
        acceptedAt: now,
        place: null,
        isFree: false
      })
    )
    const signals = draw.chance(0.05) ? draw.int(1, Math.min(6, 3 * emails.length)) : 0
    const admitted = emails.map(({ id, sender }, index) => ({
      id,
      from: `a@${sender}`,
      recipients: ["ann@x.test"],
      signals: signalKinds.slice(0, Math.max(0, Math.min(3, signals - 3 * index))),
      ...(scheduledAt === null ? {} : { scheduledAt })
    }))
    const { facts, rejection, reply } = this.actors.ask(
      SendAccount,
      "live",
      { _tag: "Admit", emails: admitted, upgradeUrl: "https://up.test", goes: true },
      now
    )
    for (const fact of facts) this.notice(fact)
    const answer = rejection === undefined ? "accepted" : "code" in rejection ? rejection.code : undefined
    if (answer === undefined) throw new Error(`it was refused as ${JSON.stringify(rejection)}`)
    const past = emails.map(
      ({ id, outcomes, sender }): PastEmail => ({
        id,
        sender,
        scheduledAt,
        outcomes: rejection === undefined ? outcomes : undefined
      })
    )
    const request: PastRequest = { _tag: "Request", at: now, emails: past, signals: rejection ? 0 : signals, answer }
    this.history.push(request)
    if (reply === undefined) return
    for (const email of emails) {
      const { place, state } = this.actors.state(SendEmail, email.id)
      email.place = place
      if (state === "scheduled") this.scheduled.push(email)
      else if (state === "held") this.held.push(email)
      else this.go(email, now)
    }
  }

  /** An email is free to go: it is handed over, and what becomes of it comes later. */
  private go(email: Email, at: number): void {
    email.isFree = true
    for (const { afterMillis, what } of email.outcomes) this.reports.push({ at: at + afterMillis, email, what })
  }

  private free(at: number): void {
    for (let index = this.scheduled.length - 1; index >= 0; index--) {
      const email = this.scheduled[index]!
      const { place, state } = this.actors.state(SendEmail, email.id)
      if (state === "scheduled") continue
      this.scheduled.splice(index, 1)
      email.place = place
      if (state === "held") this.held.push(email)
      else this.go(email, at)
    }
    for (let index = this.held.length - 1; index >= 0; index--) {
      const email = this.held[index]!
      const { head } = this.actors.state(SendSender, senderKey("live", email.sender)).holds
      if (email.place! >= head) continue
      this.held.splice(index, 1)
      this.waited.push([at, at - (email.scheduledAt ?? email.acceptedAt)])
      this.go(email, at)
    }
  }

  private pass(end: number): void {
    while (true) {
      this.reports.sort((one, other) => one.at - other.at)
      const wakeAt = this.actors.nextWake() ?? Number.POSITIVE_INFINITY
      const reportAt = this.reports[0]?.at ?? Number.POSITIVE_INFINITY
      const next = Math.min(wakeAt, reportAt)
      if (next > end) break
      if (reportAt <= wakeAt) this.report(this.reports.shift()!)
      else {
        this.actors.advance(wakeAt)
        this.free(wakeAt)
      }
    }
    this.now = end
  }

  private report({ at, email: { id, sender }, what }: Report): void {
    if (what === "handedOver")
      this.actors.ask(
        SendAccount,
        "live",
        { _tag: "Dispatch", emails: [{ id, sender, recipients: ["ann@x.test"] }] },
        at
      )
    const report = {
      id,
      sender,
      what,
      ...(what === "handedOver" ? {} : { recipient: "ann@x.test", suppresses: false })
    }
    const { facts } = this.actors.ask(SendAccount, "live", { _tag: "Report", reports: [report] }, at)
    for (const fact of facts) this.notice(fact)
  }
}

/**
 * The naive account: it keeps every email, bounce and complaint with its time, counts them anew for each question, and checks the stage hour by hour,
 * whether or not anything can change. Slow, unbounded and too plain to be wrong; the rules are compared with it.
 */
import { NaiveDistinct, NaiveMonthly, NaiveRolling } from "../limits/windowModels.ts"

const hour = 3_600_000
const day = 24 * hour

interface Caps {
  readonly emailsPerHour: number
  readonly emailsPerDay: number
  readonly domainsPerHour: number
}

const capsByRisk = {
  standard: { emailsPerHour: 50, emailsPerDay: 200, domainsPerHour: 25 },
  higher: { emailsPerHour: 20, emailsPerDay: 100, domainsPerHour: 10 }
}
const windowByRisk = { standard: 72 * hour, higher: 168 * hour }

export type Answer =
  | { readonly state: "accepted" | "held" }
  | { readonly code: string; readonly resetsAt?: number; readonly cap?: string }

export class NaiveAccount {
  stage = "probation"
  reason: string | undefined
  risk: "standard" | "higher" = "standard"
  custom: Caps | null = null
  monthly = 3_000
  readonly month = new NaiveMonthly()
  since: number
  cleanSince = 0
  riskAt = Number.NEGATIVE_INFINITY
  checked: number
  emails: Array<{ readonly id: string; readonly at: number; readonly signals: number; bounced: boolean }> = []
  windows = { emails: new NaiveRolling(), domains: new NaiveDistinct() }
  handedOver: Array<{ readonly at: number; readonly emails: number }> = []
  bounces: Array<number> = []
  complaints: Array<number> = []

  constructor(now: number) {
    this.since = now
    this.checked = Math.floor(now / hour)
  }

  private cleanAt(at: number): boolean {
    const seen = (time: number) => time >= at - day && time < at
    const handed = this.handedOver.filter((one) => seen(one.at)).reduce((sum, one) => sum + one.emails, 0)
    return handed === 0 || this.bounces.filter(seen).length / handed < 0.02
  }

  private check(at: number): void {
    if (this.stage === "probation") {
      if (at < this.since + windowByRisk[this.risk] || at <= this.riskAt) return
      if (this.cleanAt(at) && !this.complaints.some((time) => time >= this.since)) {
        this.stage = "established"
        this.cleanSince = at
      }
      this.since = at
    } else if (this.stage === "established") {
      const complained = this.complaints.some((time) => time >= at - day && time < at)
      if (complained || !this.cleanAt(at)) this.cleanSince = at
      else if (at >= this.cleanSince + 14 * day && this.handedOver.some((one) => one.at >= this.cleanSince))
        this.stage = "trusted"
    }
  }

  advance(now: number): void {
    while ((this.checked + 1) * hour <= now) {
      this.checked++
      this.check(this.checked * hour)
    }
  }

  private pause(reason: string): void {
    this.stage = "sending_paused"
    this.reason = reason
  }

  private crossed(emails: number, domains: ReadonlyArray<string>, now: number): Answer | undefined {
    const caps = this.custom ?? capsByRisk[this.risk]
    const found: Array<{ readonly cap: string; readonly resetsAt: number }> = []
    for (const [cap, length, limit] of [
      ["day sends", day, caps.emailsPerDay],
      ["hour sends", hour, caps.emailsPerHour]
    ] as const) {
      if (!this.windows.emails.passes(length, limit, emails, now))
        found.push({ cap, resetsAt: this.windows.emails.resetsAt(length, limit, emails, now) })
    }
    if (!this.windows.domains.passes(hour, caps.domainsPerHour, domains, now)) {
      const resetsAt = this.windows.domains.resetsAt(hour, caps.domainsPerHour, domains, now)
      found.push({ cap: "hour recipient_domains", resetsAt })
    }
    const longest = Math.max(...found.map(({ resetsAt }) => resetsAt))
    const told = found.find(({ resetsAt }) => resetsAt === longest)
    return told === undefined ? undefined : { code: "probation_limit_reached", ...told }
  }

  private isSpike(now: number): boolean {
    const lastHour = this.emails.filter(({ at }) => at > now - hour).length
    const present = Math.floor(now / hour)
    const first = Math.floor(this.emails[0]!.at / hour)
    const counts: Array<number> = []
    for (let past = present - 1; past >= first && past >= present - 24; past--)
      counts.push(this.emails.filter(({ at }) => Math.floor(at / hour) === past).length)
    if (counts.length === 0) return false
    return lastHour >= 100 && lastHour > (5 * counts.reduce((sum, count) => sum + count, 0)) / counts.length
  }

  send(ids: ReadonlyArray<string>, domains: ReadonlyArray<string>, signals: number, now: number): Answer {
    this.advance(now)
    if (this.stage === "sending_paused") return { code: "sending_paused" }
    if (this.month.used(now) + ids.length > this.monthly)
      return { code: "monthly_limit_reached", resetsAt: this.month.resetsAt(now) }
    const onProbation = this.stage === "probation"
    const crossed = onProbation ? this.crossed(ids.length, domains, now) : undefined
    if (crossed !== undefined) return crossed
    this.month.accepted.push({ at: now, units: ids.length })
    if (!onProbation) return { state: "accepted" }
    this.windows.emails.accepted.push({ at: now, units: ids.length })
    for (const value of domains) this.windows.domains.accepted.push({ at: now, value })
    for (const [index, id] of ids.entries())
      this.emails.push({ id, at: now, signals: index === 0 ? signals : 0, bounced: false })
    const recent = this.emails.filter(({ at }) => at > now - day).reduce((sum, email) => sum + email.signals, 0)
    if (this.isSpike(now)) this.pause("spike")
    else if (signals > 0 && recent >= 5) this.pause("risky_content")
    return { state: this.stage === "sending_paused" ? "held" : "accepted" }
  }

  handOver(emails: number, now: number): void {
    this.advance(now)
    this.handedOver.push({ at: now, emails })
  }

  bounce(id: string, now: number): void {
    this.advance(now)
    this.bounces.push(now)
    const email = this.emails.find((one) => one.id === id)
    const isNew = email !== undefined && !email.bounced
    if (email !== undefined) email.bounced = true
    const among = this.emails.slice(0, 25)
    if (this.stage === "probation" && isNew && among.includes(email) && among.filter((one) => one.bounced).length >= 3)
      this.pause("bounces")
  }

  complain(id: string, now: number): void {
    this.advance(now)
    this.complaints.push(now)
    if (this.stage === "probation" && this.emails.slice(0, 100).some((one) => one.id === id)) this.pause("complaint")
  }

  lift(now: number): boolean {
    this.advance(now)
    if (this.stage !== "sending_paused") return false
    this.stage = "probation"
    this.since = now
    this.riskAt = Number.NEGATIVE_INFINITY
    this.emails = []
    this.windows = { emails: new NaiveRolling(), domains: new NaiveDistinct() }
    this.handedOver = []
    this.bounces = []
    this.complaints = []
    return true
  }

  setRisk(risk: "standard" | "higher", now: number): void {
    this.advance(now)
    if (risk === this.risk) return
    this.risk = risk
    this.riskAt = now
  }
}

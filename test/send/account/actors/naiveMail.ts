/**
 * The naive mail of an organization: emails in lists, each with all that ever happened to it; queues are searched and days counted anew for each question. It
 * knows no actor, place, page, mask or mark. Midnights are taken as one moment, so it is asked only outside of the ten minutes after one.
 */
import { NaiveAccount } from "../../naiveAccount.ts"

const day = 24 * 3_600_000
const dayOf = (at: number): number => Math.floor(at / day)

export interface NaiveEmail {
  readonly id: string
  readonly sender: string
  readonly recipients: ReadonlyArray<string>
  state: string
  scheduledAt: number | undefined
  isDelayed: boolean
  /** Whether it counts as handed over, and whether the hand-over itself was reported. */
  isCounted: boolean
  isHandedOver: boolean
  readonly heard: Set<string>
  /** Its turn among those that wait: scheduled mail queues when its time has come. */
  turn: number
}

interface NaiveSender {
  isVerified: boolean
  cap: number
  /** When something was let go. */
  readonly letGo: Array<number>
}

export interface NaiveRequest {
  readonly id: string
  readonly sender: string
  readonly recipients: ReadonlyArray<string>
  readonly signals: number
  readonly scheduledAt?: number
}

export class NaiveMail {
  readonly account: NaiveAccount
  readonly emails: Array<NaiveEmail> = []
  readonly senders: Record<string, NaiveSender>
  readonly suppressed = new Set<string>()
  /** What was told since it was last looked at. */
  told: Array<string> = []
  private at: number
  private turns = 0

  constructor(now: number, senders: ReadonlyArray<string>, cap: number) {
    this.at = now
    this.account = new NaiveAccount(now)
    this.senders = Object.fromEntries(senders.map((name) => [name, { isVerified: true, cap, letGo: [] }]))
  }

  get isPaused(): boolean {
    return this.account.stage === "sending_paused"
  }

  held(sender: string): ReadonlyArray<NaiveEmail> {
    return this.emails
      .filter((email) => email.sender === sender && email.state === "held")
      .sort((left, right) => left.turn - right.turn)
  }

  scheduled(sender: string): ReadonlyArray<NaiveEmail> {
    return this.emails.filter((email) => email.sender === sender && email.state === "scheduled")
  }

  private room(name: string): number {
    const { cap, letGo } = this.senders[name]!
    return Math.max(0, cap - letGo.filter((at) => dayOf(at) === dayOf(this.at)).length)
  }

  /** Puts an email into the queue, or lets it go. */
  private queue(email: NaiveEmail): void {
    const goes = !this.isPaused && this.held(email.sender).length === 0 && this.room(email.sender) > 0
    email.state = goes ? "queued" : "held"
    email.turn = this.turns++
    if (goes) this.senders[email.sender]!.letGo.push(this.at)
  }

  /** Lets go what has room. */
  release(): void {
    if (this.isPaused) return
    for (const name of Object.keys(this.senders))
      for (const email of this.held(name).slice(0, this.room(name))) {
        // Let go, it stays what it was told to be until the mailer asks.
        email.state = "released"
        this.senders[name]!.letGo.push(this.at)
      }
  }

  /** Takes what happens until `now`: midnights, and scheduled mail. */
  advance(now: number): void {
    for (;;) {
      const midnight = (dayOf(this.at) + 1) * day
      const due = this.emails.filter(({ state }) => state === "scheduled").map((email) => email.scheduledAt!)
      const next = Math.min(midnight, ...due)
      if (next > now) break
      this.at = Math.max(this.at, next)
      this.account.advance(this.at)
      if (next === midnight) this.release()
      for (const email of this.emails)
        if (email.state === "scheduled" && email.scheduledAt! <= this.at) this.queue(email)
    }
    this.at = now
    this.account.advance(now)
  }

  /** The state of each email, or the code of the refusal. */
  admit(requests: ReadonlyArray<NaiveRequest>, now: number): ReadonlyArray<string> | string {
    this.advance(now)
    if (requests.some(({ sender }) => !this.senders[sender]!.isVerified)) return "sender_not_verified"
    if (this.isPaused) return "sending_paused"
    const left = ({ recipients }: NaiveRequest) => recipients.filter((one) => !this.suppressed.has(one))
    const going = requests.filter((one) => left(one).length > 0)
    if (going.length > 0) {
      const domains = [...new Set(going.flatMap(left).map((one) => one.slice(one.indexOf("@") + 1)))]
      const signals = going.reduce((sum, one) => sum + one.signals, 0)
      const ids = going.map(({ id }) => id)
      const answer = this.account.send(ids, domains, signals, now)
      if ("code" in answer) return answer.code
      if (answer.state === "held") this.told.push("paused")
    }
    return requests.map((request) => {
      const { id, recipients, scheduledAt, sender } = request
      const email: NaiveEmail = {
        id,
        sender,
        recipients,
        state: left(request).length === 0 ? "suppressed" : "scheduled",
        scheduledAt,
        isDelayed: false,
        isCounted: false,
        isHandedOver: false,
        heard: new Set(),
        turn: 0
      }
      const isLater = scheduledAt !== undefined && scheduledAt > now
      if (email.state === "scheduled" && !isLater) this.queue(email)
      this.emails.push(email)
      return email.state
    })
  }

  dispatch(id: string): string {
    const email = this.emails.find((one) => one.id === id)
    if (email === undefined) return "none"
    if (email.state !== "queued" && email.state !== "released") return email.state
    if (this.isPaused) return "held"
    email.state = email.recipients.every((one) => this.suppressed.has(one)) ? "suppressed" : "sending"
    return email.state
  }

  cancel(id: string): boolean {
    const email = this.emails.find((one) => one.id === id)
    if (email === undefined || !["queued", "held", "released", "scheduled"].includes(email.state)) return false
    email.state = "canceled"
    return true
  }

  private count(email: NaiveEmail, now: number): void {
    if (!email.isCounted) this.account.handOver(1, now)
    email.isCounted = true
  }

  private pausing(act: () => void): void {
    const before = this.isPaused
    act()
    if (this.isPaused && !before) this.told.push("paused")
  }

  report(id: string, what: string, recipient: string, suppresses: boolean, now: number): void {
    const email = this.emails.find((one) => one.id === id)
    if (email === undefined) return
    const isSending = email.state === "sending"
    if (what === "delayed") {
      if (isSending && !email.isDelayed) this.told.push(`${id} delayed`)
      email.isDelayed ||= isSending
    } else if (what === "failed") {
      if (!isSending) return
      email.state = "failed"
      this.told.push(`${id} failed`)
    } else if (what === "handedOver") {
      if (email.isHandedOver || !(isSending || email.isCounted)) return
      this.count(email, now)
      email.isHandedOver = true
      if (isSending) email.state = "sent"
      this.told.push(`${id} sent`)
    } else this.hear(email, what, recipient, suppresses, now)
  }

  private hear(email: NaiveEmail, what: string, recipient: string, suppresses: boolean, now: number): void {
    const key = `${what} ${recipient}`
    if ((!email.isCounted && email.state !== "sending") || email.heard.has(key)) return
    const isFirst = ![...email.heard].some((heard) => heard.startsWith(what))
    email.heard.add(key)
    this.count(email, now)
    this.told.push(`${email.id} ${key}`)
    if (what === "delivered") {
      if (email.state === "sending" || email.state === "sent") email.state = "delivered"
      return
    }
    email.state = what
    if (suppresses) this.suppressed.add(recipient)
    if (!isFirst) return
    this.pausing(() => {
      if (what === "bounced") this.account.bounce(email.id, now)
      else this.account.complain(email.id, now)
    })
  }

  lift(now: number): boolean {
    const lifted = this.account.lift(now)
    if (lifted) this.release()
    return lifted
  }

  setCap(name: string, cap: number): void {
    const sender = this.senders[name]!
    const isRaised = cap > sender.cap
    sender.cap = cap
    if (isRaised) this.release()
  }

  /** Verifies or removes a sender; whether that may be. */
  setVerified(name: string, isVerified: boolean): boolean {
    const sender = this.senders[name]!
    if (!isVerified && (!sender.isVerified || this.held(name).length + this.scheduled(name).length > 0)) return false
    sender.isVerified = isVerified
    return true
  }
}

/**
 * The oracle of sending: an account told as lists of all that ever happened to it, moved by the facts that were stored. It counts anew for each
 * question and knows no layout, no window state and no page. Each fact is judged before it is taken in. Pure; needs no service.
 */

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

interface Caps {
  readonly emailsPerHour: number
  readonly emailsPerDay: number
  readonly domainsPerHour: number
}

const capsByRisk: Readonly<Record<string, Caps>> = {
  standard: { emailsPerHour: 50, emailsPerDay: 200, domainsPerHour: 25 },
  higher: { emailsPerHour: 20, emailsPerDay: 100, domainsPerHour: 10 }
}
const capByTier: Readonly<Record<string, number>> = { new: 200, warming: 2_000, trusted: 50_000 }

const promotions: Readonly<Record<string, string>> = { new: "warming", warming: "trusted" }

/** What an email is after it was handed over, so that there may be reports of its recipients. */
export const goneStates: ReadonlyArray<string> = ["sending", "sent", "delivered", "bounced", "complained"]

/** A report of a recipient, as the model remembers it. */
export const heardOf = (what: string, recipient: string): string => `${what} ${recipient.toLowerCase()}`

interface Accepted {
  readonly at: number
  readonly emails: number
  readonly domains: ReadonlyArray<string>
}

export interface ModelEmail {
  state: string
  readonly sender: string
  place: number | null
  handedOver: number
  delayed: number
  /** What was reported of which recipient. */
  heard: Array<string>
}

export interface ModelSender {
  isVerified: boolean
  tier: string
  customCap: number | null
  paused: boolean
  scheduled: number
  handedOver: number
  /** By UTC day. */
  letGo: Array<readonly [day: number, emails: number]>
  /** Places that wait, in their order. */
  waiting: Array<number>
  nextPlace: number
}

/** A fact as it stands in the log. */
export interface ModelFact {
  readonly _tag: string
  readonly at: number
  // biome-ignore lint/suspicious/noExplicitAny: facts of all actors as JSON; what is read of one is what its schema has
  readonly [field: string]: any
}

/** A cap that a request would cross. */
export interface Crossed {
  readonly code: string
  readonly resetsAt: number
  readonly cap: string
}

const dayOf = (at: number): number => Math.floor(at / dayMillis)

/** The first instant from `now` on, among those at which something leaves a window, at which `passes` holds. */
const earliest = (instants: ReadonlyArray<number>, now: number, passes: (at: number) => boolean): number =>
  [...new Set([now, ...instants.filter((at) => at > now)])].sort((left, right) => left - right).find(passes) ??
  Number.POSITIVE_INFINITY

export class SendModel {
  stage = "probation"
  since: number | null = null
  risk = "standard"
  custom: { readonly emailsPerMonth: number | "unlimited" | null; readonly probation: Caps | null } = {
    emailsPerMonth: null,
    probation: null
  }
  /** Since probation began. */
  windows: Array<Accepted> = []
  /** Since ever. */
  month: Array<{ readonly at: number; readonly emails: number }> = []
  handedOver = 0
  senders: Record<string, ModelSender> = {}
  emails: Record<string, ModelEmail> = {}
  /** Emails that the account counts as bounced. */
  bounced: Array<string> = []
  suppressed: Array<string> = []

  /** As it is now. */
  copy(): SendModel {
    return Object.assign(new SendModel(), structuredClone({ ...this }))
  }

  sender(name: string): ModelSender {
    this.senders[name] ??= {
      isVerified: false,
      tier: "new",
      customCap: null,
      paused: false,
      scheduled: 0,
      handedOver: 0,
      letGo: [],
      waiting: [],
      nextPlace: 0
    }
    return this.senders[name]
  }

  capOf({ customCap, tier }: ModelSender): number {
    return customCap ?? capByTier[tier] ?? 0
  }

  letGoOn({ letGo }: ModelSender, day: number): number {
    return letGo.filter(([on]) => on === day).reduce((sum, [, emails]) => sum + emails, 0)
  }

  usedInMonth(at: number): number {
    const monthOf = (time: number) => new Date(time).toISOString().slice(0, 7)
    return this.month.filter((one) => monthOf(one.at) === monthOf(at)).reduce((sum, { emails }) => sum + emails, 0)
  }

  get monthlyLimit(): number {
    const { emailsPerMonth } = this.custom
    return emailsPerMonth === "unlimited" ? Number.POSITIVE_INFINITY : (emailsPerMonth ?? 3_000)
  }

  get caps(): Caps {
    return this.custom.probation ?? (capsByRisk[this.risk] as Caps)
  }

  private emailsSince(at: number, millis: number): number {
    return this.windows.filter((one) => one.at > at - millis).reduce((sum, { emails }) => sum + emails, 0)
  }

  /** Whether the domains pass: what is living is used again for nothing, also where the cap was lowered meanwhile. */
  private domainsPass(at: number, domains: ReadonlyArray<string>, cap: number): boolean {
    const living = new Set(this.windows.filter((one) => one.at > at - hourMillis).flatMap((one) => one.domains))
    return domains.every((domain) => living.has(domain)) || new Set([...living, ...domains]).size <= cap
  }

  /** The cap that a request at `now` crosses; of several the one that lasts longest, of equal ones day, hour, domains. */
  crossed(emails: number, domains: ReadonlyArray<string>, now: number): Crossed | undefined {
    const { domainsPerHour, emailsPerDay, emailsPerHour } = this.caps
    const checks: ReadonlyArray<
      readonly [cap: string, window: number, fits: boolean, passes: (at: number) => boolean]
    > = [
      [
        "day sends",
        dayMillis,
        emails <= emailsPerDay,
        (at) => this.emailsSince(at, dayMillis) + emails <= emailsPerDay
      ],
      [
        "hour sends",
        hourMillis,
        emails <= emailsPerHour,
        (at) => this.emailsSince(at, hourMillis) + emails <= emailsPerHour
      ],
      [
        "hour recipient_domains",
        hourMillis,
        new Set(domains).size <= domainsPerHour,
        (at) => this.domainsPass(at, domains, domainsPerHour)
      ]
    ]
    let told: Crossed | undefined
    for (const [cap, window, fits, passes] of checks) {
      if (passes(now)) continue
      const ends = this.windows.map(({ at }) => at + window)
      const resetsAt = fits ? earliest(ends, now, passes) : now + window
      if (told === undefined || resetsAt > told.resetsAt) told = { code: "probation_limit_reached", resetsAt, cap }
    }
    return told
  }

  /** Takes a fact in. Answers what is wrong with it; undefined for nothing. */
  take(kind: string, key: string, fact: ModelFact): string | undefined {
    switch (kind) {
      case "sendAccount":
        return this.takeAccount(fact)
      case "sendSender":
        return this.takeSender(this.sender(key.slice(key.indexOf("/") + 1)), fact)
      case "sendEmail":
        return this.takeEmail(key, fact)
      case "sendSuppressions":
        this.suppressed = this.suppressed.filter((one) => one !== fact.address.toLowerCase())
        if (fact._tag === "Suppressed") this.suppressed.push(fact.address.toLowerCase())
        return undefined
      default:
        return undefined
    }
  }

  private takeAccount(fact: ModelFact): string | undefined {
    switch (fact._tag) {
      case "Began":
        this.since = fact.at
        this.risk = fact.risk
        return undefined
      case "Paused":
        return this.takeStage("probation", "sending_paused")
      case "Lifted":
        if (this.stage !== "sending_paused") return "a pause was lifted that was none"
        this.stage = "probation"
        this.windows = []
        return undefined
      case "Established":
        this.windows = []
        return this.takeStage("probation", "established")
      case "Trusted":
        return this.takeStage("established", "trusted")
      case "Bounced":
        this.bounced.push(fact.email)
        return this.bounced.indexOf(fact.email) < this.bounced.length - 1
          ? `the account counts ${fact.email} as bounced twice`
          : undefined
      case "RiskSet":
        this.risk = fact.risk
        return undefined
      case "LimitsSet":
        this.custom = fact.custom
        return undefined
      case "HandedOver":
        this.handedOver += fact.emails
        return undefined
      case "Accepted":
        return this.takeRequest(fact)
      default:
        return undefined
    }
  }

  private takeStage(from: string, to: string): string | undefined {
    const was = this.stage
    this.stage = to
    return was === from ? undefined : `an account that is ${was} becomes ${to}`
  }

  private takeRequest({ at, domains, emails }: ModelFact): string | undefined {
    if (this.stage === "sending_paused") return "a request was accepted while the account was paused"
    const used = this.usedInMonth(at) + emails
    if (used > this.monthlyLimit) return `${used} emails in a month of ${this.monthlyLimit}`
    if (this.stage === "probation") {
      const crossed = this.crossed(emails, domains, at)
      if (crossed !== undefined) return `it crosses the cap of ${crossed.cap}`
      this.windows.push({ at, emails, domains })
    }
    this.month.push({ at, emails })
    return undefined
  }

  private takeSender(sender: ModelSender, fact: ModelFact): string | undefined {
    switch (fact._tag) {
      case "Verified":
      case "Restored":
        sender.isVerified = true
        return undefined
      case "Removed":
        sender.isVerified = false
        return sender.waiting.length + sender.scheduled > 0 ? "a sender with waiting mail was removed" : undefined
      case "Forgotten":
        Object.assign(sender, { tier: "new", customCap: null, letGo: [], handedOver: 0 })
        return undefined
      case "Promoted": {
        const was = sender.tier
        sender.tier = fact.tier
        return promotions[was] === fact.tier ? undefined : `a sender whose tier is ${was} is promoted to ${fact.tier}`
      }
      case "CapSet":
        sender.customCap = fact.cap
        return undefined
      case "HandedOver":
        sender.handedOver += fact.emails
        return undefined
      case "Scheduled":
        sender.scheduled += fact.emails
        return undefined
      case "Unscheduled":
        sender.scheduled--
        return sender.scheduled < 0 ? "more mail came due than was scheduled" : undefined
      case "Paused":
        sender.paused = true
        return this.stage === "sending_paused" ? undefined : "a sender was paused whose account is not"
      case "Lifted":
        sender.paused = false
        return this.stage === "sending_paused" ? "a sender goes on whose account is paused" : undefined
      default:
        return this.takeQueue(sender, fact)
    }
  }

  private takeQueue(sender: ModelSender, fact: ModelFact): string | undefined {
    const day = dayOf(fact.at)
    const room = Math.max(0, this.capOf(sender) - this.letGoOn(sender, day))
    switch (fact._tag) {
      case "Accepted": {
        if (fact.released > room) return `${fact.released} emails went where ${room} had room`
        if (fact.released > 0 && sender.waiting.length > 0) return "new mail overtook mail that waits"
        if (fact.held > 0 && sender.waiting.length === 0 && !sender.paused && room > fact.released)
          return "mail was held although it had room"
        sender.letGo.push([day, fact.released])
        for (let held = 0; held < fact.held; held++) sender.waiting.push(sender.nextPlace++)
        return undefined
      }
      case "Released": {
        if (this.stage === "sending_paused" || sender.paused) return "mail was let go while the account was paused"
        const gone = sender.waiting.filter((place) => place <= fact.through)
        if (gone.length !== fact.emails) return `${fact.emails} emails were let go where ${gone.length} waited`
        if (gone.length > room) return `${gone.length} emails were let go where ${room} had room`
        if (gone.some((place) => place < fact.from)) return "mail was left behind"
        sender.waiting = sender.waiting.slice(gone.length)
        sender.letGo.push([day, gone.length])
        return undefined
      }
      case "Cancelled": {
        const before = sender.waiting.length
        sender.waiting = sender.waiting.filter((place) => place !== fact.place)
        return sender.waiting.length === before ? "a place was cancelled that did not wait" : undefined
      }
      default:
        return undefined
    }
  }

  /** Whether an email waits in its sender's queue still. */
  isHeld({ place, sender, state }: ModelEmail): boolean {
    return state === "held" && place !== null && this.sender(sender).waiting.includes(place)
  }

  private takeEmail(id: string, fact: ModelFact): string | undefined {
    if (fact._tag === "Accepted") {
      if (this.emails[id] !== undefined) return `the email ${id} was accepted twice`
      const { place, sender, state } = fact
      this.emails[id] = { state, sender, place, handedOver: 0, delayed: 0, heard: [] }
      return undefined
    }
    const email = this.emails[id]
    if (email === undefined) return `${fact._tag} of ${id}, which was never accepted`
    const was = email.state
    const from = (states: ReadonlyArray<string>, to: string): string | undefined => {
      email.state = to
      return states.includes(was) ? undefined : `${fact._tag} of ${id}, which is ${was}`
    }
    switch (fact._tag) {
      case "Queued":
        return from(["scheduled"], "queued")
      case "Held":
        email.place = fact.place
        return from(["scheduled"], "held")
      case "Canceled":
        return from(["queued", "held", "scheduled"], "canceled")
      case "Suppressed":
      case "Dispatched":
        if (this.stage === "sending_paused") return `${id} is handed over while the account is paused`
        if (this.isHeld(email)) return `${id} is handed over while it is held`
        return from(["queued", "held"], fact._tag === "Dispatched" ? "sending" : "suppressed")
      case "HandedOver":
        email.handedOver++
        if (email.handedOver > 1) return `${id} was handed over twice`
        return email.heard.length > 0 ? undefined : from(["sending"], "sent")
      case "Delayed":
        email.delayed++
        return email.delayed > 1 ? `${id} was delayed twice` : from(["sending"], was)
      case "Bounced":
      case "Complained":
      case "Delivered": {
        const to = fact._tag.toLowerCase()
        const heard = heardOf(to, fact.recipient)
        if (email.heard.includes(heard)) return `${id} was ${heard} twice`
        email.heard.push(heard)
        return from(goneStates, to === "delivered" && was !== "sending" && was !== "sent" ? was : to)
      }
      case "Failed":
        return from(["sending"], "failed")
      case "Forgotten":
        delete this.emails[id]
        return undefined
      default:
        return undefined
    }
  }
}

/**
 * Sixty days of three accounts, each with one sender: a clean one, one whose first emails bounce, one that spikes. The expectation was written from
 * docs/platform.md, 9, before the rules were run.
 */
import { describe, expect, it } from "@effect/vitest"
import {
  type AccountCommand,
  type AccountFact,
  admission,
  domainTier,
  emptyPage,
  holds,
  nextPromotion,
  nextRelease,
  nextTransition,
  SendLimits,
  type TierFact
} from "../../src/send/index.ts"
import { living } from "./given.ts"

const minuteMillis = 60_000
const start = Date.parse("2026-01-01T09:30:00Z")
const end = Date.parse("2026-03-01T23:59:00Z")
const iso = (at: number) => new Date(at).toISOString().slice(0, 19)

/** An account and its sender, and what is told of them, line by line. */
class Sending {
  readonly account = living(admission)
  readonly tier = living(domainTier)
  readonly queue = living(holds)
  readonly lines: Array<string> = []
  ids: Array<string> = []
  private refused = 0
  private count = 0

  constructor(plan: "hobby" | "pro") {
    this.command({ _tag: "Begin", risk: "standard" }, start)
    this.command({ _tag: "SetPlan", plan }, start)
    this.tierFacts(this.tier.ask({ _tag: "Verify" }, start).facts)
  }

  private cap(): number {
    return SendLimits.emailsPerDayByTier[this.tier.state().tier]
  }

  private tell(at: number, text: string): void {
    this.lines.push(`${iso(at)} ${text}`)
  }

  private tierFacts(facts: ReadonlyArray<TierFact>): void {
    for (const fact of facts) if (fact._tag === "Promoted") this.tell(fact.at, `the sender is ${fact.tier}`)
  }

  private facts(facts: ReadonlyArray<AccountFact>): void {
    for (const fact of facts) {
      if (fact._tag === "Established" || fact._tag === "Trusted" || fact._tag === "ProbationProlonged")
        this.tell(fact.at, fact._tag)
      if (fact._tag === "Lifted") this.tell(fact.at, "lifted")
      if (fact._tag === "Paused") this.tell(fact.at, `paused: ${fact.reason}`)
    }
  }

  command(command: AccountCommand, at: number): void {
    this.facts(this.account.ask(command, at).facts)
  }

  private handOver(emails: number, at: number): void {
    if (emails === 0) return
    this.command({ _tag: "HandOver", emails }, at)
    this.tierFacts(this.tier.ask({ _tag: "HandOver", emails }, at).facts)
  }

  bounce(email: string, at: number): void {
    this.command({ _tag: "Bounce", email }, at)
    this.tierFacts(this.tier.ask({ _tag: "Bounce" }, at).facts)
  }

  send(emails: number, at: number): void {
    const ids = Array.from({ length: emails }, () => `m${this.count++}`)
    const { facts, rejection, reply } = this.account.ask(
      {
        _tag: "Send",
        emails: ids.map((id) => ({ id, sender: "s.test", recipients: ["a@x.test"] })),
        isVerified: () => true,
        isSuppressed: () => false,
        upgradeUrl: "https://up.test"
      },
      at
    )
    if (rejection !== undefined) {
      const until = "resetsAt" in rejection ? ` until ${rejection.resetsAt.slice(0, 19)}` : ""
      if (this.refused++ === 0) this.tell(at, `refused: ${"code" in rejection ? rejection.code : ""}${until}`)
      return
    }
    if (this.refused > 0) this.tell(at, `accepted again, after ${this.refused}`)
    this.refused = 0
    this.facts(facts)
    this.ids.push(...ids)
    if (reply?.emails[0]?.state === "held") {
      this.tell(at, `${emails} held with the pause`)
      return
    }
    const accepted = this.queue.ask({ _tag: "Accept", emails, cap: this.cap() }, at).reply
    this.handOver(accepted?.released ?? 0, at)
    const held = accepted?.held ?? []
    if (held.length > 0) this.tell(at, `${held.length} held until ${iso(held[held.length - 1]!.heldUntil!)}`)
  }

  /** Wakes what wants to be woken up to `now`. */
  wake(now: number): void {
    const month = this.account.state().month
    if (now === month.endMillis) this.tell(now, `${month.used} in the month`)
    const transition = nextTransition(this.account.state().trust)
    if (transition !== undefined && transition.at <= now) {
      const told = this.lines.length
      this.command({ _tag: "Check" }, now)
      // It is woken for a transition, and for nothing else.
      expect(this.lines.length).toBe(told + 1)
    }
    if ((nextPromotion(this.tier.state())?.at ?? now + 1) <= now)
      this.tierFacts(this.tier.ask({ _tag: "Check" }, now).facts)
    for (let at = nextRelease(this.queue.state(), this.cap()); at !== undefined && at <= now; ) {
      const { reply } = this.queue.ask({ _tag: "Release", cap: this.cap(), pages: () => emptyPage }, at)
      this.handOver(reply?.released ?? 0, at)
      const next = nextRelease(this.queue.state(), this.cap())
      if (next === undefined) this.tell(at, "nothing is held")
      at = next
    }
  }
}

/** Plays an account minute by minute; `act` is told the minute as `01-31 09:30`. */
const play = (sending: Sending, act: (minute: string, at: number) => void): ReadonlyArray<string> => {
  for (let at = start; at <= end; at += minuteMillis) {
    sending.wake(at)
    act(iso(at).slice(5, 16).replace("T", " "), at)
  }
  return sending.lines
}

describe("sixty days", () => {
  it("of a clean account", () => {
    const sending = new Sending("pro")
    const lines = play(sending, (minute, at) => {
      const [day, time] = minute.split(" ") as [string, string]
      if (day < "01-04") {
        if (time === "10:00" || time === "12:00") sending.send(40, at)
      } else if (time === "11:00") {
        const batches = day === "01-10" ? 24 : 3
        for (let batch = 0; batch < batches; batch++) sending.send(100, at)
      }
    })
    expect(lines).toEqual([
      "2026-01-04T10:00:00 Established",
      "2026-01-04T10:00:00 the sender is warming",
      "2026-01-10T11:00:00 100 held until 2026-01-11T00:00:00",
      "2026-01-10T11:00:00 100 held until 2026-01-11T00:00:00",
      "2026-01-10T11:00:00 100 held until 2026-01-11T00:00:00",
      "2026-01-10T11:00:00 100 held until 2026-01-11T00:00:00",
      "2026-01-11T00:09:50 nothing is held",
      "2026-01-15T10:00:00 the sender is trusted",
      "2026-01-18T10:00:00 Trusted",
      "2026-02-01T00:00:00 10740 in the month",
      "2026-03-01T00:00:00 8400 in the month"
    ])
    expect(sending.account.state().accepted).toBe(10_740 + 8_400 + 300)
    expect(sending.tier.state().handedOver).toBe(sending.account.state().accepted)
  })

  it("of an account whose first emails bounce", () => {
    const sending = new Sending("hobby")
    const lines = play(sending, (minute, at) => {
      const [day, time] = minute.split(" ") as [string, string]
      if (minute === "01-01 10:00") sending.send(20, at)
      if (minute === "01-01 15:00") sending.bounce("m0", at)
      if (minute === "01-01 15:01") sending.bounce("m1", at)
      if (minute === "01-02 08:00") sending.bounce("m19", at)
      if (minute === "01-05 12:00") sending.command({ _tag: "Lift" }, at)
      // The 30th since the lift: not among the first 25, but 1 of the 40 of the last day.
      if (minute === "01-08 07:00") sending.bounce(sending.ids[20 + 29]!, at)
      if (minute === "01-20 09:00") sending.command({ _tag: "Complain", email: sending.ids[500]! }, at)
      if (day > "01-01" && time === "13:00") sending.send(40, at)
    })
    expect(lines).toEqual([
      "2026-01-02T08:00:00 paused: bounces",
      "2026-01-02T13:00:00 refused: sending_paused",
      "2026-01-05T12:00:00 lifted",
      "2026-01-05T13:00:00 accepted again, after 3",
      "2026-01-08T12:00:00 ProbationProlonged",
      "2026-01-11T12:00:00 Established",
      // 420 handed over, 4 bounced: under 1 % for the first time.
      "2026-01-14T14:00:00 the sender is warming",
      "2026-02-01T00:00:00 1100 in the month",
      // The complaint is seen by checks up to 01-21 09:00.
      "2026-02-04T09:00:00 Trusted",
      "2026-03-01T00:00:00 1120 in the month"
    ])
  })

  it("[platform 9.4] of an account that spikes", () => {
    const sending = new Sending("hobby")
    sending.command(
      {
        _tag: "SetLimits",
        custom: {
          emailsPerMonth: null,
          probation: { emailsPerHour: 1_000, emailsPerDay: 5_000, domainsPerHour: 500 }
        }
      },
      start
    )
    const lines = play(sending, (minute, at) => {
      if (minute.endsWith(":05")) sending.send(10, at)
      if (minute === "01-02 16:20" || minute === "01-07 16:20") sending.send(100, at)
      if (minute === "01-03 10:00") sending.command({ _tag: "Lift" }, at)
    })
    expect(lines).toEqual([
      "2026-01-02T16:20:00 paused: spike",
      "2026-01-02T16:20:00 100 held with the pause",
      "2026-01-02T17:05:00 refused: sending_paused",
      "2026-01-03T10:00:00 lifted",
      "2026-01-03T10:05:00 accepted again, after 17",
      "2026-01-04T10:00:00 the sender is warming",
      "2026-01-06T10:00:00 Established",
      "2026-01-13T19:05:00 refused: monthly_limit_reached until 2026-02-01T00:00:00",
      "2026-01-20T10:00:00 Trusted",
      "2026-02-01T00:00:00 3000 in the month",
      "2026-02-01T00:05:00 accepted again, after 437",
      // 2,900 of January, without those that the pause held, and 2,100.
      "2026-02-09T18:00:00 the sender is trusted",
      "2026-02-13T12:05:00 refused: monthly_limit_reached until 2026-03-01T00:00:00",
      "2026-03-01T00:00:00 3000 in the month",
      "2026-03-01T00:05:00 accepted again, after 372"
    ])
  })
})

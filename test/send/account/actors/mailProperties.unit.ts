/** Drawn histories of an organization's mail, decided by the actors together, against the naive mail: what each request, report and hour makes of every email. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Decision } from "../../../../src/engine/Actor.ts"
import {
  ActorsMemory,
  type EmailReport,
  SendAccount,
  SendEmail,
  SendLimits,
  SendSender,
  SendSuppressions,
  senderKey,
  suppressionPlace
} from "../../../../src/send/index.ts"
import { often } from "../../../support/often.ts"
import { NaiveMail } from "./naiveMail.ts"
import { organization, upgradeUrl } from "./support.ts"

const { dayMillis, hourMillis } = SendLimits
const start = Date.UTC(2028, 1, 27, 12, 17, 4, 321)
const mode = "live"
const senders = ["one.test", "eve@two.test"]
const froms: Readonly<Record<string, string>> = { "one.test": "Ann <ann@one.test>", "eve@two.test": "eve@two.test" }
const people = ["ann@a.test", "bob@a.test", "cid@b.test", "dan@c.test"]
const firstCap = 4

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const person = int(0, people.length - 1)
const which = int(0, 9)

const Mail = Schema.Struct({
  sender: Schema.Literals([...senders, "one.test"]),
  to: Schema.Array(person).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  signals: Schema.Literals([0, 1]),
  scheduledHours: Schema.Literals([0, 0, 0, 5, 30])
})

const Act = Schema.Union([
  Schema.TaggedStruct("Admit", { emails: Schema.Array(Mail).check(Schema.isMinLength(1), Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("Admit", { emails: Schema.Array(Mail).check(Schema.isMinLength(1), Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("Dispatch", { newest: which }),
  Schema.TaggedStruct("Report", {
    newest: which,
    count: int(1, 4),
    what: Schema.Literals(["handedOver", "handedOver", "delayed", "delivered", "bounced", "complained", "failed"]),
    to: person,
    suppresses: Schema.Boolean
  }),
  /** Mail goes, and somebody complains, which pauses the account. */
  Schema.TaggedStruct("Complain", { newest: int(0, 2), to: person }),
  Schema.TaggedStruct("Cancel", { newest: which }),
  Schema.TaggedStruct("SetCap", { sender: Schema.Literals(senders), cap: int(1, 8) }),
  Schema.TaggedStruct("SetVerified", { sender: Schema.Literals(senders), isVerified: Schema.Boolean }),
  Schema.TaggedStruct("Suppress", { address: person, isOn: Schema.Boolean }),
  Schema.TaggedStruct("Lift", {})
])

const Step = Schema.Struct({ hours: Schema.Literals([0, 0, 0, 0.1, 1, 7, 26]), act: Act })
const History = Schema.Array(Step).check(Schema.isMinLength(40), Schema.isMaxLength(80))

/** The time some hours later, outside of the ten minutes in which held mail is let go. */
const later = (now: number, hours: number): number => {
  const at = now + hours * hourMillis
  const intoDay = at % dayMillis
  return intoDay < hourMillis / 2 ? at - intoDay + hourMillis / 2 : at
}

const reached = new Set<string>()

/** What an event tells, in the words of the naive mail; promotions, which wakes make as well, and warnings are not compared here. */
const toldBy = ({ events }: Decision<unknown, unknown, unknown>): ReadonlyArray<string> =>
  events.flatMap(({ data, type }) => {
    const { messageId, recipient } = data as { readonly messageId?: string; readonly recipient?: string }
    const what = type.slice(type.lastIndexOf(".") + 1)
    if (what === "promoted" || what === "warning") return []
    return [what === "paused" ? what : [messageId, what, ...(recipient === undefined ? [] : [recipient])].join(" ")]
  })

/** The actors and the naive mail, who are told the same. */
class Pair {
  readonly actors = new ActorsMemory(organization)
  readonly naive = new NaiveMail(start, senders, firstCap)
  now = start
  private readonly told: Array<string> = []
  private made = 0

  constructor() {
    const probation = { emailsPerHour: 8, emailsPerDay: 20, domainsPerHour: 2 }
    this.naive.account.custom = probation
    this.naive.account.monthly = 12
    this.account({ _tag: "SetLimits", custom: { emailsPerMonth: 12, probation } })
    for (const sender of senders) {
      this.actors.ask(SendSender, senderKey(mode, sender), { _tag: "Verify" }, start)
      this.actors.ask(SendSender, senderKey(mode, sender), { _tag: "SetDailyCap", cap: firstCap }, start)
    }
  }

  private account(command: Parameters<typeof SendAccount.options.decide>[1]) {
    const decision = this.actors.ask(SendAccount, mode, command, this.now)
    this.told.push(...toldBy(decision))
    return decision
  }

  /** One of the emails of before, the newest for 0; or one that nobody knows. */
  private idOf(newest: number): string {
    return this.naive.emails[this.naive.emails.length - 1 - newest]?.id ?? "nobody"
  }

  private senderOf(id: string): string {
    return this.naive.emails.find((one) => one.id === id)?.sender ?? "one.test"
  }

  private admit({ emails }: Extract<typeof Act.Type, { readonly _tag: "Admit" }>): void {
    const requests = emails.map(({ scheduledHours, sender, signals, to }, index) => ({
      id: `e${this.made++}`,
      sender,
      recipients: [...new Set(to)].map((at) => people[at]!),
      // The naive account counts those of the first email.
      signals: index === 0 ? signals : 0,
      ...(scheduledHours === 0 ? {} : { scheduledAt: later(this.now, scheduledHours) + this.made })
    }))
    const expected = this.naive.admit(requests, this.now)
    const { rejection, reply } = this.account({
      _tag: "Admit",
      upgradeUrl,
      emails: requests.map(({ sender, signals, ...email }) => ({
        ...email,
        from: froms[sender]!,
        signals: signals > 0 ? ["foreign_link" as const] : []
      }))
    })
    const refusal = rejection !== undefined && "code" in rejection ? rejection.code : undefined
    expect(refusal ?? reply?.emails.map(({ state }) => state)).toEqual(expected)
    for (const state of typeof expected === "string" ? [expected] : expected) reached.add(state)
  }

  private report({ count, newest, suppresses, to, what }: Extract<typeof Act.Type, { readonly _tag: "Report" }>): void {
    const recipient = people[to]!
    const reports = Array.from({ length: count }, (_, index): EmailReport => {
      const id = this.idOf(newest - index)
      const content = { from: froms["one.test"]!, to: [people[0]!], subject: "Hello", kind: "expired" }
      return { id, sender: this.senderOf(id), what, recipient, suppresses, ...content }
    })
    for (const { id } of reports) this.naive.report(id, what, recipient, suppresses, this.now)
    this.account({ _tag: "Report", reports })
    reached.add(what)
  }

  act(act: typeof Act.Type): void {
    const { actors, naive, now } = this
    switch (act._tag) {
      case "Admit":
        this.admit(act)
        return
      case "Report":
        this.report(act)
        return
      case "Dispatch": {
        const emails = Array.from({ length: 4 }, (_, index) => {
          const id = this.idOf(act.newest - index)
          const recipients = naive.emails.find((one) => one.id === id)?.recipients ?? people
          return { id, sender: this.senderOf(id), recipients: [...recipients] }
        })
        const expected = emails.map(({ id }) => naive.dispatch(id))
        const { reply } = this.account({ _tag: "Dispatch", emails })
        expect(reply?.emails.map(({ state }) => state)).toEqual(expected)
        return
      }
      case "Complain": {
        const about = { newest: act.newest, count: 1, to: act.to, suppresses: false }
        this.act({ _tag: "Dispatch", newest: act.newest })
        this.report({ _tag: "Report", what: "handedOver", ...about })
        this.report({ _tag: "Report", what: "complained", ...about })
        return
      }
      case "Cancel": {
        const id = this.idOf(act.newest)
        const { place, sender } = actors.state(SendEmail, id)
        const { accepted } = actors.ask(SendEmail, id, { _tag: "Cancel", mode, sender, place }, now)
        expect(accepted).toBe(naive.cancel(id))
        if (accepted) reached.add("canceled")
        return
      }
      case "SetCap":
        naive.setCap(act.sender, act.cap)
        actors.ask(SendSender, senderKey(mode, act.sender), { _tag: "SetDailyCap", cap: act.cap }, now)
        return
      case "SetVerified": {
        const _tag = act.isVerified ? ("Verify" as const) : ("Remove" as const)
        const { accepted } = actors.ask(SendSender, senderKey(mode, act.sender), { _tag }, now)
        expect(accepted).toBe(naive.setVerified(act.sender, act.isVerified))
        return
      }
      case "Suppress": {
        const address = people[act.address]!
        const { key } = suppressionPlace(organization, mode, address)
        if (act.isOn) naive.suppressed.add(address)
        else naive.suppressed.delete(address)
        const command = act.isOn
          ? ({ _tag: "Suppress", address, reason: "manual" } as const)
          : ({ _tag: "Unsuppress", address } as const)
        actors.ask(SendSuppressions, key, command, now)
        return
      }
      case "Lift":
        expect(this.account({ _tag: "Lift" }).accepted).toBe(naive.lift(now))
    }
  }

  compare(): void {
    const { actors, naive, now } = this
    actors.advance(now)
    expect(this.told.splice(0).sort()).toEqual(naive.told.splice(0).sort())
    for (const { id, sender, state } of naive.emails) {
      const head = actors.state(SendSender, senderKey(mode, sender)).holds.head
      const email = actors.state(SendEmail, id)
      const isLetGo = email.state === "held" && email.place !== null && email.place < head
      expect(`${id} ${isLetGo ? "released" : email.state}`).toBe(`${id} ${state}`)
    }
    for (const sender of senders) {
      const { holds, scheduled } = actors.state(SendSender, senderKey(mode, sender))
      expect(holds.tail - holds.head - holds.cancelled).toBe(naive.held(sender).length)
      expect(scheduled).toBe(naive.scheduled(sender).length)
    }
    expect(actors.state(SendAccount, mode).trust.stage).toBe(naive.account.stage)
    for (const address of people) {
      const { key } = suppressionPlace(organization, mode, address)
      expect(actors.ask(SendSuppressions, key, { _tag: "Look", address }, now).reply).toBe(
        naive.suppressed.has(address)
      )
    }
  }
}

const follow = (history: typeof History.Type): void => {
  const pair = new Pair()
  for (const { act, hours } of history) {
    pair.now = later(pair.now, hours)
    // What is finished is forgotten after 30 days, which the naive mail never does.
    if (pair.now > start + 29 * dayMillis) return
    pair.naive.advance(pair.now)
    pair.actors.advance(pair.now)
    pair.act(act)
    pair.compare()
  }
}

describe("an organization's mail against lists of all that ever happened", () => {
  it.prop("goes, waits, is told and counts alike", [History], ([history]) => follow(history), {
    arbitrary: { runs: often(200) }
  })

  it("has come to every answer and every report", () => {
    const all = [
      ...["queued", "held", "scheduled", "suppressed", "canceled"],
      ...["sending_paused", "sender_not_verified", "probation_limit_reached", "monthly_limit_reached"],
      ...["handedOver", "delayed", "delivered", "bounced", "complained", "failed"]
    ]
    expect(all.filter((what) => !reached.has(what))).toEqual([])
  })
})

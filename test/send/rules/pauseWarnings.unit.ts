/** Warnings before an automatic pause, by example and beside a model that counts by hand. */
import { describe, expect, it } from "vitest"
import { ActorsMemory, SendAccount, SendSender, senderKey } from "../../../src/send/index.ts"
import { type AccountState, evolve, initialState } from "../../../src/send/rules/account.ts"
import { admission, riskySignals } from "../../../src/send/rules/admission.ts"
import { warningsOf } from "../../../src/send/rules/pauseWarnings.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

const start = Date.UTC(2026, 10, 26, 9)
const minuteMillis = 60_000
const dayMillis = 24 * 60 * minuteMillis

type Command = Parameters<typeof admission.decide>[1]

/** An account that is asked one thing after the other, and the warnings of each. */
class Account {
  state: AccountState = initialState
  tell(command: Command, at: number) {
    const { facts, rejection } = admission.decide(this.state, command, at)
    const warnings = warningsOf(this.state, facts, at)
    this.state = facts.reduce(evolve, this.state)
    return { warnings, isPaused: this.state.trust.stage === "sending_paused", isRejected: rejection !== undefined }
  }
  send(ids: ReadonlyArray<string>, signals: number, at: number) {
    const emails = ids.map((id, index) => ({
      id,
      sender: "one.test",
      recipients: ["bob@two.test"],
      signals: index === 0 ? riskySignals.slice(0, signals) : []
    }))
    return this.tell({ _tag: "Send", emails, isVerified: () => true, isSuppressed: () => false, upgradeUrl: "" }, at)
  }
}

describe("[platform 9.4] a warning before a pause", () => {
  it("comes with the second bounce of the first 25, and not with a bounce of a later email or with the pause", () => {
    const account = new Account()
    account.send(
      Array.from({ length: 26 }, (_, at) => `em_${at}`),
      0,
      start
    )
    const bounce = (id: string) => account.tell({ _tag: "Bounce", email: id }, start + 1)
    expect(bounce("em_0").warnings).toEqual([])
    expect(bounce("em_25").warnings).toEqual([])
    expect(bounce("em_1").warnings).toEqual([{ trigger: "bounces", count: 2, limit: 3 }])
    expect(bounce("em_1").warnings).toEqual([])
    expect(bounce("em_2")).toEqual({ warnings: [], isPaused: true, isRejected: false })
  })

  it("is an event of the account's decision, in the mode of its key", () => {
    const actors = new ActorsMemory("acme")
    actors.ask(SendSender, senderKey("test", "one.test"), { _tag: "Verify" }, start)
    const ids = ["em_1", "em_2", "em_3"]
    const emails = ids.map((id) => ({ id, from: "ann@one.test", recipients: ["bob@two.test"] }))
    actors.ask(SendAccount, "test", { _tag: "Admit", emails, upgradeUrl: "" }, start)
    const named = ids.map((id) => ({ id, sender: "one.test", recipients: ["bob@two.test"] }))
    actors.ask(SendAccount, "test", { _tag: "Dispatch", emails: named }, start)
    const eventsOf = (id: string) => {
      const reports = [{ id, sender: "one.test", what: "bounced", recipient: "bob@two.test" } as const]
      const decision = actors.ask(SendAccount, "test", { _tag: "Report", reports }, start)
      return (decision.events ?? []).filter(({ type }) => type.startsWith("send.account."))
    }
    expect(eventsOf("em_1")).toEqual([])
    expect(eventsOf("em_2")).toMatchObject([
      { type: "send.account.warning", livemode: false, data: { trigger: "bounces", count: 2, limit: 3 } }
    ])
    expect(eventsOf("em_3").map(({ type }) => type)).toEqual(["send.account.paused"])
  })

  it("comes with the fourth risky signal, which the fifth reset of a password follows", () => {
    const account = new Account()
    const found = Array.from({ length: 5 }, (_, at) => account.send([`em_${at}`], 1, start + at * minuteMillis))
    expect(found.map(({ warnings }) => warnings)).toEqual([
      [],
      [],
      [],
      [{ trigger: "risky_content", count: 4, limit: 5 }],
      []
    ])
    expect(found.map(({ isPaused }) => isPaused)).toEqual([false, false, false, false, true])
  })

  it("comes again when the window of a day has moved on", () => {
    const account = new Account()
    for (const at of [0, 1, 2]) account.send([`em_${at}`], 1, start)
    expect(account.send(["em_3"], 1, start + 1).warnings).toHaveLength(1)
    for (const at of [4, 5, 6]) expect(account.send([`em_${at}`], 1, start + dayMillis + at).warnings).toEqual([])
    expect(account.send(["em_7"], 1, start + dayMillis + 9).warnings).toHaveLength(1)
  })

  it("comes at four fifths of a spike, where an operator has raised the caps", () => {
    const account = new Account()
    const custom = {
      emailsPerMonth: null,
      probation: { emailsPerHour: 1_000, emailsPerDay: 5_000, domainsPerHour: 100 }
    }
    account.tell({ _tag: "SetLimits", custom }, start)
    account.send(["a"], 0, start)
    const ids = (name: string, length: number) => Array.from({ length }, (_, at) => `${name}${at}`)
    const later = start + 90 * minuteMillis
    expect(account.send(ids("b", 79), 0, later).warnings).toEqual([])
    expect(account.send(["c"], 0, later + 1).warnings).toEqual([{ trigger: "spike", count: 80, limit: 100 }])
    expect(account.send(ids("d", 20), 0, later + 2).isPaused).toBe(true)
  })

  it("says what a count by hand says, whatever happens", () => {
    const prng = new Prng(6, "warnings")
    let warned = 0
    for (let life = 0; life < 60; life++) {
      const account = new Account()
      const ids: Array<string> = []
      const bounced = new Set<string>()
      const signals: Array<number> = []
      let at = start
      const used = () => signals.filter((one) => one > at - dayMillis).length
      for (let step = 0; step < 60; step++) {
        at += prng.int(1, 90) * minuteMillis
        if (account.tell({ _tag: "Check" }, at).isPaused || account.state.trust.stage !== "probation") break
        const before = { bounces: bounced.size, risky: used() }
        let told: ReturnType<Account["tell"]>
        if (prng.chance(0.7)) {
          const drawn = prng.int(0, 2)
          const sent = Array.from({ length: prng.int(1, 3) }, (_, index) => `em_${life}_${step}_${index}`)
          told = account.send(sent, drawn, at)
          if (told.isRejected) continue
          ids.push(...sent)
          for (let one = 0; one < drawn; one++) signals.push(at)
        } else {
          const id = ids[prng.int(0, Math.max(0, ids.length - 1))] ?? "em_none"
          if (ids.indexOf(id) < 25 && ids.includes(id)) bounced.add(id)
          told = account.tell({ _tag: "Bounce", email: id }, at)
        }
        const expected = told.isPaused
          ? []
          : [
              ...(bounced.size === 2 && before.bounces < 2 ? [{ trigger: "bounces", count: 2, limit: 3 }] : []),
              ...(used() >= 4 && before.risky < 4 ? [{ trigger: "risky_content", count: used(), limit: 5 }] : [])
            ]
        expect(told.warnings, `life ${life}, step ${step}`).toEqual(expected)
        warned += expected.length
      }
    }
    expect(warned).toBeGreaterThan(20)
  })
})

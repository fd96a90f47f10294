/** Which facts of an account operators are shown, how they read, and what each pause rests on. */
import { describe, expect, it } from "vitest"
import {
  decidingTags,
  evidenceOf,
  type ShownFact,
  sentenceOf,
  shownFact
} from "../../../../src/send/account/operator/accountFacts.ts"
import { pauseReasons, type SendAccountFact, SendLimits } from "../../../../src/send/index.ts"

const { dayMillis, hourMillis } = SendLimits
const at = Date.UTC(2026, 6, 1, 12)

/** One of each fact that an account has, by its tag. */
const all: { readonly [Tag in SendAccountFact["_tag"]]: Extract<SendAccountFact, { readonly _tag: Tag }> } = {
  Began: { _tag: "Began", at, risk: "higher" },
  Accepted: { _tag: "Accepted", at, emails: 3, first: ["a", "b", "c"], domains: ["two.test"], signals: 1 },
  HandedOver: { _tag: "HandedOver", at, emails: 1 },
  Bounced: { _tag: "Bounced", at, email: "a" },
  Complained: { _tag: "Complained", at },
  Paused: { _tag: "Paused", at, reason: "spike" },
  Lifted: { _tag: "Lifted", at },
  RiskSet: { _tag: "RiskSet", at, risk: "standard" },
  ProbationProlonged: { _tag: "ProbationProlonged", at },
  Established: { _tag: "Established", at },
  Trusted: { _tag: "Trusted", at },
  PlanSet: { _tag: "PlanSet", at, plan: "pro" },
  LimitsSet: {
    _tag: "LimitsSet",
    at,
    custom: { emailsPerMonth: 10, probation: { emailsPerHour: 1, emailsPerDay: 2, domainsPerHour: 1 } }
  },
  SenderAdded: { _tag: "SenderAdded", at },
  SenderRemoved: { _tag: "SenderRemoved", at },
  SenderWaits: { _tag: "SenderWaits", at, sender: "one.test" },
  SendersGoOn: { _tag: "SendersGoOn", at, senders: 1 },
  Reset: { _tag: "Reset", at },
  Closed: { _tag: "Closed", at }
}

const shownTags = Object.values(all).flatMap((fact) => shownFact(fact)?._tag ?? [])

describe("a fact", () => {
  it("is shown where it changed stage, risk or limits, or a pause may rest on it", () => {
    expect(new Set(shownTags)).toEqual(new Set([...decidingTags, "Accepted", "Bounced", "Complained", "Closed"]))
  })

  it("is shown without the domains of recipients, and not at all where no pause can rest on it", () => {
    expect(shownFact(all.Accepted)).toEqual({ _tag: "Accepted", at, emails: 3, signals: 1 })
    expect(shownFact({ ...all.Accepted, domains: [] })).toBeUndefined()
  })

  it.each([
    [all.Began, "Probation began, with higher risk"],
    [all.Accepted, "Accepted 3 emails, with 1 risky signal"],
    [{ ...all.Accepted, emails: 1, signals: 0 }, "Accepted 1 email"],
    [{ ...all.Accepted, signals: 2 }, "Accepted 3 emails, with 2 risky signals"],
    [all.Bounced, "Email a bounced for good"],
    [all.Complained, "A recipient complained"],
    [all.Lifted, "The pause was lifted, and probation began again"],
    [all.RiskSet, "The risk was set to standard"],
    [all.PlanSet, "The send plan was set to pro"],
    [
      all.LimitsSet,
      "Limits were set: 10 emails a month; on probation 1 emails an hour, 2 a day, 1 recipient domain an hour"
    ],
    [
      { ...all.LimitsSet, custom: { emailsPerMonth: null, probation: null } },
      "Limits were set: the plan's emails a month; on probation the risk's caps"
    ],
    [all.ProbationProlonged, "The probation window was not clean, and a new one began"],
    [all.Established, "The account was established"],
    [all.Trusted, "The account became trusted"]
  ] as ReadonlyArray<readonly [SendAccountFact, string]>)("%j reads: %s", (fact, sentence) => {
    expect(sentenceOf(shownFact(fact) as ShownFact)).toBe(sentence)
  })

  it("that paused an account says for which reason, each in its own words", () => {
    const sentences = pauseReasons.map((reason) => sentenceOf({ _tag: "Paused", at, reason }))
    expect(new Set(sentences).size).toBe(pauseReasons.length)
    for (const sentence of sentences) expect(sentence).toMatch(/^Sending was paused: \S/)
  })
})

describe("a pause", () => {
  const since = at - 10 * dayMillis

  it("rests on what its trigger has counted", () => {
    expect(evidenceOf("bounces", at, since)).toEqual({ tag: "Bounced", since, onlyWithSignals: false })
    expect(evidenceOf("complaint", at, since)).toEqual({ tag: "Complained", since, onlyWithSignals: false })
    const hours = at - 25 * hourMillis
    expect(evidenceOf("spike", at, since)).toEqual({ tag: "Accepted", since: hours, onlyWithSignals: false })
    const day = at - dayMillis
    expect(evidenceOf("risky_content", at, since)).toEqual({ tag: "Accepted", since: day, onlyWithSignals: true })
  })

  it("rests on nothing of before the probation", () => {
    const late = at - hourMillis
    for (const reason of pauseReasons) expect(evidenceOf(reason, at, late).since).toBe(late)
  })
})

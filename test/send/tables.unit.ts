/** The tables of docs/platform.md, 9.1 to 9.4, figure by figure: each limit is met and passed by one. */
import { describe, expect, it } from "@effect/vitest"
import {
  type PauseFact,
  pauseTriggers,
  probationWindow,
  SendLimits,
  type TrustFact,
  trustStage
} from "../../src/send/index.ts"
import { sendRequestsPerMinute } from "../../src/send/rules/account.ts"
import { given } from "./given.ts"

const { dayMillis, hourMillis } = SendLimits
const start = Date.UTC(2026, 6, 1, 12, 0, 0)
const names = (count: number, prefix = "d") => Array.from({ length: count }, (_, index) => `${prefix}${index}.test`)

describe("emails per month", () => {
  it.each([
    ["hobby", 3_000],
    ["pro", 50_000],
    ["enterprise", "unlimited"]
  ] as const)("[platform 9.1] %s: %s", (plan, limit) => {
    expect(SendLimits.emailsPerMonthByPlan[plan]).toBe(limit)
  })
})

describe("requests to send per minute", () => {
  it.each([
    ["hobby", 10],
    ["pro", 60],
    ["enterprise", 600]
  ] as const)("[platform 9.10] %s: %i, or what an operator says", (plan, limit) => {
    expect(sendRequestsPerMinute({}, plan)).toBe(limit)
    expect(sendRequestsPerMinute({ requestsPerMinute: 7 }, plan)).toBe(7)
    expect(sendRequestsPerMinute({ requestsPerMinute: "unlimited" }, plan)).toBe("unlimited")
  })
})

describe("probation caps", () => {
  it.each([
    ["standard", 50, 200, 25, 72],
    ["higher", 20, 100, 10, 168]
  ] as const)("[platform 9.2] %s: %i an hour, %i a day, %i domains, %i hours", (risk, perHour, perDay, domains, hours) => {
    const caps = SendLimits.probationCaps[risk]
    const take = (emails: number, recipients: ReadonlyArray<string>) =>
      ({ _tag: "Take", emails, domains: recipients, caps }) as const
    const taken = (emails: number, at: number, recipients = names(1)) =>
      ({ _tag: "Taken", at, emails, domains: recipients }) as const
    const one = names(1)
    given(probationWindow)
      .when(take(perHour, one), start)
      .then({ facts: [taken(perHour, start)] })
    given(probationWindow, [taken(perHour, start)])
      .when(take(1, one), start + 1)
      .then({
        rejection: {
          _tag: "CapReached",
          limit: perHour,
          window: "hour",
          metric: "sends",
          resetsAt: start + hourMillis,
          neverFits: false
        }
      })
    const hourly = Array.from({ length: perDay / perHour }, (_, index) => taken(perHour, start + index * hourMillis))
    given(probationWindow, hourly)
      .when(take(1, one), start + dayMillis - 1)
      .then({
        rejection: {
          _tag: "CapReached",
          limit: perDay,
          window: "day",
          metric: "sends",
          resetsAt: start + dayMillis,
          neverFits: false
        }
      })
    given(probationWindow, hourly)
      .when(take(1, one), start + dayMillis)
      .then({})
    given(probationWindow, [taken(1, start, names(domains))])
      .when(take(1, names(domains)), start + 1)
      .then({})
    given(probationWindow, [taken(1, start, names(domains))])
      .when(take(1, ["new.test"]), start + 1)
      .then({
        rejection: {
          _tag: "CapReached",
          limit: domains,
          window: "hour",
          metric: "recipient_domains",
          resetsAt: start + hourMillis,
          neverFits: false
        }
      })
    expect(given(trustStage).when({ _tag: "Begin", risk }, start).decision.reply).toEqual({
      trustStage: "probation",
      probationEndsAt: start + hours * hourMillis
    })
  })

  it("[platform 9.7] tells of several crossed caps the one that lasts longest, and of equal ones day, hour, domains in this order", () => {
    const caps = { emailsPerHour: 2, emailsPerDay: 2, domainsPerHour: 1 }
    const crossed = (emails: number, domains: ReadonlyArray<string>, past: number, limits = caps) =>
      given(probationWindow, [{ _tag: "Taken", at: start, emails: 2, domains: ["a"] }]).when(
        { _tag: "Take", emails, domains, caps: limits },
        start + past
      ).decision.rejection
    expect(crossed(1, ["b"], 1)).toMatchObject({ window: "day", metric: "sends" })
    expect(crossed(1, ["b"], 1, { ...caps, emailsPerDay: 9 })).toMatchObject({ window: "hour", metric: "sends" })
    // Alone over the hour's and the domains' cap: both take a whole hour from now, and the hour comes first.
    expect(crossed(3, ["b", "c"], 1, { ...caps, emailsPerDay: 9 })).toMatchObject({
      metric: "sends",
      neverFits: true,
      resetsAt: start + 1 + hourMillis
    })
    // The domains' whole hour from now is later than what is left of the hour's.
    expect(crossed(1, ["b", "c"], 1, { ...caps, emailsPerDay: 9 })).toMatchObject({ metric: "recipient_domains" })
    expect(crossed(3, ["b"], 1)).toMatchObject({ window: "day", neverFits: true, resetsAt: start + 1 + dayMillis })
  })
})

describe("[send 2.3] trust stages", () => {
  const began: TrustFact = { _tag: "Began", at: start, risk: "standard" }
  const end = start + 72 * hourMillis
  const mail = (handedOver: number, bounced: number, at: number): ReadonlyArray<TrustFact> => [
    { _tag: "HandedOver", at, emails: handedOver },
    ...Array.from({ length: bounced }, (): TrustFact => ({ _tag: "Bounced", at }))
  ]

  it.each([
    ["nothing was handed over", "established", []],
    ["1 of 51 bounced", "established", mail(51, 1, end - hourMillis)],
    ["1 of 50 bounced", "probation", mail(50, 1, end - hourMillis)],
    ["1 of 50 bounced, 25 hours before the check", "established", mail(50, 1, end - 25 * hourMillis)],
    ["1 of 50 bounced, in the first of the 24 hours", "probation", mail(50, 1, end - 24 * hourMillis)],
    ["somebody complained in the window's first second", "probation", [{ _tag: "Complained", at: start + 1000 }]]
  ] as ReadonlyArray<
    readonly [string, string, ReadonlyArray<TrustFact>]
  >)("[platform 9.3] at the end of probation, %s: %s", (_name, stage, facts) => {
    const before = given(trustStage, [began, ...facts])
    expect(before.when({ _tag: "Check" }, end - 1).decision.reply).toEqual({
      trustStage: "probation",
      probationEndsAt: end
    })
    const after = before.when({ _tag: "Check" }, end)
    expect(after.decision.reply?.trustStage).toBe(stage)
    if (stage === "probation") expect(after.decision.reply).toMatchObject({ probationEndsAt: end + 72 * hourMillis })
  })

  it("[platform 9.3] checks at the whole hour at or after the window's end, also when it comes late", () => {
    const odd: TrustFact = { _tag: "Began", at: start + 1, risk: "standard" }
    given(trustStage, [odd]).when({ _tag: "Check" }, end).then({ facts: [] })
    given(trustStage, [odd])
      .when({ _tag: "HandOver", emails: 1 }, end + 5 * hourMillis)
      .then({
        facts: [
          { _tag: "Established", at: end + hourMillis },
          { _tag: "HandedOver", at: end + 5 * hourMillis, emails: 1 }
        ]
      })
  })

  const established: ReadonlyArray<TrustFact> = [began, { _tag: "Established", at: end }]
  const trusted = end + 14 * dayMillis
  it.each([
    ["nothing was handed over", [], trusted + 99 * dayMillis, "established"],
    ["one email was handed over", mail(1, 0, end + 5), trusted, "trusted"],
    ["one email was handed over", mail(1, 0, end + 5), trusted - 1, "established"],
    ["one email was handed over, after the 14 days", mail(1, 0, trusted + 5), trusted + hourMillis, "trusted"],
    [
      "1 of 50 bounced, and 24 checks saw it",
      [...mail(50, 1, end + 5), ...mail(1, 0, end + 2 * dayMillis)],
      trusted + dayMillis,
      "trusted"
    ],
    [
      "1 of 50 bounced, and 24 checks saw it",
      [...mail(50, 1, end + 5), ...mail(1, 0, end + 2 * dayMillis)],
      trusted + dayMillis - 1,
      "established"
    ],
    // Clean while the 99 of the hour before are in sight; one check later 1 of 1 has bounced.
    [
      "what was clean is not when good mail leaves the 24 hours",
      [...mail(99, 0, end + 5), ...mail(1, 1, end + hourMillis), ...mail(1, 0, end + 3 * dayMillis)],
      trusted + dayMillis,
      "established"
    ],
    // The check at `trusted` sees 1 of 100; the next one, which would see 1 of 1, comes too late.
    [
      "good mail leaves the 24 hours right after the promotion",
      [...mail(99, 0, trusted - dayMillis + 5), ...mail(1, 1, trusted - dayMillis + hourMillis)],
      trusted + hourMillis,
      "trusted"
    ]
  ] as ReadonlyArray<
    readonly [string, ReadonlyArray<TrustFact>, number, string]
  >)("established, %s", (_name, facts, at, stage) => {
    expect(given(trustStage, [...established, ...facts]).when({ _tag: "Check" }, at).decision.reply?.trustStage).toBe(
      stage
    )
  })

  it("pauses on probation alone, and a lift begins it anew", () => {
    const paused: TrustFact = { _tag: "Paused", at: start + 5, reason: "complaint" }
    given(trustStage, [began])
      .when({ _tag: "Pause", reason: "complaint" }, start + 5)
      .then({
        facts: [paused],
        reply: { trustStage: "sending_paused", pausedAt: start + 5, pauseReason: "complaint" }
      })
    given(trustStage, established)
      .when({ _tag: "Pause", reason: "spike" }, end + 5)
      .then({ facts: [] })
    given(trustStage, [began, paused])
      .when({ _tag: "Check" }, end + 99 * dayMillis)
      .then({ facts: [] })
    given(trustStage, [began, paused])
      .when({ _tag: "Lift" }, end + 7)
      .then({
        facts: [{ _tag: "Lifted", at: end + 7 }],
        reply: { trustStage: "probation", probationEndsAt: end + 73 * hourMillis }
      })
    given(trustStage, [began])
      .when({ _tag: "Lift" }, start)
      .then({
        rejection: { _tag: "NotPaused", trustStage: "probation" }
      })
  })

  it("[platform 9.2] takes 7 days from the window's own start when the risk rises; a lower one may end it at once", () => {
    const raised = given(trustStage, [began]).when({ _tag: "SetRisk", risk: "higher" }, start + dayMillis)
    expect(raised.decision.reply).toEqual({ trustStage: "probation", probationEndsAt: start + 7 * dayMillis })
    const lowered = trustStage.decide(raised.state, { _tag: "SetRisk", risk: "standard" }, start + 4 * dayMillis + 1)
    expect(lowered.reply).toEqual({ trustStage: "probation", probationEndsAt: start + 4 * dayMillis + hourMillis })
  })
})

describe("[send 2.2] pause triggers", () => {
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `e${from + index}`)
  const accepted = (count: number, at: number, first: ReadonlyArray<string> = [], signals = 0): PauseFact => ({
    _tag: "Accepted",
    at,
    emails: count,
    first,
    signals
  })
  const hundred = [accepted(100, start, ids(0, 100))]
  const bounced = (email: string): PauseFact => ({ _tag: "Bounced", at: start, email })

  it.each([
    ["a third of the first 25", ["e0", "e24"], "e7", "bounces", 1],
    ["a second one", ["e0"], "e24", null, 1],
    ["the 26th email", ["e0", "e24"], "e25", null, 0],
    ["the same email again", ["e0", "e24"], "e24", null, 0]
  ])("[platform 9.4] a bounce of %s", (_name, before, email, pause, facts) => {
    given(pauseTriggers, [...hundred, ...before.map(bounced)])
      .when({ _tag: "Bounce", email }, start + 9 * dayMillis)
      .then({
        reply: { pause },
        facts: Array.from({ length: facts }, () => ({ _tag: "Bounced", at: start + 9 * dayMillis, email }))
      })
  })

  it.each([
    ["e0", "complaint"],
    ["e99", "complaint"],
    ["e100", null]
  ])("[platform 9.4] a complaint about %s: %s", (email, pause) => {
    given(pauseTriggers, hundred).when({ _tag: "Complain", email }, start).then({ reply: { pause } })
  })

  it("[platform 9.4] keeps the first 100 ids in the order of acceptance", () => {
    given(pauseTriggers, [accepted(98, start, ids(0, 98))])
      .when({ _tag: "Accept", emails: ids(98, 103), signals: 0, lastHour: 103 }, start)
      .then({ facts: [accepted(5, start, ["e98", "e99"])] })
  })

  it.each([
    ["first hour: nothing to compare with", [accepted(1, start)], start + 59 * 60_000, 1_000, null],
    ["100 against a mean of 20", [accepted(20, start)], start + hourMillis, 100, null],
    ["101 against a mean of 20", [accepted(20, start)], start + hourMillis, 101, "spike"],
    [
      "101 against a mean of 20, with 90 in the running hour",
      [accepted(20, start), accepted(90, start + hourMillis)],
      start + hourMillis + 1,
      101,
      "spike"
    ],
    ["99 against a mean of 1", [accepted(1, start)], start + hourMillis, 99, null],
    ["100 against a mean of 0", [accepted(1, start)], start + 30 * hourMillis, 100, "spike"],
    [
      "100 against 480 in 24 hours",
      [accepted(1, start - dayMillis), accepted(480, start - 5)],
      start + 23 * hourMillis,
      100,
      null
    ],
    [
      "101 against 480 in 24 hours",
      [accepted(1, start - dayMillis), accepted(480, start - 5)],
      start + 22 * hourMillis,
      101,
      "spike"
    ]
  ] as ReadonlyArray<
    readonly [string, ReadonlyArray<PauseFact>, number, number, string | null]
  >)("a spike, %s", (_name, facts, now, lastHour, pause) => {
    given(pauseTriggers, facts)
      .when({ _tag: "Accept", emails: ["x"], signals: 0, lastHour }, now)
      .then({ reply: { pause } })
  })

  it.each([
    [4, 1, dayMillis - 1, "risky_content"],
    [4, 1, dayMillis, null],
    [3, 1, 1, null],
    [4, 0, 1, null],
    [0, 5, 1, "risky_content"]
  ])("[platform 9.4] risky content: %i signals and %i more after %i ms", (before, signals, past, pause) => {
    given(pauseTriggers, [accepted(1, start, ["a"], before)])
      .when({ _tag: "Accept", emails: ["b"], signals, lastHour: 2 }, start + past)
      .then({ reply: { pause } })
  })
})

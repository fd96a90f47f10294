/** The tables of docs/platform.md, 9.5 to 9.7, figure by figure: tiers, held mail, and the order and answers of admission. */
import { describe, expect, it } from "@effect/vitest"
import { admission, domainTier, holds, SendLimits, type TierState } from "../../src/send/index.ts"
import { given } from "./given.ts"

const { dayMillis, hourMillis } = SendLimits
const start = Date.UTC(2026, 6, 1, 12, 0, 0)

describe("[send 2.4] tiers", () => {
  it.each([
    ["new", 200],
    ["warming", 2_000],
    ["trusted", 50_000]
  ] as const)("[platform 9.5] %s: %i a day", (tier, cap) => {
    expect(SendLimits.emailsPerDayByTier[tier]).toBe(cap)
  })

  const totals = (tier: TierState["tier"], handedOver: number, bounced: number, complained: number): TierState => ({
    tier,
    verifiedAt: start,
    handedOver,
    bounced,
    complained,
    changedAt: start
  })
  it.each([
    ["new", 100, 0, 0, 3, "warming"],
    ["new", 99, 0, 0, 3, "new"],
    ["new", 101, 1, 0, 3, "warming"],
    ["new", 100, 1, 0, 3, "new"],
    ["new", 2_001, 0, 1, 3, "warming"],
    ["new", 2_000, 0, 1, 3, "new"],
    ["warming", 5_000, 24, 1, 14, "trusted"],
    ["warming", 4_999, 0, 0, 14, "warming"],
    ["warming", 5_000, 25, 0, 14, "warming"],
    ["warming", 10_000, 0, 3, 14, "warming"],
    ["warming", 10_001, 0, 3, 14, "trusted"],
    ["trusted", 1_000_000, 900_000, 900_000, 900, "trusted"]
  ] as const)("%s, %i handed over, %i bounced, %i complained, after %i days: %s", (tier, handedOver, bounced, complained, days, after) => {
    const state = totals(tier, handedOver, bounced, complained)
    const at = start + days * dayMillis
    expect(domainTier.decide(state, { _tag: "Check" }, at - 1).reply?.tier).toBe(tier)
    expect(domainTier.decide(state, { _tag: "Check" }, at).reply?.tier).toBe(after)
  })

  it("[platform 9.5] promotes by one tier a check, at whole hours, and refuses what is not verified", () => {
    const state = { ...totals("new", 5_000, 0, 0), verifiedAt: start + 1 }
    const at = start + 14 * dayMillis + hourMillis
    expect(domainTier.decide(state, { _tag: "Check" }, at).facts).toEqual([
      { _tag: "Promoted", at: start + 3 * dayMillis + hourMillis, tier: "warming" },
      { _tag: "Promoted", at, tier: "trusted" }
    ])
    given(domainTier)
      .when({ _tag: "HandOver", emails: 1 }, start)
      .then({ rejection: { _tag: "NotVerified" } })
  })
})

describe("held mail", () => {
  it("[platform 9.6] is held over the cap, until the midnight at which its place fits", () => {
    const { reply } = given(holds).when({ _tag: "Accept", emails: 7, cap: 3 }, start).decision
    const midnight = (days: number) => Date.UTC(2026, 6, 1 + days)
    expect(reply).toEqual({
      released: 3,
      held: [
        { place: 0, heldUntil: midnight(1) },
        { place: 1, heldUntil: midnight(1) },
        { place: 2, heldUntil: midnight(1) },
        { place: 3, heldUntil: midnight(2) }
      ]
    })
  })
})

describe("admission", () => {
  const send = (
    emails: number,
    more: Partial<{ sender: string; recipients: ReadonlyArray<string>; kept: string }> = {}
  ) =>
    ({
      _tag: "Send",
      emails: Array.from({ length: emails }, (_, index) => ({
        id: `m${index}`,
        sender: more.sender ?? "good.test",
        recipients: more.recipients ?? ["a@x.test"]
      })),
      isVerified: (sender: string) => sender === "good.test",
      isSuppressed: (recipient: string) => recipient.startsWith("no@"),
      upgradeUrl: "https://up.test"
    }) as const
  const began = { _tag: "Began", at: start, risk: "standard" } as const
  const paused = { _tag: "Paused", at: start, reason: "bounces" } as const
  const accepted = (emails: number) =>
    ({ _tag: "Accepted", at: start, emails, first: [], domains: ["x.test"], signals: 0 }) as const
  const limited = (emailsPerMonth: number) =>
    ({ _tag: "LimitsSet", at: start, custom: { emailsPerMonth, probation: null } }) as const

  it("[platform 9.7] asks for sender, pause, month and caps in this order", () => {
    const all = [began, limited(10), accepted(50), paused] as const
    const code = (facts: ReadonlyArray<Parameters<typeof admission.evolve>[1]>, command: ReturnType<typeof send>) => {
      const { rejection } = given(admission, facts).when(command, start + 1).decision
      return rejection !== undefined && "code" in rejection ? rejection.code : undefined
    }
    expect(code(all, send(1, { sender: "bad.test" }))).toBe("sender_not_verified")
    expect(code(all, send(1))).toBe("sending_paused")
    expect(code(all.slice(0, 3), send(1))).toBe("monthly_limit_reached")
    expect(code([began, accepted(50)], send(1))).toBe("probation_limit_reached")
    expect(code([began, accepted(49)], send(1))).toBeUndefined()
  })

  it("[platform 9.7] answers with exactly the documented fields", () => {
    given(admission, [began, accepted(50)])
      .when(send(1), start + 500)
      .then({
        rejection: {
          code: "probation_limit_reached",
          message: "The probation limit of 50 emails per hour is reached. Retry after 3600 s.",
          limit: 50,
          window: "hour",
          metric: "sends",
          resetsAt: "2026-07-01T13:00:00.000Z"
        }
      })
    given(admission, [began, limited(60), accepted(59)])
      .when(send(2), start + 1)
      .then({
        rejection: {
          code: "monthly_limit_reached",
          message: "The plan's limit of 60 emails a month does not take this request: 59 are used",
          limit: 60,
          used: 59,
          resetsAt: "2026-08-01T00:00:00.000Z",
          upgradeUrl: "https://up.test"
        }
      })
    given(admission, [began, paused])
      .when(send(1), start)
      .then({
        rejection: {
          code: "sending_paused",
          message: "Sending is paused for this account until support lifts the pause"
        }
      })
    given(admission)
      .when(send(1, { sender: "bad.test" }), start)
      .then({
        rejection: { code: "sender_not_verified", message: 'The sender "bad.test" is not verified' }
      })
    given(admission)
      .when(send(51), start)
      .then({
        rejection: {
          code: "probation_limit_reached",
          message:
            "This request alone is over the probation limit of 50 emails per hour, so it never fits; send it in parts",
          limit: 50,
          window: "hour",
          metric: "sends",
          resetsAt: "2026-07-01T13:00:00.000Z"
        }
      })
  })

  it("[platform 9.3] begins anew after a lift: no cap, count or trigger knows what was before, but the month does", () => {
    const lifted = { _tag: "Lifted", at: start + 1 } as const
    const risky = { ...accepted(50), first: ["a", "b"], signals: 4 } as const
    const before = [began, limited(100), risky, { _tag: "Bounced", at: start, email: "a" }, paused, lifted] as const
    const after = given(admission, before).when(send(50, { recipients: ["a@y.test"] }), start + 2)
    expect(after.decision.facts).toMatchObject([{ _tag: "Accepted", emails: 50 }])
    expect(after.state.triggers.first[0]).toBe("m0")
    expect(after.state.triggers.bounced).toBe(0)
    expect(after.state.month.used).toBe(100)
  })

  it("[platform 9.7] takes out suppressed recipients before it counts, and counts an email without any nowhere", () => {
    const { decision } = given(admission, [began, accepted(49)]).when(
      {
        ...send(3),
        emails: [
          { id: "a", sender: "good.test", recipients: ["no@y.test", "a@x.test"] },
          { id: "b", sender: "good.test", recipients: ["no@z.test"] },
          { id: "c", sender: "good.test", recipients: ["no@y.test", "no@x.test"] }
        ]
      },
      start + 1
    )
    expect(decision.facts).toEqual([
      { _tag: "Accepted", at: start + 1, emails: 1, first: ["a"], domains: ["x.test"], signals: 0 }
    ])
    expect(decision.reply?.emails).toEqual([
      { id: "a", state: "accepted", suppressed: ["no@y.test"] },
      { id: "b", state: "suppressed", suppressed: ["no@z.test"] },
      { id: "c", state: "suppressed", suppressed: ["no@y.test", "no@x.test"] }
    ])
  })

  it("[platform 9.4] accepts and holds the request that pauses the account, and rejects the next", () => {
    const risky = {
      id: "r",
      sender: "good.test",
      recipients: ["a@x.test"],
      signals: ["foreign_link", "foreign_link", "shortened_link", "verification_subject"]
    } as const
    const first = given(admission, [began]).when({ ...send(1), emails: [risky] }, start)
    expect(first.decision.facts).toMatchObject([{ signals: 3 }])
    const again = admission.decide(first.state, { ...send(1), emails: [{ ...risky, id: "s" }] }, start + 1)
    expect(again.facts).toMatchObject([{ _tag: "Accepted" }, { _tag: "Paused", reason: "risky_content" }])
    expect(again.reply).toMatchObject({
      emails: [{ id: "s", state: "held" }],
      account: { trustStage: "sending_paused" }
    })
  })

  it("[platform 9.2] counts the domains of all recipients, in lower case and punycode", () => {
    const recipients = ["a@X.test", "Bea <b@x.TEST>", "c@bücher.test", "d@xn--bcher-kva.test"]
    const { decision } = given(admission, [began]).when(send(1, { recipients }), start)
    expect(decision.facts).toMatchObject([{ domains: ["x.test", "xn--bcher-kva.test"] }])
  })

  it("keeps an account at its fullest within 13 kB", () => {
    let state = admission
      .decide(admission.initialState, { _tag: "Begin", risk: "standard" }, start)
      .facts.reduce(admission.evolve, admission.initialState)
    for (let index = 0; index < 200; index++) {
      const email = {
        id: `00000000-0000-8000-8000-${String(index).padStart(12, "0")}`,
        sender: "good.test",
        recipients: [`a@${"long-label-".repeat(20)}${index % 25}.test`]
      }
      const decision = admission.decide(state, { ...send(1), emails: [email] }, start + index * 432_001)
      expect(decision.accepted).toBe(true)
      state = decision.facts.reduce(admission.evolve, state)
    }
    expect(state.accepted).toBe(200)
    expect(JSON.stringify(state).length).toBeLessThan(13_000)
    expect(JSON.stringify(state).length).toBeGreaterThan(5_000)
  })
})

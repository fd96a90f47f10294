/** Histories decided again: under the same rules as they were, and under others as a naive model says [send 10]. */
import { describe, expect, it } from "@effect/vitest"
import { initialSender } from "../../../src/send/account/actors/model.ts"
import { SendLimits } from "../../../src/send/index.ts"
import { admission } from "../../../src/send/rules/admission.ts"
import { DayFigures } from "../../../src/send/whatIf/DayFigures.ts"
import type { OtherRules } from "../../../src/send/whatIf/otherRules.ts"
import { PastAccount } from "../../../src/send/whatIf/PastAccount.ts"
import type { PastEntry, PastRequest } from "../../../src/send/whatIf/sendHistory.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { NaiveAccount } from "../naiveAccount.ts"
import { lifeStart, RealLife } from "./realLife.ts"

const { dayMillis, hourMillis } = SendLimits

/** Lives that are played. With `SLUICE_TEST_SEEDS=all` 1,000. */
const lives = process.env.SLUICE_TEST_SEEDS === "all" ? 1_000 : 12

const beginning = {
  account: admission.initialState,
  sender: () => ({ ...initialSender, tier: { ...initialSender.tier, verifiedAt: lifeStart, changedAt: lifeStart } })
}

const played = (history: ReadonlyArray<PastEntry>, rules: OtherRules = {}): PastAccount => {
  const account = new PastAccount(beginning, rules)
  for (const entry of history) account.take(entry)
  account.passUntil((history.at(-1)?.at ?? lifeStart) + 3 * dayMillis)
  return account
}

describe("a history under the rules that were in force", () => {
  it("is decided as it was: answers, pauses and releases", () => {
    const reached = new Set<string>()
    for (let seed = 0; seed < lives; seed++) {
      const { history, pauses, waited } = new RealLife(seed).play(60)
      const account = played(history)
      expect(account.pauses, `pauses of ${seed}`).toEqual(pauses)
      expect(account.answers.other, `answers of ${seed}`).toBe(0)
      const expected = new DayFigures()
      for (const [at, millis] of waited) expected.released(at, millis)
      const released = account.days.list(0).flatMap(({ day, heldMillis }) => (heldMillis ? [{ day, heldMillis }] : []))
      expect(released, `releases of ${seed}`).toEqual(
        expected.list(0).map(({ day, heldMillis }) => ({ day, heldMillis }))
      )
      for (const { reason } of pauses) reached.add(reason)
      for (const entry of history) if (entry._tag === "Request") reached.add(entry.answer)
      if (waited.length > 0) reached.add("waited")
    }
    expect([...reached].sort()).toEqual(
      expect.arrayContaining([
        "accepted",
        "monthly_limit_reached",
        "probation_limit_reached",
        "sending_paused",
        "waited"
      ])
    )
  })
})

/** A request of emails whose outcomes are those given, of one sender. */
let count = 0
const request = (
  at: number,
  emails: number,
  more: Partial<Extract<PastEntry, { readonly _tag: "Request" }>> & { readonly bounces?: ReadonlyArray<number> } = {}
): PastEntry => {
  const { bounces = [], ...rest } = more
  return {
    _tag: "Request",
    at,
    emails: Array.from({ length: emails }, () => ({
      id: `e${count++}`,
      sender: "one.test",
      scheduledAt: null,
      outcomes: [
        { what: "handedOver" as const, afterMillis: 1_000 },
        ...bounces.map((afterMillis) => ({ what: "bounced" as const, afterMillis }))
      ]
    })),
    signals: 0,
    answer: "accepted",
    ...rest
  }
}

const began: PastEntry = { _tag: "Act", at: lifeStart, fact: { _tag: "Began", at: lifeStart, risk: "standard" } }

describe("a history under other rules", () => {
  it("is refused by caps as a naive model says", () => {
    const caps = [10, 25, 50, 80]
    for (let seed = 0; seed < lives; seed++) {
      const draw = new Prng(seed, "other rules")
      const naive = new NaiveAccount(lifeStart)
      const probationHour = draw.pick(caps)
      const probationDay = draw.pick([60, 150, 300])
      const emailsPerMonth = draw.pick([100, 400, 2_000])
      naive.custom = { emailsPerHour: probationHour, emailsPerDay: probationDay, domainsPerHour: 500 }
      naive.monthly = emailsPerMonth
      const expected = { accepted: 0, monthly_limit_reached: 0, probation_limit_reached: 0, sending_paused: 0 }
      const history: Array<PastEntry> = [began]
      let at = lifeStart
      for (let step = 0; step < 80; step++) {
        at += draw.int(1, draw.pick([60_000, hourMillis / 2, 5 * hourMillis]))
        const one = request(at, draw.pick([1, 3, 20, 45, 100])) as PastRequest
        history.push(one)
        const ids = one.emails.map(({ id }) => id)
        const answer = naive.send(ids, ["x.test"], 0, at)
        expected["code" in answer ? (answer.code as keyof typeof expected) : "accepted"] += ids.length
        if ("state" in answer && answer.state === "accepted") naive.handOver(ids.length, at + 1_000)
      }
      const account = played(history, {
        probationHour,
        probationDay,
        emailsPerMonth,
        tiers: { new: 1e9, warming: 1e9 }
      })
      const found = { accepted: 0, monthly_limit_reached: 0, probation_limit_reached: 0, sending_paused: 0 }
      for (const { accepted, refused } of account.days.list(0)) {
        found.accepted += accepted
        for (const [code, emails] of Object.entries(refused)) found[code as keyof typeof found] += emails
      }
      expect(found, `answers of ${seed}`).toEqual(expected)
    }
  })

  it("holds what is above another daily cap, and says how long", () => {
    const history = [began, request(lifeStart + 1_000, 40)]
    const [today, tomorrow] = played(history, { tiers: { new: 30 } }).days.list(0)
    expect(today).toMatchObject({ accepted: 40, held: 10, heldMillis: null })
    const midnight = Math.ceil(lifeStart / dayMillis) * dayMillis
    const first = midnight - (lifeStart + 1_000)
    expect(tomorrow?.heldMillis?.median).toBeGreaterThanOrEqual(first)
    expect(tomorrow?.heldMillis?.longest).toBeLessThanOrEqual(first + SendLimits.releaseMillis)
    expect(played(history).days.list(0)).toMatchObject([{ accepted: 40, held: 0, heldMillis: null }])
  })

  it("shows a pause that would not have come, and one that would", () => {
    const bounced = [began, request(lifeStart + 1_000, 3, { bounces: [60_000] }), request(lifeStart + hourMillis, 1)]
    expect(played(bounced).pauses).toMatchObject([{ reason: "bounces", at: lifeStart + 61_000 }])
    expect(played(bounced).days.list(0)[0]).toMatchObject({ accepted: 3, refused: { sending_paused: 1 } })
    const patient = played(bounced, { pauseBounces: 4 })
    expect(patient.pauses).toEqual([])
    expect(patient.days.list(0)[0]).toMatchObject({ accepted: 4, refused: {} })
    const strict = played([began, request(lifeStart + 1_000, 1, { signals: 2 })], { pauseSignals: 2 })
    expect(strict.pauses).toEqual([{ reason: "risky_content", at: lifeStart + 1_000 }])
    expect(strict.days.list(0)[0]).toMatchObject({ accepted: 1, held: 1 })
  })

  it("lifts a pause that the history did not have, if told to", () => {
    const history = [
      began,
      request(lifeStart + 1_000, 1, { signals: 2 }),
      request(lifeStart + 2 * hourMillis, 1),
      request(lifeStart + 7 * hourMillis, 1)
    ]
    const refused = { sending_paused: 2 }
    expect(played(history, { pauseSignals: 2 }).days.list(0)[0]).toMatchObject({ accepted: 1, refused })
    const lifted = played(history, { pauseSignals: 2, liftHours: 3 })
    expect(lifted.days.list(0)[0]).toMatchObject({ accepted: 2, refused: { sending_paused: 1 } })
    expect(lifted.days.list(0)[0]?.heldMillis).toEqual({ median: 3 * hourMillis, longest: 3 * hourMillis })
  })

  it("lifts each pause after its own time, though another lift came before", () => {
    const signals = (hours: number) => request(lifeStart + hours * hourMillis, 1, { signals: 2 })
    const at = lifeStart + hourMillis
    const lifted: PastEntry = { _tag: "Act", at, fact: { _tag: "Lifted", at } }
    const history = [began, signals(0), lifted, signals(2), request(lifeStart + 4 * hourMillis, 1)]
    const account = played(history, { pauseSignals: 2, liftHours: 3 })
    expect(account.pauses.map((pause) => pause.at)).toEqual([lifeStart, lifeStart + 2 * hourMillis])
    expect(account.days.list(0)[0]).toMatchObject({ accepted: 2, refused: { sending_paused: 1 } })
  })

  it("lets a bounce come as much later as its email waits", () => {
    const history = [began, request(lifeStart + 1_000, 5, { bounces: [2_000] })]
    const midnight = Math.ceil(lifeStart / dayMillis) * dayMillis
    expect(played(history).pauses).toEqual([{ reason: "bounces", at: lifeStart + 3_000 }])
    const [pause] = played(history, { tiers: { new: 2 } }).pauses
    expect(pause?.reason).toBe("bounces")
    expect(pause?.at).toBeGreaterThanOrEqual(midnight + 2_000)
  })

  it("keeps held mail until a pause is lifted", () => {
    const history = [began, request(lifeStart + 1_000, 5, { bounces: [2_000] })]
    const rules = { tiers: { new: 3 } }
    expect(
      played(history, rules)
        .days.list(0)
        .flatMap(({ heldMillis }) => heldMillis ?? [])
    ).toEqual([])
    const lifted = played(history, { ...rules, liftHours: 40 }).days.list(0)
    expect(lifted.flatMap(({ heldMillis }) => heldMillis ?? [])[0]?.longest).toBeGreaterThanOrEqual(39 * hourMillis)
  })

  it("counts what nobody knows: the fate of mail that was refused", () => {
    const refusedThen = request(lifeStart + 1_000, 2, { answer: "probation_limit_reached" }) as PastRequest
    const unknown = { ...refusedThen, emails: refusedThen.emails.map((email) => ({ ...email, outcomes: undefined })) }
    const account = played([began, unknown], { probationHour: 100 })
    expect(account.assumedEmails).toBe(2)
    expect(account.answers).toEqual({ same: 0, other: 1 })
  })

  it("keeps an account on a longer probation, with its caps", () => {
    const later = lifeStart + 100 * hourMillis
    const history = [began, request(lifeStart + 1_000, 1), request(later, 90)]
    expect(played(history).days.list(later)[0]).toMatchObject({ accepted: 90, probationUsed: null })
    const longer = played(history, { probationHours: 200, probationHour: 50 }).days.list(later)[0]
    expect(longer).toMatchObject({ accepted: 0, refused: { probation_limit_reached: 90 } })
  })

  it("takes another plan, and the limits that an operator had set only without it", () => {
    const custom = { emailsPerMonth: 5, probation: null }
    const limits: PastEntry = { _tag: "Act", at: lifeStart, fact: { _tag: "LimitsSet", at: lifeStart, custom } }
    const history = [began, limits, request(lifeStart + 1_000, 10)]
    expect(played(history).days.list(0)[0]).toMatchObject({ refused: { monthly_limit_reached: 10 } })
    expect(played(history, { plan: "pro" }).days.list(0)[0]).toMatchObject({ accepted: 10, monthUsed: 0 })
    expect(played(history, { emailsPerMonth: 40 }).days.list(0)[0]).toMatchObject({ accepted: 10, monthUsed: 25 })
  })
})

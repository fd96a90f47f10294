/** The standing of accounts, by which operators list them (docs/platform.md, 9.9), against the rules themselves. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { initialSendAccount, type SendAccountFact } from "../../../src/send/account/actors/model.ts"
import { evolveAccount } from "../../../src/send/account/actors/SendAccount.ts"
import { type AccountStage, changesStage, nextStage } from "../../../src/send/account/operator/accountStages.ts"

const fold = (facts: ReadonlyArray<SendAccountFact>, from?: AccountStage) =>
  facts.filter(changesStage).reduce<AccountStage | undefined>(nextStage, from)

const began: SendAccountFact = { _tag: "Began", at: 1, risk: "standard" }

const kinds = [
  "Bounced",
  "Complained",
  "Paused",
  "Lifted",
  "RiskSet",
  "Established",
  "Trusted",
  "Accepted",
  "Reset",
  "HandedOver"
] as const

const factOf = (_tag: (typeof kinds)[number], at: number): ReadonlyArray<SendAccountFact> => {
  switch (_tag) {
    case "Bounced":
      return [{ _tag, at, email: "em_1" }]
    case "Paused":
      return [{ _tag, at, reason: "bounces" }]
    case "RiskSet":
      return [{ _tag, at, risk: at % 2 === 0 ? "higher" : "standard" }]
    case "Accepted":
      return [{ _tag, at, emails: 1, first: [], domains: [], signals: at % 3 }]
    case "Reset":
      return [
        { _tag, at },
        { _tag: "Began", at, risk: "standard" }
      ]
    case "HandedOver":
      return [{ _tag, at, emails: 1 }]
    default:
      return [{ _tag, at }]
  }
}

describe("the standing of an account", () => {
  it("tells a pause with its reason until it is lifted, and a warning until probation begins again", () => {
    const bounced = fold([began, { _tag: "Bounced", at: 5, email: "em_1" }])
    expect(bounced).toMatchObject({ stage: "probation", warnedAt: 5, changedAt: 5, pausedAt: null })
    const paused = fold([{ _tag: "Paused", at: 6, reason: "spike" }], bounced)
    expect(paused).toMatchObject({ stage: "sending_paused", pausedAt: 6, pauseReason: "spike" })
    expect(fold([{ _tag: "Lifted", at: 9 }], paused)).toEqual({
      stage: "probation",
      risk: "standard",
      changedAt: 9,
      pausedAt: null,
      pauseReason: null,
      warnedAt: null
    })
  })

  it("has no row before an account begins, and none after it was closed", () => {
    expect(fold([{ _tag: "Bounced", at: 1, email: "em_1" }])).toBeUndefined()
    expect(fold([began, { _tag: "Closed", at: 2 }])).toBeUndefined()
  })

  it("begins with the first stage that it hears of, where an older node has served the account before", () => {
    expect(fold([{ _tag: "Paused", at: 6, reason: "spike" }])).toMatchObject({ stage: "sending_paused", pausedAt: 6 })
    const established = fold([{ _tag: "Established", at: 7 }])
    expect(established).toMatchObject({ stage: "established", risk: "standard", changedAt: 7 })
  })

  it("warns of no bounce outside probation, and of no ordinary content", () => {
    const established = fold([began, { _tag: "Established", at: 2 }])
    expect(fold([{ _tag: "Bounced", at: 3, email: "em_1" }], established)).toEqual(established)
    const quiet: SendAccountFact = { _tag: "Accepted", at: 4, emails: 1, first: [], domains: [], signals: 0 }
    expect(changesStage(quiet)).toBe(false)
  })

  it("stays where it is when a fact of before comes again", () => {
    const lifted = fold([began, { _tag: "Paused", at: 3, reason: "spike" }, { _tag: "Lifted", at: 7 }])
    expect(fold([{ _tag: "Paused", at: 3, reason: "spike" }], lifted)).toEqual(lifted)
    expect(fold([began], lifted)).toEqual(lifted)
  })

  const Steps = Schema.Array(Schema.Struct({ kind: Schema.Literals(kinds), after: Schema.Literals([0, 1, 2]) }))

  it.prop("agrees with the account in stage and risk, and takes facts again without a change", [Steps], ([steps]) => {
    let at = 1
    const facts: Array<SendAccountFact> = [began]
    for (const { after, kind } of steps) {
      at += after
      facts.push(...factOf(kind, at))
    }
    const account = facts.reduce(evolveAccount, initialSendAccount)
    const standing = fold(facts)!
    expect([standing.stage, standing.risk]).toEqual([account.trust.stage, account.trust.risk])
    expect(standing.pausedAt !== null).toBe(account.trust.stage === "sending_paused")
    expect(fold(facts, standing)).toEqual(standing)
  })
})

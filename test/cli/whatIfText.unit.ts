/** The answer of `sluice what-if`, as the document shows it. */
import { describe, expect, it } from "vitest"
import type { WhatIfShown } from "../../src/admin/whatIfApi.ts"
import { whatIfCsv, whatIfText } from "../../src/cli/whatIfText.ts"
import { blockOf } from "../documents/blocks.ts"

type Day = WhatIfShown["asItWas"]["days"][number]

const day = (name: string, accepted: number, more: Partial<Day> = {}): Day => ({
  day: name,
  requests: 20,
  accepted,
  refused: {},
  held: 0,
  heldMillis: null,
  monthUsed: 8,
  probationUsed: 100,
  ...more
})

const answer: WhatIfShown = {
  asItWas: {
    days: [
      day("2026-11-24", 180, { refused: { probation_limit_reached: 60 } }),
      day("2026-11-25", 200, { refused: { probation_limit_reached: 110 } })
    ],
    pauses: []
  },
  underRules: {
    days: [
      day("2026-11-24", 240, { held: 40 }),
      day("2026-11-25", 310, { monthUsed: 18, heldMillis: { median: 1, longest: 34_200_000 } })
    ],
    pauses: []
  },
  agreement: { same: 41, other: 0 },
  unknown: { fates: 170, requests: 0, refusedSince: Date.UTC(2026, 10, 23, 8, 12), beginning: false }
}

describe("the answer of what-if", () => {
  it("reads as the document shows it", () => {
    expect(whatIfText(answer)).toBe(blockOf("docs/what-if.md", "DAY ").text)
  })

  it("names the pauses of both, and what is not known", () => {
    const at = Date.UTC(2026, 10, 24, 9, 5)
    const text = whatIfText({
      ...answer,
      underRules: { days: [], pauses: [{ at, reason: "spike" }] },
      unknown: { fates: 0, requests: 3, refusedSince: null, beginning: true }
    })
    expect(text.split("\n").slice(-5)).toEqual([
      "Pauses under the others: 2026-11-24 09:05 UTC for spike",
      "The rules in force decide 41 of 41 requests as they were answered.",
      "No refused request is known of this time.",
      "The request log counted 3 refused requests without keeping them.",
      "The account's facts do not reach back so far: it begins with its present stage."
    ])
    expect(whatIfText({ ...answer, asItWas: answer.underRules, underRules: { days: [], pauses: [] } })).toContain(
      "2026-11-24  240 -> 0"
    )
    expect(whatIfText({ ...answer, asItWas: { days: [], pauses: [] }, underRules: { days: [], pauses: [] } })).toMatch(
      /^The account has no requests in this time\.\n/
    )
  })

  it("is CSV of a line for each day and rules", () => {
    expect(whatIfCsv(answer).split("\r\n")).toEqual([
      "day,rules,requests,accepted,refused,held,longest_wait_ms,month_percent",
      "2026-11-24,in force,20,180,60,0,,8",
      "2026-11-24,other,20,240,0,40,,8",
      "2026-11-25,in force,20,200,110,0,,8",
      "2026-11-25,other,20,310,0,0,34200000,18"
    ])
  })
})

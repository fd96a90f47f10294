/** Specifications of the counts of sources and of the days of a request, and the counts against a naive model. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { reportAddressesOf } from "../../../../src/send/senders/authentication/reportAddresses.ts"
import { reportPeriodOf } from "../../../../src/send/senders/reports/reportPeriod.ts"
import { timeliness } from "../../../../src/send/senders/reports/reportText.ts"
import { boundedCounts, countsBySource, noCounts } from "../../../../src/send/senders/reports/sourceCounts.ts"
import { often } from "../../../support/often.ts"

const day = 86_400_000
const now = Date.parse("2026-11-28T13:00:00Z")

describe("counts of sources", () => {
  it("count a message once: as passed if either result is aligned", () => {
    const record = { source: "192.0.2.1", count: 10, disposition: "none" } as const
    const counts = countsBySource([
      { ...record, isDkimAligned: true, isSpfAligned: true },
      { ...record, isDkimAligned: false, isSpfAligned: true },
      { ...record, isDkimAligned: true, isSpfAligned: false },
      { ...record, disposition: "reject", isDkimAligned: false, isSpfAligned: false },
      { ...record, disposition: "quarantine", source: "192.0.2.2", isDkimAligned: false, isSpfAligned: false }
    ])
    expect(Object.fromEntries(counts)).toEqual({
      "192.0.2.1": { messages: 40, passed: 30, dkim: 20, spf: 20, quarantined: 0, rejected: 10 },
      "192.0.2.2": { messages: 10, passed: 0, dkim: 0, spf: 0, quarantined: 10, rejected: 0 }
    })
  })

  it("give the rows that are left to the sources of most messages", () => {
    const known = new Set(Array.from({ length: 199 }, (_, at) => `known ${at}`))
    const counts = new Map([
      ["small", { ...noCounts, messages: 1 }],
      ["large", { ...noCounts, messages: 3 }],
      ["known 5", { ...noCounts, messages: 1 }],
      ["middle", { ...noCounts, messages: 2 }]
    ])
    expect(boundedCounts(counts, known).map(({ messages, source }) => [source, messages])).toEqual([
      ["", 3],
      ["known 5", 1],
      ["large", 3]
    ])
    // The row of the others is none of the 200.
    expect(boundedCounts(new Map([["new", noCounts]]), new Set([...known, ""]))).toMatchObject([{ source: "new" }])
  })

  const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))
  const Records = Schema.Array(
    Schema.Struct({
      source: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 })),
      count: Count,
      isDkimAligned: Schema.Boolean,
      isSpfAligned: Schema.Boolean
    })
  ).check(Schema.isMaxLength(300))

  it.prop(
    "lose no message, keep known sources apart, and never make more than 200 rows and that of the others",
    [
      Records,
      Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))).check(Schema.isMaxLength(200))
    ],
    ([given, known]) => {
      const records = given.map((one) => ({ ...one, source: String(one.source), disposition: "none" as const }))
      const before = new Set(known.map(String))
      const rows = boundedCounts(countsBySource(records), before)
      const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + pick(row), 0)
      const naive = (isCounted: (record: (typeof records)[number]) => boolean) =>
        records.filter(isCounted).reduce((all, { count }) => all + count, 0)
      expect(sum(({ messages }) => messages)).toBe(naive(() => true))
      expect(sum(({ passed }) => passed)).toBe(naive((one) => one.isDkimAligned || one.isSpfAligned))
      expect(sum(({ dkim }) => dkim)).toBe(naive(({ isDkimAligned }) => isDkimAligned))
      expect(
        new Set([...before, ...rows.map(({ source }) => source)].filter((one) => one !== "")).size
      ).toBeLessThanOrEqual(Math.max(200, before.size))
      for (const { source } of records.filter((one) => before.has(one.source)))
        expect(rows.find((row) => row.source === source)?.messages).toBe(naive((one) => one.source === source))
    },
    { arbitrary: { runs: often(100) } }
  )
})

describe("the days of a request", () => {
  const of = (asked: { since?: number; until?: number }) =>
    Result.match(reportPeriodOf(asked, now), {
      onSuccess: ({ since, until }) => [since, until].map((at) => new Date(at).toISOString().slice(0, 10)).join(" "),
      onFailure: ({ message }) => message
    })

  it("are whole, thirty without a beginning, and end with the present one", () => {
    expect(of({})).toBe("2026-10-30 2026-11-29")
    expect(of({ since: now })).toBe("2026-11-28 2026-11-29")
    expect(of({ since: now - 2 * day, until: now - day })).toBe("2026-11-26 2026-11-28")
    expect(of({ until: Date.parse("2026-11-27T00:00:00Z") })).toBe("2026-10-28 2026-11-27")
    expect(of({ since: Date.parse("2026-08-30T00:00:00Z") })).toBe("2026-08-30 2026-11-29")
  })

  it("that are none say which parameter is wrong", () => {
    expect(of({ since: now, until: now })).toContain("'since'")
    expect(of({ since: Date.parse("2026-08-29T23:59:59Z") })).toContain("90 days")
    expect(of({ until: Date.parse("2026-08-30T00:00:00Z") })).toContain("'until'")
    expect(of({ until: now + 3 * day })).toContain("'until'")
  })
})

describe("a report", () => {
  it("is late once its day is not kept, and early where it is about the future", () => {
    const of = (beginsAt: number) => timeliness({ beginsAt, endsAt: beginsAt + day - 1 }, now)
    expect(of(now - day)).toBe("timely")
    expect(of(now - 90 * day)).toBe("timely")
    expect(of(now - 91 * day)).toBe("late")
    expect(of(now)).toBe("timely")
    expect(of(now + 2)).toBe("early")
  })

  it("is asked for where a listener takes it", () => {
    expect(reportAddressesOf({ bounceDomain: "Bounces.Test", bouncePort: 25 })).toEqual({
      dmarc: "dmarc-reports@bounces.test",
      tls: "tls-reports@bounces.test"
    })
    expect(reportAddressesOf({ bounceDomain: "bounces.test" })).toBeUndefined()
  })
})

/** The history of an account as rows of emails and of refused requests give it (docs/what-if.md). */
import { describe, expect, it } from "vitest"
import { outcomesOf, refusalsOf, requestsOf } from "../../../src/send/whatIf/readHistory.ts"

const lines = (...entries: ReadonlyArray<readonly [state: string, at: number, recipient?: string]>): string =>
  entries.map((entry) => JSON.stringify(entry)).join("\n")

const row = (history: string, scheduled_at: number | null = null) => ({ accepted_at: 1_000, scheduled_at, history })

describe("the outcomes of an email", () => {
  it("are by the time since it was accepted, each kind once", () => {
    const history = lines(
      ["queued", 1_000],
      ["sending", 1_000],
      ["sent", 1_500],
      ["bounced", 2_000, "a@x.test"],
      ["bounced", 9_000, "b@x.test"],
      ["complained", 4_000, "c@x.test"]
    )
    expect(outcomesOf(row(history))).toEqual([
      { what: "handedOver", afterMillis: 500 },
      { what: "bounced", afterMillis: 1_000 },
      { what: "complained", afterMillis: 3_000 }
    ])
  })

  it("are by the time since it was released, or since its own time", () => {
    expect(outcomesOf(row(lines(["held", 1_000], ["sending", 50_000], ["sent", 50_700])))).toEqual([
      { what: "handedOver", afterMillis: 700 }
    ])
    const scheduled = lines(["scheduled", 1_000], ["queued", 9_000], ["sending", 9_100], ["sent", 9_300])
    expect(outcomesOf(row(scheduled, 9_000))).toEqual([{ what: "handedOver", afterMillis: 300 }])
  })

  it("have a hand-over before a bounce of which nobody said so", () => {
    expect(outcomesOf(row(lines(["queued", 1_000], ["bounced", 1_200, "a@x.test"])))).toEqual([
      { what: "handedOver", afterMillis: 200 },
      { what: "bounced", afterMillis: 200 }
    ])
    expect(outcomesOf(row(lines(["queued", 1_000])))).toEqual([])
  })
})

describe("the requests of a history", () => {
  const email = (id: string, accepted_at: number, state = "queued", domain: string | null = "one.test") => ({
    id,
    accepted_at,
    domain,
    scheduled_at: null,
    history: lines([state, accepted_at])
  })

  it("are the emails of one moment, without those that were counted nowhere", () => {
    const emails = [email("a", 1), email("b", 1, "held"), email("c", 1, "suppressed"), email("d", 2, "suppressed")]
    const found = requestsOf([...emails, email("e", 3, "queued", null)], new Map([[1, 2]]))
    expect(found.map(({ at, emails: all, signals }) => [at, all.map(({ id }) => id), signals])).toEqual([
      [1, ["a", "b"], 2],
      [3, ["e"], 0]
    ])
    expect(found.every(({ answer }) => answer === "accepted")).toBe(true)
  })

  it("are refused ones with their number of emails and their reason", () => {
    const facts = {
      kind: "send.refused",
      account: "live",
      code: "sending_paused",
      recipients: [1, 4],
      senders: {},
      domains: {},
      furtherRecipients: 0,
      scheduled: 0
    } as const
    const [found] = refusalsOf([{ id: "rq_1", at: 7, count: 1, facts }], "one.test")
    expect(found).toMatchObject({ at: 7, answer: "sending_paused", signals: 0 })
    expect(found?.emails.map(({ outcomes, sender }) => [sender, outcomes])).toEqual([
      ["one.test", undefined],
      ["one.test", undefined]
    ])
  })
})

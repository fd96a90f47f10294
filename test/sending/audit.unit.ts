/** The audit of a kill run finds what it is there to find: a run with one fault of each kind, and one without. */
import { describe, expect, it } from "vitest"
import {
  type AccountFacts,
  audit,
  explainedMillis,
  type Killed,
  type ListedEmail,
  mostWithin,
  type Taken
} from "./audit.ts"

const at = Date.UTC(2026, 6, 1, 12)

const email = (number: number, more: Partial<ListedEmail> = {}): ListedEmail => ({
  id: `em_${number}`,
  state: "sent",
  subject: `one ${number}`,
  created_at: new Date(at + number).toISOString(),
  ...more
})

const account: AccountFacts = {
  name: "one",
  emailsPerHour: 3,
  dailyCap: 2,
  answered: new Map([
    ["one 1", "em_1"],
    ["one 2", "em_2"],
    ["one 3", "em_3"]
  ]),
  keyed: new Set(["one 1"]),
  listed: [email(1), email(2), email(3, { state: "held" })],
  events: [
    { type: "send.email.sent", messageId: "em_1" },
    { type: "send.email.sent", messageId: "em_2" }
  ]
}

const taken = (...numbers: ReadonlyArray<number>): ReadonlyArray<Taken> =>
  numbers.map((number) => ({ id: `em_${number}`, at }))

const killed = (after: number): Killed => ({ at: at + after, victim: "platform" })

describe("the audit", () => {
  it("finds nothing where all is well, and explains what was handed over again by a kill right after it", () => {
    expect(audit([account], taken(1, 2), [])).toEqual({
      violations: [],
      answered: 3,
      unanswered: 0,
      sent: 2,
      bounced: 0,
      held: 1,
      repeats: []
    })
    const again = [...taken(1, 2), { id: "em_1", at: at + 9_000 }]
    expect(audit([account], again, [killed(-1_000), killed(20)])).toMatchObject({
      violations: [],
      repeats: [{ id: "em_1", victim: "platform", windowMillis: 20 }]
    })
    const long = [...taken(1, 2), { id: "em_1", at: at + 90_000 }]
    expect(audit([account], long, [killed(explainedMillis + 1)]).violations).toHaveLength(1)
    // What had no key may have been accepted without an answer.
    const answered = new Map([...account.answered].slice(0, 2))
    expect(audit([{ ...account, answered }], taken(1, 2), [])).toMatchObject({ violations: [], unanswered: 1 })
  })

  const faults: ReadonlyArray<readonly [found: string, more: Partial<AccountFacts>, mailbox?: ReadonlyArray<Taken>]> = [
    ["which is not there", { listed: account.listed.slice(1) }, taken(2)],
    ["is em_9", { listed: [...account.listed.slice(1), email(9, { subject: "one 1" })] }, taken(2, 9)],
    [
      "was accepted 2 times",
      { listed: [...account.listed, email(4, { subject: "one 1", state: "held" })], emailsPerHour: 4 }
    ],
    ["and never answered", { answered: new Map([...account.answered].slice(1)) }],
    ["is sent, and was handed over 0 times", {}, taken(1)],
    [
      "is queued, and was handed over 1 times",
      { listed: [email(1), email(2, { state: "queued" }), account.listed[2]!] }
    ],
    ["is held, and was handed over", { dailyCap: 3 }, taken(1, 2, 3)],
    ["3 emails were accepted in an hour, and the cap is 2", { emailsPerHour: 2 }],
    ["let go on 1 days, and the daily cap is 1", { dailyCap: 1 }],
    ["nothing was killed in between", {}, taken(1, 2, 2)],
    ["nobody sent it", {}, taken(1, 2, 8)],
    [
      "is bounced, and was handed over 1 times",
      { listed: [email(1, { state: "bounced" }), ...account.listed.slice(1)] }
    ],
    [
      "its events are send.email.sent, send.email.failed",
      { events: [...account.events, { type: "send.email.failed", messageId: "em_2" }] }
    ],
    ["its events are none", { events: account.events.slice(1) }]
  ]

  it.each(
    faults.map(([found, more, mailbox = taken(1, 2)]) => ({ found, more, mailbox }))
  )("finds that something $found", ({ found, mailbox, more }) => {
    expect(audit([{ ...account, ...more }], mailbox, [killed(-1_000), killed(90_000)]).violations.join("\n")).toContain(
      found
    )
  })

  it("looks at any hour", () => {
    expect([mostWithin([], 10), mostWithin([5, 0, 9], 10), mostWithin([0, 10, 19, 20], 10)]).toEqual([0, 3, 2])
  })
})

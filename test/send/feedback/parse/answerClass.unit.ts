/** The meaning of mail systems' answers: a table of real ones, the rules that they do not show, and meanings that no answer may have. */
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { type AnswerClass, judgeAnswer, type SaidAnswer } from "../../../../src/send/feedback/parse/answerClass.ts"
import { diagnosisIn } from "../../../../src/send/feedback/parse/statusCodes.ts"
import { answerOfReply } from "../../../../src/send/handoff/smtp/outcomes.ts"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"

interface Line {
  readonly expected: AnswerClass
  readonly speaker: SaidAnswer["speaker"]
  readonly stage: SaidAnswer["stage"]
  readonly status: string
  readonly source: string
  readonly words: string
}

const folder = new URL("answers/", import.meta.url)

const table = readdirSync(folder).flatMap((file) =>
  readFileSync(new URL(file, folder), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): Line => {
      const [expected, speaker, stage, status, source, ...words] = line.split(" | ")
      return { expected, speaker, stage, status, source, words: words.join(" | ") } as Line
    })
)

const judged = ({ speaker, stage, status, words }: Omit<Line, "expected" | "source">) => {
  const { replyCode, status: inWords } = diagnosisIn(words)
  const statuses = [status, inWords].flatMap((one) => (one === null || one === "-" ? [] : [one]))
  return judgeAnswer({ speaker, stage, statuses, replyCode, words }).answer
}

describe("[handoff 2.2] the table of answers", () => {
  it("has more than 700 lines, of all five classes but the one of success", () => {
    expect(table.length).toBeGreaterThan(700)
    expect(new Set(table.map(({ expected }) => expected))).toEqual(
      new Set(["temporary", "permanent", "reputation", "account"])
    )
  })

  it.each(table)("$source, $speaker, $stage: $words is $expected", ({ expected, ...line }) => {
    expect(judged(line)).toBe(expected)
  })
})

describe("[handoff 2.2] an answer that is not known", () => {
  const unknown = (speaker: Line["speaker"], stage: Line["stage"]) =>
    judged({ speaker, stage, status: "-", words: "550 Qwertz uiop" })

  it("is of the account at MAIL, and of the reputation behind RCPT and of a recipient's server", () => {
    expect(unknown("relay", "sender")).toBe("account")
    expect(unknown("relay", "recipient")).toBe("reputation")
    expect(unknown("recipient", "recipient")).toBe("reputation")
  })

  it("is not known by what its addresses, links and hosts have in them", () => {
    const words = "550 5.1.1 <spam-virus@blocked.example>: user unknown, see https://x.example/dmarc?quota=full"
    expect(judged({ speaker: "recipient", stage: "recipient", status: "-", words })).toBe("permanent")
    expect(
      judged({ speaker: "relay", stage: "recipient", status: "-", words: "550 <user.unknown@x.example> no" })
    ).toBe("reputation")
  })
})

/** Words of answers, in any order: what they come to is not foreseen. */
const said =
  "user unknown spam blocked quota exceeded relay denied sender verified sending limit try again later mailbox full policy account not allowed the of is your message rejected timeout".split(
    " "
  )
const codes = ["", "5.0.0", "5.1.1", "5.1.2", "5.1.8", "5.2.1", "5.2.2", "5.3.4", "5.4.4", "5.7.1", "4.2.2", "4.7.0"]
const nobody = /unknown|not allowed|mailbox|account|user|^5\.(?:1\.[12]|2\.1)/

describe("any answer", () => {
  it("is permanent for a reason alone, and never where it is for now, or where the relay knows no recipient", () => {
    const prng = new Prng(32, "answers")
    const pick = <A>(all: ReadonlyArray<A>): A => all[prng.int(0, all.length - 1)]!
    const seen = new Map<AnswerClass, number>()
    for (let round = 0; round < 20_000; round++) {
      const speaker = pick(["relay", "recipient"] as const)
      const stage = speaker === "relay" ? pick(["sender", "recipient"] as const) : "recipient"
      const status = pick(codes)
      const reply = status.startsWith("4") || (status === "" && prng.chance(0.25)) ? 450 : 550
      const text = Array.from({ length: prng.int(0, 7) }, () => pick(said)).join(" ")
      const statuses = status === "" ? [] : [status]
      const { answer, isReputation } = judgeAnswer({ speaker, stage, statuses, replyCode: reply, words: text })
      const what = `${speaker} ${stage} ${reply} ${status} ${text}: ${answer}`
      seen.set(answer, (seen.get(answer) ?? 0) + 1)
      if (answer === "permanent") {
        expect(reply, what).toBe(550)
        expect(stage, what).toBe("recipient")
        expect(nobody.test(`${status} ${text}`) || /^5/.test(status), what).toBe(true)
        if (text.includes("spam")) expect(status, what).toMatch(/^5\.(?:1\.[12]|2\.1)$/)
        expect(isReputation, what).toBe(false)
      }
      if (reply === 450) expect(["temporary", "account"], what).toContain(answer)
      if (stage === "sender" && reply === 550) expect(["account", "reputation"], what).toContain(answer)
      if (text === "" && statuses.length === 0 && reply === 550 && stage === "recipient")
        expect(answer, what).toBe("reputation")
      // A mailer says the same, in its own words.
      const tag = answerOfReply(
        { command: stage === "sender" ? "MAIL FROM" : "RCPT TO", response: `${reply} ${status} ${text}` },
        reply,
        1,
        speaker
      )._tag
      expect(tag, what).toBe(answer === "account" ? "Account" : answer === "temporary" ? "Temporary" : "Permanent")
    }
    expect([...seen.keys()].sort()).toEqual(["account", "permanent", "reputation", "temporary"])
  })
})
